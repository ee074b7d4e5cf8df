//! skynet on Sinew.

use super::Children;
use crate::problem::Form;
use crate::runtimes::sinew::{self, Worker};

pub(super) fn form() -> Form {
    sinew::form("sinew", |pool, case| pool.run(|w| node(w, 0, super::leaves(case.size))))
}

fn node(w: &Worker, first: u64, leaves: u64) -> u64 {
    if leaves == 1 { first } else { spread(w, Children::of(first, leaves)) }
}

fn spread(w: &Worker, children: Children) -> u64 {
    if children.count == 1 {
        return node(w, children.first, children.leaves);
    }
    let (some, others) = children.split();
    let (a, b) = w.join(|w| spread(w, some), |w| spread(w, others));
    a + b
}
