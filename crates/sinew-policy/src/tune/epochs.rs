//! When an epoch is complete.
//!
//! Source: Góes, "Automatic Skeleton-Driven Performance Optimizations for Transactional Memory",
//! figure 6.2, line 2. Differences: an epoch ends at the first look after its last commit, since
//! with several workers nobody may look at exactly that one; and what was counted beyond it belongs
//! to it, so that epochs leave nothing out.
//!
//! # Invariants
//!
//! - E1: an epoch has at least [`length`](Epochs::length) commits, and that is at least 1.
//! - E2: the epochs of a run are adjacent: their counts add up to the totals at the last of them.
//!   Between runs there is a gap.
//!
//! # Tests
//!
//! Property tests for E1 and E2; the length at small numbers; a refill.

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
    /// Epochs of `length` commits (0 count as 1), with all counters at 0.
    pub fn new(length: u64) -> Self {
        Self { length: length.max(1), begin: Counts::default() }
    }

    /// The commits of an epoch.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Epochs have `length` commits (0 count as 1) from now on, the one under way included.
    pub fn set_length(&mut self, length: u64) {
        self.length = length.max(1);
    }

    /// Whether an epoch is complete at so many commits in total: what a worker may ask before it
    /// adds up the rest.
    #[inline]
    pub fn is_due(&self, commits: u64) -> bool {
        commits.saturating_sub(self.begin.commits) >= self.length
    }

    /// The counts of the epoch that is complete at these totals, if one is.
    pub fn poll(&mut self, totals: &Counts) -> Option<Counts> {
        if !self.is_due(totals.commits) {
            return None;
        }
        let counts = totals.since(&self.begin);
        self.begin = *totals;
        Some(counts)
    }

    /// The list was filled again, for epochs of `length` commits from now on; the counters went on
    /// to `totals`. What was counted since the last epoch is dropped: the time between two runs is
    /// nobody's.
    pub fn refill(&mut self, length: u64, totals: &Counts) {
        *self = Self { begin: *totals, ..Self::new(length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Catches: an epoch without commits, one that is too short, and counts that fall
        /// between two epochs (E1, E2).
        #[test]
        fn epochs_leave_nothing_out(
            units in any::<usize>(), cores in 0..100_usize, looks in proptest::collection::vec((0..100_u64, 0..9_u64), 0..50),
        ) {
            let mut epochs = Epochs::new(length(units % 100_000, cores));
            let (mut totals, mut sum, mut last) = (Counts::default(), Counts::default(), Counts::default());
            for (commits, aborts) in looks {
                totals = totals.plus(&Counts { commits, aborts, stalls: aborts, elapsed_ns: commits });
                if let Some(epoch) = epochs.poll(&totals) {
                    prop_assert!(epoch.commits >= epochs.length() && epochs.length() >= 1);
                    (sum, last) = (sum.plus(&epoch), totals);
                }
            }
            prop_assert_eq!(sum, last);
        }

        /// Catches: an epoch that is longer than a list with something in it, so that nothing is
        /// ever tuned.
        #[test]
        fn no_epoch_is_longer_than_its_list(units in 1..usize::MAX, cores in 0..100_usize) {
            prop_assert!((1..=units as u64).contains(&length(units, cores)));
        }
    }

    /// Catches: the root taken of what a core gets, rounding up, and an empty list or machine
    /// that divides by zero.
    #[test]
    fn an_epoch_is_the_root_of_the_units_by_the_cores() {
        assert_eq!(length(1_000_000, 2), 500);
        assert_eq!(length(1_000_000, 3), 333);
        assert_eq!(length(15, 1), 3);
        assert_eq!([length(3, 2), length(0, 4), length(1, 0)], [1, 1, 1]);
    }

    /// Catches: a length that holds from the run after only, and commits that are lost with the
    /// change.
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

    /// Catches: the serial time between two runs that is taken for a slow epoch, and the length
    /// of the first run kept.
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
