//! Random transactions: operations, and nested parts that are kept or undone.

use crate::container_model::{KEYS, KINDS, Op};
use crate::{ContentionManager, Locking, Transaction};

/// How a part of a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartEnd {
    Kept,
    /// By `retry`.
    Retry,
    Panic,
}

#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) steps: Vec<Step>,
    pub(super) end: PartEnd,
}

#[derive(Debug, Clone)]
pub(super) enum Step {
    Do(Op),
    /// Performs the operation, and panics in its comparison of that number, if it has one.
    Interrupted(Op, u32),
    Irrevocable,
    /// A transaction within the transaction.
    Nested(Part),
    /// The first part, or the second if the first retries.
    OrElse(Part, Part),
    /// A step whose panic is caught.
    Caught(Box<Step>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Commit,
    /// Restarts once, then commits.
    Restart,
    /// Waits once for any change, then commits.
    Wait,
    /// Aborts and is not repeated.
    GivenUp,
    Panic,
    Ahead,
}

/// The call that runs a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// `atomically`.
    Atomically,
    /// `attempt` until it commits.
    Attempts,
    /// `attempt_or_wait` until it commits.
    AttemptsThatWait,
}

/// A random transaction.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) end: End,
    pub(super) caller: Caller,
}

fn random_op(rng: &mut fastrand::Rng) -> Op {
    // Half of all operations are on the containers whose nodes are found by key.
    let kind = KINDS[if rng.bool() { rng.usize(..3) } else { rng.usize(..KINDS.len()) }];
    let key = rng.u8(..KEYS);
    match rng.u8(..10) {
        0..4 => Op::Put(kind, key, rng.u16(..)),
        4..7 => Op::Take(kind, key),
        7..9 => Op::Look(kind, key),
        _ => Op::Walk(kind),
    }
}

impl Part {
    fn random(rng: &mut fastrand::Rng, longest: usize, depth: u32, end: PartEnd) -> Self {
        let steps = (0..rng.usize(1..=longest)).map(|_| Step::random(rng, longest, depth));
        Self { steps: steps.collect(), end }
    }
}

impl Step {
    /// A step with at most `depth` levels of nested parts.
    fn random(rng: &mut fastrand::Rng, longest: usize, depth: u32) -> Self {
        match rng.u8(..40) {
            0..8 if depth > 0 => Self::random_part(rng, longest, depth - 1),
            8 => Self::Irrevocable,
            9..13 => Self::Interrupted(random_op(rng), rng.u32(1..6)),
            _ => Self::Do(random_op(rng)),
        }
    }

    fn random_part(rng: &mut fastrand::Rng, longest: usize, depth: u32) -> Self {
        use PartEnd::{Kept, Panic, Retry};
        let mut part = |ends: [PartEnd; 4]| {
            let end = ends[rng.usize(..ends.len())];
            Part::random(rng, longest, depth, end)
        };
        let (first, second) = (part([Kept, Retry, Retry, Panic]), part([Kept, Kept, Retry, Panic]));
        let step = if rng.bool() { Self::OrElse(first, second) } else { Self::Nested(second) };
        if rng.u8(..8) > 0 { Self::Caught(Box::new(step)) } else { step }
    }
}

impl Plan {
    /// One to `longest` steps, of which some are parts with as many.
    pub(crate) fn random(rng: &mut fastrand::Rng, longest: usize) -> Self {
        let steps = (0..rng.usize(1..=longest)).map(|_| Step::random(rng, longest, 3)).collect();
        let ends = [End::Commit, End::Restart, End::Wait, End::GivenUp, End::Panic, End::Ahead];
        let end = ends[rng.usize(..24).saturating_sub(18)];
        let callers = [Caller::Atomically, Caller::Attempts, Caller::AttemptsThatWait];
        Self { steps, end, caller: callers[rng.usize(..callers.len())] }
    }

    pub(crate) fn of(ops: &[Op]) -> Self {
        let steps = ops.iter().map(|op| Step::Do(*op)).collect();
        Self { steps, end: End::Commit, caller: Caller::Atomically }
    }
}

/// Ways to run a transaction: managers, max_aborts, and both lock times.
pub(crate) fn random_way(rng: &mut fastrand::Rng) -> Transaction {
    let manager = [ContentionManager::Suicide, ContentionManager::Backoff, ContentionManager::Age]
        [rng.usize(..3)];
    let locking = [Locking::Encounter, Locking::Commit][rng.usize(..2)];
    Transaction::new().manager(manager).locking(locking).max_aborts([1, 3, 10, 10][rng.usize(..4)])
}
