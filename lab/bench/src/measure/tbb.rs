//! TBB programs of short loops beside each other, and beside programs of OpenMP and of Sinew: under
//! the plain operating system, and under `sinew exec`, whose manager TBB asks for its workers.
//!
//! The *ideal* is that of [`exec`](super::exec): serial work divided perfectly over the cores.
//! OpenMP programs run under `sinew exec --malleable`, and Sinew's share by themselves, in the same
//! table.
//!
//! oneTBB asks for a manager from 2021.11 on. `SINEW_TBB` names a folder with its `include` and
//! `lib`; `cargo xtask tbb` fetches one and prints its place.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::exec::{CAP, SOURCE, ideal_ends, middle, wait_all};
use super::line::{Line, Unit};
use super::tool;
use crate::problem::Scale;
use crate::statistics::Summary;

/// Iterations of a loop, and multiplications in each: half a millisecond. In shorter loops TBB
/// alone takes more time than the bars leave.
const LOOP: [&str; 2] = ["512", "1000"];

/// Rounds of a program that runs alone.
const LONE_ROUNDS: usize = 15;

/// A program that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tbb,
    OpenMp,
    Sinew,
}

use Kind::{OpenMp, Sinew, Tbb};

/// The way programs are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// One thread, alone: the base.
    Serial,
    Plain,
    Exec,
}

/// Programs that run beside each other: together, and one after the other.
const CASES: [(&[Kind], bool); 9] = [
    (&[Tbb; 2], false),
    (&[Tbb; 2], true),
    (&[Tbb; 3], false),
    (&[Tbb; 3], true),
    (&[Tbb; 4], false),
    (&[Tbb; 4], true),
    (&[Tbb, OpenMp], false),
    (&[Tbb, Sinew], false),
    (&[Tbb, OpenMp, Sinew], false),
];

/// A test does without the command.
const MODES: &[Mode] = if cfg!(test) { &[Mode::Plain] } else { &[Mode::Plain, Mode::Exec] };

/// The measured programs.
struct Setup {
    /// Holds programs and table, and is removed in the end.
    folder: tempfile::TempDir,
    scale: Scale,
    cores: f64,
}

/// Measures, or says what this machine lacks.
pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    if cores < 2.0 {
        return Err("one core is nothing to share".to_owned());
    }
    let tbb = std::env::var_os("SINEW_TBB").map(PathBuf::from);
    let tbb = tbb.ok_or("SINEW_TBB names no oneTBB (`cargo xtask tbb` fetches one)")?;
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let setup = Setup { folder, scale, cores };
    setup.compile("openmp", &["-fopenmp".to_owned()])?;
    let lib = tbb.join("lib").display().to_string();
    let include = format!("-I{}", tbb.join("include").display());
    let flags = ["-DWITH_TBB", "-std=c++17", "-pthread", &include, "-ltbb"].map(str::to_owned);
    let place = [format!("-L{lib}"), format!("-Wl,-rpath,{lib}")];
    setup.compile("tbb", &[&flags[..], &place].concat())?;
    let mut lines = setup.lone()?;
    lines.extend(setup.several()?);
    Ok(lines)
}

impl Setup {
    fn compile(&self, name: &str, flags: &[String]) -> Result<(), String> {
        let source = self.folder.path().join("short_loops.cpp");
        std::fs::write(&source, SOURCE).map_err(|error| error.to_string())?;
        let mut compiler = Command::new("c++");
        compiler.arg("-O2").arg("-o").arg(self.program(name)).arg(&source).args(flags);
        let output =
            compiler.output().map_err(|error| format!("no C++ compiler (c++): {error}"))?;
        let why = String::from_utf8_lossy(&output.stderr);
        let first = why.lines().find(|line| line.contains("error")).unwrap_or("no message");
        output.status.success().then_some(()).ok_or_else(|| format!("no {name} program: {first}"))
    }

