//! Shares from a script: a file that lists the grants of programs and their times.
//!
//! One line per step: a time, a program, and its grant. Times are seconds after the start of the
//! script (`at 5`), or after an event (`when collatz joins`, `2 after collatz leaves`). `#` begins
//! a comment.
//!
//! ```text
//! # four threads, two while the other program runs, four again
//! when first joins    first  threads 4
//! when second joins   first  threads 2 schedule dynamic:1000
//! when second joins   second threads 2 cores 2-3
//! 0.5 after second leaves    first threads 4
//! at 60               first  free
//! ```
//!
//! A step for a program that is not running yet waits for it; a later step replaces it. `free` ends
//! a request. A request that is impossible (more cores than exist, cores outside of a mask) is
//! granted as far as possible.

use std::fmt;
use std::str::FromStr;

use sinew_cpus::CpuSet;

use super::MAX_CORES;
use crate::schedule::Schedule;

/// A requested grant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// The number of threads.
    pub threads: Option<u32>,
    /// The cores.
    pub cores: Option<CpuSet>,
    /// The schedule of its loops.
    pub schedule: Option<Schedule>,
}

/// The event from which a step's delay counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The script has begun.
    Start,
    /// A program of this name has started.
    Joins(String),
    /// A program of this name has ended.
    Leaves(String),
}

/// One line of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The event for which it waits.
    pub event: Event,
    /// Milliseconds after that.
    pub after_ms: u64,
    /// The program's name.
    pub program: String,
    /// The request; `None` ends the program's request.
    pub request: Option<Request>,
}

/// A script: steps in the order in which they are written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    steps: Vec<Step>,
    /// For each step the times at which it is due, in milliseconds of the script's time.
    due_ms: Vec<Vec<u64>>,
}

impl Script {
    /// The steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Records an event at `now_ms` of the script's time.
    pub fn record(&mut self, event: &Event, now_ms: u64) {
        for (step, due) in self.steps.iter().zip(&mut self.due_ms) {
            if step.event == *event {
                due.extend([now_ms + step.after_ms]);
            }
        }
    }

    /// Removes and returns the steps due by `now_ms`, each once per due time.
    pub fn due(&mut self, now_ms: u64) -> Vec<Step> {
        let mut found = Vec::new();
        for (step, due) in self.steps.iter().zip(&mut self.due_ms) {
            found.extend(due.extract_if(.., |at| *at <= now_ms).map(|at| (at, step.clone())));
        }
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, step)| step).collect()
    }

    /// When the next step is due, if that is known.
    pub fn next_due_ms(&self) -> Option<u64> {
        self.due_ms.iter().flatten().copied().min()
    }
}

/// The error for a script that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    line: usize,
    what: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {} of the script: {}; write for example `when second joins first threads 2 \
             cores 0-1`",
            self.line, self.what
        )
    }
}

impl std::error::Error for ScriptError {}

impl FromStr for Script {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        let mut script = Self::default();
        for (index, line) in text.lines().enumerate() {
            let words: Vec<&str> =
                line.split('#').next().unwrap_or("").split_whitespace().collect();
            if !words.is_empty() {
                let step = step(&words).map_err(|what| ScriptError { line: index + 1, what })?;
                script.steps.push(step);
                script.due_ms.push(Vec::new());
            }
        }
        Ok(script)
    }
}

fn step(words: &[&str]) -> Result<Step, String> {
    let (event, after_ms, rest) = match words {
        ["at", seconds, rest @ ..] => (Event::Start, milliseconds(seconds)?, rest),
        ["when", name, what, rest @ ..] => (event(name, what)?, 0, rest),
        [seconds, "after", name, what, rest @ ..] => {
            (event(name, what)?, milliseconds(seconds)?, rest)
        }
        _ => return Err(format!("`{}` is not a time", words.join(" "))),
    };
    let [program, request @ ..] = rest else { return Err("it names no program".into()) };
    let request = if request == ["free"] { None } else { Some(request_of(request)?) };
    Ok(Step { event, after_ms, program: (*program).to_owned(), request })
}

