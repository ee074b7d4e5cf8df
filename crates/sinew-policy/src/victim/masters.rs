//! Who is the master of a package: the one worker that may leave it.
//!
//! The runtime keeps a word for each package; this says who may put its number there. A worker
//! stands for it at the beginning of a search, and gives it up when it parks or its seat is given
//! up.
//!
//! Source: A.-A. Chasapis, "Optimization Techniques for Task-based Parallel Programming Models"
//! (2014), and Q. Chen, M. Guo and Z. Huang, "CATS" (2012), which fix one master; that it passes on
//! is ours, as a master with a long task would else keep its whole package at home.

/// What the master of a package is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// There is none, or it has resigned.
    Nobody,
    /// It sleeps, or nobody sits there any more.
    Parked,
    /// It is blocked in a join or a scope.
    Waits,
    /// It runs a task.
    Works,
    /// It looks for work.
    Searches,
}

/// A worker that is looking for work, and is not its package's master.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// It is blocked in a join itself, and can run some tasks only.
    pub waits: bool,
    /// It has searched in vain for long, with work in sight that its rule withholds from it.
    pub stranded: bool,
}

/// Whether the candidate becomes the master.
///
/// A master that is free goes on: it finds whatever a slave would. One that is blocked gives way to
/// a worker that is not; one that works, only where work would be stranded.
pub fn takes_over(holder: Holder, candidate: Candidate) -> bool {
    match holder {
        Holder::Nobody | Holder::Parked => true,
        Holder::Waits => !candidate.waits || candidate.stranded,
        Holder::Works => candidate.stranded,
        Holder::Searches => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Holder::{Nobody, Parked, Searches, Waits, Works};

    /// Catches: a mastership that stays with a worker that cannot use it, or changes hands while
    /// its holder can.
    #[test]
    fn mastership_passes_on_from_whoever_cannot_use_it() {
        let free = Candidate { waits: false, stranded: false };
        let blocked = Candidate { waits: true, ..free };
        let stranded = Candidate { stranded: true, ..free };
        for (holder, answers) in [
            (Nobody, [true, true, true]),
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
