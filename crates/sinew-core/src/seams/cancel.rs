//! What is under way in a pool and can be cancelled at once: loops and skeletons under a control,
//! and worklists.
//!
//! Each *enrols* when it begins, and notes how often the pool has cancelled before. Once that
//! number is another one it is to end, as if its own control had been cancelled. The control itself
//! is left alone, so what begins later runs.
//!
//! # Invariants
//!
//! - R1: the number is noted once, before anything else is done, and all participants and phases go
//!   by that note: a cancellation reaches all of what has begun before it, and nothing else.
//!
//! # Orderings
//!
//! `Relaxed`: a word that only grows and only has to be seen soon, and a count that is a statistic.
//! Nothing is published by either.
//!
//! # Cost
//!
//! A few atomic operations when something begins and ends; a load of a line that hardly anybody
//! writes where it would look at its control anyway. Loops without a control do not enrol.
//!
//! # Not handled
//!
//! Joins, scopes, detached tasks, and skeletons without a control. What they answer are results
//! alone, of which none can be left out; so they run to their end.
//!
//! # Tests
//!
//! `tests/pool/control.rs`, the crate `sinew`'s `tests/pool.rs`; under random schedules in
//! the crate `sinew-loops`' `loops::controlled::schedules`.

use std::fmt;

use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::seams::callers::Callers;

/// What is under way in one pool.
#[derive(Debug, Default)]
pub(crate) struct CancelScope {
    /// On a line of its own: all that is enrolled looks at it, and who comes and goes writes the
    /// other.
    cancellations: CachePadded<AtomicU64>,
    pub(crate) under_way: AtomicUsize,
    /// Whose calls wait for a worker and are cancelled as well.
    callers: Callers,
}

impl CancelScope {
    /// Cancels all that is enrolled now.
    pub(crate) fn cancel(&self) {
        self.cancellations.fetch_add(1, Ordering::Relaxed);
        self.callers.wake_all();
    }

    pub(crate) fn callers(&self) -> &Callers {
        &self.callers
    }

    pub(crate) fn under_way(&self) -> usize {
        self.under_way.load(Ordering::Relaxed)
    }

    /// How often the pool has cancelled what it runs.
    pub(crate) fn cancellations(&self) -> u64 {
        self.cancellations.load(Ordering::Relaxed)
    }
}

/// By which a waiting call may be cancelled: a flag, and the callers that look at it.
///
/// The flag is set before the callers are woken ([`Callers::wake_all`]), and never taken back.
pub trait Cancellable {
    /// Whether calls are to end that no worker has taken.
    fn is_cancelled(&self) -> bool;

    /// The callers that wait.
    fn callers(&self) -> &Callers;
}

/// A loop or call that was cancelled before it was done, by its control or its
/// [pool's](crate::PoolControl::cancel).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cancelled before it was done, by its control or its pool's")
    }
}

impl std::error::Error for Cancelled {}
