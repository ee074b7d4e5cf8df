//! Helper threads: a helper runs the next unit of a worker ahead, to load its data into a cache
//! that both share. So the helper's thread is pinned as near to its worker's as the mapping allows,
//! and moves with it.
//!
//! A worker with a helper holds one unit more than it runs. When it begins a unit, it offers the
//! next one, and the helper runs that in prefetch mode: with real reads, and without effects.
//!
//! | situation | what happens |
//! |---|---|
//! | the helper finishes | it waits for the next unit |
//! | the worker's attempt aborts | the helper begins its unit again, since its reads may be out of date |
//! | the unit panics in the helper | the helper waits for the next unit |
//! | the worker overtakes the helper | it stops at its next access, and gets the next unit |
//!
//! A unit that is swapped, or returned because its worker leaves, is no longer offered. A helper is
//! stopped at accesses to variables only: a run waits for a helper whose unit computes without any.
//!
//! Source: Góes (see [`worklist`](super)), section 5.1.4 and figure 5.2. Differences: a lock
//! protects the offered unit, which the helper takes once for each unit; it polls a number.

use std::sync::Arc;

use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::lock::Mutex;

/// The unit that a worker offers to its helper.
#[derive(Debug)]
pub(super) struct Ahead<U> {
    /// The number of offers.
    ticket: AtomicU64,
    unit: Mutex<Option<Arc<U>>>,
}

impl<U> Ahead<U> {
    pub(super) fn new() -> Self {
        Self { ticket: AtomicU64::new(0), unit: Mutex::new(None) }
    }

    /// Offers `unit`. The helper no longer uses the unit that was offered before.
    pub(super) fn offer(&self, unit: Option<Arc<U>>) {
        *self.unit.lock() = unit;
        self.again();
    }

    /// Makes the helper begin again.
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
