//! Swap-retry: a unit that keeps aborting is put back, and the worker tries another.
//!
//! The transaction that conflicts with the unit is probably still running, so another unit may
//! succeed. But a failed attempt has also loaded the unit's data into the cache, and if nearly
//! everything aborts, the other unit will abort too. So the more aborts there are, the more often a
//! unit is retried before it is swapped: twice as often for each tenth of the attempts that abort.
//!
//! Source: Góes (see the [module](super)), section 5.1.3 and figure 6.2, line 23. Difference:
//! integer arithmetic, so that a ratio of exactly three tenths counts as three tenths.
//!
//! # Tests
//!
//! The rule at each tenth and just below it, against the figure; property tests for its range and
//! for uniform choices.

/// Retries before a swap, until they are tuned.
pub const RETRIES: u32 = 2;
/// A unit is retried at least once: the failed attempt has loaded its data into the cache.
pub const FEWEST: u32 = 1;
/// Retries before a swap if every attempt aborts.
pub const MOST: u32 = 1 << 10;

/// Retries before a swap after `aborts` failed attempts and `commits` committed units:
/// 2^⌊10·A/(A+C)⌋.
///
/// ```
/// use sinew_policy::worklist::swap::retries;
///
/// assert_eq!((retries(0, 100), retries(30, 70), retries(99, 1)), (1, 8, 512));
/// ```
pub fn retries(aborts: u64, commits: u64) -> u32 {
    let attempts = u128::from(aborts) + u128::from(commits);
    let tenths = (10 * u128::from(aborts)).checked_div(attempts).unwrap_or(0);
    FEWEST << tenths
}

/// Whether a unit is swapped after `aborts` failed attempts in a row. The first attempt is no
/// retry: with [`FEWEST`], the second abort swaps.
pub fn is_due(aborts: u32, swap_after: Option<u32>) -> bool {
    swap_after.is_some_and(|retries| aborts > retries.max(FEWEST))
}

/// The index of the unit to swap for, in a list of `units`, from `random` bits; uniformly
/// distributed. `None` if the list is empty; the unit is then retried.
///
/// With stealing it is the worker's own list, otherwise the shared one.
pub fn partner(units: usize, random: u64) -> Option<usize> {
    // The high half of the product: uniform to one part in 2⁶⁴ for each unit, without a division.
    (units > 0).then(|| ((units as u128 * u128::from(random)) >> 64) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Catches: an overflow, no retry at all, and more retries than the rule can give.
        #[test]
        fn retries_are_a_power_of_two_in_range(aborts in any::<u64>(), commits in any::<u64>()) {
            let retries = retries(aborts, commits);
            prop_assert!((FEWEST..=MOST).contains(&retries) && retries.is_power_of_two());
        }

        /// Catches: more aborts that give fewer retries.
        #[test]
        fn more_aborts_never_mean_fewer_retries(aborts in 0..u64::MAX, commits in any::<u64>()) {
            prop_assert!(retries(aborts, commits) <= retries(aborts + 1, commits));
        }

        /// Catches: an index beyond the end of the list.
        #[test]
        fn a_partner_is_in_the_list(units in any::<usize>(), random in any::<u64>()) {
            prop_assert_eq!(partner(units, random).is_some(), units > 0);
            prop_assert!(partner(units, random).is_none_or(|place| place < units));
        }
    }

    /// Catches: a tenth that is rounded down because 0.3 · 10 is not 3 in binary, and one that is
    /// rounded up.
    #[test]
    fn retries_double_at_each_tenth() {
        for tenth in 0..=10 {
            assert_eq!(retries(tenth * 100, 1_000 - tenth * 100), 1 << tenth);
            assert_eq!(retries(tenth * 100 + 99, 901_u64.saturating_sub(tenth * 100)), 1 << tenth);
        }
        assert_eq!(retries(0, 0), FEWEST, "no attempt, no aborts");
    }

    /// Catches: a swap at the first abort, one that never happens, and one while swapping is off.
    #[test]
    fn a_unit_is_swapped_once_its_retries_have_failed() {
        let due = |swap_after| (0..9).find(|&aborts| is_due(aborts, swap_after));
        assert_eq!(due(Some(FEWEST)), Some(2));
        assert_eq!(due(Some(RETRIES)), Some(3));
        assert_eq!(due(Some(0)), Some(2), "the fewest are one");
        assert_eq!(due(None), None);
    }

    /// Catches: a partner that is always the same, or never the first or last.
    #[test]
    fn partners_are_chosen_evenly() {
        let mut chosen = [0; 5];
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..5_000 {
            chosen[partner(5, random.u64(..)).expect("the list is not empty")] += 1;
        }
        assert!(chosen.iter().all(|times| (850..1_150).contains(times)), "{chosen:?}");
    }
}
