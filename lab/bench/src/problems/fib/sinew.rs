//! fib on Sinew: with the worker passed along, and with the worker looked up at every join.

use crate::problem::Form;
use crate::runtimes::sinew::{self, Worker};

pub(super) fn forms() -> [Form; 2] {
    [
        sinew::form("sinew", |pool, case| pool.run(|w| fib(w, case.size))),
        sinew::form("sinew::join", |pool, case| pool.run(|_| fib_by_lookup(case.size))),
    ]
}

fn fib(w: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

/// The same, called by a function that `--listing` can find. The compiler does with `fib` what it
/// does in a user's program.
#[inline(never)]
pub(crate) fn listed_fib(w: &Worker, n: u64) -> u64 {
    fib(w, n)
}

fn fib_by_lookup(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = ::sinew::join(|| fib_by_lookup(n - 1), || fib_by_lookup(n - 2));
    a + b
}
