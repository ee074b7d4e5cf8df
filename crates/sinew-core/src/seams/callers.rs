//! Waiting callers, which must check again after an event other than the end of their call.
//!
//! # Invariants
//!
//! - L1: a caller enters the list, checks for the event, and then parks. The thread that causes the
//!   event does so before it wakes the callers on the list. So one of both sees the other: the
//!   list's lock orders them, and a parker keeps an early token.
//!
//! # Tests
//!
//! `shuttle::calls`, with a planted bug.

use std::sync::Arc;

use sinew_sync::lock::Mutex;
use sinew_sync::parker::Parker;
use sinew_sync::plant::{Bug, planted};

/// The callers whose calls wait for a worker; see [`Cancellable`](crate::Cancellable).
#[derive(Debug, Default)]
pub struct Callers(Mutex<Vec<Arc<Parker>>>);

impl Callers {
    /// Adds a parker, whose thread is woken until the guard is dropped.
    pub(crate) fn enter<'c>(&'c self, parker: &Arc<Parker>) -> Listed<'c> {
        self.0.lock().push(Arc::clone(parker));
        Listed { callers: self, parker: Arc::clone(parker) }
    }

    /// Wakes all callers, which check again.
    pub fn wake_all(&self) {
        if !planted(Bug::SilentCancel) {
            for parker in self.0.lock().iter() {
                parker.unpark();
            }
        }
    }

    /// Wakes the caller that has waited for longest, which checks again.
    pub(crate) fn wake_first(&self) {
        if let Some(parker) = self.0.lock().first() {
            parker.unpark();
        }
    }
}

/// A caller on a list.
#[derive(Debug)]
pub(crate) struct Listed<'c> {
    callers: &'c Callers,
    parker: Arc<Parker>,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        let mut parkers = self.callers.0.lock();
        // Entries of one thread are equal, so any of them may be removed.
        if let Some(at) = parkers.iter().position(|parker| Arc::ptr_eq(parker, &self.parker)) {
            parkers.remove(at);
        }
    }
}
