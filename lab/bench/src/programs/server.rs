//! A process that runs programs when asked, one line for one line. See
//! `lab/bench/rayon/src/main.rs` for what is said.
//!
//! A program that hangs or crashes is a finding, not an end: the process is killed, and the next
//! request starts another one.

use super::builds::Build;
use crate::runtimes::lines::Process;
use serde::Serialize;
use std::ffi::OsString;
use std::fmt;
use std::process::Command;
use std::time::Duration;

/// A program that takes longer than this to reply hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// The times of one run, and its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Sample {
    pub(crate) wall_ns: u64,
    pub(crate) cpu_ns: u64,
    pub(crate) answer: u64,
}

/// A request to a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) verb: &'static str,
    pub(crate) name: &'static str,
    pub(crate) tiny: bool,
    pub(crate) repeats: u32,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = if self.tiny { "tiny" } else { "full" };
        write!(f, "{} {} {scale} {}", self.verb, self.name, self.repeats)
    }
}

/// A server, with what it takes to start it again.
#[derive(Debug)]
pub(crate) struct Server {
    build: Build,
    threads: usize,
    process: Option<Process>,
}

impl Server {
    /// Starts a server of `threads` threads.
    ///
    /// # Errors
    ///
    /// One line: it does not start, or it runs on another package or with other threads than it
    /// should.
    pub(crate) fn start(build: &Build, threads: usize) -> Result<Self, String> {
        let process = start(build, threads)?;
        Ok(Self { build: build.clone(), threads, process: Some(process) })
    }

    /// Ends the process; the next one is started when it is asked for something.
    pub(super) fn renew(&mut self) {
        self.process = None;
    }

    /// Has one program run.
    ///
    /// # Errors
    ///
    /// One line: a wrong result, a crash, or no reply within a minute.
    pub(crate) fn ask(&mut self, request: Request) -> Result<Sample, String> {
        let process = match self.process.take() {
            Some(process) => process,
            None => start(&self.build, self.threads)?,
        };
        // A process that failed is dropped, and so killed.
        let process = self.process.insert(process);
        let reply = process.ask(&request.to_string(), LIMIT);
        let sample = reply.and_then(|reply| parse(&reply));
        if sample.is_err() {
            self.process = None;
        }
        sample
    }
}

/// Starts a server, and reads its greeting.
fn start(build: &Build, threads: usize) -> Result<Process, String> {
    let mut command = Command::new(&build.program);
    // Environment variables of Sinew would change one side only.
    remove_settings(&mut command, std::env::vars_os().map(|(name, _)| name));
    command.env(build.threads_variable, threads.to_string());
    let mut process = Process::start(&mut command)?;
    let greeting = process.line(LIMIT)?;
    if suits(&greeting, build.greeting, threads) {
        return Ok(process);
    }
    let (program, [package, origin]) = (build.program.display(), build.greeting);
    Err(format!(
        "{program} should be on {package} of the {origin} with {threads} threads, and says \
         {greeting:?}"
    ))
}

/// Takes away from what `command` starts those of the variables `names` that are settings of thread
/// pools.
pub(crate) fn remove_settings(command: &mut Command, names: impl Iterator<Item = OsString>) {
    let is_setting = |name: &OsString| {
        name.to_str().is_some_and(|name| name.starts_with("SINEW_") || name.starts_with("RAYON_"))
    };
    names.filter(is_setting).for_each(|name| _ = command.env_remove(name));
}

/// Whether a server's first line names the package, its origin and the threads that it should have.
fn suits(greeting: &str, [package, origin]: [&str; 2], threads: usize) -> bool {
    let words: Vec<&str> = greeting.split_whitespace().collect();
    let [name, _, from, _, count] = words[..] else { return false };
    name == package && from == origin && count.parse() == Ok(threads)
}

fn parse(reply: &str) -> Result<Sample, String> {
    let words: Vec<&str> = reply.split_whitespace().collect();
    let number = |word: &str| word.parse::<u64>().ok();
    match words[..] {
        ["done", wall, cpu, answer] => {
            let numbers = number(wall).zip(number(cpu)).zip(number(answer));
            let sample = |((wall_ns, cpu_ns), answer)| Sample { wall_ns, cpu_ns, answer };
            numbers.map(sample).ok_or_else(|| format!("answered {reply:?}"))
        }
        ["wrong", answer, expected] => Err(format!("WRONG ANSWER: {answer}, expected {expected}")),
        _ => Err(format!("answered {reply:?}")),
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: a server that says something else; `programs --tiny` talks to real
    //! ones.
    use super::*;

    #[test]
    fn a_reply_is_two_times_and_an_answer() {
        assert_eq!(parse("done 12 34 56"), Ok(Sample { wall_ns: 12, cpu_ns: 34, answer: 56 }));
        assert_eq!(parse("wrong 5 6"), Err("WRONG ANSWER: 5, expected 6".to_owned()));
        for reply in ["", "done 12 34", "done 12 34 many", "error what?"] {
            assert_eq!(parse(reply), Err(format!("answered {reply:?}")));
        }
    }

    #[test]
    fn a_server_on_another_core_or_with_other_threads_is_refused() {
        let greeting = "rayon-core 1.13.0 registry threads 2";
        assert!(suits(greeting, ["rayon-core", "registry"], 2));
        assert!(!suits(greeting, ["rayon-core", "path"], 2));
        assert!(!suits(greeting, ["rayon", "registry"], 2));
        assert!(!suits(greeting, ["rayon-core", "registry"], 1));
        assert!(!suits("", ["rayon-core", "registry"], 1));
    }

    #[test]
    fn settings_of_thread_pools_do_not_reach_a_server() {
        let mut command = Command::new("true");
        let names = ["PATH", "RAYON_RS_NUM_CPUS", "SINEW_WAIT"].map(OsString::from);
        remove_settings(&mut command, names.into_iter());
        let removed: Vec<_> = command.get_envs().collect();
        assert_eq!(removed, [("RAYON_RS_NUM_CPUS".as_ref(), None), ("SINEW_WAIT".as_ref(), None)]);
    }

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let build = Build {
            program: "/nowhere/programs".into(),
            greeting: ["rayon-core", "path"],
            threads_variable: "RAYON_NUM_THREADS",
        };
        let why = Server::start(&build, 1).unwrap_err();
        assert!(why.contains("/nowhere/programs"), "{why}");
    }
}
