//! Fibonacci numbers by the definition: very many very small tasks.
//!
//! Below fib([`GRAIN`]) calls are serial, so the smallest task is some 100 ns of work. The
//! benchmarks have the form with a task per call, which measures the price of a task only.
//!
//! # Cost
//!
//! fib(n) makes fib(n − `GRAIN` + 2) − 1 joins; fib(43) some 9 million.

use std::fmt;

use sinew::Worker;

use crate::app::App;
use crate::options::{Error, Numbers, Options};
use crate::problem::{Problem, Solve, Wrong, problem};

/// The largest number that one task computes alone.
const GRAIN: u64 = 9;

const SIZES: &str = "a number from 1 to 60";

const NUMBERS: Numbers =
    Numbers { app: "fib", sizes: SIZES, tiny: 18, small: 32, full: 43, range: 1..=60 };

pub(crate) const APP: App = App {
    name: "fib",
    about: "a Fibonacci number by the definition: millions of tiny tasks",
    sizes: SIZES,
    demo: "40",
    loops: false,
    reads_files: false,
    has_worklist: false,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    Ok(problem(Fib(NUMBERS.pick(&options.size)?)))
}

struct Fib(u64);

#[derive(PartialEq)]
struct Number(u64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn serial(n: u64) -> u64 {
    if n < 2 { n } else { serial(n - 1) + serial(n - 2) }
}

fn parallel(worker: &Worker, n: u64) -> u64 {
    if n <= GRAIN {
        return serial(n);
    }
    let (a, b) = worker.join(|w| parallel(w, n - 1), |w| parallel(w, n - 2));
    a + b
}

/// By addition.
fn known(n: u64) -> u64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

impl Solve for Fib {
    type Input = ();
    type Answer = Number;

    fn size(&self) -> String {
        self.0.to_string()
    }

    fn input(&self) {}

    fn serial(&self, (): ()) -> Number {
        Number(serial(self.0))
    }

    fn parallel(&self, worker: &Worker, (): ()) -> Number {
        Number(parallel(worker, self.0))
    }

    fn check(&self, answer: &Number) -> Result<(), Wrong> {
        let known = known(self.0);
        Wrong::unless(answer.0 == known, || format!("fib({}) is {known}, not {answer}", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_serial_version_follows_the_definition() {
        for (n, number) in [(0, 0), (1, 1), (2, 1), (10, 55), (20, 6765)] {
            assert_eq!(serial(n), number);
            assert_eq!(known(n), number);
        }
    }

    #[test]
    fn the_largest_size_fits_its_type() {
        assert_eq!(known(*NUMBERS.range.end()), 1_548_008_755_920);
    }

    #[test]
    fn a_wrong_number_is_noticed() {
        assert!(Fib(10).check(&Number(54)).is_err());
    }
}
