//! Quicksort in place: partition, then sort both sides, in parallel while they are large.
//!
//! The first partitions run alone, so the speed-up is limited to about half the depth of the
//! recursion: that is the algorithm's nature, and part of what the application shows. Should pivots
//! be chosen badly too often, the standard library's sort takes over.

use sinew::Worker;

use crate::app::App;
use crate::options::{Error, Numbers, Options};
use crate::problem::{Problem, Solve, Wrong, problem};
use crate::sorted::{Sorted, random};

/// Below this length a part is sorted by its own task.
const CUTOFF: usize = 2048;

/// Below this length insertion is faster than partitioning.
const SHORT: usize = 24;

const SIZES: &str = "1 to 1000000000 elements";

const NUMBERS: Numbers = Numbers {
    app: "quicksort",
    sizes: SIZES,
    tiny: 20_000,
    small: 2_000_000,
    full: 100_000_000,
    range: 1..=1_000_000_000,
};

pub(crate) const APP: App = App {
    name: "quicksort",
    about: "sorting random numbers in place: large tasks first, small ones last",
    sizes: SIZES,
    demo: "4_000_000",
    loops: false,
    reads_files: false,
    has_worklist: false,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let length = NUMBERS.pick(&options.size)?;
    Ok(problem(Quicksort { unsorted: random(APP.name, length)? }))
}

struct Quicksort {
    unsorted: Vec<u32>,
}

pub(crate) fn serial(numbers: &mut [u32], depth_limit: u32) {
    if numbers.len() <= SHORT {
        insert(numbers);
    } else if depth_limit == 0 {
        numbers.sort_unstable();
    } else {
        let (left, right) = partition(numbers);
        serial(left, depth_limit - 1);
        serial(right, depth_limit - 1);
    }
}

fn parallel(worker: &Worker, numbers: &mut [u32], depth_limit: u32) {
    if numbers.len() <= CUTOFF || depth_limit == 0 {
        return serial(numbers, depth_limit);
    }
    let (left, right) = partition(numbers);
    worker.join(|w| parallel(w, left, depth_limit - 1), |w| parallel(w, right, depth_limit - 1));
}

/// The number of partitions on a path after which something must be wrong with the pivots.
pub(crate) fn depth_limit(length: usize) -> u32 {
    2 * length.max(1).ilog2()
}

/// Splits so that nothing on the left is larger than anything on the right; neither side is empty
/// (Hoare's scheme).
fn partition(numbers: &mut [u32]) -> (&mut [u32], &mut [u32]) {
    let pivot = median(numbers[0], numbers[numbers.len() / 2], numbers[numbers.len() - 1]);
    let (mut low, mut high) = (0, numbers.len() - 1);
    loop {
        while numbers[low] < pivot {
            low += 1;
        }
        while numbers[high] > pivot {
            high -= 1;
        }
        if low >= high {
            break;
        }
        numbers.swap(low, high);
        low += 1;
        high -= 1;
    }
    numbers.split_at_mut(low)
}

fn median(a: u32, b: u32, c: u32) -> u32 {
    a.max(b).min(a.min(b).max(c))
}

fn insert(numbers: &mut [u32]) {
    for sorted in 1..numbers.len() {
        let mut at = sorted;
        while at > 0 && numbers[at - 1] > numbers[at] {
            numbers.swap(at - 1, at);
            at -= 1;
        }
    }
}

impl Solve for Quicksort {
    type Input = Vec<u32>;
    type Answer = Sorted;

    fn size(&self) -> String {
        self.unsorted.len().to_string()
    }

    fn input(&self) -> Vec<u32> {
        self.unsorted.clone()
    }

    fn serial(&self, mut numbers: Vec<u32>) -> Sorted {
        let depth_limit = depth_limit(numbers.len());
        serial(&mut numbers, depth_limit);
        Sorted(numbers)
    }

    fn parallel(&self, worker: &Worker, mut numbers: Vec<u32>) -> Sorted {
        let depth_limit = depth_limit(numbers.len());
        parallel(worker, &mut numbers, depth_limit);
        Sorted(numbers)
    }

    fn check(&self, answer: &Sorted) -> Result<(), Wrong> {
        answer.check(&self.unsorted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Size;
    use crate::sorted::awkward;

    fn sorted(mut numbers: Vec<u32>) -> Vec<u32> {
        let depth_limit = depth_limit(numbers.len());
        serial(&mut numbers, depth_limit);
        numbers
    }

    /// Catches: a way of choosing pivots that ends in quadratic time or beside the input.
    #[test]
    fn the_serial_version_sorts_awkward_inputs() {
        for input in awkward() {
            let mut right = input.clone();
            right.sort_unstable();
            assert_eq!(sorted(input), right);
        }
    }

    #[test]
    fn both_sides_of_a_partition_hold_something() {
        for mut numbers in
            [vec![1; 30], (0..30).collect(), (0..30).rev().collect(), random(APP.name, 31).unwrap()]
        {
            let (left, right) = partition(&mut numbers);
            assert!(!left.is_empty() && !right.is_empty());
            assert!(left.iter().max() <= right.iter().min());
        }
    }

    /// Catches: a published size that the range excludes; the input of that size is too large
    /// for a test.
    #[test]
    fn a_hundred_million_elements_can_be_asked_for() {
        let size = Size::Exact("100_000_000".to_owned());
        assert_eq!(NUMBERS.pick(&size).unwrap(), NUMBERS.pick(&Size::Full).unwrap());
    }
}
