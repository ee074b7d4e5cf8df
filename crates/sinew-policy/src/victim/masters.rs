//! The master of a package: the one worker that may steal beyond it.
//!
//! The runtime keeps a word per package (`mastership` in `sinew-core`); this module decides which
//! worker may store its number there. A worker becomes a candidate at the start of a search, and
//! resigns when it parks or leaves its worker slot.
//!
//! Source: A.-A. Chasapis, "Optimization Techniques for Task-based Parallel Programming Models"
//! (2014), and Q. Chen, M. Guo and Z. Huang, "CATS" (2012), which fix one master. Difference: the
//! role passes on here, as otherwise a master with a long task would confine its whole package.

/// The state of a package's master.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// There is no master, or it has resigned.
    Vacant,
    /// It is parked, or its worker slot has no thread.
    Parked,
    /// It is blocked in a join or a scope.
    Waits,
    /// It runs a task.
    Works,
    /// It searches for work.
    Searches,
}

/// A worker that searches for work and is not its package's master.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// It is blocked in a join itself, and can run only some tasks.
    pub waits: bool,
    /// It has long searched in vain, though work exists that its rule forbids.
    pub stranded: bool,
}

/// Whether the candidate becomes the master.
///
/// A searching master keeps the role: it finds all that the candidate would find. A blocked one
/// loses it to a worker that is not blocked; one that runs a task, only if work would be stranded.
pub fn takes_over(holder: Holder, candidate: Candidate) -> bool {
    match holder {
        Holder::Vacant | Holder::Parked => true,
        Holder::Waits => !candidate.waits || candidate.stranded,
        Holder::Works => candidate.stranded,
        Holder::Searches => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Holder::{Parked, Searches, Vacant, Waits, Works};

    /// Catches: a role that stays with a worker that cannot use it, or that a worker loses while it
    /// can.
    #[test]
    fn a_worker_that_cannot_use_the_role_loses_it() {
        let free = Candidate { waits: false, stranded: false };
        let blocked = Candidate { waits: true, ..free };
        let stranded = Candidate { stranded: true, ..free };
        for (holder, answers) in [
            (Vacant, [true, true, true]),
            (Parked, [true, true, true]),
            (Waits, [true, false, true]),
            (Works, [false, false, true]),
            (Searches, [false, false, false]),
        ] {
            assert_eq!(
                [free, blocked, stranded].map(|c| takes_over(holder, c)),
                answers,
                "{holder:?}"
            );
        }
    }
}
