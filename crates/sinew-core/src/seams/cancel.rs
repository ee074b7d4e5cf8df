//! Running work of a pool that one request can cancel: loops and skeletons under a control, and
//! worklists.
//!
//! Such work *registers* when it begins, and stores the number of earlier cancellations of the
//! pool. Once that number changes, the work must end, as if its own control had been cancelled. The
//! control itself is not cancelled, so later work runs.
//!
//! # Invariants
//!
//! - R1: the number is stored once, before the work begins, and all participants and phases compare
//!   with it: a cancellation ends all work that began before it, and no other work.
//!
//! # Orderings
//!
//! `Relaxed`: a word that only grows and must only be seen soon, and a count that is a statistic.
//! Neither publishes anything.
//!
//! # Cost
//!
//! A few atomic operations when the work begins and ends, and a load of a rarely written line where
//! the work checks its control anyway. Loops without a control do not register.
//!
//! # Not handled
//!
//! Joins, scopes, detached tasks, and skeletons without a control. Their return types are plain
//! results, which cannot express a cancellation; so they run to their end.
//!
//! # Tests
//!
//! `tests/pool/control.rs`, the crate `sinew`'s `tests/pool.rs`; under random schedules in
//! the crate `sinew-loops`' `loops::controlled::shuttle`.

use std::fmt;

use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::seams::callers::Callers;

/// The registered work of one pool.
#[derive(Debug, Default)]
pub(crate) struct CancelScope {
    /// On a line of its own: all registered work reads it, while the other field is written at each
    /// registration.
    cancellations: CachePadded<AtomicU64>,
    pub(crate) under_way: AtomicUsize,
    /// The callers whose calls wait for a worker; those are cancelled as well.
    callers: Callers,
}

impl CancelScope {
    /// Cancels all work that is registered now.
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

    /// How often the pool has been cancelled.
    pub(crate) fn cancellations(&self) -> u64 {
        self.cancellations.load(Ordering::Relaxed)
    }
}

/// A means to cancel waiting calls: a flag, and the callers that check it.
///
/// The flag is set before the callers are woken ([`Callers::wake_all`]), and never taken back.
pub trait Cancellable {
    /// Sets the flag and wakes the callers. A caller calls it when the deadline of its call passes.
    fn cancel(&self);

    /// Whether calls that no worker has taken must end.
    fn is_cancelled(&self) -> bool;

    /// The waiting callers.
    fn callers(&self) -> &Callers;

    /// When the flag is set at the latest, by the clock of `sinew-sync`. Calls that begin to wait
    /// later have this deadline.
    fn deadline_ns(&self) -> Option<u64> {
        None
    }
}

/// The error of a loop that its control, or its [pool's](crate::PoolControl::cancel),
/// cancelled before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cancelled before it was done, by its control or its pool's")
    }
}

impl std::error::Error for Cancelled {}