fn event(name: &str, what: &str) -> Result<Event, String> {
    match what {
        "joins" => Ok(Event::Joins(name.to_owned())),
        "leaves" => Ok(Event::Leaves(name.to_owned())),
        _ => Err(format!("`{what}` is neither `joins` nor `leaves`")),
    }
}

fn milliseconds(seconds: &str) -> Result<u64, String> {
    match seconds.parse::<f64>() {
        Ok(seconds) if (0.0..1e9).contains(&seconds) && seconds.is_sign_positive() => {
            Ok((seconds * 1e3).round() as u64)
        }
        _ => Err(format!("`{seconds}` is not a number of seconds")),
    }
}

fn request_of(words: &[&str]) -> Result<Request, String> {
    let mut request = Request::default();
    if words.is_empty() {
        return Err("it requests nothing".into());
    }
    for pair in words.chunks(2) {
        match pair {
            ["threads", number] => request.threads = Some(threads(number)?),
            ["cores", list] => request.cores = Some(cores(list)?),
            ["schedule", name] => {
                let schedule: Schedule = name.parse().map_err(|error| format!("{error}"))?;
                request.schedule = Some(schedule);
            }
            _ => {
                return Err(format!(
                    "`{}` is none of threads N, cores LIST, schedule NAME and free",
                    pair.join(" ")
                ));
            }
        }
    }
    Ok(request)
}

fn threads(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(threads) if (1..=MAX_CORES as u32).contains(&threads) => Ok(threads),
        _ => Err(format!("`{text}` is not a number of threads from 1 to {MAX_CORES}")),
    }
}

fn cores(text: &str) -> Result<CpuSet, String> {
    let wrong = || format!("`{text}` is not a list of cores such as 0,2-3");
    let mut set = CpuSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let range = first.parse::<usize>().ok().zip(last.parse::<usize>().ok());
        let (first, last) = range.filter(|(a, b)| a <= b && *b < MAX_CORES).ok_or_else(wrong)?;
        (first..=last).for_each(|cpu| set.insert(cpu));
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIVE: &str = "
        # the second program comes and goes
        when first joins  first threads 4
        when second joins first threads 2 schedule dynamic:1000
        when second joins second threads 2 cores 2-3   # its own half
        0.5 after second leaves first threads 4
        at 60 first free
    ";

    /// Catches: an event that triggers the wrong steps, a delay that is ignored, and a step that is
    /// repeated.
    #[test]
    fn steps_fall_due_after_what_they_wait_for() {
        let mut script: Script = FIVE.parse().unwrap();
        script.record(&Event::Start, 0);
        script.record(&Event::Joins("first".into()), 10);
        assert_eq!(script.due(10).len(), 1);
        script.record(&Event::Joins("second".into()), 100);
        let due = script.due(100);
        assert_eq!(
            due[0].request.clone().unwrap().schedule,
            Some(Schedule::Dynamic { chunk: 1000 })
        );
        assert_eq!(due[1].request.clone().unwrap().cores, Some([2, 3].into_iter().collect()));
        script.record(&Event::Leaves("second".into()), 200);
        assert_eq!(
            (script.next_due_ms(), script.due(699).len(), script.due(700).len()),
            (Some(700), 0, 1)
        );
        assert_eq!(script.due(60_000)[0].request, None);
        assert_eq!(script.due(u64::MAX), []);
    }

    /// Catches: a wrong line that is skipped, or read as another.
    #[test]
    fn a_line_that_is_wrong_is_named() {
        for (line, what) in [
            ("now first threads 2", "is not a time"),
            ("at x first threads 2", "not a number of seconds"),
            ("at -0 first threads 2", "not a number of seconds"),
            ("when first comes first threads 2", "neither"),
            ("at 1", "names no program"),
            ("at 1 first", "requests nothing"),
            ("at 1 first threads 0", "not a number of threads"),
            ("at 1 first cores 3-1", "not a list of cores"),
            ("at 1 first cores 5000", "not a list of cores"),
            ("at 1 first schedule gided", "gided"),
            ("at 1 first threads", "none of threads N"),
        ] {
            let error = format!("# one\n{line}").parse::<Script>().unwrap_err().to_string();
            assert!(error.starts_with("line 2 of the script: ") && error.contains(what), "{error}");
        }
    }
}
