//! The length of the epochs in which settings are compared.
//!
//! An epoch has the published length, √units / cores commits, if that takes [`TOO_SHORT_NS`]. A
//! shorter one shows wake-ups and interruptions more than settings. So epochs are doubled until
//! they are long enough, or at their list's limit: comparisons must take a small part of a run.
//! After the last decision only retries change, and epochs are [`SETTLED`] times as long.
//!
//! # Invariants
//!
//! - K4: the epochs of comparisons are at most four times the published length, or a 2048th of the
//!   list; later ones are at most a sixteenth of it.
//!
//! # Tests
//!
//! A property test for K4; short lists; each limit.

use super::epochs;

/// The least commits of an epoch: chance decides about fewer.
const SHORTEST_EPOCH: u64 = 32;
/// The least nanoseconds of an epoch, if its list permits.
const TOO_SHORT_NS: u64 = 100_000;
/// The factor of epochs after the last decision.
const SETTLED: u64 = 8;
/// Units of a list below which comparisons would take too large a part of the run.
const WORTH_TUNING: usize = 1_024;

/// The number of commits of an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Length {
    /// The published length, but at least [`SHORTEST_EPOCH`]; infinite if the list is too short for
    /// comparisons.
    usual: u64,
    /// The factor of the present length.
    stretch: u64,
    /// The initial units of the list.
    units: u64,
}

impl Length {
    /// Before the first list.
    pub(super) const NONE: Self = Self { usual: u64::MAX, stretch: 1, units: 0 };

    /// For a run over `units` initial units on `cores` cores, with the factor of the last run.
    pub(super) fn refilled(self, units: usize, cores: usize) -> Self {
        let published = epochs::length(units, cores).max(SHORTEST_EPOCH);
        let usual = if units < WORTH_TUNING { u64::MAX } else { published };
        Self { usual, units: units as u64, ..self }
    }

    /// The longest epoch of a comparison.
    fn longest(self) -> u64 {
        self.usual.saturating_mul(4).max(self.units / 2_048)
    }

    /// The length of epochs that are compared.
    pub(super) fn compared(self) -> u64 {
        self.usual.saturating_mul(self.stretch).min(self.longest())
    }

    /// The length of epochs after the last decision.
    pub(super) fn settled(self) -> u64 {
        self.compared().saturating_mul(SETTLED).min(self.units / 16).max(self.compared())
    }

    /// Doubles the length after an epoch of `elapsed_ns`, if that was too short and the list
    /// permits.
    pub(super) fn stretch_after(&mut self, elapsed_ns: u64) -> bool {
        let stretches = elapsed_ns < TOO_SHORT_NS && self.compared() < self.longest();
        self.stretch = self.stretch.saturating_mul(1 + u64::from(stretches));
        stretches
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(units: usize, cores: usize) -> Length {
        Length::NONE.refilled(units, cores)
    }

    /// Catches: lists of which half is run under trial settings, and epochs of a few commits.
    #[test]
    fn short_lists_are_not_tuned() {
        assert_eq!([Length::NONE, of(1_023, 1), of(0, 1)].map(Length::compared), [u64::MAX; 3]);
        assert_eq!(of(1_024, 16).compared(), 32);
        assert_eq!(of(1_000_000, 2).compared(), 500);
    }

    /// Catches: epochs that are doubled although they are long, beyond the list's limit, or for one
    /// list only.
    #[test]
    fn epochs_are_doubled_until_they_are_long_enough() {
        let mut length = of(1_000_000, 2);
        assert!(!length.stretch_after(TOO_SHORT_NS));
        assert_eq!([1, 2, 3].map(|_| length.stretch_after(TOO_SHORT_NS - 1)), [true, true, false]);
        assert_eq!((length.compared(), length.settled()), (2_000, 16_000));
        let refilled = length.refilled(10_000, 2);
        assert_eq!((refilled.compared(), refilled.settled()), (200, 625));
        assert_eq!(length.refilled(9, 2).settled(), u64::MAX);
    }

    proptest! {
        /// Catches: epochs that are a large part of their list, or shorter than the published one
        /// (K4).
        #[test]
        fn epochs_are_a_small_part_of_their_list(
            units in 1_024..10_000_000_usize,
            cores in 1..64_usize,
            times in proptest::collection::vec(1..300_000_u64, 0..60),
        ) {
            let (mut length, usual) = (of(units, cores), of(units, cores).compared());
            for elapsed_ns in times {
                length.stretch_after(elapsed_ns);
            }
            prop_assert!(
                (usual..=(4 * usual).max(units as u64 / 2_048)).contains(&length.compared())
            );
            prop_assert!(
                (length.compared()..=(4 * usual).max(units as u64 / 16)).contains(&length.settled())
            );
        }
    }
}
