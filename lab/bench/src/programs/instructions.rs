//! Instructions of one run of each program on one thread, counted by callgrind: figures that repeat
//! where times do not.
//!
//! A server runs under valgrind and is asked for a program once, and then, as a new process,
//! several times. The difference belongs to the further runs alone: starting up and making the
//! input is in both.

use super::builds::Build;
use super::catalogue::{CHAIN_ITEMS, Entry, Kind};
use super::rounds::has_loop;
use super::server::{Request, remove_settings};
use crate::output::say;
use serde::Serialize;
use std::io::Write;
use std::process::{Command, Stdio};

/// Runs beside the first one.
const FURTHER: u32 = 20;

/// Instructions of one program.
#[derive(Debug, Serialize)]
pub(super) struct Count {
    program: &'static str,
    upstream: u64,
    sinew: u64,
    /// Those of the loop without rayon, where that was counted.
    serial: Option<u64>,
    /// Items of a run, where a count of one item means something.
    items: Option<usize>,
}

impl Count {
    fn of(entry: &Entry, [upstream, sinew]: [&Build; 2], loops: bool) -> Result<Self, String> {
        let name = entry.name;
        let counts_loop = loops && has_loop(entry.kind);
        Ok(Self {
            program: name,
            upstream: one_run("count", name, upstream)?,
            sinew: one_run("count", name, sinew)?,
            serial: counts_loop.then(|| one_run("count-serial", name, upstream)).transpose()?,
            items: (entry.kind == Kind::Chain).then_some(CHAIN_ITEMS[1]),
        })
    }

    /// A line of the table.
    fn line(&self) -> String {
        let Self { program, upstream, sinew, serial, items } = self;
        let ratio = *sinew as f64 / (*upstream).max(1) as f64;
        let mut line = format!("  {program:<16}{upstream:>14}{sinew:>14}{ratio:>8.2}");
        if let Some(serial) = serial {
            let ratio = *sinew as f64 / (*serial).max(1) as f64;
            line += &format!("{serial:>14}{ratio:>8.2}");
        }
        if let (Some(serial), Some(items)) = (serial, items) {
            let [upstream, sinew, serial] =
                [upstream, sinew, serial].map(|count| *count as f64 / *items as f64);
            line += &format!("{upstream:>10.2}{sinew:>10.2}{serial:>10.2}");
        }
        line
    }
}

/// Counts and prints the instructions of every program that does something; with `loops` also
/// those of the loops without rayon, and those of one item of a chain.
///
/// # Errors
///
/// One line: valgrind is missing, or a program failed under it.
pub(super) fn count(
    entries: &[&'static Entry],
    builds: [&Build; 2],
    loops: bool,
) -> Result<Vec<Count>, String> {
    say!("\ninstructions of a tiny run on one thread (callgrind)");
    let head = format!("  {:<16}{:>14}{:>14}{:>8}", "", "upstream", "sinew", "ratio");
    if loops {
        let items = format!("{:>10}{:>10}{:>10}", "an item:", "sinew", "loop");
        say!("{head}{:>14}{:>8}{items}", "loop", "ratio");
    } else {
        say!("{head}");
    }
    let mut counts = Vec::new();
    for entry in entries.iter().filter(|entry| entry.kind != Kind::Idle) {
        let count = Count::of(entry, builds, loops)?;
        say!("{}", count.line());
        counts.push(count);
    }
    Ok(counts)
}

fn one_run(verb: &'static str, name: &'static str, build: &Build) -> Result<u64, String> {
    let runs = |repeats| under_callgrind(build, Request { verb, name, tiny: true, repeats });
    Ok(runs(1 + FURTHER)?.saturating_sub(runs(1)?) / u64::from(FURTHER))
}

/// The number of instructions of a server that serves `request` and ends.
fn under_callgrind(build: &Build, request: Request) -> Result<u64, String> {
    let mut command = Command::new("valgrind");
    remove_settings(&mut command, std::env::vars_os().map(|(name, _)| name));
    let mut child = command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(&build.program)
        .env(build.threads_variable, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("no valgrind: {error}"))?;
    let failed = |why: String| format!("{} failed under valgrind: {why}", request.name);
    if let Some(mut input) = child.stdin.take() {
        writeln!(input, "{request}").map_err(|error| failed(error.to_string()))?;
    }
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    let replies = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || !replies.lines().any(|line| line.starts_with("done ")) {
        return Err(failed(format!("{}, it said {replies:?}", output.status)));
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    let collected = messages.lines().find_map(crate::instructions::collected);
    collected.ok_or_else(|| failed("no count".to_owned()))
}

#[cfg(test)]
mod tests {
    //! Blind to: instructions that only more threads execute.
    use super::*;

    #[test]
    fn a_line_has_ratios_and_counts_of_one_item() {
        let count = Count {
            program: "chain-sum",
            upstream: 40_000,
            sinew: 20_000,
            serial: Some(10_000),
            items: Some(10_000),
        };
        let line = count.line();
        let words: Vec<&str> = line.split_whitespace().collect();
        let expected =
            ["chain-sum", "40000", "20000", "0.50", "10000", "2.00", "4.00", "2.00", "1.00"];
        assert_eq!(words, expected);
        let line = Count { serial: None, ..count }.line();
        assert_eq!(line.split_whitespace().count(), 4, "{line}");
    }
}
