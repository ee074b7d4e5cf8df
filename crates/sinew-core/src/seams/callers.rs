//! Callers that wait, and are to look again when something else has happened than the end of their
//! call.
//!
//! # Invariants
//!
//! - L1: a caller enters the list before it looks at what it is to be woken for, and parks only
//!   after that; whoever makes that happen does so before it wakes those on the list. So one of
//!   both sees the other: the list's lock orders them, and a parker keeps a token that comes early.
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
    /// The thread that parks there is woken until the guard is dropped.
    pub(crate) fn enter<'c>(&'c self, parker: &Arc<Parker>) -> Listed<'c> {
        self.0.lock().push(Arc::clone(parker));
        Listed { callers: self, parker: Arc::clone(parker) }
    }

    /// Has all callers look again.
    pub fn wake_all(&self) {
        if !planted(Bug::SilentCancel) {
            for parker in self.0.lock().iter() {
                parker.unpark();
            }
        }
    }

    /// Has the caller look again that has waited for longest.
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
        // Entries of one thread are alike, so any of them will do.
        if let Some(at) = parkers.iter().position(|parker| Arc::ptr_eq(parker, &self.parker)) {
            parkers.remove(at);
        }
    }
}
