//! Helper threads: the next unit of a worker, run ahead of it, to bring what it reads into a cache
//! that both share. So a helper's thread sits as near to its worker's as the mapping has room,
//! whichever worker of the pool it is, and moves when that one is moved.
//!
//! A worker that has a helper holds one unit more than it runs. When it begins a unit, it hands the
//! next one over, and the helper runs that in prefetch mode: with real reads, and without any
//! effect.
//!
//! | situation | what happens |
//! |---|---|
//! | the helper gets through | it waits for the next unit |
//! | the worker's attempt is given up | the helper begins its unit again, since what it read may have changed |
//! | the unit panics in the helper | the helper waits for the next unit |
//! | the worker overtakes the helper | it stops at its next access, and gets the next unit |
//!
//! A unit that is swapped away, or put back since its worker leaves, is no longer handed over. A
//! helper is stopped at accesses to variables only: a run waits for a helper whose unit computes
//! without any.
//!
//! Source: Góes (see [`worklist`](super)), section 5.1.4 and figure 5.2. Differences: the hand-over
//! is behind a lock, which the helper takes once a unit; what it polls is a number.

use std::sync::Arc;

use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::lock::Mutex;

/// The place in which a worker leaves its next unit for its helper.
#[derive(Debug)]
pub(super) struct Ahead<U> {
    /// Counts what has been left here.
    ticket: AtomicU64,
    unit: Mutex<Option<Arc<U>>>,
}

impl<U> Ahead<U> {
    pub(super) fn new() -> Self {
        Self { ticket: AtomicU64::new(0), unit: Mutex::new(None) }
    }

    /// Hands `unit` over. The unit handed over before belongs to the worker alone from here on.
    pub(super) fn offer(&self, unit: Option<Arc<U>>) {
        *self.unit.lock() = unit;
        self.again();
    }

    /// Has the helper begin again.
    pub(super) fn again(&self) {
        // Release: pairs with `ticket`; the unit itself is behind the lock.
        self.ticket.fetch_add(1, Ordering::Release);
    }

    pub(super) fn ticket(&self) -> u64 {
        self.ticket.load(Ordering::Acquire)
    }

    pub(super) fn unit(&self) -> Option<Arc<U>> {
        self.unit.lock().clone()
    }
}