    fn program(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, kind: Kind, mode: Mode) -> Result<Command, String> {
        let table = self.folder.path().join("table");
        let mut command = match kind {
            Sinew => self.sinews(mode, &table)?,
            Tbb => self.foreign("tbb", &[], mode)?,
            OpenMp => self.foreign("openmp", &["--malleable"], mode)?,
        };
        if kind == Tbb && mode == Mode::Serial {
            command.arg("one");
        }
        command.env_remove("OMP_NUM_THREADS").env("SINEW_TABLE_DIR", table);
        if mode == Mode::Serial {
            command.env("OMP_NUM_THREADS", "1");
        }
        // Sinew's program begins when its input ends.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Ok(command)
    }

    /// A program of short loops, of another runtime.
    fn foreign(&self, name: &str, options: &[&str], mode: Mode) -> Result<Command, String> {
        let program = self.program(name);
        let mut command = match mode {
            Mode::Serial | Mode::Plain => Command::new(program),
            Mode::Exec => {
                let mut command = tool::exec(options)?;
                command.arg(program);
                command
            }
        };
        command.arg(self.scale.pick(1_500, 20).to_string()).args(LOOP);
        Ok(command)
    }

    fn sinews(&self, mode: Mode, table: &Path) -> Result<Command, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(own);
        command.args(["coord-program", &self.scale.pick(8_000, 100).to_string()]);
        command.args((mode == Mode::Exec).then_some(table));
        Ok(command)
    }

    /// Seconds of a program that runs alone.
    fn alone(&self, kind: Kind, mode: Mode) -> Result<f64, String> {
        let mut command = self.command(kind, mode)?;
        let start = Instant::now();
        let status = command.status().map_err(|error| format!("a {kind:?} program: {error}"))?;
        match status.success() {
            true => Ok(start.elapsed().as_secs_f64()),
            false => Err(format!("a {kind:?} program ended with {status}")),
        }
    }

    /// A lone program, plain beside the ideal, and under the command beside plain.
    fn lone(&self) -> Result<Vec<Line>, String> {
        let (mut plain, mut exec) = (Vec::new(), Vec::new());
        for round in 0..self.scale.pick(LONE_ROUNDS, 2) {
            let ideal = self.alone(Tbb, Mode::Serial)? / self.cores;
            let mut modes = MODES.to_vec();
            if !round.is_multiple_of(2) {
                modes.reverse();
            }
            let times = modes.iter().map(|mode| Ok((*mode, self.alone(Tbb, *mode)?)));
            let times: Vec<(Mode, f64)> = times.collect::<Result<_, String>>()?;
            let time = |mode| times.iter().find(|time| time.0 == mode).map(|time| time.1);
            let base = time(Mode::Plain).unwrap_or(f64::NAN);
            plain.push(base / ideal);
            exec.extend(time(Mode::Exec).map(|time| time / base));
        }
        let line = |what: &str, of, ratios: Vec<f64>| {
            let rounds = Summary::of(ratios)?;
            let mut line = Line::single(what.to_owned(), of, rounds.median, Unit::Number);
            line.figures.extend([("from", rounds.lower), ("to", rounds.upper)]);
            Some(line)
        };
        let of = "time / plain";
        let exec = line("1 program, exec", of, exec).map(|line| {
            line.at_most(of, 1.02, "a lone program takes at most 1.02 times its plain time")
        });
        Ok(line("1 program, plain", "time / ideal", plain).into_iter().chain(exec).collect())
    }

    /// All cases, in rounds. Their bases are measured in the same round, because the speed of the
    /// machine varies over time.
    fn several(&self) -> Result<Vec<Line>, String> {
        let cases: Vec<_> =
            CASES.iter().flat_map(|case| MODES.iter().map(move |mode| (*case, *mode))).collect();
        let mut ratios = vec![Vec::new(); cases.len()];
        for _ in 0..self.scale.pick(5, 1) {
            let mut serial = Vec::new();
            for kind in [Tbb, OpenMp] {
                serial.push((kind, self.alone(kind, Mode::Serial)?));
            }
            // Sinew's program has no form for one thread.
            serial.push((Sinew, self.alone(Sinew, Mode::Plain)? * self.cores));
            for (((kinds, staggered), mode), ratios) in cases.iter().zip(&mut ratios) {
                ratios.push(self.together(kinds, *staggered, *mode, &serial)?);
            }
        }
        Ok(cases.iter().zip(ratios).map(|(case, ratios)| line(case.0, case.1, &ratios)).collect())
    }

    /// Total and worst of one run, as parts of the ideal. At the limit, the limit.
    fn together(
        &self,
        kinds: &[Kind],
        staggered: bool,
        mode: Mode,
        serial: &[(Kind, f64)],
    ) -> Result<(f64, f64), String> {
        let work = |kind: &Kind| serial.iter().find(|known| known.0 == *kind).map(|known| known.1);
        let works: Vec<f64> = kinds.iter().filter_map(work).collect();
        let gap = if staggered { works[0] / self.cores / 2.0 } else { 0.0 };
        let starts: Vec<f64> = (0..kinds.len()).map(|index| index as f64 * gap).collect();
        let ideal = ideal_ends(&starts, &works, self.cores);
        let last = ideal.iter().copied().fold(0.0, f64::max);
        let (began, mut children) = (Instant::now(), Vec::new());
        for (kind, start) in kinds.iter().zip(&starts) {
            let left = start - began.elapsed().as_secs_f64();
            std::thread::sleep(Duration::from_secs_f64(left.max(0.0)));
            let child = self.command(*kind, mode)?.spawn();
            let at = began.elapsed().as_secs_f64();
            children.push((child.map_err(|error| format!("a {kind:?} program: {error}"))?, at));
        }
        let ends = wait_all(&mut children, began, CAP * last)
            .map_err(|error| format!("a program cannot be waited for: {error}"))?;
        let Some(ends) = ends else { return Ok((CAP, CAP)) };
        let parts = (0..ends.len()).map(|i| (ends[i] - children[i].1) / (ideal[i] - starts[i]));
        Ok((ends.iter().copied().fold(0.0, f64::max) / last, parts.fold(0.0, f64::max)))
    }
}

