//! The workload in C, serially and with OpenMP: compiled on demand if there is a compiler, and run
//! in a process of its own that communicates by lines.

use std::fs;
use std::process::{Command, Stdio};

use sinew_apps::collatz::Kind;

use crate::failure::Failure;
use crate::process::Spoken;

const SOURCE: &str = include_str!("../../rivals/collatz.c");

/// The tasks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) kind: Kind,
    pub(crate) tasks: usize,
    pub(crate) heavy: u32,
    pub(crate) light: u32,
    pub(crate) parts: usize,
    /// Entries of the table; a power of two.
    pub(crate) entries: usize,
}

impl Load {
    /// Tasks that compute, all with as many repetitions.
    pub(crate) fn uniform(tasks: usize, repeats: u32) -> Self {
        Self { kind: Kind::Compute, tasks, heavy: repeats, light: repeats, parts: 1, entries: 1 }
    }
}

/// The schedule of the tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Team {
    /// Serial: one after the other.
    Alone,
    Static,
    Dynamic(usize),
}

/// The process. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct OpenMp(Spoken);

impl OpenMp {
    /// Compiles the program and starts it; `None` where that is not possible.
    pub(crate) fn start() -> Option<Self> {
        let folder = tempfile::tempdir().ok()?;
        let (source, program) = (folder.path().join("collatz.c"), folder.path().join("collatz"));
        fs::write(&source, SOURCE).ok()?;
        let mut compiler = Command::new("cc");
        compiler.args(["-std=gnu11", "-O3", "-fopenmp", "-o"]).args([&program, &source]);
        let compiled = compiler
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .ok()?;
        if !compiled.success() {
            return None;
        }
        // The folder goes now; a running program keeps its file.
        Spoken::start("the OpenMP program", &mut Command::new(&program)).ok().map(Self)
    }

    /// Runs all tasks; returns the seconds it took and the sum of the results.
    ///
    /// # Errors
    ///
    /// If the process has ended.
    pub(crate) fn run(
        &mut self,
        load: &Load,
        team: Team,
        threads: usize,
    ) -> Result<(f64, u64), Failure> {
        let line = line(load, team, threads);
        let reply = self.0.ask(&line).map_err(Failure::Impossible)?;
        parse(&reply).ok_or_else(|| {
            Failure::impossible(format!("the OpenMP program answered {reply:?} to {line:?}"))
        })
    }
}

fn line(load: &Load, team: Team, threads: usize) -> String {
    let Load { kind, tasks, heavy, light, parts, entries } = *load;
    let kind = match kind {
        Kind::Stream => 1,
        Kind::Irregular => 2,
        _ => 0,
    };
    let (schedule, chunk) = match team {
        Team::Alone => (0, 0),
        Team::Static => (1, 0),
        Team::Dynamic(chunk) => (2, chunk),
    };
    format!("{kind} {tasks} {heavy} {light} {parts} {entries} {schedule} {chunk} {threads}")
}

fn parse(reply: &str) -> Option<(f64, u64)> {
    let (ns, sum) = reply.trim().split_once(' ')?;
    Some((ns.parse::<u64>().ok()? as f64 / 1e9, sum.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_apps::collatz::Workload;

    /// Catches: a program that does other work than ours, by whichever schedule.
    #[test]
    fn the_program_in_c_does_the_same_work() {
        let Some(mut openmp) = OpenMp::start() else {
            println!("skipped: `cc -fopenmp` does not work here");
            return;
        };
        for (kind, entries) in [(Kind::Compute, 1), (Kind::Stream, 256), (Kind::Irregular, 1024)] {
            let load = Load { kind, tasks: 100, heavy: 300, light: 30, parts: 4, entries };
            let workload = Workload::biased(100, 300, 30, 4).kind(kind, entries);
            for (team, threads) in [(Team::Alone, 1), (Team::Static, 2), (Team::Dynamic(7), 2)] {
                let (seconds, sum) = openmp.run(&load, team, threads).unwrap();
                assert_eq!(sum, workload.sum(), "{load:?} {team:?}");
                assert!(seconds > 0.0);
            }
        }
    }

    #[test]
    fn a_reply_is_a_time_and_a_sum() {
        assert_eq!(parse("2000000000 17\n"), Some((2.0, 17)));
        assert!(parse("").is_none() && parse("12\n").is_none() && parse("fast 1\n").is_none());
    }
}
