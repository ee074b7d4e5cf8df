//! OpenMP programs of many short loops beside each other: under the plain operating system, `sinew exec` and `sinew exec --malleable`.
//!
//! The *ideal* is serial work split perfectly over the cores, for programs that come one after the other as well: at each moment those that are there
//! have equal parts. Programs whose threads lose their core while others spin for them take many times that under the plain system, so those are ended
//! at a limit, and the limit is what is shown then.
//!
//! This program becomes `sinew exec` itself, when it is started with [`MODE`] in its environment: no other binary is needed.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Line, Unit};
use crate::problem::Scale;

const SOURCE: &str = include_str!("../../rivals/short_loops.cpp");

/// In the environment of a process that is to become a command: `safe` or `malleable`.
pub(crate) const MODE: &str = "BENCH_EXEC_MODE";

/// Iterations of a loop, and multiplications in each: about 70 µs.
const LOOP: [&str; 2] = ["64", "1000"];
/// A run that takes so many times the ideal is ended.
const CAP: f64 = 12.0;

/// How a program is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Plain,
    Safe,
    Malleable,
}

/// What is compared. A test cannot become another program by starting itself.
const MODES: &[Mode] = if cfg!(test) { &[Mode::Plain] } else { &[Mode::Plain, Mode::Safe, Mode::Malleable] };

/// What is measured.
struct Setup {
    /// Holds program and table, and is removed in the end.
    folder: tempfile::TempDir,
    program: PathBuf,
    loops: u32,
    rounds: usize,
    cores: f64,
    /// Seconds that one program takes on one thread.
    serial: f64,
}

/// Measures, or says what this machine lacks.
pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 {
        return Err("one core is nothing to share".to_owned());
    }
    let (loops, rounds) = if matches!(scale, Scale::Tiny) { (300, 1) } else { (12_000, 3) };
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let program = compile(folder.path())?;
    let mut setup = Setup { folder, program, loops, rounds, cores: cores as f64, serial: 0.0 };
    setup.serial = setup.median(|setup| setup.alone(Mode::Plain, Some("1")))?;
    let mut lines = lone(&setup)?;
    for programs in [2, 3, 4] {
        for staggered in [false, true] {
            lines.extend(together(&setup, programs, staggered)?);
        }
    }
    Ok(lines)
}

fn compile(folder: &Path) -> Result<PathBuf, String> {
    let (source, program) = (folder.join("short_loops.cpp"), folder.join("short_loops"));
    std::fs::write(&source, SOURCE).map_err(|error| format!("cannot write {}: {error}", source.display()))?;
    let mut compiler = Command::new("c++");
    let output = compiler.args(["-O2", "-fopenmp", "-o"]).args([&program, &source]).output();
    let output = output.map_err(|error| format!("no C++ compiler (c++): {error}"))?;
    if output.status.success() { Ok(program) } else { Err("c++ cannot build OpenMP programs".to_owned()) }
}

/// One program with nobody beside it, as parts of its plain time.
fn lone(setup: &Setup) -> Result<Vec<Line>, String> {
    let plain = setup.median(|setup| setup.alone(Mode::Plain, None))?;
    MODES
        .iter()
        .skip(1)
        .map(|&mode| {
            let time = setup.median(|setup| setup.alone(mode, None))?;
            let line = Line::single(
                format!("1 program, {}", mode.name()),
                "time / plain",
                time / plain,
                Unit::Number,
            );
            Ok(line.at_most("time / plain", 1.03, "a lone program takes at most 1.03 times its plain time"))
        })
        .collect()
}

fn together(setup: &Setup, programs: usize, staggered: bool) -> Result<Vec<Line>, String> {
    let gap = if staggered { setup.serial / setup.cores / 2.0 } else { 0.0 };
    let starts: Vec<f64> = (0..programs).map(|index| index as f64 * gap).collect();
    let ideal = ideal_ends(&starts, setup.serial, setup.cores);
    let how = if staggered { "one after the other" } else { "together" };
    MODES
        .iter()
        .map(|&mode| {
            // What takes many times the ideal is not measured more than once.
            let rounds = if mode == Mode::Plain { 1 } else { setup.rounds };
            let results: Result<Vec<(f64, f64)>, String> =
                (0..rounds).map(|_| setup.ratios(mode, &starts, &ideal)).collect();
            let results = results?;
            let (total, worst) = (
                middle(results.iter().map(|result| result.0)),
                middle(results.iter().map(|result| result.1)),
            );
            let mut line = Line::single(
                format!("{programs} programs {how}, {}", mode.name()),
                "total / ideal",
                total,
                Unit::Number,
            );
            line.figures.push(("worst / fair", worst));
            Ok(match mode {
                Mode::Plain => line,
                Mode::Safe => line.at_most("total / ideal", 1.3, "at most 1.3 times the ideal"),
                Mode::Malleable => line.at_most("total / ideal", 1.05, "at most 1.05 times the ideal"),
            })
        })
        .collect()
}

/// When each of some programs ends that start at `starts`, need `work` core-seconds each, and have equal parts of `cores` while they are there.
fn ideal_ends(starts: &[f64], work: f64, cores: f64) -> Vec<f64> {
    let mut left = vec![work; starts.len()];
    let mut ends = vec![0.0; starts.len()];
    let mut now = 0.0;
    while left.iter().any(|left| *left > 0.0) {
        let here: Vec<usize> = (0..starts.len()).filter(|&i| starts[i] <= now && left[i] > 0.0).collect();
        let arrival = starts.iter().copied().filter(|start| *start > now).fold(f64::INFINITY, f64::min);
        let rate = cores / here.len().max(1) as f64;
        let finish = here.iter().map(|&i| left[i] / rate).fold(f64::INFINITY, f64::min);
        let step = finish.min(arrival - now);
        for &i in &here {
            // What is left of rounding is nothing.
            left[i] = if left[i] <= rate * step * (1.0 + 1e-9) { 0.0 } else { left[i] - rate * step };
            ends[i] = now + step;
        }
        now += step;
    }
    ends
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Safe => "exec",
            Self::Malleable => "exec --malleable",
        }
    }
}

