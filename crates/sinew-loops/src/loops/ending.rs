//! The early end of a loop or pipeline: a stop flag, and the first panic of a body.
//!
//! # Orderings
//!
//! `stop` is `Relaxed`: it publishes nothing. A lock publishes the panic's payload, and the join
//! that ends the loop publishes results.

use sinew_core::FirstPanic;
use sinew_sync::atomic::{AtomicBool, Ordering};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Whether a loop is to end early, and with which panic.
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
    /// Whether participants should leave.
    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Makes participants leave.
    #[inline]
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Calls `work`; its panic stops the loop.
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

    /// Resumes the first panic, if there was one. To be called when no participant is left.
    #[inline]
    pub(crate) fn rethrow(&self) {
        // Relaxed: the join orders all earlier stores.
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
