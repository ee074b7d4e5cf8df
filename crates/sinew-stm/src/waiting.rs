//! `retry`: waits until a variable that was read has changed.
//!
//! A transaction that calls `retry` enters a [`Change`] under the address of each record that it
//! has read, and marks the record. A transaction that locks a marked record takes over the mark.
//! After its commit it notifies the changes that are entered there. So a commit does this work only
//! if a transaction waits for one of its records.
//!
//! `atomically` sleeps until its change happens.
//! [`attempt_or_wait`](crate::Transaction::attempt_or_wait) returns the change, so that a scheduler
//! can run other work on the thread meanwhile.
//!
//! # Invariants
//!
//! - W2: a change that has happened stays so, and its waker is called once: by the thread that
//!   notifies the change, or by the one that sets the waker, whichever comes second. Both check
//!   under the lock of the state.
//!
//! # Orderings
//!
//! - W1 entry (under the lock), then `mark_waited` ↔ `try_lock`, then the read of the entries
//!   (under the lock): a committer that finds the mark finds the entry. If a committer locked
//!   before the mark could be set, the waiting transaction sees it, and its change has then
//!   happened.
//!
//! # Not handled
//!
//! A mark may outlive its change, if another record notified it. The next commit there finds no
//! entry and clears the mark. A record at the address of a dropped one may notify a change that has
//! not happened: then the transaction runs, and waits again.
//!
//! # Tests
//!
//! `loom_a_sleeper_is_woken` and `loom_a_change_is_told` in `loom`, `shuttle_sleepers_are_woken`,
//! `tests/waiting.rs`; planted bugs `UnmarkedSleep` and `ForgottenChange`.

use crate::engine::engine;
use crate::log::Read;
use crate::record::Record;
use crate::sleepers::{State, Waiter, key};
use sinew_sync::lock::Mutex;
use sinew_sync::parker::Parker;
use sinew_sync::plant::{Bug, planted};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Instant;

/// The next change of a variable that a transaction has read, for which it waits after
/// [`retry`](crate::Tx::retry). Made by
/// [`Transaction::attempt_or_wait`](crate::Transaction::attempt_or_wait).
///
/// Changes are recorded from the attempt on, with or without a waker. After the drop no waker is
/// called.
///
/// ```
/// use sinew_stm::{TVar, Transaction, Unfinished};
///
/// let slot = TVar::new(None);
/// let how = Transaction::new();
/// let take = || how.attempt_or_wait(|tx| match slot.replace(tx, None)? {
///     Some(value) => Ok(value),
///     None => tx.retry(),
/// });
/// let Err(Unfinished::Waits(change)) = take() else { panic!("there is nothing") };
/// assert!(!change.has_happened());
/// slot.store(Some(7));
/// assert!(change.has_happened());
/// assert!(matches!(take(), Ok(7)));
/// ```
#[derive(Debug)]
#[must_use = "nobody is told of the change once this is dropped"]
pub struct Change {
    waiter: Arc<Waiter>,
    deadline: Option<Instant>,
}

impl Change {
    /// The next change of one of `reads`; it has happened if one of them has already changed, or is
    /// about to.
    ///
    /// # Safety
    ///
    /// The records are alive during the call.
    pub(crate) unsafe fn of(reads: &[Read], deadline: Option<Instant>) -> Self {
        let mut keys: Vec<usize> = reads.iter().map(|read| key(read.record)).collect();
        keys.sort_unstable();
        keys.dedup();
        let waiter = Arc::new(Waiter { keys, state: Mutex::new(State::Waits(None)) });
        engine().sleepers.lock().enter(&waiter);
        // SAFETY: the caller's promise.
        if !reads.iter().all(|read| unsafe { &*read.record }.mark_waited(read.seen)) {
            waiter.tell();
        }
        Self { waiter, deadline }
    }

    /// Whether a variable has changed, or the deadline has passed.
    pub fn has_happened(&self) -> bool {
        self.waiter.has_changed()
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// When the wait ends at the latest, after [`retry_until`](crate::Tx::retry_until). No waker is
    /// called then.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Calls `waker` once as soon as a variable has changed; at once if one has changed already. It
    /// replaces an earlier waker.
    ///
    /// The thread whose commit makes the change calls the waker, within that commit: it must be
    /// short, must not panic, and must not start a transaction.
    pub fn notify(&self, waker: Waker) {
        let mut state = self.waiter.state.lock();
        // Dropped after the lock is released: it may be the last reference to something.
        let _before = match &mut *state {
            State::Waits(told) => told.replace(waker),
            State::Changed => {
                drop(state);
                if !planted(Bug::ForgottenChange) {
                    waker.wake();
                }
                return;
            }
        };
        drop(state);
    }

    /// Sleeps until a variable has changed, or the deadline has passed.
    ///
    /// # Blocking
    ///
    /// Blocks until another thread commits a change, or the deadline.
    pub fn wait(&self) {
        let sleeper = Arc::new(Sleeper(Parker::new()));
        self.notify(Waker::from(Arc::clone(&sleeper)));
        while !self.has_happened() {
            let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
            let ns = self.deadline.map(|deadline| left(deadline).as_nanos());
            sleeper.0.park_at_most(ns.map(|ns| ns.try_into().unwrap_or(u64::MAX)));
        }
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        engine().sleepers.lock().leave(&self.waiter);
    }
}

/// A thread that sleeps.
struct Sleeper(Parker);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Notifies the waiters for a change of `record`.
#[cold]
pub(crate) fn wake(record: *const Record) {
    let woken = engine().sleepers.lock().take(key(record));
    woken.iter().for_each(|waiter| waiter.tell());
}
