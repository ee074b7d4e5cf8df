//! fib on rayon.

use crate::problem::Form;
use crate::runtimes::rayon;

pub(super) fn form() -> Form {
    rayon::form("rayon", |pool, case| pool.install(|| fib(case.size)))
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = ::rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}
