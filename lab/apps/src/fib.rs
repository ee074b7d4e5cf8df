//! Fibonacci numbers by the definition: very many very small tasks.
//!
//! Below fib([`GRAIN`]) calls are serial, so the smallest task is some 100 ns of work. With `,all`
//! after the number every call is a task, as in the publications, which measures the price of a
//! task only.
//!
//! # Cost
//!
//! fib(n) makes fib(n − `GRAIN` + 2) − 1 joins; fib(43) some 9 million, with `,all` 700 million.

use std::fmt;

use sinew::Worker;

use crate::app::App;
use crate::options::{Error, Numbers, Options, Size};
use crate::problem::{Problem, Solve, Wrong, problem};

/// The largest number that one task computes alone.
const GRAIN: u64 = 9;

/// The same where every call is a task.
const NO_GRAIN: u64 = 1;

/// Follows the number where every call is to be a task.
const ALL: &str = ",all";

const SIZES: &str = "a number from 1 to 60, and `,all` after it for a task per call";

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
    let all = match &options.size {
        Size::Exact(text) => text.strip_suffix(ALL),
        _ => None,
    };
    let (size, grain) = match all {
        Some(number) => (&Size::Exact(number.to_owned()), NO_GRAIN),
        None => (&options.size, GRAIN),
    };
    Ok(problem(Fib { n: NUMBERS.pick(size)?, grain }))
}

struct Fib {
    n: u64,
    /// The largest number that one task computes alone.
    grain: u64,
}

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

fn parallel(worker: &Worker, n: u64, grain: u64) -> u64 {
    if n <= grain {
        return serial(n);
    }
    let (a, b) = worker.join(|w| parallel(w, n - 1, grain), |w| parallel(w, n - 2, grain));
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
        let all = if self.grain == NO_GRAIN { ALL } else { "" };
        format!("{}{all}", self.n)
    }

    fn input(&self) {}

    fn serial(&self, (): ()) -> Number {
        Number(serial(self.n))
    }

    fn parallel(&self, worker: &Worker, (): ()) -> Number {
        Number(parallel(worker, self.n, self.grain))
    }

    fn check(&self, answer: &Number) -> Result<(), Wrong> {
        let known = known(self.n);
        Wrong::unless(answer.0 == known, || format!("fib({}) is {known}, not {answer}", self.n))
    }
}

#[cfg(test)]
mod tests {
    use sinew::Pool;
    use sinew::profile::Profiler;

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

    /// Catches: calls that are no tasks though all are to be, and a size that is read wrongly.
    #[test]
    fn every_call_is_a_task_where_that_is_asked_for() {
        let spawned = |size: &str| {
            let size = Size::Exact(size.to_owned());
            let problem = prepare(&Options { size, ..Options::default() }).unwrap();
            let pool = Pool::builder().threads(2).observer(Profiler::new()).build().unwrap();
            let run = problem.parallel(&pool);
            problem.check(&run.answer).unwrap();
            run.profile.unwrap().tasks().spawned
        };
        // fib(12) calls fib(2) and above fib(12) - 1 + ... = 232 times, fib(10) and above thrice.
        assert_eq!((spawned("12"), spawned("12,all")), (4, 232));
        let size = Size::Exact("61,all".to_owned());
        assert!(prepare(&Options { size, ..Options::default() }).is_err());
    }

    #[test]
    fn a_wrong_number_is_noticed() {
        assert!(Fib { n: 10, grain: GRAIN }.check(&Number(54)).is_err());
    }
}
