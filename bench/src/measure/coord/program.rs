//! A program of many short parallel loops, as a process that begins when it is told to.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;

use crate::runtimes::sinew::{Pool, over};
use crate::work::spin;

/// Iterations of a loop, and steps of one: some 100 µs of work a loop.
const ITEMS: u64 = 64;
const STEPS: u64 = 1_000;

/// What a program is told on its command line.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How many loops.
    loops: usize,
    /// The folder of the table, if there is one.
    table: Option<PathBuf>,
}

/// The program itself: says that it is there, waits for a line, and answers with nanoseconds and a checksum.
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
        let part = pool
            .run(|_| over(0..ITEMS as usize).map_reduce(|i| spin(STEPS, i as u64), || 0, u64::wrapping_add));
        sum = sum.wrapping_add(part);
    }
    println!("{} {sum}", began.elapsed().as_nanos());
    Ok(())
}

/// A program that waits to begin, or runs. Killed when it is dropped.
pub(super) struct Program {
    child: Child,
    said: BufReader<ChildStdout>,
    loops: usize,
}

impl Program {
    pub(super) fn start(loops: usize, table: Option<&Path>) -> Result<Self, String> {
        let fail = |error: std::io::Error| format!("cannot start a program: {error}");
        let mut command = Command::new(std::env::current_exe().map_err(fail)?);
        command.args(["coord-program", &loops.to_string()]).args(table);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(fail)?;
        let said = BufReader::new(child.stdout.take().ok_or("a program without output")?);
        let mut program = Self { child, said, loops };
        match program.line()?.as_str() {
            "ready" => Ok(program),
            other => Err(format!("a program said `{other}`")),
        }
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        self.said.read_line(&mut line).map_err(|error| format!("a program is silent: {error}"))?;
        Ok(line.trim().to_owned())
    }

    /// Lets it begin.
    pub(super) fn go(mut self) -> Result<Self, String> {
        let input = self.child.stdin.as_mut().ok_or("a program without input")?;
        input.write_all(b"go\n").map_err(|error| format!("a program does not listen: {error}"))?;
        Ok(self)
    }

    /// Waits for its end; answers how long it took by its own clock.
    pub(super) fn finish(mut self) -> Result<Duration, String> {
        let line = self.line()?;
        let (time, sum) = line.split_once(' ').ok_or_else(|| format!("a program said `{line}`"))?;
        let one: u64 = (0..ITEMS).map(|i| spin(STEPS, i)).fold(0, u64::wrapping_add);
        if sum != one.wrapping_mul(self.loops as u64).to_string() {
            return Err("a program computed something else".into());
        }
        let time = time.parse().map_err(|_| format!("a program said `{line}`"))?;
        self.child.wait().map_err(|error| error.to_string())?;
        Ok(Duration::from_nanos(time))
    }

    pub(super) fn kill(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}
