//! A tree in which every node has ten children, down to a million leaves; each leaf says its
//! number, the root adds.
//!
//! The ten children of a node are spawned by nested joins where a runtime has only those.

mod chili;
mod rayon;
mod serial;
mod sinew;

use crate::problem::{Case, Form, Problem, Scale};

pub(crate) const PROBLEM: Problem = Problem {
    name: "skynet",
    about: "a 10-way tree with a million leaves",
    unit: "leaf",
    serial: serial::run,
    forms,
    cases,
    warm: |case| sized("warm", case.size.min(3)),
    counted: Some(|| [3, 4].map(|size| sized("counted", size))),
    in_processes: true,
    bars: &[],
};

fn forms() -> Vec<Form> {
    vec![sinew::form(), rayon::form(), chili::form()]
}

fn cases(scale: Scale) -> Vec<Case> {
    vec![sized(scale.pick("10^6 leaves", "10^3 leaves"), scale.pick(6, 3))]
}

pub(crate) fn sized(label: &'static str, size: u64) -> Case {
    Case { label, size, kind: 0, repeats: 1, operations: leaves(size) }
}

/// Leaves of a tree `depth` levels deep.
fn leaves(depth: u64) -> u64 {
    (0..depth).fold(1, |leaves, _| leaves * 10)
}

/// Some children of one node, side by side.
#[derive(Clone, Copy)]
struct Children {
    /// The number of the first child's first leaf.
    first: u64,
    count: u64,
    /// Leaves below each.
    leaves: u64,
}

impl Children {
    /// The children of the node above `leaves` leaves, the first of which is `first`.
    fn of(first: u64, leaves: u64) -> Self {
        Self { first, count: 10, leaves: leaves / 10 }
    }

    /// Two halves.
    fn split(self) -> (Self, Self) {
        let count = self.count / 2;
        let rest =
            Self { first: self.first + count * self.leaves, count: self.count - count, ..self };
        (Self { count, ..self }, rest)
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: a wrong shape of the tree; the sum is the same for every shape.
    use super::*;

    #[test]
    fn the_million_leaves_add_up() {
        assert_eq!((PROBLEM.serial)(&sized("", 6)), 499_999_500_000);
    }
}
