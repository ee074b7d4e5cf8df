//! The unit that a worker offers to its helper thread.
//!
//! A helper runs the next unit of a worker ahead, to load the unit's data into a cache that both
//! share. So the helper's thread is pinned as near to its worker's as the mapping allows, and moves
//! with it. `run/helper` is the helper.
//!
//! A worker with a helper takes one more unit than it runs. When it begins a unit, it offers the
//! next one, and the helper runs that in prefetch mode: with real reads, and without effects.
//!
//! | situation | effect |
//! |---|---|
//! | the helper finishes | it waits for the next unit |
//! | the worker's attempt aborts | the helper restarts its unit, whose reads may be out of date |
//! | the unit panics in the helper | the helper waits for the next unit |
//! | the worker overtakes the helper | the helper stops at its next access, and takes the next unit |
//!
//! A unit that is swapped, or that its worker returns to the list, is no longer offered. A helper
//! stops only at accesses to variables: a run waits for a helper whose unit computes without any.
//!
//! Source: Góes (see [`worklist`](super)), section 5.1.4 and figure 5.2. Differences: a lock
//! protects the offered unit. The helper polls the number of offers, and locks once for each unit.

use std::sync::Arc;

use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::lock::Mutex;

/// The unit that a worker offers to its helper.
#[derive(Debug)]
pub(super) struct HelperOffer<U> {
    /// The number of offers.
    version: AtomicU64,
    unit: Mutex<Option<Arc<U>>>,
}

impl<U> HelperOffer<U> {
    pub(super) fn new() -> Self {
        Self { version: AtomicU64::new(0), unit: Mutex::new(None) }
    }

    /// Offers `unit`. The helper no longer uses the unit that was offered before.
    pub(super) fn offer(&self, unit: Option<Arc<U>>) {
        *self.unit.lock() = unit;
        self.restart();
    }

    /// Makes the helper run the offered unit from its beginning.
    pub(super) fn restart(&self) {
        // Release: pairs with `version`; the unit itself is behind the lock.
        self.version.fetch_add(1, Ordering::Release);
    }

    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub(super) fn unit(&self) -> Option<Arc<U>> {
        self.unit.lock().clone()
    }
}
