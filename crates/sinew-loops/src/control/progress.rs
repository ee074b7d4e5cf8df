//! The progress callback of a control, and when it is due.
//!
//! A participant compares the time between two slices of work, and calls the callback when it is
//! due. The callback is the user's code, so the participant takes it out of its slot for the call:
//! no lock is held, no other participant calls it meanwhile, and a callback that panics is dropped.
//!
//! # Orderings
//!
//! `due_ns` is `Relaxed`: a reader that sees an old value takes the lock in vain, or calls one
//! slice late.

use std::fmt;
use std::time::Duration;

use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::clock::now_ns;
use sinew_sync::lock::Mutex;

use super::Snapshot;

/// A slot for a callback, and when the callback is due.
#[derive(Default)]
pub(super) struct ProgressCallback {
    due_ns: AtomicU64,
    /// `None` while the callback is called.
    slot: Mutex<Option<Callback>>,
}

struct Callback {
    every_ns: u64,
    call: Box<dyn FnMut(&Snapshot) + Send>,
}

impl ProgressCallback {
    pub(super) fn set(&self, every: Duration, callback: impl FnMut(&Snapshot) + Send + 'static) {
        let every_ns = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
        let callback = Callback { every_ns, call: Box::new(callback) };
        // Dropped after the lock is released, because its drop is the user's code.
        let _before = self.slot.lock().replace(callback);
        self.due_ns.store(0, Ordering::Relaxed);
    }

    /// Calls the callback if it is due or `must` be called, unless a call is running.
    #[cold]
    pub(super) fn call_cold(&self, snapshot: impl FnOnce() -> Snapshot, must: bool) {
        let now = now_ns();
        if !must && now < self.due_ns.load(Ordering::Relaxed) {
            return;
        }
        let Some(mut callback) = self.slot.lock().take() else { return };
        self.due_ns.store(now.saturating_add(callback.every_ns), Ordering::Relaxed);
        (callback.call)(&snapshot());
        self.put_back(callback);
    }

    /// Returns a callback to the slot, unless the slot holds a new one.
    fn put_back(&self, callback: Callback) {
        let mut slot = self.slot.lock();
        let late = if slot.is_none() { slot.replace(callback) } else { Some(callback) };
        drop(slot);
        drop(late);
    }
}

impl fmt::Debug for ProgressCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressCallback").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::Control;
    use crate::loops::{Options, for_each};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    fn run(control: &Control, n: usize) -> Result<(), sinew_core::Cancelled> {
        let options = Options { control: Some(control), ..Options::default() };
        sinew_core::run(|w| for_each(w, 0..n, &options, |_| ()))
    }

    /// Catches: progress that goes backwards, a missing call at the end, two calls at once, and a
    /// callback that deadlocks when it runs a loop of its own.
    #[test]
    fn progress_is_reported_up_to_the_end_and_by_one_at_a_time() {
        let control = Control::new();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (theirs, inner) = (Arc::clone(&seen), Control::new());
        let same = control.clone();
        control.on_progress(Duration::ZERO, move |now| {
            let mut seen = theirs.try_lock().expect("no other participant calls it meanwhile");
            seen.push(now.done);
            assert_eq!(run(&inner, 10), Ok(()));
            assert_eq!(run(&same, 0), Ok(()));
        });
        assert_eq!(run(&control, 5_000), Ok(()));
        let seen = seen.lock();
        assert!(seen.is_sorted() && seen.len() > 1 && seen.last() == Some(&5_000), "{seen:?}");
    }

    /// Catches: a callback that is called after every slice, whatever its interval.
    #[test]
    fn progress_is_reported_no_more_often_than_requested() {
        let control = Control::new();
        let calls = Arc::new(Mutex::new(0));
        let theirs = Arc::clone(&calls);
        control.on_progress(Duration::MAX, move |_| *theirs.lock() += 1);
        assert_eq!(run(&control, 100_000), Ok(()));
        // It is due at once, and is called again at the end.
        assert_eq!(*calls.lock(), 2);
    }

    /// Catches: a panic that is swallowed, and a callback that panics again and again.
    #[test]
    fn a_callback_that_panics_ends_the_loop_and_is_dropped() {
        let control = Control::new();
        control.on_progress(Duration::ZERO, |_| std::panic::resume_unwind(Box::new("enough")));
        let panicked = catch_unwind(AssertUnwindSafe(|| run(&control, 1_000)));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"enough"));
        assert_eq!(run(&control, 1_000), Ok(()));
        assert_eq!(control.snapshot().loops, 0);
    }
}
