//! Loops that leave the choice of their schedule, after ten runs, beside every fixed schedule,
//! interleaved.

use super::line::{Line, Unit};
use crate::problem::Scale;
use crate::runtimes::sinew::{IndexedParIter, ParIter, Pool, Schedule, over};
use crate::statistics::median;
use ::sinew::iter::LoopOptions;
use sinew_sync::clock::now_ns;
use std::hint::black_box;

/// Runs in which the choice is made.
const RUNS: usize = 10;

/// Makes all measurements of this file.
pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let pool = Pool::builder().build().map_err(|error| error.to_string())?;
    let mut programs = Programs::new(scale.pick(20_000, 500), scale.pick(4_000_000, 10_000));
    Ok(KINDS.iter().flat_map(|kind| measure(&pool, scale, &mut programs, *kind)).collect())
}

/// The distribution of a loop's costs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Uniform,
    Biased,
    Decreasing,
    Random,
    Memory,
}

const KINDS: [Kind; 5] =
    [Kind::Uniform, Kind::Biased, Kind::Decreasing, Kind::Random, Kind::Memory];

const FIXED: [Schedule; 7] = [
    Schedule::Static,
    Schedule::Dynamic { chunk: 1 },
    Schedule::Dynamic { chunk: 64 },
    Schedule::Dynamic { chunk: 1024 },
    Schedule::Guided { min: 1 },
    Schedule::Factoring { min: 1 },
    Schedule::Stealing,
];

/// The data of all programs.
struct Programs {
    items: usize,
    to: Vec<f64>,
    from: Vec<f64>,
}

impl Programs {
    fn new(items: usize, elements: usize) -> Self {
        Self { items, to: vec![0.0; elements], from: vec![1.0; elements] }
    }

    /// Steps of an item: 400 on average, except for random ones, which are close to that.
    fn steps(&self, kind: Kind, item: usize) -> u64 {
        let eighth = self.items / 8;
        match kind {
            Kind::Biased if item < eighth => 1_600,
            Kind::Biased => 228,
            Kind::Decreasing => 800 * (self.items - item) as u64 / self.items as u64,
            Kind::Random => {
                let bits = (item as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                // Most are short, some are long.
                u64::from(bits.leading_zeros() - 31) * 200
            }
            Kind::Uniform | Kind::Memory => 400,
        }
    }

    /// Each kind is called at a place of its own, by which a loop that leaves the choice is known.
    fn run(&mut self, kind: Kind, schedule: Schedule) {
        let this = &*self;
        let item = |item: usize| work(this.steps(kind, item));
        match kind {
            Kind::Uniform => over(0..this.items).schedule(schedule).for_each(item),
            Kind::Biased => over(0..this.items).schedule(schedule).for_each(item),
            Kind::Decreasing => over(0..this.items).schedule(schedule).for_each(item),
            Kind::Random => over(0..this.items).schedule(schedule).for_each(item),
            Kind::Memory => {
                over(&mut self.to)
                    .zip(&self.from)
                    .schedule(schedule)
                    .for_each(|(to, from)| *to = 0.5 * *to + *from);
            }
        }
    }
}

fn work(steps: u64) {
    black_box((0..steps).fold(steps, |sum, step| black_box(sum.wrapping_mul(31) + step)));
}

/// The choice beside the best of the others, and beside equal shares where those are best by
/// nature.
fn measure(pool: &Pool, scale: Scale, programs: &mut Programs, kind: Kind) -> Vec<Line> {
    let mut timed = |schedule| {
        let start = now_ns();
        pool.run(|_| programs.run(kind, schedule));
        (now_ns() - start) as f64
    };
    for _ in 0..RUNS {
        black_box(timed(Schedule::Auto));
    }
    let mut schedules = FIXED.to_vec();
    // The last one appears twice: the difference between the two is noise.
    schedules.extend([Schedule::Auto, Schedule::Auto]);
    let rounds: Vec<Vec<f64>> = (0..scale.pick(41, 2))
        .map(|_| schedules.iter().map(|&schedule| timed(schedule)).collect())
        .collect();
    let ratio = |this: usize, other: usize| {
        let ratios: Vec<f64> = rounds.iter().map(|round| round[this] / round[other]).collect();
        median(&ratios).unwrap_or(f64::NAN)
    };
    let auto = FIXED.len();
    let best =
        (0..FIXED.len()).max_by(|&a, &b| ratio(auto, a).total_cmp(&ratio(auto, b))).unwrap_or(0);
    let noise = (ratio(auto + 1, auto) - 1.0).abs();
    let what = format!("{kind:?}: auto beside {}, the best fixed", FIXED[best]).to_lowercase();
    let limit = 1.0 + (2.0 * noise).max(0.05);
    let against_best = Line {
        figures: vec![("ratio", ratio(auto, best)), ("noise", noise), ("static", ratio(auto, 0))],
        ..Line::single(what, "ratio", 0.0, Unit::Number)
    };
    let mut lines =
        vec![against_best.at_most("ratio", limit, "at most 5 % more, or twice the noise")];
    if kind == Kind::Uniform {
        let beside = Line::single(
            "uniform: auto beside static".to_owned(),
            "ratio",
            ratio(auto, 0),
            Unit::Number,
        );
        lines.push(beside.at_most("ratio", 1.1, "at most 1.1 of static"));
    }
    lines
}
