//! OpenMP programs of many short loops beside each other: under the plain operating system, `sinew
//! exec` and `sinew exec --malleable`.
//!
//! The *ideal* is serial work divided perfectly over the cores. It also applies to programs that
//! arrive one after the other: at each time the running programs have equal parts. Programs with a
//! *thread each*, and a lone plain one, show how near to that this machine comes where there is
//! nothing to share out. Programs whose threads lose their core while others spin for them take
//! many times as long under the plain system. They are ended at a limit, and the limit is shown
//! instead.
//!
//! Lone programs are measured in more rounds than the others: their bar is three hundredths, and
//! single runs differ by more. Each round runs all ways of starting one, in turn forwards and
//! backwards.
//!
//! The command is the one that stands in the folder of this program ([`tool`]).

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::line::{Line, Unit};
use super::tool;
use crate::problem::Scale;
use crate::statistics::Summary;

pub(super) const SOURCE: &str = include_str!("../../rivals/short_loops.cpp");

/// Iterations of a loop, and multiplications in each: about 70 µs.
const LOOP: [&str; 2] = ["64", "1000"];
/// A run is ended at this multiple of the ideal.
pub(super) const CAP: f64 = 12.0;

/// Rounds of programs that run alone.
const LONE_ROUNDS: usize = 15;

/// The way a program is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Plain,
    /// With one thread, by the user's choice.
    Single,
    Safe,
    Malleable,
}

/// The compared configurations. A test does without the command.
const MODES: &[Mode] =
    if cfg!(test) { &[Mode::Plain] } else { &[Mode::Plain, Mode::Safe, Mode::Malleable] };

/// The measured programs.
struct Setup {
    /// Holds program and table, and is removed in the end.
    folder: tempfile::TempDir,
    program: PathBuf,
    loops: u32,
    cores: f64,
}

/// Measures, or says what this machine lacks.
pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 {
        return Err("one core is nothing to share".to_owned());
    }
    let (loops, rounds) = (scale.pick(12_000, 60), scale.pick(5, 1));
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let program = compile(folder.path())?;
    let setup = Setup { folder, program, loops, cores: cores as f64 };
    let mut cases = Case::all();
    let (lone, several) = cases.split_at_mut(MODES.len());
    for round in 0..scale.pick(LONE_ROUNDS, 3) {
        setup.lone_round(lone, round)?;
    }
    for round in 0..rounds {
        setup.round(several, round)?;
    }
    Ok(cases.iter().map(Case::line).collect())
}

fn compile(folder: &Path) -> Result<PathBuf, String> {
    let (source, program) = (folder.join("short_loops.cpp"), folder.join("short_loops"));
    std::fs::write(&source, SOURCE)
        .map_err(|error| format!("cannot write {}: {error}", source.display()))?;
    let mut compiler = Command::new("c++");
    let output = compiler.args(["-O2", "-fopenmp", "-o"]).args([&program, &source]).output();
    let output = output.map_err(|error| format!("no C++ compiler (c++): {error}"))?;
    if output.status.success() {
        Ok(program)
    } else {
        Err("c++ cannot build OpenMP programs".to_owned())
    }
}

/// Some programs, started this way, and the results of each round. Results are the total time and
/// the worst program's, as parts of the ideal; for a lone program that is not plain, of its plain
/// time.
struct Case {
    programs: usize,
    staggered: bool,
    mode: Mode,
    ratios: Vec<(f64, f64)>,
}

impl Case {
    /// First the programs that run alone, one for each mode.
    fn all() -> Vec<Self> {
        let case =
            |programs, staggered, mode| Self { programs, staggered, mode, ratios: Vec::new() };
        let lone = MODES.iter().map(|&mode| case(1, false, mode));
        let several = [(2, false), (2, true), (3, false), (3, true), (4, false), (4, true)];
        let beside = several.into_iter().flat_map(|(programs, staggered)| {
            MODES.iter().map(move |&mode| case(programs, staggered, mode))
        });
        let single = (2..=4).map(|programs| case(programs, false, Mode::Single));
        lone.chain(beside).chain(single).collect()
    }

