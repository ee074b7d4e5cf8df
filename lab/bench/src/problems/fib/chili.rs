//! fib on chili.

use crate::problem::Form;
use crate::runtimes::chili::{self, Scope};

pub(super) fn form() -> Form {
    chili::form("chili", |pool, case| fib(&mut pool.scope(), case.size))
}

fn fib(scope: &mut Scope<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = scope.join(|scope| fib(scope, n - 1), |scope| fib(scope, n - 2));
    a + b
}
