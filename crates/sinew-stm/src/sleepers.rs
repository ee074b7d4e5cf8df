//! The table of transactions that wait for a change.

use crate::record::Record;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;

use sinew_sync::lock::Mutex;

/// The waiters, by the address of a record and that of the waiter. Both are keys only.
#[derive(Debug)]
pub(crate) struct Sleepers(BTreeMap<(usize, usize), Arc<Waiter>>);

impl Sleepers {
    pub(crate) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub(crate) fn enter(&mut self, waiter: &Arc<Waiter>) {
        let number = number(waiter);
        let keys = waiter.keys.iter();
        keys.for_each(|&key| drop(self.0.insert((key, number), Arc::clone(waiter))));
    }

    pub(crate) fn leave(&mut self, waiter: &Arc<Waiter>) {
        let number = number(waiter);
        waiter.keys.iter().for_each(|&key| drop(self.0.remove(&(key, number))));
    }

    /// Removes and returns the waiters for a change of the record with this key.
    pub(crate) fn take(&mut self, key: usize) -> Vec<Arc<Waiter>> {
        let here: Vec<_> = self.0.range((key, 0)..=(key, usize::MAX)).map(|(at, _)| *at).collect();
        here.iter().filter_map(|at| self.0.remove(at)).collect()
    }
}

pub(crate) fn key(record: *const Record) -> usize {
    record.addr()
}

/// A number that no other live waiter has.
fn number(waiter: &Arc<Waiter>) -> usize {
    Arc::as_ptr(waiter).addr()
}

/// A transaction that waits, in the table of sleepers.
#[derive(Debug)]
pub(crate) struct Waiter {
    /// The records that it has read.
    pub(crate) keys: Vec<usize>,
    pub(crate) state: Mutex<State>,
}

#[derive(Debug)]
pub(crate) enum State {
    /// Nothing has changed. The waker, once it is set.
    Waits(Option<Waker>),
    Changed,
}

impl Waiter {
    /// Records that a variable has changed.
    pub(crate) fn tell(&self) {
        let before = std::mem::replace(&mut *self.state.lock(), State::Changed);
        // Without the lock, as wakers may run any short code.
        if let State::Waits(Some(waker)) = before {
            waker.wake();
        }
    }

    pub(crate) fn has_changed(&self) -> bool {
        matches!(*self.state.lock(), State::Changed)
    }
}
