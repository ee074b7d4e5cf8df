//! Counts the occurrences of each number in a matrix: word count with numbers for words.
//!
//! A parallel reduce over the rows. Every part of the matrix has a map of its own, and maps are
//! merged where parts join. A row next to a map is counted directly into it, so there is only one
//! map per worker's run of rows. A merge reads what another core has just written: cheaper where
//! thieves stay near.

use std::fmt;

use rustc_hash::FxHashMap;
use sinew::prelude::*;

use crate::app::App;
use crate::loops::{LoopSchedule, Scheduled};
use crate::memory::room;
use crate::options::{Error, Numbers, Options};
use crate::problem::{Problem, Solve, Wrong, problem};

const SIZES: &str = "a side of 1 to 1000000 numbers";

const NUMBERS: Numbers = Numbers {
    app: "numbercount",
    sizes: SIZES,
    tiny: 100,
    small: 1_500,
    full: 12_000,
    range: 1..=1_000_000,
};

pub(crate) const APP: App = App {
    name: "numbercount",
    about: "occurrences of numbers in a matrix: a parallel reduce that merges maps",
    sizes: SIZES,
    demo: "5_000",
    loops: true,
    reads_files: false,
    has_worklist: false,
    prepare,
};

/// Numbers are smaller than this.
const DIFFERENT: u32 = 10_000;

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let side = NUMBERS.pick(&options.size)?;
    room(APP.name, side * side * size_of::<u32>() as u64)?;
    let schedule = options.schedule_or(Schedule::Stealing);
    let side = side as usize;
    Ok(problem(NumberCount { matrix: matrix(side), side, schedule }))
}

/// Random numbers, the same ones each time; small ones are more frequent, as short words are.
fn matrix(side: usize) -> Vec<u32> {
    let mut rng = fastrand::Rng::with_seed(42);
    (0..side * side).map(|_| rng.u32(..DIFFERENT).min(rng.u32(..DIFFERENT))).collect()
}

struct NumberCount {
    /// Row by row.
    matrix: Vec<u32>,
    side: usize,
    schedule: LoopSchedule,
}

/// Numbers and how often they occur.
#[derive(Debug, Clone, Default, PartialEq)]
struct Counts(FxHashMap<u32, u64>);

impl Counts {
    fn add_all(mut self, numbers: &[u32]) -> Self {
        for &number in numbers {
            *self.0.entry(number).or_default() += 1;
        }
        self
    }

    fn merge(mut self, other: Self) -> Self {
        for (number, count) in other.0 {
            *self.0.entry(number).or_default() += count;
        }
        self
    }

    fn of(&self, number: u32) -> u64 {
        self.0.get(&number).copied().unwrap_or(0)
    }

    fn total(&self) -> u64 {
        self.0.values().sum()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} numbers, {} different, 0 {} times", self.total(), self.0.len(), self.of(0))
    }
}

/// A part of the matrix: an uncounted row, or the map of any number of rows.
enum Part<'m> {
    Row(&'m [u32]),
    Counted(Counts),
}

impl Part<'_> {
    fn nothing() -> Self {
        Self::Counted(Counts::default())
    }

    fn counts(self) -> Counts {
        match self {
            Self::Row(row) => Counts::default().add_all(row),
            Self::Counted(counts) => counts,
        }
    }

    fn and(self, other: Self) -> Self {
        let counts = self.counts();
        Self::Counted(match other {
            Self::Row(row) => counts.add_all(row),
            Self::Counted(others) => counts.merge(others),
        })
    }
}

impl Solve for NumberCount {
    type Input = ();
    type Answer = Counts;

    fn size(&self) -> String {
        format!("{0} x {0}", self.side)
    }

    fn input(&self) {}

    fn serial(&self, (): ()) -> Counts {
        Counts::default().add_all(&self.matrix)
    }

    fn parallel(&self, _: &Worker, (): ()) -> Counts {
        let rows = self.matrix.par_chunks(self.side).scheduled(self.schedule);
        rows.map(Part::Row).reduce(Part::nothing, Part::and).counts()
    }

    /// Against a count in an array with a place for every number.
    fn check(&self, counts: &Counts) -> Result<(), Wrong> {
        let (total, all) = (counts.total(), self.matrix.len() as u64);
        Wrong::unless(total == all, || format!("there are {all} numbers, not {total}"))?;
        let mut places = vec![0; DIFFERENT as usize];
        self.matrix.iter().for_each(|&number| places[number as usize] += 1);
        for (number, &times) in (0..).zip(&places) {
            let counted = counts.of(number);
            Wrong::unless(counted == times, || {
                format!("{number} occurs {times} times, not {counted}")
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blind to: maps that have to grow.
    #[test]
    fn a_small_matrix_is_counted_right() {
        let matrix = vec![3, 1, 4, 1, 5, 9, 2, 6, 5];
        let problem = NumberCount { matrix, side: 3, schedule: Schedule::Static.into() };
        let counts = problem.serial(());
        assert_eq!([0, 1, 5, 9].map(|number| counts.of(number)), [0, 2, 2, 1]);
        assert_eq!(counts.to_string(), "9 numbers, 7 different, 0 0 times");
    }

    /// Blind to: what needs more than five parts.
    #[test]
    fn parts_may_be_put_together_in_any_grouping() {
        let part = || [Part::Row(&[1, 2]), Part::Row(&[2]), Part::nothing(), Part::Row(&[1, 1])];
        let left = part().into_iter().reduce(Part::and).unwrap().counts();
        let [a, b, c, d] = part();
        assert_eq!(a.and(b).and(c.and(d)).counts(), left);
        assert_eq!([1, 2].map(|number| left.of(number)), [3, 2]);
    }

    /// Blind to: counts of numbers that the matrix cannot hold, in exchange for none: the total
    /// tells.
    #[test]
    fn a_lost_or_exchanged_number_is_noticed() {
        let problem =
            NumberCount { matrix: matrix(20), side: 20, schedule: Schedule::Static.into() };
        let mut counts = problem.serial(());
        problem.check(&counts).unwrap();
        let number = problem.matrix[0];
        *counts.0.get_mut(&number).unwrap() -= 1;
        assert!(problem.check(&counts).unwrap_err().to_string().contains("400 numbers"));
        *counts.0.entry(number + 1).or_default() += 1;
        assert!(problem.check(&counts).unwrap_err().to_string().contains("occurs"));
    }
}