fn line((kinds, staggered): (&[Kind], bool), mode: Mode, ratios: &[(f64, f64)]) -> Line {
    let names: Vec<String> = kinds.iter().map(|kind| format!("{kind:?}")).collect();
    let how = if staggered { "one after the other" } else { "together" };
    let mode_name = format!("{mode:?}").to_lowercase();
    let name = format!("{} {how}, {mode_name}", names.join(" + "));
    let total = middle(ratios.iter().map(|ratios| ratios.0));
    let mut line = Line::single(name, "total / ideal", total, Unit::Number);
    line.figures.push(("worst / fair", middle(ratios.iter().map(|ratios| ratios.1))));
    match mode {
        Mode::Exec => line.at_most("total / ideal", 1.05, "at most 1.05 times the ideal").at_most(
            "worst / fair",
            1.15,
            "the worst at most 1.15 times its fair share",
        ),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: what the machine does; the measurement itself runs in `measure`'s test.
    use super::*;

    /// Catches: a bar on a figure that the command has no part in, and cases of one name.
    #[test]
    fn only_the_command_has_bars_and_cases_have_names() {
        let lines = |mode| CASES.map(|case| line(case, mode, &[(1.0, 1.2)]));
        assert!(lines(Mode::Plain).iter().all(|line| line.bars.is_empty()));
        let exec = lines(Mode::Exec);
        assert!(exec.iter().all(|line| line.bars.len() == 2 && !line.bars[1].passed));
        let mut names: Vec<&str> = exec.iter().map(|line| line.what.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CASES.len());
    }
}
