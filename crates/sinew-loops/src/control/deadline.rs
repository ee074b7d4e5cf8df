//! The deadline of a control: the time at which it is cancelled.
//!
//! No timer waits for that time. Each thread that checks whether the control is cancelled compares
//! the clock, and participants do so between two slices of work. The first one that finds the
//! deadline passed cancels the control.
//!
//! # Orderings
//!
//! `Relaxed`, as the module `control` has it: the deadline is stored before the version says that
//! there is one. A participant that sees the version and an older deadline compares again after its
//! next slice; when it follows the version, it takes the lock under which both were stored.

use std::time::{Duration, Instant};

use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::clock::{now_ns, ns_after, ns_at};

use super::{Control, HAS_DEADLINE};

/// By [`now_ns`]; the largest value stands for none.
pub(super) struct Deadline(AtomicU64);

impl Default for Deadline {
    fn default() -> Self {
        Self(AtomicU64::new(u64::MAX))
    }
}

impl Control {
    /// Cancels the control at `deadline`, as [`cancel`](Self::cancel) would: whole chains, loops
    /// and other skeletons under it end within a slice of work, of about 50 µs, or one item if that
    /// takes longer. The earliest of several deadlines counts; none can be taken back.
    ///
    /// A [call](sinew_core::CallBuilder::control) under the control has this deadline, too.
    ///
    /// # Cost
    ///
    /// A reading of the clock for each slice of work, or each item if they are claimed one by one.
    ///
    /// ```
    /// use std::time::Duration;
    /// use sinew_loops::iter::{ParIter, over};
    /// use sinew_core::Cancelled;
    /// use sinew_loops::Control;
    ///
    /// let control = Control::new();
    /// control.cancel_after(Duration::from_millis(20));
    /// let endless = over(0..u64::MAX).control(&control).map(|n| u64::from(n.count_ones()));
    /// assert_eq!(endless.sum::<u64>(), Err(Cancelled));
    /// ```
    pub fn cancel_at(&self, deadline: Instant) {
        self.cancel_at_ns(ns_at(deadline));
    }

    /// Cancels the control after `timeout` from now; see [`cancel_at`](Self::cancel_at).
    pub fn cancel_after(&self, timeout: Duration) {
        self.cancel_at_ns(ns_after(timeout));
    }

    fn cancel_at_ns(&self, deadline_ns: u64) {
        let _requests = self.state.requests.lock();
        let earliest = self.state.deadline.0.load(Ordering::Relaxed).min(deadline_ns);
        self.state.deadline.0.store(earliest, Ordering::Relaxed);
        self.state.version.fetch_or(HAS_DEADLINE, Ordering::Relaxed);
    }

    /// By [`now_ns`].
    pub(super) fn deadline_ns(&self) -> Option<u64> {
        let has_one = self.version() & HAS_DEADLINE != 0;
        has_one.then(|| self.state.deadline.0.load(Ordering::Relaxed))
    }

    /// Cancels the control if its deadline has passed. Returns whether it has.
    #[cold]
    pub(super) fn check_deadline_cold(&self) -> bool {
        let is_over = self.deadline_ns().is_some_and(|deadline_ns| now_ns() >= deadline_ns);
        if is_over {
            self.cancel();
        }
        is_over
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::iter::{ParIter, over};
    use sinew_core::Cancelled;
    use std::hint::black_box;

    /// Catches: a deadline that a later one replaces, and one that counts as a request.
    #[test]
    fn the_earliest_deadline_counts() {
        let control = Control::new();
        control.cancel_after(Duration::MAX);
        assert!(!control.is_cancelled());
        control.cancel_at(Instant::now());
        control.cancel_after(Duration::from_secs(600));
        assert!(control.is_cancelled());
        let now = control.snapshot();
        assert_eq!((now.cancelled, now.changes), (true, 0));
    }

    /// Catches: a loop that begins after the deadline, one that ends before a deadline far away,
    /// and a progress callback that hides the deadline.
    #[test]
    fn a_deadline_ends_the_loops_that_it_passes_in() {
        let control = Control::new();
        control.on_progress(Duration::ZERO, |_| ());
        control.cancel_after(Duration::from_secs(600));
        assert_eq!(over(0..1_000).control(&control).count(), Ok(1_000));
        control.cancel_after(Duration::from_millis(5));
        // Hidden from the compiler, which would see that no item passes.
        let never = |n: &usize| black_box(*n) == usize::MAX;
        let endless = || over(0..usize::MAX).control(&control).filter(never);
        assert_eq!(endless().count(), Err(Cancelled));
        assert_eq!(endless().count(), Err(Cancelled));
        assert!(control.snapshot().cancelled);
    }

    /// Catches: a deadline that only participants that follow the version see.
    #[test]
    fn a_running_loop_gets_a_deadline() {
        let control = Control::new();
        let set = |n: &usize| {
            if black_box(*n) == 0 {
                control.cancel_after(Duration::ZERO);
            }
            false
        };
        assert_eq!(over(0..usize::MAX).control(&control).filter(set).count(), Err(Cancelled));
    }
}