    /// The median of the rounds, and the middle half of them.
    fn lone_line(&self) -> Line {
        let name = format!("1 program, {}", self.mode.name());
        let of = if self.mode == Mode::Plain { "total / ideal" } else { "time / plain" };
        let rounds = Summary::of(self.ratios.iter().map(|ratios| ratios.0)).expect("a round");
        let mut line = Line::single(name, of, rounds.median, Unit::Number);
        line.figures.extend([("from", rounds.lower), ("to", rounds.upper)]);
        match self.mode {
            Mode::Plain => line,
            _ => line.at_most(of, 1.03, "a lone program takes at most 1.03 times its plain time"),
        }
    }

    fn line(&self) -> Line {
        if self.programs == 1 {
            return self.lone_line();
        }
        let how = if self.staggered { "one after the other" } else { "together" };
        let name = format!("{} programs {how}, {}", self.programs, self.mode.name());
        let total = middle(self.ratios.iter().map(|ratios| ratios.0));
        let mut line = Line::single(name, "total / ideal", total, Unit::Number);
        line.figures.push(("worst / fair", middle(self.ratios.iter().map(|ratios| ratios.1))));
        match self.mode {
            Mode::Plain | Mode::Single => line,
            Mode::Safe => line.at_most("total / ideal", 1.3, "at most 1.3 times the ideal"),
            Mode::Malleable => line
                .at_most("total / ideal", 1.05, "at most 1.05 times the ideal")
                .at_most("worst / fair", 1.15, "the worst at most 1.15 times its fair share"),
        }
    }
}

/// The end of each of some programs that start at `starts`, need `works` core-seconds, and have
/// equal parts of `cores` while they run.
pub(super) fn ideal_ends(starts: &[f64], works: &[f64], cores: f64) -> Vec<f64> {
    let mut left = works.to_vec();
    let mut ends = vec![0.0; starts.len()];
    let mut now = 0.0;
    while left.iter().any(|left| *left > 0.0) {
        let here: Vec<usize> =
            (0..starts.len()).filter(|&i| starts[i] <= now && left[i] > 0.0).collect();
        let arrival =
            starts.iter().copied().filter(|start| *start > now).fold(f64::INFINITY, f64::min);
        let rate = cores / here.len().max(1) as f64;
        let finish = here.iter().map(|&i| left[i] / rate).fold(f64::INFINITY, f64::min);
        let step = finish.min(arrival - now);
        for &i in &here {
            // Rounding to zero yields no sign.
            left[i] =
                if left[i] <= rate * step * (1.0 + 1e-9) { 0.0 } else { left[i] - rate * step };
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
            Self::Single => "a thread each",
            Self::Safe => "exec",
            Self::Malleable => "exec --malleable",
        }
    }
}

impl Mode {
    /// The command that runs `program` in this way.
    fn command(self, program: impl AsRef<OsStr>) -> Result<Command, String> {
        let mut command = match self {
            Self::Plain | Self::Single => return Ok(Command::new(program)),
            Self::Safe => tool::exec(&[])?,
            Self::Malleable => tool::exec(&["--malleable"])?,
        };
        command.arg(program);
        Ok(command)
    }
}

impl Setup {
    fn command(&self, mode: Mode) -> Result<Command, String> {
        let mut command = mode.command(&self.program)?;
        command.arg(self.loops.to_string()).args(LOOP).stdout(Stdio::null());
        command.env_remove("OMP_NUM_THREADS");
        if mode == Mode::Single {
            command.env("OMP_NUM_THREADS", "1");
        }
        command.env("SINEW_TABLE_DIR", self.folder.path().join("table"));
        Ok(command)
    }

    /// Seconds of a program that runs alone.
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

    /// One run of each program that runs alone. Their bases are measured in the same round, because
    /// the speed of the machine varies over time.
    fn lone_round(&self, cases: &mut [Case], round: usize) -> Result<(), String> {
        let serial = self.alone(Mode::Plain, Some("1"))?;
        let mut times = vec![0.0; cases.len()];
        for turn in 0..cases.len() {
            let index = if round.is_multiple_of(2) { turn } else { cases.len() - 1 - turn };
            times[index] = self.alone(cases[index].mode, None)?;
        }
        let plain = times[0];
        for (case, time) in cases.iter_mut().zip(times) {
            let base = if case.mode == Mode::Plain { serial / self.cores } else { plain };
            case.ratios.push((time / base, time / base));
        }
        Ok(())
    }

