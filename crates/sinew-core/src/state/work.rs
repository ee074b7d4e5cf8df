//! The work that a worker does now, as calls from outside see it: its priority, and how long the
//! worker has been at it.
//!
//! A call that interrupts other work delays it until the call has ended, and a call may be endless.
//! So work that is short, or of a higher priority, is left to end. It is not known how long work
//! will take. So the time that it has taken counts:
//!
//! | the call's priority is | it interrupts work |
//! |---|---|
//! | higher | at once |
//! | the same | after [`SHORT`] |
//! | lower | after [`LONG`] |
//!
//! The time counts while calls wait. Of the time between two pieces of work at most [`MOST`]
//! counts, since the system may have suspended the thread meanwhile.
//!
//! # Invariants
//!
//! - K1: the priority of a worker is at least that of every call to which its unfinished work
//!   belongs. A thief takes it over from its victim: the task that it has taken belongs to a call
//!   that has not ended, so the victim's priority has not fallen below that of the call.
//!
//! # Orderings
//!
//! The owner stores the priority before it publishes a task (Release, in the deques), and a thief
//! reads it after it has taken one (Acquire). So the thief reads that value or a later one (K1).

use sinew_deque::Priority;
use sinew_sync::atomic::{AtomicU32, Ordering};
use sinew_sync::clock::TICKS_PER_US;
use sinew_sync::plant::{Bug, planted};
use std::cell::Cell;

/// After this time, in ticks, work can be interrupted by calls of the same priority.
const SHORT: u64 = if cfg!(any(loom, shuttle)) { 0 } else { 500 * TICKS_PER_US };

/// After this time work can be interrupted by any call, so that none waits for ever.
const LONG: u64 = if cfg!(any(loom, shuttle)) { u64::MAX } else { 200 * SHORT };

/// The most time that counts between two pieces of work.
const MOST: u64 = 200 * TICKS_PER_US;

/// The work of one worker.
#[derive(Debug, Default)]
pub(crate) struct CurrentWork {
    /// One more than the highest priority of the calls that it works for; 0 for none. Written by
    /// the owner.
    priority: AtomicU32,
    /// How long it has been at its innermost piece of work, in ticks.
    active: Cell<u64>,
    /// When this was last counted, in ticks; 0 if never.
    counted_at: Cell<u64>,
}

/// Work that is interrupted.
#[derive(Debug, Clone, Copy)]
#[must_use = "`end` resumes it"]
pub(crate) struct Interrupted {
    priority: u32,
    active: u64,
    counted_at: u64,
}

impl CurrentWork {
    /// Begins other work inside the present one. `began` is the time in ticks, or 0.
    pub(crate) fn begin(&self, began: u64) -> Interrupted {
        Interrupted {
            priority: self.priority.load(Ordering::Relaxed),
            active: self.active.replace(0),
            counted_at: self.counted_at.replace(began),
        }
    }

    /// Resumes the work that [`begin`](Self::begin) has interrupted.
    pub(crate) fn end(&self, interrupted: Interrupted) {
        self.priority.store(interrupted.priority, Ordering::Relaxed);
        self.active.set(interrupted.active);
        self.counted_at.set(interrupted.counted_at);
    }

    /// The present work belongs to a call of that priority (K1).
    pub(crate) fn belongs_to(&self, priority: Priority) {
        self.raise(priority as u32 + 1);
    }

    /// The present work was taken from `victim` (K1).
    pub(crate) fn is_part_of(&self, victim: &Self) {
        if !planted(Bug::ForgottenPriority) {
            self.raise(victim.priority.load(Ordering::Relaxed));
        }
    }

    fn raise(&self, priority: u32) {
        let priority = priority.max(self.priority.load(Ordering::Relaxed));
        self.priority.store(priority, Ordering::Relaxed);
    }

    /// The least priority of calls that may interrupt this work now, between two pieces of it;
    /// `None` if none may. `now` is the time in ticks.
    pub(crate) fn interruptible_by(&self, now: u64) -> Option<Priority> {
        let counted_at = self.counted_at.replace(now);
        let passed = if counted_at == 0 { 0 } else { now.saturating_sub(counted_at).min(MOST) };
        let active = self.active.get() + passed;
        self.active.set(active);
        let own = match self.priority.load(Ordering::Relaxed) {
            1 => Priority::Low,
            3 => Priority::High,
            // Work of no call is like work of a normal one.
            _ => Priority::Normal,
        };
        if active >= LONG {
            Some(Priority::Low)
        } else if active >= SHORT {
            Some(own)
        } else {
            own.higher()
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use Priority::{High, Low, Normal};

    /// Catches: short work that is interrupted by others of its kind, an urgent call that waits,
    /// and time in which the thread was suspended that counts as work.
    #[test]
    fn work_is_interrupted_the_later_the_less_urgent_the_call() {
        let work = CurrentWork::default();
        let outer = work.begin(1);
        work.belongs_to(Normal);
        let mut now = 1;
        let mut after = |work: &CurrentWork, passed: u64| {
            now += passed;
            work.interruptible_by(now)
        };
        assert_eq!(after(&work, 1_000 * SHORT), Some(High));
        assert_eq!(after(&work, 1_000 * SHORT), Some(High));
        assert_eq!(after(&work, MOST), Some(Normal));
        for _ in 3..LONG / MOST {
            assert_eq!(after(&work, 0), Some(Normal));
            after(&work, 2 * MOST);
        }
        assert_eq!(after(&work, 0), Some(Low));

        // A call inside it, and a piece of an urgent one that a thief has taken.
        let (inner, thief) = (work.begin(0), CurrentWork::default());
        work.belongs_to(High);
        assert_eq!(after(&work, SHORT), None);
        thief.is_part_of(&work);
        assert_eq!(thief.interruptible_by(SHORT), None);
        work.end(inner);
        assert_eq!(after(&work, 0), Some(Low));
        work.end(outer);
        assert_eq!(after(&work, 0), Some(High));
    }

    /// Catches: a call of low priority that lowers that of the work around it.
    #[test]
    fn work_has_the_priority_of_its_most_urgent_call() {
        let work = CurrentWork::default();
        let outer = work.begin(0);
        work.belongs_to(Low);
        assert_eq!(work.interruptible_by(1), Some(Normal));
        work.belongs_to(High);
        work.belongs_to(Low);
        assert_eq!(work.interruptible_by(1), None);
        work.end(outer);
    }
}