impl Setup {
    fn command(&self, mode: Mode) -> Result<Command, String> {
        let own =
            std::env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))?;
        let mut command = match mode {
            Mode::Plain => Command::new(&self.program),
            Mode::Safe | Mode::Malleable => {
                let mut command = Command::new(own);
                command.env(MODE, if mode == Mode::Safe { "safe" } else { "malleable" }).arg(&self.program);
                command
            }
        };
        command.arg(self.loops.to_string()).args(LOOP).stdout(Stdio::null());
        command.env_remove("OMP_NUM_THREADS").env("SINEW_TABLE_DIR", self.folder.path().join("table"));
        Ok(command)
    }

    /// Seconds of a program with nobody beside it.
    fn alone(&self, mode: Mode, threads: Option<&str>) -> Result<f64, String> {
        let mut command = self.command(mode)?;
        if let Some(threads) = threads {
            command.env("OMP_NUM_THREADS", threads);
        }
        let start = Instant::now();
        let status = command
            .status()
            .map_err(|error| format!("{} cannot be started: {error}", self.program.display()))?;
        if status.success() {
            Ok(start.elapsed().as_secs_f64())
        } else {
            Err(format!("a program ended with {status}"))
        }
    }

    fn median(&self, sample: impl Fn(&Self) -> Result<f64, String>) -> Result<f64, String> {
        let samples: Result<Vec<f64>, String> = (0..self.rounds).map(|_| sample(self)).collect();
        Ok(middle(samples?))
    }

    /// Total and worst of one run, as parts of the ideal. At the limit, the limit.
    fn ratios(&self, mode: Mode, starts: &[f64], ideal: &[f64]) -> Result<(f64, f64), String> {
        let last = ideal.iter().copied().fold(0.0, f64::max);
        let began = Instant::now();
        let mut children = Vec::new();
        for start in starts {
            std::thread::sleep(Duration::from_secs_f64((start - began.elapsed().as_secs_f64()).max(0.0)));
            let child = self.command(mode)?.spawn();
            let at = began.elapsed().as_secs_f64();
            children.push((child.map_err(|error| format!("a program cannot be started: {error}"))?, at));
        }
        let ends = wait_all(&mut children, began, CAP * last)
            .map_err(|error| format!("a program cannot be waited for: {error}"))?;
        let Some(ends) = ends else { return Ok((CAP, CAP)) };
        let total = ends.iter().copied().fold(0.0, f64::max) / last;
        let parts = (0..ends.len()).map(|i| (ends[i] - children[i].1) / (ideal[i] - starts[i]));
        Ok((total, parts.fold(0.0, f64::max)))
    }
}

/// When each has ended, in seconds since `began`; `None` if they were ended at `limit`.
fn wait_all(children: &mut [(Child, f64)], began: Instant, limit: f64) -> io::Result<Option<Vec<f64>>> {
    let mut ends = vec![None; children.len()];
    while ends.contains(&None) {
        for ((child, _), end) in children.iter_mut().zip(&mut ends) {
            if end.is_none() && child.try_wait()?.is_some() {
                *end = Some(began.elapsed().as_secs_f64());
            }
        }
        if began.elapsed().as_secs_f64() > limit {
            for (child, _) in children.iter_mut() {
                let _ = child.kill();
                child.wait()?;
            }
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(Some(ends.into_iter().flatten().collect()))
}

fn middle(samples: impl IntoIterator<Item = f64>) -> f64 {
    let mut samples: Vec<f64> = samples.into_iter().collect();
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Becomes the command that the arguments name, if the environment says so. Called before anything else, while there is one thread.
pub(crate) fn become_command() -> Option<String> {
    let mode = std::env::var(MODE).ok()?;
    let mut words = std::env::args_os().skip(1);
    let program = words.next().unwrap_or_default();
    let arguments: Vec<OsString> = words.collect();
    Some(exec(program, arguments, mode == "malleable"))
}

#[cfg(target_os = "linux")]
fn exec(program: OsString, arguments: Vec<OsString>, malleable: bool) -> String {
    let command = sinew_exec::Command { program, arguments, malleable, ..sinew_exec::Command::default() };
    sinew_exec::exec(&command, |job| sinew_exec::join_table(job, 1.0)).to_string()
}

#[cfg(not(target_os = "linux"))]
fn exec(program: OsString, _: Vec<OsString>, _: bool) -> String {
    format!("{}: exec needs Linux", program.display())
}

#[cfg(test)]
mod tests {
    //! What they would miss: what the machine does.
    use super::*;

    /// Would miss: programs that cannot use their part.
    #[test]
    fn the_ideal_shares_equally_among_those_who_are_there() {
        assert_eq!(ideal_ends(&[0.0, 0.0], 1.0, 2.0), [1.0, 1.0]);
        // The first has both cores for a quarter of a second; then each has one.
        let ends = ideal_ends(&[0.0, 0.25], 1.0, 2.0);
        assert!((ends[0] - 0.75).abs() < 1e-6 && (ends[1] - 1.0).abs() < 1e-6, "{ends:?}");
        let alone = ideal_ends(&[0.0, 5.0], 1.0, 2.0);
        assert!((alone[0] - 0.5).abs() < 1e-6 && (alone[1] - 5.5).abs() < 1e-6, "{alone:?}");
    }
}
