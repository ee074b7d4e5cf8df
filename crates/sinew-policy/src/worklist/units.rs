//! Units between lists and workers: how they are dealt, stolen and taken.
//!
//! Without stealing there is one list, and every access to it may have to wait for another one.
//! With stealing each worker has its own. Units are dealt out round-robin, in blocks, at the start
//! of the run or when stealing is turned on later; an idle worker takes half of a random victim's
//! units. Coalescing reduces the same contention in another way: two units per transaction are half
//! as many accesses.
//!
//! Source: Góes (see the [module](super)), sections 5.1.1, 5.1.2, 5.1.4 and 6.2.4. Differences:
//! many units are dealt in blocks (there, one by one), and a long list not all at once: a worker
//! gets its next portion when it is out of units. Dealing millions takes longer than running some
//! of them, and collecting them again for fewer workers takes as long again. A thief takes the
//! larger half, so that it can take a single unit. From its own long list a worker takes several at
//! once.
//!
//! # Invariants
//!
//! - U1: no worker is dealt more than a block more than another, nor a 64th of its share.
//! - U2: a thief that finds units gets at least one.
//! - U3: portions end, and the last ones are so small that workers finish at about the same time.
//!
//! # Tests
//!
//! Property tests for U1 to U3; the sequence of units taken with and without a helper, step by
//! step.

use super::counts::Counts;

/// The most units in a row that are dealt to one worker.
pub const BLOCK: usize = 64;

/// The number of consecutive units that are dealt to one of `workers` (0 counts as 1): one if there
/// are few units, up to [`BLOCK`] if there are many.
///
/// Neighbours in a list often have neighbouring data. If they were dealt one by one, two workers
/// would write to the same cache lines at about the same time.
///
/// ```
/// use sinew_policy::worklist::units::block;
///
/// assert_eq!((block(100, 2), block(1_000, 2), block(100_000, 2)), (1, 7, 64));
/// ```
pub fn block(units: usize, workers: usize) -> usize {
    (units / (BLOCK * workers.max(1))).clamp(1, BLOCK)
}

/// The worker of `workers` (0 counts as 1) that gets the unit at index `place`, with blocks of
/// `block` units (0 counts as 1).
///
/// ```
/// use sinew_policy::worklist::units::dealt_to;
///
/// assert_eq!([0, 1, 2, 3, 4, 5].map(|place| dealt_to(place, 2, 2)), [0, 0, 1, 1, 0, 0]);
/// ```
pub fn dealt_to(place: usize, block: usize, workers: usize) -> usize {
    place / block.max(1) % workers.max(1)
}

/// The most units that are dealt at once.
pub const AT_ONCE: usize = 4_096;

/// The most units in a portion.
pub const PORTION: usize = 1_024;

/// How many of the `left` units of a list longer than [`AT_ONCE`] are dealt next, to one of
/// `workers` (0 counts as 1) that has none left: a quarter of its share, up to [`PORTION`].
///
/// ```
/// use sinew_policy::worklist::units::portion;
///
/// assert_eq!([1_000_000, 4_000, 80, 3, 0].map(|left| portion(left, 2)), [1_024, 500, 10, 1, 0]);
/// ```
pub fn portion(left: usize, workers: usize) -> usize {
    (left / workers.max(1) / 4).clamp(1, PORTION).min(left)
}

/// How many of a victim's `units` units a thief takes: the larger half. Preferably from the end at
/// which the victim does not work, since units that were added one after the other often use the
/// same data.
pub fn stolen(units: usize) -> usize {
    units.div_ceil(2)
}

/// How many units a worker takes before its next transaction, if it already `holds` some.
///
/// A transaction runs one unit, or two with coalescing. A worker with a helper (`helped`) holds one
/// more, which its helper runs ahead. So it first takes one more than it runs, then as many as it
/// runs, and one less when it loses its helper. A worker that stands down returns its units to its
/// list.
pub fn to_take(coalescing: bool, helped: bool, holds: usize) -> usize {
    (1 + usize::from(coalescing) + usize::from(helped)).saturating_sub(holds)
}

/// The most units that a worker takes at once from its own list, unless they are known to be short.
pub const BATCH: usize = 8;

/// How many units a worker takes from its own list of `units`, if it needs at least `wanted`. From
/// a long list it takes an eighth, up to [`BATCH`], so that the list's lock costs little; from a
/// short one only what it needs, as the rest is for thieves. `brief` is the number of consecutive
/// units that are known to take negligible time; if it is larger, it replaces [`BATCH`].
///
/// ```
/// use sinew_policy::worklist::units::batch;
///
/// assert_eq!([1_000, 40, 3].map(|units| batch(1, units, 1)), [8, 5, 1]);
/// assert_eq!((batch(2, 3, 1), batch(1, 1_000, 64), batch(1, 80, 64)), (2, 64, 10));
/// ```
pub fn batch(wanted: usize, units: usize, brief: usize) -> usize {
    wanted.max((units / 8).min(brief.max(BATCH)))
}

/// The same for a bucket of `units` units, whose neighbours in the order are in other buckets. Of
/// units that are known to be short a worker takes half, because buckets may be small and each of
/// them is emptied; all if it is `alone`.
///
/// ```
/// use sinew_policy::worklist::units::bucket_batch;
///
/// assert_eq!([1_000, 40, 3].map(|units| bucket_batch(1, units, 64, false)), [64, 20, 1]);
/// assert_eq!((bucket_batch(1, 40, 1, false), bucket_batch(1, 40, 64, true)), (5, 40));
/// ```
pub fn bucket_batch(wanted: usize, units: usize, brief: usize, alone: bool) -> usize {
    let share = if alone { units } else { units / 2 };
    batch(wanted, units, 1).max(share.min(brief))
}

