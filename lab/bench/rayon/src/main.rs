//! The usual rayon programs, as a server: `bench programs` starts it, and asks for one run at a
//! time.
//!
//! It says which rayon-core it was built with, or which rayon if that needs none, and how many
//! threads the global pool has, then answers lines with lines until its input ends. While it waits
//! for a line its pool is at rest, so that others can be measured.
//!
//! ```text
//! ← rayon-core 1.13.0 registry threads 2
//! → run join-fib full 3
//! ← done 12345678 23456789 832040         (wall ns, processor ns, answer)
//! ← wrong 832041 832040                   (answer, expected)
//! ← error no such program: join-fob
//! ```
//!
//! `serial` in place of `run` runs the reference without rayon; `count` and `count-serial` run
//! either and take no times, for those who count instructions from outside.

mod answer;
mod catalogue;
mod inputs;
mod pages;
mod programs;
mod work;

use catalogue::Kind;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use work::{Sample, Scale, Work, come_to_rest};

#[global_allocator]
static ALLOCATOR: pages::Pages = pages::Pages;

fn main() -> ExitCode {
    if std::env::args().len() > 1 {
        println!("rayon-programs takes lines, not arguments: run NAME full|tiny REPEATS");
        catalogue::ALL.iter().for_each(|entry| println!("  {:<16}{}", entry.name, entry.about));
        return ExitCode::from(2);
    }
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rayon-programs: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> std::io::Result<()> {
    let mut output = std::io::stdout();
    writeln!(output, "{} threads {}", env!("PROVIDER"), rayon::current_num_threads())?;
    output.flush()?;
    let mut shelf = Shelf::default();
    for line in std::io::stdin().lock().lines() {
        let reply = Request::parse(&line?).and_then(|request| shelf.answer(&request));
        writeln!(output, "{}", reply.unwrap_or_else(|why| format!("error {why}")))?;
        output.flush()?;
    }
    Ok(())
}

/// The mode of the server.
#[derive(Debug, Clone, Copy)]
enum Verb {
    Run,
    Serial,
    Count,
    CountSerial,
}

/// One run that is asked for.
#[derive(Debug)]
struct Request {
    verb: Verb,
    entry: &'static catalogue::Entry,
    scale: Scale,
    repeats: u32,
}

impl Request {
    fn parse(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [verb, name, scale, repeats] = words[..] else {
            return Err(format!("not four words: {line:?}"));
        };
        let entry = catalogue::ALL.iter().find(|entry| entry.name == name);
        Ok(Self {
            verb: match verb {
                "run" => Verb::Run,
                "serial" => Verb::Serial,
                "count" => Verb::Count,
                "count-serial" => Verb::CountSerial,
                _ => return Err(format!("not run, serial, count or count-serial: {verb}")),
            },
            entry: entry.ok_or_else(|| format!("no such program: {name}"))?,
            scale: match scale {
                "full" => Scale::Full,
                "tiny" => Scale::Tiny,
                _ => return Err(format!("neither full nor tiny: {scale}")),
            },
            repeats: repeats
                .parse()
                .map_err(|_| format!("not a number of repetitions: {repeats}"))?,
        })
    }
}

/// A program with its input and the answer it must give.
struct Ready {
    work: Box<dyn Work>,
    expected: u64,
}

/// Inputs are made once and kept.
#[derive(Default)]
struct Shelf(HashMap<(&'static str, Scale), Ready>);

impl Shelf {
    fn answer(&mut self, request: &Request) -> Result<String, String> {
        let ready = self.ready(request)?;
        let Sample { wall_ns, cpu_ns, answer } = ready.answer(request);
        let expected = ready.expected;
        Ok(if answer == expected {
            format!("done {wall_ns} {cpu_ns} {answer}")
        } else {
            format!("wrong {answer} {expected}")
        })
    }

    fn ready(&mut self, request: &Request) -> Result<&Ready, String> {
        let Request { entry, scale, .. } = request;
        match self.0.entry((entry.name, *scale)) {
            Entry::Occupied(there) => Ok(there.into_mut()),
            Entry::Vacant(place) => {
                let work = programs::prepare(entry.name, *scale);
                let work = work.ok_or_else(|| format!("{} has a name only", entry.name))?;
                let expected = work.serial(1).answer;
                Ok(place.insert(Ready { work, expected }))
            }
        }
    }
}

impl Ready {
    fn answer(&self, request: &Request) -> Sample {
        match request.verb {
            Verb::Run => self.run(request),
            Verb::Serial => self.work.serial(request.repeats),
            Verb::Count => Sample::untimed(self.work.unmeasured(request.repeats)),
            Verb::CountSerial => Sample::untimed(self.work.serial_unmeasured(request.repeats)),
        }
    }

    /// Warms up, which also lets the threads come to rest, and measures.
    fn run(&self, request: &Request) -> Sample {
        if request.entry.kind == Kind::Idle {
            // A pool that has not worked since it was measured last would not be restless.
            rayon::join(|| (), || ());
            come_to_rest();
        } else {
            let warm = self.work.parallel(1);
            if warm.answer != self.expected {
                return warm;
            }
        }
        self.work.parallel(request.repeats)
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: a program that is wrong only at full size, or only sometimes; every
    //! run checks its answer.
    use super::*;

    #[test]
    fn every_program_gives_its_reference_answer() {
        let mut shelf = Shelf::default();
        for entry in &catalogue::ALL {
            let line = format!("run {} tiny 2", entry.name);
            let reply = Request::parse(&line).and_then(|request| shelf.answer(&request));
            assert!(
                reply.as_ref().is_ok_and(|reply| reply.starts_with("done ")),
                "{}: {reply:?}",
                entry.name
            );
        }
    }

    #[test]
    fn a_line_that_is_no_request_is_answered_with_the_reason() {
        for (line, reason) in [
            ("run join-fib", "not four words"),
            ("walk join-fib tiny 1", "not run, serial, count or count-serial"),
            ("run join-fob tiny 1", "no such program: join-fob"),
            ("run join-fib huge 1", "neither full nor tiny"),
            ("run join-fib tiny many", "not a number"),
        ] {
            let why = Request::parse(line).expect_err("no request");
            assert!(why.starts_with(reason), "{line}: {why}");
        }
    }

    #[test]
    fn every_program_has_a_name_of_its_own_and_something_said_about_it() {
        let mut names: Vec<&str> = catalogue::ALL.iter().map(|entry| entry.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), catalogue::ALL.len());
        assert!(catalogue::ALL.iter().all(|entry| !entry.about.is_empty()));
    }
}
