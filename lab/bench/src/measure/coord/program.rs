//! A program of many short parallel loops, as a process that begins when it is told to.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use clap::Args;
use sinew_reproduce::process::Spoken;

use crate::runtimes::sinew::{ParIter, Pool, over};
use crate::work::spin;

/// Iterations of a loop, and steps of one: some 100 µs of work a loop.
const ITEMS: u64 = 64;
const STEPS: u64 = 1_000;

/// The command line of a program.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Number of loops.
    loops: usize,
    /// The folder of the table, if there is one.
    table: Option<PathBuf>,
}

/// The program itself: reports that it is running, waits for a line, and prints nanoseconds and a
/// checksum.
pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    let builder = Pool::builder();
    let builder = match &arguments.table {
        Some(folder) => builder.coordinate_in(folder),
        None => builder,
    };
    let pool = builder.build().map_err(|error| error.to_string())?;
    println!("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(|error| error.to_string())?;
    let began = Instant::now();
    let mut sum = 0_u64;
    for _ in 0..arguments.loops {
        let part =
            pool.run(|_| over(0..ITEMS).map(|i| spin(STEPS, i)).reduce(|| 0, u64::wrapping_add));
        sum = sum.wrapping_add(part);
    }
    println!("{} {sum}", began.elapsed().as_nanos());
    Ok(())
}

/// A program that waits to begin, or runs. Killed when it is dropped.
pub(super) struct Program {
    process: Spoken,
    loops: usize,
}

impl Program {
    pub(super) fn start(loops: usize, table: Option<&Path>) -> Result<Self, String> {
        let binary = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(binary);
        let command = command.args(["coord-program", &loops.to_string()]).args(table);
        let mut process = Spoken::start("a program", command)?;
        match process.line()?.as_str() {
            "ready" => Ok(Self { process, loops }),
            other => Err(format!("a program said `{other}`")),
        }
    }

    /// Lets it begin.
    pub(super) fn go(mut self) -> Result<Self, String> {
        self.process.say("go")?;
        Ok(self)
    }

    /// Lets it begin, and waits for its last word: it is about to end then.
    pub(super) fn finish_soon(&mut self) -> Result<(), String> {
        self.process.ask("go").map(drop)
    }

    /// Waits for its end; returns how long it took by its own clock.
    pub(super) fn finish(mut self) -> Result<Duration, String> {
        let line = self.process.line()?;
        let (time, sum) = line.split_once(' ').ok_or_else(|| format!("a program said `{line}`"))?;
        let one: u64 = (0..ITEMS).map(|i| spin(STEPS, i)).fold(0, u64::wrapping_add);
        if sum != one.wrapping_mul(self.loops as u64).to_string() {
            return Err("a program computed something else".into());
        }
        let time = time.parse().map_err(|_| format!("a program said `{line}`"))?;
        self.process.end()?;
        Ok(Duration::from_nanos(time))
    }

    pub(super) fn kill(&mut self) {
        self.process.kill();
    }
}
