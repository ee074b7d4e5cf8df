//! skynet without a runtime.

use crate::problem::Case;

pub(super) fn run(case: &Case) -> u64 {
    node(0, super::leaves(std::hint::black_box(case.size)))
}

fn node(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    (0..10).map(|child| node(first + child * (leaves / 10), leaves / 10)).sum()
}
