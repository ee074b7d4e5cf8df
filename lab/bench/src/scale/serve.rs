//! The process that runs cells: a line for a line, so that a crash or a hang loses one cell.
//!
//! ```text
//! → fib 35 ⇥ sinew ⇥ 4 ⇥ 35 ⇥ 0 ⇥ 1       (subject, contender, threads; size, kind, repeats)
//! ← done 12345678 9227465                   (nanoseconds, answer)
//! ← broken wrong answer: …
//! ```

use super::subject::{Ask, Ready, Subject};
use super::subjects;
use crate::problem::{Sample, Scale};
use std::io::{BufRead, Write};

/// Replies until its input ends.
///
/// # Errors
///
/// One line: its input or output is gone.
pub(super) fn run(scale: Scale) -> Result<(), String> {
    // The sizes of regions come with each request.
    let mut shelf = Shelf { subjects: subjects::all(scale, 1), ready: None };
    let mut output = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let reply = match shelf.answer(&line) {
            Ok(sample) => format!("done {} {}", sample.ns, sample.answer),
            Err(why) => format!("broken {}", why.replace('\n', " ")),
        };
        let written = writeln!(output, "{reply}").and_then(|()| output.flush());
        written.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// All subjects, and the one that was asked for last.
struct Shelf {
    subjects: Vec<Subject>,
    ready: Option<(String, Ready)>,
}

impl Shelf {
    fn answer(&mut self, line: &str) -> Result<Sample, String> {
        let (name, mut ask) = parse(line).ok_or_else(|| format!("not a request: {line}"))?;
        let subject = self.subjects.iter().find(|subject| subject.name == name);
        let subject = subject.ok_or_else(|| format!("no subject {name}"))?;
        ask.case = crate::problem::Case { label: subject.case.label, ..ask.case };
        if self.ready.as_ref().is_none_or(|(last, _)| *last != name) {
            // The inputs of the last one go first.
            self.ready = None;
            self.ready = Some((name, (subject.prepare)()?));
        }
        let (_, ready) = self.ready.as_mut().ok_or("nothing is ready")?;
        ready(&ask)
    }
}

/// The line of a request.
pub(super) fn line(subject: &Subject, contender: &str, threads: usize) -> String {
    let case = subject.case;
    format!(
        "{}\t{contender}\t{threads}\t{}\t{}\t{}",
        subject.name, case.size, case.kind, case.repeats
    )
}

fn parse(line: &str) -> Option<(String, Ask)> {
    let words: Vec<&str> = line.split('\t').collect();
    let [name, contender, threads, size, kind, repeats] = words[..] else { return None };
    let number = |word: &str| word.parse::<u64>().ok();
    let case = crate::problem::Case {
        label: "",
        size: number(size)?,
        kind: number(kind)?,
        repeats: number(repeats)?,
        operations: 1,
    };
    let threads = threads.parse().ok()?;
    Some((name.to_owned(), Ask { contender: contender.to_owned(), threads, case }))
}

/// The reply to a request.
///
/// # Errors
///
/// One line: the reason that it gives, or that it is none.
pub(super) fn reply(text: &str) -> Result<Sample, String> {
    if let Some(why) = text.strip_prefix("broken ") {
        return Err(why.to_owned());
    }
    let numbers = text.strip_prefix("done ").and_then(|rest| rest.split_once(' '));
    let numbers = numbers.and_then(|(ns, answer)| Some((ns.parse().ok()?, answer.parse().ok()?)));
    let (ns, answer) = numbers.ok_or_else(|| format!("said {text:?}"))?;
    Ok(Sample { ns, answer })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let subjects = subjects::all(Scale::Tiny, 7);
        for subject in &subjects {
            let (name, ask) = parse(&line(subject, "sinew again", 3)).unwrap();
            let case = crate::problem::Case { label: "", operations: 1, ..subject.case };
            assert_eq!((&name, ask.threads, ask.case), (&subject.name, 3, case));
            assert_eq!(ask.contender, "sinew again");
        }
    }

    #[test]
    fn a_reply_is_a_time_and_an_answer_or_a_reason() {
        let sample = reply("done 12 34").unwrap();
        assert_eq!((sample.ns, sample.answer), (12, 34));
        assert_eq!(reply("broken no thread").unwrap_err(), "no thread");
        assert!(reply("done 12").is_err() && reply("").is_err());
    }
}
