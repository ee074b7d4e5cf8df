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
//! Until work is no longer short, at most [`MOST`] of the time between two of its pieces counts,
//! and twice that before its first one: the system may have suspended the thread meanwhile.
//!
//! # Invariants
//!
//! - K1: the priority of a worker is at least that of every call to which its unfinished work
//!   belongs. A thief takes it over from its victim: the task that it has taken belongs to a call
//!   that has not ended, so the victim's priority has not fallen below that of the call.
//! - K2: the time of a worker's innermost work is at most that of the work around it. A thief takes
//!   it over as well. Its task belongs to the victim's innermost work, or to work around that,
//!   which has taken at least as long.
//!
//! # Orderings
//!
//! The owner stores the word before it publishes a task (Release, in the deques), and a thief reads
//! it after it has taken one (Acquire). So the thief reads that value or a later one (K1).

use sinew_deque::Priority;
use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::clock::TICKS_PER_US;
use sinew_sync::plant::{Bug, planted};
use std::cell::Cell;

/// After this time, in ticks, work can be interrupted by calls of the same priority.
const SHORT: u64 = if cfg!(any(loom, shuttle)) { 0 } else { 300 * TICKS_PER_US };

/// After this time work can be interrupted by any call, so that none waits for ever.
const LONG: u64 = if cfg!(any(loom, shuttle)) { 1 << 60 } else { 100_000 * TICKS_PER_US };

/// The most time that counts between two pieces of short work.
const MOST: u64 = 100 * TICKS_PER_US;

/// The bits of the priority in a word.
const PRIORITY: u64 = 3;

/// A time in a word.
const TICK: u64 = PRIORITY + 1;

/// The work of one worker.
#[derive(Debug, Default)]
pub(crate) struct CurrentWork {
    /// One more than the highest priority of the calls that it works for, 0 for none; and the time
    /// of its innermost work. Written by the owner.
    word: AtomicU64,
    /// When that time was last counted, in ticks; 0 if never.
    counted_at: Cell<u64>,
}

/// Work that is interrupted.
#[derive(Debug, Clone, Copy)]
#[must_use = "`end` resumes it"]
pub(crate) struct Interrupted {
    word: u64,
    counted_at: u64,
}

impl CurrentWork {
    fn word(&self) -> u64 {
        self.word.load(Ordering::Relaxed)
    }

    fn set(&self, priority: u64, time: u64) {
        self.word.store((time.min(LONG) * TICK) | priority, Ordering::Relaxed);
    }

    /// Begins other work inside the present one. `began` is the time in ticks, or 0.
    pub(crate) fn begin(&self, began: u64) -> Interrupted {
        let word = self.word();
        self.set(word & PRIORITY, 0);
        Interrupted { word, counted_at: self.counted_at.replace(began) }
    }

    /// Resumes the work that [`begin`](Self::begin) has interrupted.
    pub(crate) fn end(&self, interrupted: Interrupted) {
        self.word.store(interrupted.word, Ordering::Relaxed);
        self.counted_at.set(interrupted.counted_at);
    }

    /// The present work belongs to a call of that priority (K1).
    pub(crate) fn belongs_to(&self, priority: Priority) {
        let word = self.word();
        self.set((word & PRIORITY).max(priority as u64 + 1), word / TICK);
    }

    /// The present work was taken from `victim` (K1, K2).
    pub(crate) fn is_part_of(&self, victim: &Self) {
        if !planted(Bug::ForgottenPriority) {
            let (own, theirs) = (self.word() & PRIORITY, victim.word());
            self.set(own.max(theirs & PRIORITY), theirs / TICK);
        }
    }

    /// The least priority of calls that may interrupt this work now, between two pieces of it;
    /// `None` if none may. `now` is the time in ticks.
    pub(crate) fn interruptible_by(&self, now: u64) -> Option<Priority> {
        let (priority, before) = (self.word() & PRIORITY, self.word() / TICK);
        let passed = match self.counted_at.replace(now) {
            0 => 0,
            counted_at => now.saturating_sub(counted_at),
        };
        let most = if before == 0 {
            2 * MOST
        } else if before < SHORT {
            MOST
        } else {
            LONG
        };
        let time = before + passed.min(most);
        self.set(priority, time);
        let own = match priority {
            1 => Priority::Low,
            3 => Priority::High,
            // Work of no call is like work of a normal one.
            _ => Priority::Normal,
        };
        if time < SHORT {
            own.higher()
        } else if time < LONG {
            Some(own)
        } else {
            Some(Priority::Low)
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
        assert_eq!(after(&work, 0), Some(High));
        assert_eq!(after(&work, MOST), Some(Normal));
        assert_eq!(after(&work, LONG - SHORT - 1), Some(Normal));
        assert_eq!(after(&work, 1), Some(Low));

        // A call inside it, and a piece of an urgent one that a thief has taken.
        let (inner, thief) = (work.begin(0), CurrentWork::default());
        work.belongs_to(High);
        assert_eq!(after(&work, SHORT), None);
        thief.is_part_of(&work);
        assert_eq!(thief.interruptible_by(SHORT), None);
        work.end(inner);
        assert_eq!(after(&work, 0), Some(Low));
        let piece = thief.begin(0);
        thief.is_part_of(&work);
        assert_eq!(thief.interruptible_by(1), Some(Low));
        thief.end(piece);
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
