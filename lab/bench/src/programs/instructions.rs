//! Instructions of one run of each program on one thread, counted by callgrind: figures that repeat
//! where times do not.
//!
//! A server runs under valgrind and is asked for a program once, and then, as a new process,
//! several times. The difference belongs to the further runs alone: starting up and making the
//! input is in both.

use super::builds::Build;
use super::catalogue::{Entry, Kind};
use super::server::Request;
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
}

/// Counts and prints the instructions of every program that does something.
///
/// # Errors
///
/// One line: valgrind is missing, or a program failed under it.
pub(super) fn count(entries: &[&'static Entry], builds: [&Build; 2]) -> Result<Vec<Count>, String> {
    say!("\ninstructions of a tiny run on one thread (callgrind)");
    say!("  {:<16}{:>14}{:>14}{:>8}", "", "upstream", "sinew", "ratio");
    let mut counts = Vec::new();
    for entry in entries.iter().filter(|entry| entry.kind != Kind::Idle) {
        let [upstream, sinew] = [one_run(entry.name, builds[0])?, one_run(entry.name, builds[1])?];
        let ratio = sinew as f64 / upstream.max(1) as f64;
        say!("  {:<16}{upstream:>14}{sinew:>14}{ratio:>8.2}", entry.name);
        counts.push(Count { program: entry.name, upstream, sinew });
    }
    Ok(counts)
}

fn one_run(name: &'static str, build: &Build) -> Result<u64, String> {
    let runs =
        |repeats| under_callgrind(build, Request { verb: "count", name, tiny: true, repeats });
    Ok(runs(1 + FURTHER)?.saturating_sub(runs(1)?) / u64::from(FURTHER))
}

/// The number of instructions of a server that serves `request` and ends.
fn under_callgrind(build: &Build, request: Request) -> Result<u64, String> {
    let mut child = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(&build.program)
        .env("RAYON_NUM_THREADS", "1")
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
