//! The verdicts: ratios within rounds, a verdict on each program, and the bars.

use super::catalogue::Kind;
use super::rounds::{AGAIN, Row, SINEW, UPSTREAM};
use super::server::Sample;
use crate::statistics::{Summary, ratios};
use serde::Serialize;

/// No program may take more than this times upstream's time, unless the noise is larger.
const SLOWEST: f64 = 1.02;
/// Joins must take at most this share of upstream's time, and bursts of its processor time.
const HALF: f64 = 0.5;
/// Processor time of an idle second that is nothing: looking at the clocks costs some of it.
const NOTHING_NS: f64 = 2e5;

/// The statistics of one program.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Figures {
    /// Times of one run: upstream, Sinew, upstream again.
    pub(super) wall_ns: [Summary; 3],
    pub(super) cpu_ns: [Summary; 3],
    /// Sinew's divided by upstream's.
    pub(super) wall: Summary,
    pub(super) cpu: Summary,
    /// Upstream's divided by upstream's.
    pub(super) wall_noise: Summary,
    pub(super) cpu_noise: Summary,
    /// Processor time beyond that of the program without rayon, where that was measured.
    pub(super) beyond_serial_ns: Option<[f64; 3]>,
    /// One run of the program without rayon, where that was measured, and Sinew's time divided by
    /// it.
    pub(super) serial: Option<[Summary; 2]>,
    pub(super) verdict: Verdict,
}

/// The comparison of Sinew's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum Verdict {
    Faster,
    /// Within 2 %, or within the noise.
    Even,
    Slower,
}

impl Figures {
    /// The figures of a program; `None` if it has no times.
    pub(super) fn of(row: &Row) -> Option<Self> {
        let wall = |runner: usize| series(&row.samples[runner], |sample| sample.wall_ns);
        let cpu = |runner: usize| series(&row.samples[runner], |sample| sample.cpu_ns);
        let once = |ns: Vec<u64>| {
            Summary::of(ns.iter().map(|ns| *ns as f64 / f64::from(row.repeats.max(1))))
        };
        let ratio = ratios(&wall(SINEW), &wall(UPSTREAM))?;
        let alone = series(&row.serial, |sample| sample.wall_ns);
        let by_alone = ratios(&wall(SINEW), &alone);
        let noise = ratios(&wall(AGAIN), &wall(UPSTREAM))?;
        Some(Self {
            wall_ns: [once(wall(UPSTREAM))?, once(wall(SINEW))?, once(wall(AGAIN))?],
            cpu_ns: [once(cpu(UPSTREAM))?, once(cpu(SINEW))?, once(cpu(AGAIN))?],
            wall: ratio,
            cpu: ratios(&cpu(SINEW), &cpu(UPSTREAM))?,
            wall_noise: noise,
            cpu_noise: ratios(&cpu(AGAIN), &cpu(UPSTREAM))?,
            beyond_serial_ns: beyond_serial(row),
            serial: once(alone).zip(by_alone).map(|(alone, ratio)| [alone, ratio]),
            verdict: verdict(ratio.median, noise.median),
        })
    }
}

fn series(samples: &[Sample], ns: impl Fn(&Sample) -> u64) -> Vec<u64> {
    samples.iter().map(ns).collect()
}

/// Processor time of one run on each runner, less that of the program without rayon in the same
/// round.
fn beyond_serial(row: &Row) -> Option<[f64; 3]> {
    let beyond = |runner: usize| {
        let pairs = row.samples[runner].iter().zip(&row.serial);
        let differences = pairs.map(|(sample, serial)| sample.cpu_ns as f64 - serial.cpu_ns as f64);
        Summary::of(differences).map(|summary| summary.median / f64::from(row.repeats.max(1)))
    };
    Some([beyond(UPSTREAM)?, beyond(SINEW)?, beyond(AGAIN)?])
}

/// Holds a ratio against 2 %, or against the ratio of two runs of the same thing.
fn verdict(ratio: f64, noise: f64) -> Verdict {
    let limit = SLOWEST.max(1.0 + (noise - 1.0).abs());
    match ratio {
        ratio if ratio > limit => Verdict::Slower,
        ratio if ratio < 1.0 / limit => Verdict::Faster,
        _ => Verdict::Even,
    }
}

/// A bar, and what each program that it is about has to say.
#[derive(Debug, Serialize)]
pub(super) struct Bar {
    pub(super) what: &'static str,
    /// A word about each program: those that missed it, or all.
    pub(super) details: Vec<String>,
    pub(super) met: bool,
}

