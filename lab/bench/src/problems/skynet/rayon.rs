//! skynet on rayon.

use super::Children;
use crate::problem::Form;
use crate::runtimes::rayon;

pub(super) fn form() -> Form {
    rayon::form("rayon", |pool, case| pool.install(|| node(0, super::leaves(case.size))))
}

fn node(first: u64, leaves: u64) -> u64 {
    if leaves == 1 { first } else { spread(Children::of(first, leaves)) }
}

fn spread(children: Children) -> u64 {
    if children.count == 1 {
        return node(children.first, children.leaves);
    }
    let (some, others) = children.split();
    let (a, b) = ::rayon::join(|| spread(some), || spread(others));
    a + b
}
