//! Merge sort whose parts and whose merges are both parallel.
//!
//! A part is cut into four, which are sorted at the same time and merged two by two and then once
//! more, into a second array and back. Large merges are cut, too: in the middle of the longer side,
//! and in the shorter one where that element belongs. Short parts go to
//! [quicksort](crate::quicksort), and from there to insertion. Source: cilksort of the Cilk-5
//! distribution, multisort in BOTS. Difference: merging selects elements without an unpredictable
//! branch.
//!
//! # Cost
//!
//! n log n comparisons; the longest chain of them is log³ n, as each of 2 log n merges is cut by
//! binary searches.

use std::hint::black_box;

use sinew::Worker;

use crate::app::App;
use crate::fork::{Alone, Fork};
use crate::options::{Error, Options};
use crate::problem::{Problem, Solve, Wrong, problem};
use crate::product::{Product, times};
use crate::quicksort;
use crate::sorted::{Sorted, random};

/// Below this length a part is sorted by its own task.
const SORT: usize = 2048;

/// Below this length of both sides together a merge is one task.
const MERGE: usize = 2048;

const SIZES: &str = "1 to 1000000000 elements, then `x` repetitions, such as 16384x4096";

const NUMBERS: Product<2> = Product {
    app: "multisort",
    sizes: SIZES,
    tiny: [20_000, 2],
    small: [65_536, 16],
    full: [4_194_304, 16],
    ranges: [1..=1_000_000_000, 1..=1 << 32],
    absent: [0, 1],
};

pub(crate) const APP: App = App {
    name: "multisort",
    about: "merge sort with parallel merges: tasks of some microseconds",
    sizes: SIZES,
    demo: "4_194_304",
    loops: false,
    reads_files: false,
    has_worklist: false,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let [length, repetitions] = NUMBERS.pick(&options.size)?;
    Ok(problem(Multisort { unsorted: random(APP.name, length)?, repetitions }))
}

struct Multisort {
    unsorted: Vec<u32>,
    repetitions: u64,
}

/// The numbers to be sorted, and the same space again.
struct Arrays {
    numbers: Vec<u32>,
    room: Vec<u32>,
}

fn sort(fork: &impl Fork, numbers: &mut [u32], room: &mut [u32]) {
    if numbers.len() <= SORT {
        return quicksort::serial(numbers, quicksort::depth_limit(numbers.len()));
    }
    let half = numbers.len() / 2;
    let (left, right) = numbers.split_at_mut(half);
    let (left_room, right_room) = room.split_at_mut(half);
    fork.fork(|fork| sort_into(fork, left, left_room), |fork| sort_into(fork, right, right_room));
    merge(fork, left_room, right_room, numbers);
}

/// Sorts two quarters and merges them into `target`.
fn sort_into(fork: &impl Fork, numbers: &mut [u32], target: &mut [u32]) {
    let half = numbers.len() / 2;
    let (left, right) = numbers.split_at_mut(half);
    let (left_room, right_room) = target.split_at_mut(half);
    fork.fork(|fork| sort(fork, left, left_room), |fork| sort(fork, right, right_room));
    merge(fork, left, right, target);
}

fn merge(fork: &impl Fork, a: &[u32], b: &[u32], target: &mut [u32]) {
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    if target.len() <= MERGE || short.is_empty() {
        return merge_alone(long, short, target);
    }
    let (low, high) = long.split_at(long.len() / 2);
    let (below, above) = short.split_at(short.partition_point(|x| *x < high[0]));
    let (first, second) = target.split_at_mut(low.len() + below.len());
    fork.fork(|fork| merge(fork, low, below, first), |fork| merge(fork, high, above, second));
}

fn merge_alone(mut a: &[u32], mut b: &[u32], target: &mut [u32]) {
    let mut rest = target.iter_mut();
    while let (Some(&x), Some(&y)) = (a.first(), b.first()) {
        let from_b = y < x;
        if let Some(place) = rest.next() {
            *place = if from_b { y } else { x };
        }
        a = &a[usize::from(!from_b)..];
        b = &b[usize::from(from_b)..];
    }
    let left = if a.is_empty() { b } else { a };
    rest.into_slice().copy_from_slice(left);
}

impl Multisort {
    fn sort(&self, fork: &impl Fork, Arrays { mut numbers, mut room }: Arrays) -> Sorted {
        for _ in 0..self.repetitions {
            numbers.copy_from_slice(black_box(&self.unsorted));
            sort(fork, &mut numbers, &mut room);
        }
        Sorted(numbers)
    }
}

impl Solve for Multisort {
    type Input = Arrays;
    type Answer = Sorted;

    fn size(&self) -> String {
        times(&self.unsorted.len().to_string(), self.repetitions)
    }

    fn input(&self) -> Arrays {
        Arrays { numbers: self.unsorted.clone(), room: self.unsorted.clone() }
    }

    fn serial(&self, arrays: Arrays) -> Sorted {
        self.sort(&Alone, arrays)
    }

    fn parallel(&self, worker: &Worker, arrays: Arrays) -> Sorted {
        self.sort(worker, arrays)
    }

    fn check(&self, answer: &Sorted) -> Result<(), Wrong> {
        answer.check(&self.unsorted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sorted::awkward;

    /// Catches: parts that are lost where lengths are odd, or a cut that puts equal elements on
    /// the wrong side.
    #[test]
    fn awkward_inputs_of_any_length_are_sorted() {
        let lengths = (SORT..SORT + 9)
            .chain([5000])
            .flat_map(|length| awkward().into_iter().map(move |input| (input, length)));
        for (mut numbers, length) in lengths {
            numbers.truncate(length);
            let mut right = numbers.clone();
            right.sort_unstable();
            let mut room = numbers.clone();
            sort(&Alone, &mut numbers, &mut room);
            assert_eq!(numbers, right);
        }
    }

    /// Catches: a merge whose cut relies on sides of about equal length.
    #[test]
    fn sides_of_very_different_lengths_are_merged() {
        let evens: Vec<u32> = (0..4000).map(|x| 2 * x).collect();
        for odds in [vec![], vec![1], vec![7999], (0..3000).map(|x| 2 * x + 1).collect()] {
            let mut right = [&evens[..], &odds].concat();
            right.sort_unstable();
            for (a, b) in [(&evens, &odds), (&odds, &evens)] {
                let mut target = vec![0; right.len()];
                merge(&Alone, a, b, &mut target);
                assert_eq!(target, right);
            }
        }
    }

    /// Catches: a repetition that sorts what is sorted already, instead of the input.
    #[test]
    fn a_wrong_order_is_noticed_after_any_number_of_repetitions() {
        let multisort = Multisort { unsorted: random(APP.name, 3000).unwrap(), repetitions: 3 };
        let mut answer = multisort.serial(multisort.input());
        multisort.check(&answer).unwrap();
        answer.0.swap(10, 2000);
        assert!(multisort.check(&answer).is_err());
    }
}
