//! Programs that share this machine: what it costs them together, with a table and without, and
//! what the table costs.
//!
//! Programs are processes of this binary, each with many short parallel loops. The base is the time
//! of a lone program. The ideal total of k programs is k times as much, whenever they run. The fair
//! time of each is its time on its part of the machine while others are present. Modes are run in
//! turn, so that what else happens on the machine hits all.

mod program;
mod table;

use std::path::Path;
use std::time::Duration;

use super::line::{Line, Unit};
use crate::problem::Scale;
use crate::statistics::median;
use program::Program;

pub(crate) use program::{Arguments, run as run_program};

/// Makes all measurements of this file.
pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let binary = std::env::current_exe().map_err(|error| error.to_string())?;
    if binary.file_stem().is_none_or(|name| name != "bench") {
        return Err("programs are processes of the `bench` binary, which this is not".into());
    }
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let place = folder.path().join("shared");
    let mut lines = table::run(scale, &place)?;
    for count in 2..=4 {
        for start in [Start::Together, Start::Staggered] {
            lines.extend(compare(scale, count, start, &place)?);
        }
    }
    Ok(lines)
}

/// When programs begin.
#[derive(Debug, Clone, Copy)]
enum Start {
    Together,
    /// Each when the one before is half-way through what it would take alone.
    Staggered,
}

/// The way programs share.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Anarchic,
    Coordinated,
}

/// The result of one run: the total time relative to the ideal, and the worst program's relative to
/// its fair one.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    total: f64,
    worst: f64,
}

fn compare(scale: Scale, count: usize, start: Start, place: &Path) -> Result<Vec<Line>, String> {
    let loops = scale.pick(8_000, 50);
    let rounds = scale.pick(5, 1);
    let mut outcomes: [Vec<Outcome>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        let alone = alone(loops)?;
        for (mode, outcomes) in [Mode::Anarchic, Mode::Coordinated].into_iter().zip(&mut outcomes) {
            outcomes.push(round(loops, count, start, mode, place, alone)?);
        }
    }
    let line = |(mode, outcomes): (&str, &Vec<Outcome>)| {
        let median =
            |figure: fn(&Outcome) -> f64| median(&outcomes.iter().map(figure).collect::<Vec<_>>());
        let what = format!("{count} programs, {start:?}, {mode}").to_lowercase();
        let figures = vec![("total", median(|o| o.total)?), ("worst", median(|o| o.worst)?)];
        Some(Line { what, figures, unit: Unit::Number, bars: Vec::new() })
    };
    let [anarchic, coordinated] = &outcomes;
    let anarchic = line(("anarchic", anarchic));
    let coordinated = line(("coordinated", coordinated));
    let with_bars = coordinated.map(|line| {
        let line = line.at_most("total", 1.05, "total at most 1.05 times the ideal");
        line.at_most("worst", 1.15, "the worst at most 1.15 times its fair share")
    });
    Ok(anarchic.into_iter().chain(with_bars).collect())
}

/// The time of `count` programs of so many loops that begin together, with a table in `place` or
/// without.
pub(crate) fn together(
    loops: usize,
    count: usize,
    place: Option<&Path>,
) -> Result<Duration, String> {
    let programs =
        (0..count).map(|_| Program::start(loops, place)).collect::<Result<Vec<_>, _>>()?;
    let began = std::time::Instant::now();
    let running = programs.into_iter().map(Program::go).collect::<Result<Vec<_>, _>>()?;
    running.into_iter().try_for_each(|program| program.finish().map(drop))?;
    Ok(began.elapsed())
}

/// The time of one program on the whole machine.
pub(crate) fn alone(loops: usize) -> Result<Duration, String> {
    Program::start(loops, None)?.go()?.finish()
}

fn round(
    loops: usize,
    count: usize,
    start: Start,
    mode: Mode,
    place: &Path,
    alone: Duration,
) -> Result<Outcome, String> {
    let place = (mode == Mode::Coordinated).then_some(place);
    let gap = match start {
        Start::Together => Duration::ZERO,
        Start::Staggered => alone / 2,
    };
    let programs =
        (0..count).map(|_| Program::start(loops, place)).collect::<Result<Vec<_>, _>>()?;
    let began = std::time::Instant::now();
    let mut running = Vec::new();
    for program in programs {
        running.push(program.go()?);
        std::thread::sleep(gap);
    }
    let mut times = Vec::new();
    for program in running {
        times.push(program.finish()?.as_secs_f64());
    }
    let total = began.elapsed().as_secs_f64();
    let alone = alone.as_secs_f64();
    let fair = fair_times(count, gap.as_secs_f64(), alone);
    let worst = times.iter().zip(&fair).map(|(time, fair)| time / fair).fold(0.0, f64::max);
    Ok(Outcome { total: total / (alone * count as f64), worst })
}

/// The fair time of each of `count` programs that arrive at intervals of `gap`, and share a machine
/// on which one takes `alone`.
fn fair_times(count: usize, gap: f64, alone: f64) -> Vec<f64> {
    let mut left = vec![alone; count];
    let mut ended = vec![0.0; count];
    let mut now = 0.0;
    loop {
        let came = |i: usize| i as f64 * gap;
        let active: Vec<usize> =
            (0..count).filter(|&i| left[i] > 1e-12 && came(i) <= now + 1e-12).collect();
        let next = (0..count).map(came).find(|&came| came > now + 1e-12);
        if active.is_empty() {
            let Some(next) = next else { break };
            now = next;
            continue;
        }
        let share = active.len() as f64;
        let until_end = active.iter().map(|&i| left[i]).fold(f64::MAX, f64::min) * share;
        let step = next.map_or(until_end, |next| until_end.min(next - now));
        now += step;
        for i in active {
            left[i] -= step / share;
            if left[i] <= 1e-12 {
                ended[i] = now - came(i);
            }
        }
    }
    ended
}

#[cfg(test)]
mod tests {
    //! Blind to: figures that are wrong because the machine was busy.
    use super::*;

    #[test]
    fn fair_times_are_those_of_an_equal_split() {
        assert_eq!(fair_times(2, 0.0, 1.0), [2.0, 2.0]);
        // The first has half of its work done when the second comes: both share for a second, then
        // the second is alone for half of one.
        let staggered = fair_times(2, 0.5, 1.0);
        assert!(staggered.iter().all(|time| (time - 1.5).abs() < 1e-9), "{staggered:?}");
    }
}
