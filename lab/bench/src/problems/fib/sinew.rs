//! fib on Sinew: with the worker passed along, with arms that capture by value, and with the worker
//! looked up at every join.

use crate::problem::Form;
use crate::runtimes::sinew::{self, Worker};

pub(super) fn forms() -> [Form; 3] {
    [
        sinew::form("sinew", |pool, case| pool.run(|w| fib(w, case.size))),
        sinew::form("sinew, move", |pool, case| pool.run(|w| fib_by_value(w, case.size))),
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

fn fib_by_value(w: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(move |w| fib_by_value(w, n - 1), move |w| fib_by_value(w, n - 2));
    a + b
}

fn fib_by_lookup(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = ::sinew::join(|| fib_by_lookup(n - 1), || fib_by_lookup(n - 2));
    a + b
}
