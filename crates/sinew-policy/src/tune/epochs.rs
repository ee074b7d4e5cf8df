//! The end of an epoch.
//!
//! Source: Góes, "Automatic Skeleton-Driven Performance Optimizations for Transactional Memory",
//! figure 6.2, line 2. Differences: an epoch ends at the first check after its last commit, since
//! with several workers no check may happen at exactly that commit. The counts beyond it belong to
//! the epoch, so that epochs leave nothing out.
//!
//! # Invariants
//!
//! - E1: an epoch has at least [`length`](Epochs::length) commits, and that is at least 1.
//! - E2: the epochs of a run are adjacent: their counts add up to the totals at the last of them.
//!   Between runs there is a gap.
//!
//! # Tests
//!
//! Property tests for E1 and E2; the length at small numbers; a second fill.

use super::Counts;

/// The commits of an epoch of a run over `units` initial units on `cores` cores: ⌊√units / cores⌋,
/// at least 1.
///
/// ```
/// use sinew_policy::tune::epochs::length;
///
/// assert_eq!((length(1_000_000, 4), length(99, 2), length(9, 4)), (250, 4, 1));
/// ```
pub fn length(units: usize, cores: usize) -> u64 {
    (units.isqrt() / cores.max(1)).max(1) as u64
}

/// Cuts the totals of a run into epochs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Epochs {
    length: u64,
    begin: Counts,
}

impl Epochs {
    /// Epochs of `length` commits (0 counts as 1), with all counters at 0.
    pub fn new(length: u64) -> Self {
        Self { length: length.max(1), begin: Counts::default() }
    }

    /// The commits of an epoch.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Sets the length to `length` commits (0 counts as 1), from the current epoch on.
    pub fn set_length(&mut self, length: u64) {
        self.length = length.max(1);
    }

    /// Whether an epoch is complete at this total of commits: a cheap check before a worker adds up
    /// the other counters.
    #[inline]
    pub fn is_due(&self, commits: u64) -> bool {
        commits.saturating_sub(self.begin.commits) >= self.length
    }

    /// The counts of the complete epoch at these totals, if there is one.
    pub fn poll(&mut self, totals: &Counts) -> Option<Counts> {
        if !self.is_due(totals.commits) {
            return None;
        }
        let counts = totals.since(&self.begin);
        self.begin = *totals;
        Some(counts)
    }

    /// Starts a run with epochs of `length` commits; the counters are at `totals`. Drops the counts
    /// since the last epoch: the time between two runs belongs to none.
    pub fn refill(&mut self, length: u64, totals: &Counts) {
        *self = Self { begin: *totals, ..Self::new(length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Catches: an epoch without commits, one that is too short, and counts that fall between
        /// two epochs (E1, E2).
        #[test]
        fn epochs_leave_nothing_out(
            units in any::<usize>(),
            cores in 0..100_usize,
            looks in proptest::collection::vec((0..100_u64, 0..9_u64), 0..50),
        ) {
            let mut epochs = Epochs::new(length(units % 100_000, cores));
            let (mut totals, mut sum, mut last) =
                (Counts::default(), Counts::default(), Counts::default());
            for (commits, aborts) in looks {
                totals =
                    totals.plus(&Counts { commits, aborts, stalls: aborts, elapsed_ns: commits });
                if let Some(epoch) = epochs.poll(&totals) {
                    prop_assert!(epoch.commits >= epochs.length() && epochs.length() >= 1);
                    (sum, last) = (sum.plus(&epoch), totals);
                }
            }
            prop_assert_eq!(sum, last);
        }

        /// Catches: an epoch longer than a non-empty list, so that nothing is ever tuned.
        #[test]
        fn no_epoch_is_longer_than_its_list(units in 1..usize::MAX, cores in 0..100_usize) {
            prop_assert!((1..=units as u64).contains(&length(units, cores)));
        }
    }

    /// Catches: the root of a core's part, rounding up, and a division by zero on an empty list or
    /// machine.
    #[test]
    fn an_epoch_is_the_root_of_the_units_by_the_cores() {
        assert_eq!(length(1_000_000, 2), 500);
        assert_eq!(length(1_000_000, 3), 333);
        assert_eq!(length(15, 1), 3);
        assert_eq!([length(3, 2), length(0, 4), length(1, 0)], [1, 1, 1]);
    }

    /// Catches: a length that takes effect only in the next run, and commits lost with the change.
    #[test]
    fn the_length_may_change_between_epochs() {
        let mut epochs = Epochs::new(10);
        let at = |commits| Counts { commits, ..Counts::default() };
        assert_eq!(epochs.poll(&at(12)), Some(at(12)));
        epochs.set_length(20);
        assert_eq!((epochs.poll(&at(31)), epochs.poll(&at(32))), (None, Some(at(20))));
        epochs.set_length(0);
        assert_eq!(epochs.poll(&at(33)), Some(at(1)));
    }

    /// Catches: the serial time between two runs that counts as a slow epoch, and a kept length of
    /// the first run.
    #[test]
    fn a_refill_begins_a_new_epoch() {
        let mut epochs = Epochs::new(length(100, 1));
        let at = |commits, elapsed_ns| Counts { commits, elapsed_ns, ..Counts::default() };
        assert_eq!(epochs.poll(&at(9, 9)), None);
        epochs.refill(length(400, 1), &at(9, 1_000));
        assert_eq!(epochs.poll(&at(28, 1_010)), None);
        assert_eq!(epochs.poll(&at(29, 1_011)), Some(at(20, 11)));
    }
}
