//! Helper threads: their number, and how far they run ahead.
//!
//! A core that would be idle runs the next unit of a worker ahead of it, to load the unit's data
//! into the cache that the two share. `sinew_topology::place_helpers` chooses its CPU. A helper
//! that reads too little loads nothing; one that reads too much evicts data that the worker needs
//! now. Its *lifespan* is the number of words it may read for one unit; the tuner tries 1, 10, 100
//! and so on.
//!
//! Source: Góes (see the [module](super)), sections 5.1.4 and 6.2.3.
//!
//! # Tests
//!
//! The steps up to and at the longest; a property test that helpers never need more cores than
//! exist.

/// The lifespan with which helpers begin when they are tuned, in words.
pub const FIRST_LIFESPAN: u32 = 1;
/// The lifespan of helpers that are turned on by hand, in words.
pub const LIFESPAN: u32 = 1_000;
/// Writes that a helper keeps private; a unit with more writes ends its run.
pub const BUFFER: usize = 32;

/// The lifespan after `lifespan`: ten times as long, at most `longest`, in words.
pub fn longer(lifespan: u32, longest: u32) -> u32 {
    lifespan.saturating_mul(10).min(longest)
}

/// The lifespans that a tuner may choose, from the first to `longest`.
pub fn lifespans(longest: u32) -> impl Iterator<Item = u32> {
    let first = (longest > 0).then_some(FIRST_LIFESPAN);
    std::iter::successors(first, move |&lifespan| {
        (lifespan < longest).then(|| longer(lifespan, longest))
    })
}

/// How many of `threads` workers have a helper on `cores` cores: one each, as far as idle cores
/// suffice.
pub fn helpers(threads: usize, cores: usize) -> usize {
    cores.saturating_sub(threads).min(threads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Catches: a helper on a worker's core, and an idle core while workers have no helper.
        #[test]
        fn helpers_run_on_idle_cores_only(threads in 1..100_usize, cores in 1..100_usize) {
            let helpers = helpers(threads, cores);
            prop_assert!(helpers <= threads && helpers + threads <= cores.max(threads));
            prop_assert!(helpers == threads || helpers + threads >= cores);
        }

        /// Catches: a lifespan beyond the longest, an overflow, and steps that never reach the
        /// longest.
        #[test]
        fn lifespans_end_at_the_longest(longest in 1..=u32::MAX) {
            let steps: Vec<u32> = lifespans(longest).collect();
            prop_assert_eq!((steps[0], steps[steps.len() - 1]), (1, longest));
            prop_assert!(
                steps.is_sorted_by(|shorter, longer| shorter < longer) && steps.len() <= 11
            );
        }
    }

    /// Catches: other steps than tens, and a last step that is left out.
    #[test]
    fn lifespans_grow_tenfold() {
        assert!(lifespans(10_000).eq([1, 10, 100, 1_000, 10_000]));
        assert!(lifespans(2_500).eq([1, 10, 100, 1_000, 2_500]));
        assert!(lifespans(1).eq([1]));
        assert!(lifespans(0).eq([]));
    }
}
