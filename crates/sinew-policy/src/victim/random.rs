//! The random walk, on which `set`, `sample` and `most_loaded` build.

use super::circle::Circle;
#[cfg(feature = "experiments")]
use super::stride::Stride;
use super::{Outcome, VictimPolicy, View};

/// Walks a private random permutation of the other workers from a random start.
///
/// The permutation is drawn once, at the first search, and the start once per search, so an attempt
/// needs no random number. Thieves with different permutations do not follow each other around the
/// pool.
///
/// Source: K.-F. Faxén and J. Ardelius, "Manycore Work Stealing" (2011; there: RAND). Difference: a
/// worker slot without a thread and without tasks is skipped.
#[derive(Debug, Default, Clone)]
pub struct Random {
    circle: Circle,
}

impl Random {
    /// A rule without a permutation yet.
    pub fn new() -> Self {
        Self::default()
    }
}

/// For the rules that build on this one.
#[cfg(feature = "experiments")]
impl Random {
    /// The other workers, in the order of the walk.
    pub(super) fn members(&self) -> impl Iterator<Item = usize> + '_ {
        self.circle.members()
    }

    /// The order, if it has no list.
    pub(super) fn stride(&self) -> Option<Stride> {
        self.circle.stride()
    }

    /// The number of other workers.
    pub(super) fn others(&self) -> usize {
        self.circle.len()
    }

    /// Begins a round at the present position.
    pub(super) fn restart(&mut self) {
        self.circle.restart();
    }
}

impl VictimPolicy for Random {
    fn start(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) {
        self.circle.draw_all(view, random);
        self.circle.begin(random);
    }

    fn next(&mut self, view: &dyn View, _random: &mut dyn FnMut() -> u64) -> Option<usize> {
        let victim = self.circle.next(view);
        if victim.is_none() {
            self.circle.restart();
        }
        victim
    }

    fn outcome(&mut self, _victim: usize, _outcome: Outcome) {}
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Pool, Source, round};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Catches: a walk that returns the thief or a number outside of the pool, or repeats or
        /// leaves out a worker, in any round.
        #[test]
        fn every_round_visits_each_worker_with_a_task_or_a_thread_once(
            pool in Pool::any(40),
            seed in any::<u64>(),
        ) {
            let mut source = Source::new(seed);
            let mut policy = Random::new();
            let expected: Vec<usize> =
                (0..pool.workers()).filter(|&w| pool.must_be_tried(w)).collect();
            for _search in 0..3 {
                policy.start(&pool, &mut source.numbers());
                for _round in 0..3 {
                    let mut visited = round(&mut policy, &pool, &mut source);
                    visited.sort_unstable();
                    prop_assert_eq!(&visited, &expected);
                }
            }
        }
    }

    /// Catches: a start that is not drawn again, or a permutation that favours some neighbours.
    #[test]
    fn first_victims_and_their_followers_are_spread_evenly() {
        const SEARCHES: u32 = 70_000;
        let pool = Pool::of(8, 3);
        let mut source = Source::new(1);
        let (mut first, mut second) = ([0_u32; 8], [0_u32; 8]);
        for _ in 0..SEARCHES {
            let mut policy = Random::new();
            policy.start(&pool, &mut source.numbers());
            first[policy.next(&pool, &mut source.numbers()).unwrap()] += 1;
            second[policy.next(&pool, &mut source.numbers()).unwrap()] += 1;
        }
        for worker in (0..8).filter(|&worker| worker != 3) {
            // Six standard deviations of a count around 10,000.
            assert!(first[worker].abs_diff(SEARCHES / 7) < 600, "{first:?}");
            assert!(second[worker].abs_diff(SEARCHES / 7) < 600, "{second:?}");
        }
    }

    /// Catches: a permutation drawn at each search, which would cost as many random numbers as
    /// workers.
    #[test]
    fn a_search_after_the_first_draws_one_number() {
        let pool = Pool::of(8, 0);
        let mut draws = 0_u64;
        let mut random = || {
            draws += 1;
            draws << 60
        };
        let mut policy = Random::new();
        policy.start(&pool, &mut random);
        policy.start(&pool, &mut random);
        while policy.next(&pool, &mut random).is_some() {}
        assert_eq!(draws, 6 + 1 + 1);
    }
}