/// The bars on all programs of a table. A bar that no program of the table is about is left out.
pub(super) fn bars(rows: &[(&Row, &Figures)]) -> Vec<Bar> {
    let of = |kind| move |row: &(&Row, &Figures)| row.0.entry.kind == kind;
    let bars = [
        on_all(rows),
        bar("joins take half of upstream's time", rows, of(Kind::Join), |figures| {
            (figures.wall.median <= HALF, format!("{:.2}", figures.wall.median))
        }),
        bar("bursts take half of upstream's processor time", rows, of(Kind::Burst), |figures| {
            (figures.cpu.median <= HALF, format!("{:.2}", figures.cpu.median))
        }),
        bar("the same beyond the program's own", rows, of(Kind::Burst), beyond_serial_bar),
        bar("an idle pool takes none (0.2 ms a second)", rows, of(Kind::Idle), |figures| {
            let ns = figures.cpu_ns[SINEW].median;
            (ns <= NOTHING_NS, crate::table::duration_of(ns))
        }),
    ];
    bars.into_iter().flatten().collect()
}

/// The bar on every program: only those that miss it are named.
fn on_all(rows: &[(&Row, &Figures)]) -> Option<Bar> {
    let slower = rows.iter().filter(|(_, figures)| figures.verdict == Verdict::Slower);
    let name = |(row, figures): &(&Row, &Figures)| {
        format!("{} {:.2}", row.entry.name, figures.wall.median)
    };
    let details: Vec<String> = slower.map(name).collect();
    let bar = Bar {
        what: "no program takes more than 1.02 of upstream's time, or than the noise",
        met: details.is_empty(),
        details,
    };
    (!rows.is_empty()).then_some(bar)
}

fn bar(
    what: &'static str,
    rows: &[(&Row, &Figures)],
    about: impl Fn(&(&Row, &Figures)) -> bool,
    verdict: impl Fn(&Figures) -> (bool, String),
) -> Option<Bar> {
    let met_by = |(row, figures): &(&Row, &Figures)| {
        let (met, figure) = verdict(figures);
        (met, format!("{} {figure}", row.entry.name))
    };
    let (met, details): (Vec<bool>, Vec<String>) =
        rows.iter().filter(|row| about(row)).map(met_by).unzip();
    (!met.is_empty()).then(|| Bar { what, details, met: met.into_iter().all(|met| met) })
}

/// If upstream spends nothing beyond the program's own time, there is no half to take.
fn beyond_serial_bar(figures: &Figures) -> (bool, String) {
    match figures.beyond_serial_ns {
        Some([upstream, sinew, _]) if upstream > 0.0 => {
            (sinew <= HALF * upstream, format!("{:.2}", sinew / upstream))
        }
        _ => (true, "nothing to halve".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: a bar that was copied wrongly from where it was set.
    use super::super::catalogue::{self, Entry};
    use super::*;

    fn row(entry: &'static Entry, times: [u64; 3]) -> Row {
        let series = |ns| vec![Sample { wall_ns: ns, cpu_ns: ns, answer: 0 }; 3];
        let serial = if entry.kind == Kind::Burst { series(100) } else { Vec::new() };
        Row { entry, repeats: 1, samples: times.map(series), serial, fault: None }
    }

    fn of_kind(kind: Kind) -> &'static Entry {
        catalogue::ALL.iter().find(|entry| entry.kind == kind).expect("there is one of every kind")
    }

    fn bars_on(kind: Kind, times: [u64; 3]) -> Vec<(bool, Vec<String>)> {
        let row = row(of_kind(kind), times);
        let figures = Figures::of(&row).expect("it has times");
        bars(&[(&row, &figures)]).into_iter().map(|bar| (bar.met, bar.details)).collect()
    }

    #[test]
    fn two_per_cent_are_allowed_and_the_noise_if_it_is_larger() {
        assert_eq!(verdict(1.02, 1.0), Verdict::Even);
        assert_eq!(verdict(1.03, 1.01), Verdict::Slower);
        assert_eq!(verdict(1.03, 0.95), Verdict::Even);
        assert_eq!(verdict(0.97, 1.0), Verdict::Faster);
    }

    #[test]
    fn joins_have_a_bar_of_a_half() {
        assert_eq!(
            bars_on(Kind::Join, [200, 100, 200])[1],
            (true, vec!["join-fib 0.50".to_owned()])
        );
        assert!(!bars_on(Kind::Join, [200, 102, 200])[1].0);
    }

    #[test]
    fn bursts_have_a_bar_on_all_processor_time_and_one_beyond_the_programs_own() {
        // The program itself takes 100: 60 of 140 is more than half of all, and less than half of
        // what is beyond.
        let bars = bars_on(Kind::Burst, [240, 160, 240]);
        assert_eq!(bars.iter().map(|bar| bar.0).collect::<Vec<_>>(), [true, false, true]);
        let bars = bars_on(Kind::Burst, [90, 80, 90]);
        assert_eq!(bars[2], (true, vec!["bursts-scope nothing to halve".to_owned()]));
    }

    #[test]
    fn a_program_that_is_slower_is_named_and_only_it() {
        let bars = bars_on(Kind::Plain, [100, 110, 101]);
        assert_eq!(bars, [(false, vec!["matmul-join 1.10".to_owned()])]);
        assert_eq!(bars_on(Kind::Plain, [100, 101, 101]), [(true, Vec::new())]);
    }
}
