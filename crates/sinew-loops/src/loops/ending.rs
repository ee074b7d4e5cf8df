//! How a loop ends early: a body that asks to stop, or panics.
//!
//! # Orderings
//!
//! `stop` is `Relaxed`: it only has to be seen soon. Panics are handed over under a lock, results
//! by the join.

use sinew_sync::atomic::{AtomicBool, Ordering};
use sinew_sync::lock::Mutex;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Whether a loop is to end, and with which panic.
#[derive(Debug)]
pub(crate) struct Ending {
    stop: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Default for Ending {
    #[inline]
    fn default() -> Self {
        Self { stop: AtomicBool::new(false), panic: Mutex::new(None) }
    }
}

impl Ending {
    /// Whether participants are to leave.
    #[inline]
    pub(crate) fn is_near(&self) -> bool {
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

    /// Keeps the first panic. The payload of a later one is dropped: if that panics in turn, the
    /// join passes it on.
    #[cold]
    fn stop_cold(&self, payload: Box<dyn Any + Send>) {
        self.stop();
        let mut first = self.panic.lock();
        let late = if first.is_none() { first.replace(payload) } else { Some(payload) };
        drop(first);
        drop(late);
    }

    /// Goes on with the first panic, if there was one. Called when no participant is left.
    #[inline]
    pub(crate) fn rethrow(&self) {
        // Relaxed: the join has ordered everything before.
        if self.is_near() {
            self.rethrow_cold();
        }
    }

    #[cold]
    fn rethrow_cold(&self) {
        let first = self.panic.lock().take();
        if let Some(payload) = first {
            resume_unwind(payload);
        }
    }
}
