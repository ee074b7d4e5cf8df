//! fib without a runtime.

use crate::problem::Case;

pub(super) fn run(case: &Case) -> u64 {
    fib(std::hint::black_box(case.size))
}

pub(super) fn fib(n: u64) -> u64 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}
