//! skynet on chili.

use super::Children;
use crate::problem::Form;
use crate::runtimes::chili::{self, Scope};

pub(super) fn form() -> Form {
    chili::form("chili", |pool, case| node(&mut pool.scope(), 0, super::leaves(case.size)))
}

fn node(scope: &mut Scope<'_>, first: u64, leaves: u64) -> u64 {
    if leaves == 1 { first } else { spread(scope, Children::of(first, leaves)) }
}

fn spread(scope: &mut Scope<'_>, children: Children) -> u64 {
    if children.count == 1 {
        return node(scope, children.first, children.leaves);
    }
    let (some, others) = children.split();
    let (a, b) = scope.join(|scope| spread(scope, some), |scope| spread(scope, others));
    a + b
}
