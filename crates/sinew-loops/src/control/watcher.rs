//! The progress callback, and when it is due.
//!
//! A participant compares the time between two slices of work, and calls the callback when it is
//! due. The callback is the user's code. It is taken out of its place while it runs: so no lock is
//! held, no other participant calls it meanwhile, and one that panics is gone.
//!
//! # Orderings
//!
//! `due_ns` is `Relaxed`: a reader that sees an old value takes the lock for nothing, or comes a
//! slice late.

use std::fmt;
use std::time::Duration;

use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::clock::now_ns;
use sinew_sync::lock::Mutex;

use super::Snapshot;

/// A callback and when it is to be called.
#[derive(Default)]
pub(super) struct Watcher {
    due_ns: AtomicU64,
    /// Away while it is called.
    watch: Mutex<Option<Watch>>,
}

struct Watch {
    every_ns: u64,
    callback: Box<dyn FnMut(&Snapshot) + Send>,
}

impl Watcher {
    pub(super) fn set(&self, every: Duration, callback: impl FnMut(&Snapshot) + Send + 'static) {
        let every_ns = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
        let watch = Watch { every_ns, callback: Box::new(callback) };
        // Dropped after the lock is released: what a callback owns is the user's.
        let _before = self.watch.lock().replace(watch);
        self.due_ns.store(0, Ordering::Relaxed);
    }

    /// Calls the callback if it is due, or if it must be told, unless it is being called already.
    #[cold]
    pub(super) fn tell_cold(&self, snapshot: impl FnOnce() -> Snapshot, must: bool) {
        let now = now_ns();
        if !must && now < self.due_ns.load(Ordering::Relaxed) {
            return;
        }
        let Some(mut watch) = self.watch.lock().take() else { return };
        self.due_ns.store(now.saturating_add(watch.every_ns), Ordering::Relaxed);
        (watch.callback)(&snapshot());
        self.put_back(watch);
    }

    /// Puts a callback back, unless another has taken its place.
    fn put_back(&self, watch: Watch) {
        let mut place = self.watch.lock();
        let late = if place.is_none() { place.replace(watch) } else { Some(watch) };
        drop(place);
        drop(late);
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watcher").finish_non_exhaustive()
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

    /// Catches: progress that goes backwards, an end that is not told, two calls at once, and a
    /// callback that deadlocks when it runs a loop of its own.
    #[test]
    fn progress_is_told_up_to_the_end_and_by_one_at_a_time() {
        let control = Control::new();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (theirs, inner) = (Arc::clone(&seen), Control::new());
        let same = control.clone();
        control.on_progress(Duration::ZERO, move |now| {
            let mut seen = theirs.try_lock().expect("nobody else calls it meanwhile");
            seen.push(now.done);
            assert_eq!(run(&inner, 10), Ok(()));
            assert_eq!(run(&same, 0), Ok(()));
        });
        assert_eq!(run(&control, 5_000), Ok(()));
        let seen = seen.lock();
        assert!(seen.is_sorted() && seen.len() > 1 && seen.last() == Some(&5_000), "{seen:?}");
    }

    /// Catches: a callback that is called at every slice whatever its interval is.
    #[test]
    fn progress_is_told_no_more_often_than_wished() {
        let control = Control::new();
        let calls = Arc::new(Mutex::new(0));
        let theirs = Arc::clone(&calls);
        control.on_progress(Duration::MAX, move |_| *theirs.lock() += 1);
        assert_eq!(run(&control, 100_000), Ok(()));
        // The first time it is due at once, and the end is told.
        assert_eq!(*calls.lock(), 2);
    }

    /// Catches: a panic that is swallowed, and a callback that panics again and again.
    #[test]
    fn a_callback_that_panics_ends_the_loop_and_is_gone() {
        let control = Control::new();
        control.on_progress(Duration::ZERO, |_| std::panic::resume_unwind(Box::new("enough")));
        let panicked = catch_unwind(AssertUnwindSafe(|| run(&control, 1_000)));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"enough"));
        assert_eq!(run(&control, 1_000), Ok(()));
        assert_eq!(control.snapshot().loops, 0);
    }
}
