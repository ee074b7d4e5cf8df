//! A balanced binary tree of tasks whose leaves count: parallelism and granularity as precise as
//! one asks for.
//!
//! A leaf touches no memory and takes two cycles an iteration; the tree is worked on again and
//! again, with all workers meeting at its root each time. Small trees are the hardest test for a
//! scheduler: a height of 10 is 200 µs of work. Source: Karl-Filip Faxén and John Ardelius,
//! *Manycore work stealing*, 2011. Difference: a leaf begins with its own number and gives a
//! result, so a leaf that is omitted or runs twice shows in the result.

use std::fmt;
use std::hint::black_box;

use sinew::Worker;

use crate::app::App;
use crate::options::{Error, Options};
use crate::problem::{Problem, Solve, Wrong, problem};
use crate::product::Product;

const SIZES: &str = "a height of 1 to 24, then `x` repetitions, then `x` iterations of a leaf, \
    such as 12x16384x256";

const NUMBERS: Product<3> = Product {
    app: "stress",
    sizes: SIZES,
    tiny: [4, 3, 16],
    small: [10, 256, 256],
    full: [10, 65_536, 256],
    ranges: [1..=24, 1..=1 << 32, 1..=1 << 32],
    absent: [0, 1, 256],
};

pub(crate) const APP: App = App {
    name: "stress",
    about: "a balanced tree of tasks that only count, again and again: how small may parallel \
        work be",
    sizes: SIZES,
    demo: "10x1024",
    loops: false,
    reads_files: false,
    has_worklist: false,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let [height, repetitions, iterations] = NUMBERS.pick(&options.size)?;
    Ok(problem(Stress { height: height as u32, iterations, repetitions }))
}

#[derive(Debug, Clone, Copy)]
struct Stress {
    height: u32,
    iterations: u64,
    repetitions: u64,
}

/// The wrapping sum of what all leaves of all repetitions have counted.
#[derive(Debug, PartialEq)]
struct Sum(u64);

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "leaves sum up to {:016x}", self.0)
    }
}

/// Two dependent operations of one cycle each an iteration.
fn leaf(iterations: u64, number: u64) -> u64 {
    (0..iterations).fold(number, |sum, i| sum.rotate_left(1).wrapping_add(i))
}

/// `number` is the path from the root, a bit a level.
fn serial(iterations: u64, height: u32, number: u64) -> u64 {
    if height == 0 {
        return leaf(iterations, number);
    }
    let a = serial(iterations, height - 1, 2 * number);
    a.wrapping_add(serial(iterations, height - 1, 2 * number + 1))
}

fn parallel(worker: &Worker, iterations: u64, height: u32, number: u64) -> u64 {
    if height == 0 {
        return leaf(iterations, number);
    }
    let (a, b) = worker.join(
        |w| parallel(w, iterations, height - 1, 2 * number),
        |w| parallel(w, iterations, height - 1, 2 * number + 1),
    );
    a.wrapping_add(b)
}

impl Stress {
    /// The sum over all repetitions of a tree.
    fn sum(&self, tree: impl Fn(u32) -> u64) -> Sum {
        Sum((0..self.repetitions)
            .fold(0, |sum: u64, _| sum.wrapping_add(tree(black_box(self.height)))))
    }
}

impl Solve for Stress {
    type Input = ();
    type Answer = Sum;

    fn size(&self) -> String {
        let Self { height, iterations, repetitions } = self;
        format!("height {height}, {repetitions} times, leaves of {iterations}")
    }

    fn input(&self) {}

    fn serial(&self, (): ()) -> Sum {
        self.sum(|height| serial(self.iterations, height, 0))
    }

    fn parallel(&self, worker: &Worker, (): ()) -> Sum {
        self.sum(|height| parallel(worker, self.iterations, height, 0))
    }

    /// Against a plain loop over the leaves.
    fn check(&self, answer: &Sum) -> Result<(), Wrong> {
        let leaves = (0..1_u64 << self.height).map(|number| leaf(self.iterations, number));
        let known = Sum(leaves.fold(0, u64::wrapping_add).wrapping_mul(self.repetitions));
        Wrong::unless(*answer == known, || format!("{known}, not to {:016x}", answer.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a leaf that does nothing.
    #[test]
    fn a_leaf_counts_by_hand() {
        assert_eq!(leaf(0, 9), 9);
        // 5 → 10 + 0 → 20 + 1 → 42 + 2
        assert_eq!(leaf(3, 5), 44);
    }

    /// Catches: a tree with too many or too few leaves; the check counts them without a tree.
    #[test]
    fn trees_of_all_heights_are_what_their_leaves_are() {
        for height in 0..8 {
            let stress = Stress { height, iterations: 7, repetitions: 3 };
            stress.check(&stress.serial(())).unwrap();
        }
    }

    /// Catches: a check that accepts anything.
    #[test]
    fn a_leaf_left_out_or_run_twice_is_noticed() {
        let stress = Stress { height: 5, iterations: 100, repetitions: 2 };
        let Sum(right) = stress.serial(());
        for number in 0..32 {
            let once = leaf(100, number);
            assert!(stress.check(&Sum(right.wrapping_sub(once))).is_err());
            assert!(stress.check(&Sum(right.wrapping_add(once))).is_err());
        }
    }
}
