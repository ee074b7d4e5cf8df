//! The size classes of tasks, measured in the first run under `Victims::Cats`.
//!
//! The pool counts every stolen task by its depth. At the end of the first call from outside in
//! which enough tasks were stolen, the policy computes the boundary between large and small tasks,
//! and the counting ends.
//!
//! # Orderings
//!
//! Everything here is relaxed: the tallies are statistics, the boundary is a number.

use sinew_policy::victim::{Tally, boundary};
use sinew_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use sinew_sync::clock::TICKS_PER_US;

/// Deeper tasks are counted with the last of these.
const DEPTHS: usize = 64;

/// A run in which fewer tasks were stolen is ignored.
const ENOUGH: u64 = 8;

/// The boundary is not known yet.
const UNKNOWN: u32 = u32::MAX;

#[derive(Debug, Default)]
struct Count {
    tasks: AtomicU64,
    micros: AtomicU64,
}

impl Count {
    fn read(&self) -> Tally {
        Tally {
            tasks: self.tasks.load(Ordering::Relaxed),
            micros: self.micros.load(Ordering::Relaxed),
        }
    }

    fn clear(&self) {
        self.tasks.store(0, Ordering::Relaxed);
        self.micros.store(0, Ordering::Relaxed);
    }
}

/// The classes of a pool's tasks.
#[derive(Debug)]
pub(crate) struct Classes {
    counts: Box<[Count]>,
    large_us: AtomicU32,
    boundary: AtomicU32,
}

impl Default for Classes {
    fn default() -> Self {
        Self {
            counts: (0..DEPTHS).map(|_| Count::default()).collect(),
            large_us: AtomicU32::new(0),
            boundary: AtomicU32::new(UNKNOWN),
        }
    }
}

impl Classes {
    /// Resets all counts; tasks are large from `large_us` on.
    pub(crate) fn learn_anew(&self, large_us: u32) {
        self.large_us.store(large_us, Ordering::Relaxed);
        self.counts.iter().for_each(Count::clear);
        self.boundary.store(UNKNOWN, Ordering::Relaxed);
    }

    pub(crate) fn boundary(&self) -> Option<u32> {
        Some(self.boundary.load(Ordering::Relaxed)).filter(|&boundary| boundary != UNKNOWN)
    }

    /// A stolen task of this depth took `ticks`.
    #[cold]
    pub(crate) fn note(&self, depth: u32, ticks: u64) {
        if self.boundary().is_none() {
            let count = &self.counts[(depth as usize).min(DEPTHS - 1)];
            count.tasks.fetch_add(1, Ordering::Relaxed);
            count.micros.fetch_add(ticks / TICKS_PER_US, Ordering::Relaxed);
        }
    }

    /// A call from outside has ended, on a machine of `packages`.
    #[cold]
    pub(crate) fn end_run(&self, packages: usize) {
        if self.boundary().is_some() {
            return;
        }
        let tallies: Vec<Tally> = self.counts.iter().map(Count::read).collect();
        if tallies.iter().map(|tally| tally.tasks).sum::<u64>() >= ENOUGH {
            let learned = boundary(&tallies, self.large_us.load(Ordering::Relaxed), packages);
            self.boundary.store(learned.min(UNKNOWN - 1), Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Catches: a boundary computed from too few tasks, one that changes after the first run, or
    /// counts that survive a new choice.
    #[test]
    fn the_boundary_is_drawn_once_from_enough_tasks() {
        let classes = Classes::default();
        classes.learn_anew(100);
        for _ in 1..ENOUGH {
            classes.note(3, 150 * TICKS_PER_US);
        }
        classes.end_run(1);
        assert_eq!(classes.boundary(), None);
        classes.note(900, 50 * TICKS_PER_US);
        classes.end_run(1);
        assert_eq!(classes.boundary(), Some(3));
        for _ in 0..ENOUGH {
            classes.note(9, 1_000 * TICKS_PER_US);
        }
        classes.end_run(1);
        assert_eq!(classes.boundary(), Some(3));
        classes.learn_anew(100);
        classes.end_run(1);
        assert_eq!(classes.boundary(), None);
    }
}