/// Whether a list is contended: more than `alpha` accesses per committed unit had to wait.
pub fn is_contended(counts: &Counts, alpha: f64) -> bool {
    counts.stall_ratio() > alpha
}

/// Whether coalescing pays: lists are contended, and aborts are so rare (a tenth of `beta` per
/// commit) that longer transactions do not cause many more.
pub fn coalescing_pays(counts: &Counts, alpha: f64, beta: f64) -> bool {
    counts.abort_ratio() < beta / 10.0 && is_contended(counts, alpha)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Catches: a worker that gets a block and a unit more than another, and blocks that are a
        /// large part of the list (U1).
        #[test]
        fn every_worker_is_dealt_about_as_much(units in 0..20_000_usize, workers in 0..40_usize) {
            let block = block(units, workers);
            prop_assert!(
                (1..=BLOCK).contains(&block)
                    && (block == 1 || block * workers.max(1) * BLOCK <= units)
            );
            let mut shares = vec![0; workers.max(1)];
            (0..units).for_each(|place| shares[dealt_to(place, block, workers)] += 1);
            let (least, most) = (shares.iter().min().copied(), shares.iter().max().copied());
            prop_assert!(most.unwrap_or(0) - least.unwrap_or(0) <= block);
        }

        /// Catches: a last unit that is never dealt, one that is dealt twice, and a worker that
        /// gets most of the end (U3).
        #[test]
        fn portions_add_up_and_end_small(units in 0..100_000_usize, workers in 0..40_usize) {
            let (mut left, mut portions) = (units, 0);
            while left > 0 {
                let dealt = portion(left, workers);
                prop_assert!(
                    dealt >= 1
                        && dealt <= PORTION.min(left)
                        && dealt <= (left / workers.max(1)).max(1)
                );
                left -= dealt;
                portions += 1;
            }
            prop_assert!(
                portions <= units / PORTION + 4 * workers.max(1) * 16,
                "{portions} portions"
            );
        }

        /// Catches: a last unit that no thief can steal, and a thief that takes more than there are
        /// (U2).
        #[test]
        fn a_thief_takes_the_larger_half(units in any::<usize>()) {
            let taken = stolen(units);
            prop_assert!(taken <= units && (units == 0 || taken >= 1));
            prop_assert!(taken - (units - taken) <= 1);
        }
    }

    proptest! {
        /// Catches: a worker that keeps more than an eighth from thieves, or gets less than it
        /// needs.
        #[test]
        fn a_batch_leaves_most_to_thieves(
            wanted in 1..4_usize,
            units in 0..10_000_usize,
            brief in 0..100_usize,
        ) {
            let taken = batch(wanted, units, brief);
            prop_assert!(
                taken >= wanted
                    && (taken == wanted || (8 * taken <= units && taken <= brief.max(BATCH)))
            );
        }
    }

    proptest! {
        /// Catches: long units that no thief can take, and a bucket that never becomes empty.
        #[test]
        fn a_batch_of_a_bucket_leaves_half_to_thieves(
            units in 1..10_000_usize,
            brief in 0..100_usize,
            alone: bool,
        ) {
            let taken = bucket_batch(1, units, brief, alone);
            prop_assert!(1 <= taken && taken <= units);
            prop_assert!(alone || taken == 1 || 2 * taken <= units);
            prop_assert!(taken <= brief.max(BATCH));
        }
    }

    /// Runs one transaction after another under the same settings, and returns the number of units
    /// taken for each.
    fn takes(coalescing: bool, helped: bool, mut holds: usize) -> Vec<usize> {
        let mut take = || {
            let taken = to_take(coalescing, helped, holds);
            holds = (holds + taken).saturating_sub(1 + usize::from(coalescing));
            taken
        };
        (0..3).map(|_| take()).collect()
    }

    /// Catches: a helper without a unit, one that falls behind, and a unit that is held for ever
    /// after the helper has left.
    #[test]
    fn the_first_take_is_one_more_for_the_helper() {
        assert_eq!(takes(false, false, 0), [1, 1, 1]);
        assert_eq!(takes(false, true, 0), [2, 1, 1]);
        assert_eq!(takes(true, false, 0), [2, 2, 2]);
        assert_eq!(takes(true, true, 0), [3, 2, 2]);
        assert_eq!(takes(false, false, 1), [0, 1, 1], "the helper is gone");
        assert_eq!(takes(true, false, 1), [1, 2, 2], "the helper is gone");
    }

    /// Catches: an ignored condition of the figure, or one that holds at its threshold (figure 6.2,
    /// line 18).
    #[test]
    fn coalescing_needs_many_stalls_and_hardly_an_abort() {
        let pays = |aborts, stalls| {
            coalescing_pays(&Counts { commits: 1_000, aborts, stalls, elapsed_ns: 1 }, 0.1, 0.1)
        };
        assert!(pays(9, 101));
        assert!(!pays(10, 101), "as many aborts as a tenth of beta");
        assert!(!pays(9, 100), "no more stalls than alpha");
        assert!(!pays(0, 0));
    }
}
