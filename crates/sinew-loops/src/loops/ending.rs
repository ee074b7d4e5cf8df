//! How a loop ends early: a body that asks to stop, or panics.
//!
//! # Orderings
//!
//! `stop` is `Relaxed`: it only has to be seen soon. Panics are handed over under a lock, results
//! by the join.

use sinew_core::FirstPanic;
use sinew_sync::atomic::{AtomicBool, Ordering};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Whether a loop is to end, and with which panic.
#[derive(Debug)]
pub(crate) struct Ending {
    stop: AtomicBool,
    panic: FirstPanic,
}

impl Default for Ending {
    #[inline]
    fn default() -> Self {
        Self { stop: AtomicBool::new(false), panic: FirstPanic::default() }
    }
}

impl Ending {
    /// Whether participants are to leave.
    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Tells participants to leave.
    #[inline]
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Calls `work`; a panic of it ends the loop.
    #[inline]
    pub(crate) fn guard(&self, work: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
            self.stop_cold(payload);
        }
    }

    #[cold]
    fn stop_cold(&self, payload: Box<dyn Any + Send>) {
        self.stop();
        self.panic.keep(payload);
    }

    /// Goes on with the first panic, if there was one. Called when no participant is left.
    #[inline]
    pub(crate) fn rethrow(&self) {
        // Relaxed: the join has ordered everything before.
        if self.is_stopped() {
            self.rethrow_cold();
        }
    }

    #[cold]
    fn rethrow_cold(&self) {
        if let Some(payload) = self.panic.take() {
            resume_unwind(payload);
        }
    }
}