    /// One run of every other case, with a base from the same round.
    fn round(&self, cases: &mut [Case], round: usize) -> Result<(), String> {
        let serial = self.alone(Mode::Plain, Some("1"))?;
        for case in cases {
            // Configurations that take many times the ideal are measured only once.
            if case.mode == Mode::Plain && round > 0 {
                continue;
            }
            case.ratios.push(self.together(case, serial)?);
        }
        Ok(())
    }

    fn together(&self, case: &Case, serial: f64) -> Result<(f64, f64), String> {
        let gap = if case.staggered { serial / self.cores / 2.0 } else { 0.0 };
        let starts: Vec<f64> = (0..case.programs).map(|index| index as f64 * gap).collect();
        self.ratios(
            case.mode,
            &starts,
            &ideal_ends(&starts, &vec![serial; starts.len()], self.cores),
        )
    }

    /// Total and worst of one run, as parts of the ideal. At the limit, the limit.
    fn ratios(&self, mode: Mode, starts: &[f64], ideal: &[f64]) -> Result<(f64, f64), String> {
        let last = ideal.iter().copied().fold(0.0, f64::max);
        let began = Instant::now();
        let mut children = Vec::new();
        for start in starts {
            std::thread::sleep(Duration::from_secs_f64(
                (start - began.elapsed().as_secs_f64()).max(0.0),
            ));
            let child = self.command(mode)?.spawn();
            let at = began.elapsed().as_secs_f64();
            children.push((
                child.map_err(|error| format!("a program cannot be started: {error}"))?,
                at,
            ));
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
pub(super) fn wait_all(
    children: &mut [(Child, f64)],
    began: Instant,
    limit: f64,
) -> io::Result<Option<Vec<f64>>> {
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

pub(super) fn middle(samples: impl IntoIterator<Item = f64>) -> f64 {
    let mut samples: Vec<f64> = samples.into_iter().collect();
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The command.
const COMMAND: &str = "/bin/true";

const A_SECOND: u32 = 64;
const PERIOD: Duration = Duration::from_nanos(1_000_000_000 / A_SECOND as u64);

/// Of a hundred commands, this many more than plain ones may be late.
const MORE_LATE: f64 = 5.0;

/// Of the commands that do nothing, what is compared.
const BARE: &[Mode] = if cfg!(test) { &[Mode::Plain] } else { &[Mode::Plain, Mode::Safe] };

/// Commands that do nothing: how long each takes, one after the other, and how many end late where
/// 64 of them arrive in a second. A command is *due* at a time that depends on no other command,
/// and *late* if it has not ended when the next one is due. Work that a command leaves to be done
/// after its end delays those that come later, and so is seen here.
pub(super) fn arrivals(scale: Scale) -> Result<Vec<Line>, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let start = |mode: Mode| run_bare(mode, folder.path());
    let (times, commands) = (scale.pick(101, 3), scale.pick(8 * A_SECOND, 8));
    let mut lone = vec![Vec::new(); BARE.len()];
    for _ in 0..times {
        for (mode, times) in BARE.iter().zip(&mut lone) {
            times.push(start(*mode)?.as_nanos() as f64);
        }
    }
    let lone = BARE.iter().zip(lone).filter_map(|(mode, times)| lone_line(*mode, times));
    let mut lines: Vec<Line> = lone.collect();
    let mut plain = 0.0;
    for mode in BARE {
        let late = late(commands, &|| start(*mode))?;
        let part = 100.0 * late as f64 / f64::from(commands);
        let what = format!("{commands} commands, {A_SECOND} a second, {}", mode.name());
        let line = Line::single(what, "late", late as f64, Unit::Number);
        let bar = "at most 5 in a hundred more late than plain";
        lines.push(match mode {
            Mode::Safe => {
                line.at_most("late", (plain + MORE_LATE) * f64::from(commands) / 100.0, bar)
            }
            _ => {
                plain = part;
                line
            }
        });
    }
    Ok(lines)
}

fn lone_line(mode: Mode, times: Vec<f64>) -> Option<Line> {
    let line = Line::percentiles(format!("{COMMAND}, {}", mode.name()), times)?;
    Some(match mode {
        Mode::Safe => line.at_most("median", 4e6, "at most 4 ms"),
        _ => line,
    })
}

/// Runs the command, and returns how long that took.
fn run_bare(mode: Mode, folder: &Path) -> Result<Duration, String> {
    let mut command = mode.command(COMMAND)?;
    command.env("SINEW_TABLE_DIR", folder.join("table"));
    let began = Instant::now();
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(|error| format!("{COMMAND} cannot be started: {error}"))?;
    match status.success() {
        true => Ok(began.elapsed()),
        false => Err(format!("{COMMAND} ended with {status}")),
    }
}

/// The number of these commands that end late.
fn late(
    commands: u32,
    start: &(dyn Fn() -> Result<Duration, String> + Sync),
) -> Result<usize, String> {
    let began = Instant::now();
    // Each thread starts a command a second.
    let starter = |first: u32| {
        let mut late = 0;
        for number in (first..commands).step_by(A_SECOND as usize) {
            let due = began + PERIOD * number;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            start()?;
            late += usize::from(due.elapsed() > PERIOD);
        }
        Ok(late)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..A_SECOND.min(commands)).map(|first| scope.spawn(move || starter(first))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    })
}

#[cfg(test)]
mod tests {
    //! Blind to: what the machine does.
    use super::*;

    /// Catches: programs that cannot use their part.
    #[test]
    fn the_ideal_shares_equally_among_those_who_are_there() {
        assert_eq!(ideal_ends(&[0.0, 0.0], &[1.0; 2], 2.0), [1.0, 1.0]);
        // The second has both cores when the first has ended.
        assert_eq!(ideal_ends(&[0.0, 0.0], &[1.0, 3.0], 2.0), [1.0, 2.0]);
        // The first has both cores for a quarter of a second; then each has one.
        let ends = ideal_ends(&[0.0, 0.25], &[1.0; 2], 2.0);
        assert!((ends[0] - 0.75).abs() < 1e-6 && (ends[1] - 1.0).abs() < 1e-6, "{ends:?}");
        let alone = ideal_ends(&[0.0, 5.0], &[1.0; 2], 2.0);
        assert!((alone[0] - 0.5).abs() < 1e-6 && (alone[1] - 5.5).abs() < 1e-6, "{alone:?}");
    }

    /// Catches: a row of a lone program without the middle half of its rounds, or with a bar on
    /// another figure than the median.
    #[test]
    fn a_lone_program_has_a_median_and_the_middle_half_of_its_rounds() {
        let ratios = [1.5, 1.01, 1.02, 1.0, 1.4].map(|ratio| (ratio, ratio)).to_vec();
        let case = Case { programs: 1, staggered: false, mode: Mode::Safe, ratios };
        let line = case.line();
        assert_eq!(line.figures, [("time / plain", 1.02), ("from", 1.01), ("to", 1.4)]);
        assert!(line.bars.len() == 1 && line.bars[0].passed, "{line:?}");
    }

    /// Catches: a mode that runs alone and is missing, or counts as several programs.
    #[test]
    fn the_first_cases_run_alone_and_the_others_do_not() {
        let cases = Case::all();
        let (lone, several) = cases.split_at(MODES.len());
        assert!(lone[0].mode == Mode::Plain && lone.iter().all(|case| case.programs == 1));
        assert!(several.iter().all(|case| case.programs > 1));
    }

    /// Catches: commands that are not started, and late ones that are not counted.
    #[test]
    fn each_command_is_started_once_and_the_late_ones_are_counted() {
        let started = std::sync::Mutex::new(0);
        let start = || {
            let mut number = started.lock().expect("no panic");
            *number += 1;
            let (began, time) = (Instant::now(), PERIOD * if *number <= 3 { 2 } else { 0 });
            while began.elapsed() < time {
                std::thread::yield_now();
            }
            Ok(Duration::ZERO)
        };
        assert!(late(9, &start).is_ok_and(|late| late >= 3));
        assert_eq!(started.into_inner().ok(), Some(9));
        assert!(late(2, &|| Err(String::new())).is_err());
    }
}
