//! Quicksort in place: partition, then sort both sides, in parallel while they are large.
//!
//! The first partitions run alone, so the speed-up is limited to about half the depth of the recursion: that is the
//! algorithm's nature, and part of what the application shows. Should pivots be chosen badly too often, the standard
//! library's sort takes over.

use std::fmt;

use sinew::Worker;

use crate::app::App;
use crate::options::{Error, Numbers, Options};
use crate::problem::{Problem, Solve, Wrong, problem};

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
    demo: "10_000_000",
    loops: false,
    reads_files: false,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let length = NUMBERS.pick(&options.size)?;
    Ok(problem(Quicksort { unsorted: random(length)? }))
}

/// Random numbers, the same ones each time.
fn random(length: u64) -> Result<Vec<u32>, Error> {
    // Three times: the input, and an answer of each version.
    let bytes = 3 * size_of::<u32>() as u64 * length;
    let mut numbers = Vec::new();
    let room = usize::try_from(bytes / 4).map(|all| numbers.try_reserve_exact(all));
    if !matches!(room, Ok(Ok(()))) {
        return Err(Error::Memory { app: APP.name, bytes });
    }
    let mut rng = fastrand::Rng::with_seed(42);
    numbers.extend((0..length).map(|_| rng.u32(..)));
    numbers.shrink_to_fit();
    Ok(numbers)
}

struct Quicksort {
    unsorted: Vec<u32>,
}

#[derive(PartialEq)]
struct Sorted(Vec<u32>);

impl fmt::Display for Sorted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0[..] {
            [first, .., last] => write!(f, "{} in order, {first} to {last}", self.0.len()),
            short => write!(f, "{short:?}"),
        }
    }
}

fn serial(numbers: &mut [u32], patience: u32) {
    if numbers.len() <= SHORT {
        insert(numbers);
    } else if patience == 0 {
        numbers.sort_unstable();
    } else {
        let (left, right) = partition(numbers);
        serial(left, patience - 1);
        serial(right, patience - 1);
    }
}

fn parallel(worker: &Worker, numbers: &mut [u32], patience: u32) {
    if numbers.len() <= CUTOFF || patience == 0 {
        return serial(numbers, patience);
    }
    let (left, right) = partition(numbers);
    worker.join(|w| parallel(w, left, patience - 1), |w| parallel(w, right, patience - 1));
}

/// The number of partitions on a path after which something must be wrong with the pivots.
fn patience(length: usize) -> u32 {
    2 * length.max(1).ilog2()
}

/// Splits so that nothing on the left is larger than anything on the right; neither side is empty (Hoare's scheme).
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

/// Does not depend on the order; two different inputs hardly ever share it.
fn fingerprint(numbers: &[u32]) -> u64 {
    let scramble = |x: u32| (u64::from(x) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    numbers.iter().fold(0, |sum: u64, &x| sum.wrapping_add(scramble(x).wrapping_mul(0xD6E8_FEB8_6659_FD93)))
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
        let patience = patience(numbers.len());
        serial(&mut numbers, patience);
        Sorted(numbers)
    }

    fn parallel(&self, worker: &Worker, mut numbers: Vec<u32>) -> Sorted {
        let patience = patience(numbers.len());
        parallel(worker, &mut numbers, patience);
        Sorted(numbers)
    }

    fn check(&self, answer: &Sorted) -> Result<(), Wrong> {
        if let Some(at) = answer.0.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(Wrong(format!("elements {at} and {} are out of order", at + 1)));
        }
        let same =
            answer.0.len() == self.unsorted.len() && fingerprint(&answer.0) == fingerprint(&self.unsorted);
        Wrong::unless(same, || "the elements are not those of the input".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(mut numbers: Vec<u32>) -> Vec<u32> {
        let patience = patience(numbers.len());
        serial(&mut numbers, patience);
        numbers
    }

    /// The inputs on which quicksorts go wrong: none, one, equal, in order, in reverse, a pipe organ.
    #[test]
    fn the_serial_version_sorts_awkward_inputs() {
        let organ: Vec<u32> = (0..500).chain((0..500).rev()).collect();
        let inputs = [
            vec![],
            vec![1],
            vec![7; 1000],
            (0..1000).collect(),
            (0..1000).rev().collect(),
            organ,
            random(5000).unwrap(),
        ];
        for input in inputs {
            let mut right = input.clone();
            right.sort_unstable();
            assert_eq!(sorted(input), right);
        }
    }

    #[test]
    fn both_sides_of_a_partition_hold_something() {
        for mut numbers in [vec![1; 30], (0..30).collect(), (0..30).rev().collect(), random(31).unwrap()] {
            let (left, right) = partition(&mut numbers);
            assert!(!left.is_empty() && !right.is_empty());
            assert!(left.iter().max() <= right.iter().min());
        }
    }

    #[test]
    fn a_lost_or_misplaced_element_is_noticed() {
        let problem = Quicksort { unsorted: vec![3, 1, 2] };
        problem.check(&Sorted(vec![1, 2, 3])).unwrap();
        for wrong in [vec![1, 3, 2], vec![1, 2], vec![1, 2, 2], vec![1, 1, 4]] {
            assert!(problem.check(&Sorted(wrong)).is_err());
        }
    }

    #[test]
    fn an_input_beyond_all_memory_is_refused() {
        assert!(matches!(random(u64::MAX / 100), Err(Error::Memory { .. })));
    }
}
