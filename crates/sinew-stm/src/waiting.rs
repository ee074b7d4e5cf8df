//! `retry`: sleeping until something that was read has changed.
//!
//! The sleeper enters itself under the address of each record that it has read, and marks the record. Whoever locks a marked
//! record takes the mark with it, and after its commit wakes those that are entered there. So commits pay for sleepers
//! only where there are some.
//!
//! # Orderings
//!
//! - W1 entry (under the lock), then `mark_waited` ↔ `try_lock`, then the look at the entries (under the lock): a committer that
//!   finds the mark finds the entry. One that locked before the mark could be set is seen by the sleeper, which
//!   then does not sleep.
//!
//! # Not handled
//!
//! A mark may outlive its sleeper (another record woke it). The next commit there looks for nobody once and clears it.

use crate::engine::engine;
use crate::log::Read;
use crate::record::Record;
use sinew_sync::atomic::{AtomicBool, Ordering};
use sinew_sync::parker::Parker;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A thread that waits for a change.
#[derive(Debug)]
struct Sleeper {
    parker: Parker,
    woken: AtomicBool,
}

/// Who waits, by the addresses of records, which are keys only.
#[derive(Debug)]
pub(crate) struct Sleepers(BTreeMap<usize, Vec<Arc<Sleeper>>>);

impl Sleepers {
    pub(crate) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    fn enter(&mut self, key: usize, sleeper: &Arc<Sleeper>) {
        let here = self.0.entry(key).or_default();
        if !here.last().is_some_and(|last| Arc::ptr_eq(last, sleeper)) {
            here.push(Arc::clone(sleeper));
        }
    }

    fn leave(&mut self, key: usize, sleeper: &Arc<Sleeper>) {
        if let Some(here) = self.0.get_mut(&key) {
            here.retain(|other| !Arc::ptr_eq(other, sleeper));
            if here.is_empty() {
                self.0.remove(&key);
            }
        }
    }
}

fn key(record: *const Record) -> usize {
    record.addr()
}

/// Sleeps until one of `reads` has changed, or returns at once if one already has.
///
/// # Safety
///
/// The records are alive until this returns.
///
/// # Blocking
///
/// Until another thread's commit.
pub(crate) unsafe fn sleep(reads: &[Read]) {
    let sleeper = Arc::new(Sleeper { parker: Parker::new(), woken: AtomicBool::new(false) });
    let mut sleepers = engine().sleepers.lock();
    reads.iter().for_each(|read| sleepers.enter(key(read.record), &sleeper));
    drop(sleepers);
    // SAFETY: the caller's promise.
    if reads.iter().all(|read| unsafe { &*read.record }.mark_waited(read.seen)) {
        // Acquire: pairs with `wake`.
        while !sleeper.woken.load(Ordering::Acquire) {
            sleeper.parker.park();
        }
    }
    let mut sleepers = engine().sleepers.lock();
    reads.iter().for_each(|read| sleepers.leave(key(read.record), &sleeper));
}

/// Wakes those who wait for a change of `record`.
#[cold]
pub(crate) fn wake(record: *const Record) {
    let woken = engine().sleepers.lock().0.remove(&key(record));
    for sleeper in woken.into_iter().flatten() {
        // Release: pairs with `sleep`, though what matters is read from the records again.
        sleeper.woken.store(true, Ordering::Release);
        sleeper.parker.unpark();
    }
}
