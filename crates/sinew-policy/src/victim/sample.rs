//! Sampling: of some workers, the one with the task nearest the root.

use super::{Outcome, VictimPolicy, View};

/// One round of a search in this many is walked without sampling, if sampling continues after
/// failures.
const PLAIN_EVERY: u32 = 16;

/// The most workers that are examined before one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Samples {
    /// The square root of the number of workers, rounded down.
    Root,
    /// This many; 0 counts as 1.
    UpTo(u32),
}

impl Samples {
    fn of(self, workers: usize) -> usize {
        match self {
            Self::Root => workers.isqrt().max(1),
            Self::UpTo(most) => most.max(1) as usize,
        }
    }
}

/// The parameters of a [`Sample`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// The most workers that are examined.
    pub samples: Samples,
    /// Whether the first worker without tasks ends the sample: if many have none, a sample
    /// means little.
    pub stop_at_empty: bool,
    /// Whether sampling continues after a failed attempt. Otherwise the thief takes the first task
    /// that it finds from then on.
    pub after_failure: bool,
}

impl Sampling {
    /// The paper's: up to √p, ends at the first empty one, never after a failure.
    pub const PAPER: Self =
        Self { samples: Samples::Root, stop_at_empty: true, after_failure: false };

    /// Two, with or without tasks: the best in the paper's simulation.
    pub const PAIRS: Self =
        Self { samples: Samples::UpTo(2), stop_at_empty: false, after_failure: true };
}

/// Examines some workers of another rule's walk and takes the one whose oldest task is nearest the
/// root, which is the largest in balanced trees. Examined workers are skipped later, so that none
/// is sampled twice in a round. The end of the walk ends the sample.
///
/// If no examined worker has tasks, the first one is the victim: the attempt sets a steal request.
///
/// Source: K.-F. Faxén and J. Ardelius, "Manycore Work Stealing" (2011), section 2.1: SAMP over
/// [`Random`](super::Random), SAMP+SET over [`Set`](super::Set). Difference: if sampling continues
/// after failures, every 16th round of a search does not sample, so that a worker with ever deeper
/// tasks is found as well.
#[derive(Debug, Clone)]
pub struct Sample<W> {
    walk: W,
    rule: Sampling,
    /// Whether the last attempt of this search failed.
    failed: bool,
    /// Whether the walk's round ended while a sample was taken.
    ended: bool,
    /// Finished rounds of this search.
    rounds: u32,
}

impl<W: VictimPolicy> Sample<W> {
    /// Samples along `walk`.
    pub fn new(rule: Sampling, walk: W) -> Self {
        Self { walk, rule, failed: false, ended: false, rounds: 0 }
    }

    fn samples_now(&self) -> bool {
        if self.rule.after_failure {
            self.rounds % PLAIN_EVERY != PLAIN_EVERY - 1
        } else {
            !self.failed
        }
    }

    fn sample(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) -> Option<usize> {
        let mut best: Option<(u32, usize)> = None;
        let mut first = None;
        for _ in 0..self.rule.samples.of(view.workers()) {
            let Some(worker) = self.walk.next(view, random) else {
                self.ended = first.is_some();
                break;
            };
            first = first.or(Some(worker));
            match view.oldest_depth(worker) {
                Some(depth) if best.is_none_or(|(nearest, _)| depth < nearest) => {
                    best = Some((depth, worker));
                }
                None if self.rule.stop_at_empty => break,
                _ => {}
            }
        }
        best.map(|(_, worker)| worker).or(first)
    }
}

impl<W: VictimPolicy> VictimPolicy for Sample<W> {
    fn start(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) {
        (self.failed, self.ended, self.rounds) = (false, false, 0);
        self.walk.start(view, random);
    }

    fn next(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) -> Option<usize> {
        let victim = if std::mem::take(&mut self.ended) {
            None
        } else if self.samples_now() {
            self.sample(view, random)
        } else {
            self.walk.next(view, random)
        };
        self.rounds = self.rounds.wrapping_add(u32::from(victim.is_none()));
        victim
    }

    fn outcome(&mut self, victim: usize, outcome: Outcome) {
        self.failed = outcome != Outcome::Stolen;
        self.walk.outcome(victim, outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Pool, Source, round};
    use super::super::{Random, Set};
    use super::*;
    use proptest::prelude::*;

    /// The walk of a sampler with the same random numbers.
    fn plain_walk(pool: &Pool, seed: u64) -> Vec<usize> {
        let (mut random, mut source) = (Random::new(), Source::new(seed));
        random.start(pool, &mut source.numbers());
        round(&mut random, pool, &mut source)
    }

    fn first_choice(rule: Sampling, pool: &Pool, seed: u64) -> Option<usize> {
        let (mut policy, mut source) = (Sample::new(rule, Random::new()), Source::new(seed));
        policy.start(pool, &mut source.numbers());
        policy.next(pool, &mut source.numbers())
    }

    proptest! {
        /// Catches: one worker too few or too many examined; a choice of the deepest, of the last
        /// among equals, or of one after an empty one; a choice without tasks that is not the
        /// first.
        #[test]
        fn the_choice_is_the_nearest_to_the_root_among_those_examined(
            pool in Pool::any(30),
            most in 1..8_u32,
            stop_at_empty in any::<bool>(),
            seed in any::<u64>(),
        ) {
            let walk = plain_walk(&pool, seed);
            let mut looked_at = &walk[..walk.len().min(most as usize)];
            if stop_at_empty && let Some(empty) = looked_at.iter().position(|&w| pool.load[w] == 0)
            {
                looked_at = &looked_at[..empty];
            }
            let offers = looked_at.iter().copied().filter(|&w| pool.load[w] > 0);
            let expected = offers.min_by_key(|&w| pool.depth[w]).or(walk.first().copied());
            let rule =
                Sampling { samples: Samples::UpTo(most), stop_at_empty, after_failure: false };
            prop_assert_eq!(first_choice(rule, &pool, seed), expected);
        }

        /// Catches: a sample taken after a failure, or none after a success.
        #[test]
        fn after_a_failure_the_walk_continues_without_samples(seed in any::<u64>()) {
            let mut pool = Pool::of(17, 0);
            pool.load = vec![1; 17];
            let walk = plain_walk(&pool, seed);
            let (mut policy, mut source) =
                (Sample::new(Sampling::PAPER, Random::new()), Source::new(seed));
            policy.start(&pool, &mut source.numbers());
            let mut attempt = |outcome| {
                let victim = policy.next(&pool, &mut source.numbers());
                if let Some(victim) = victim {
                    policy.outcome(victim, outcome);
                }
                victim
            };
            // √17 workers are examined; they are equal, so the first one is tried.
            prop_assert_eq!(attempt(Outcome::Lost), Some(walk[0]));
            prop_assert_eq!(attempt(Outcome::Empty), Some(walk[4]));
            prop_assert_eq!(attempt(Outcome::Stolen), Some(walk[5]));
            prop_assert_eq!(attempt(Outcome::Lost), Some(walk[6]));
            prop_assert_eq!(attempt(Outcome::Lost), Some(walk[10]));
        }

        /// Catches: a worker sampled twice in a round, or a round that does not end with the
        /// walk's.
        #[test]
        fn no_worker_is_examined_twice_in_a_round(k in 1..5_u32, seed in any::<u64>()) {
            let mut pool = Pool::of(14, 2);
            pool.load = vec![1; 14];
            pool.depth = (0..14).collect();
            let rule =
                Sampling { samples: Samples::UpTo(k), stop_at_empty: false, after_failure: true };
            let (mut policy, mut source) = (Sample::new(rule, Random::new()), Source::new(seed));
            policy.start(&pool, &mut source.numbers());
            let groups = plain_walk(&pool, seed);
            let expected: Vec<usize> =
                groups.chunks(k as usize).map(|group| *group.iter().min().unwrap()).collect();
            for _ in 0..3 {
                prop_assert_eq!(&round(&mut policy, &pool, &mut source), &expected);
            }
        }
    }

    /// Catches: a sample that continues after the end of the set.
    #[test]
    fn a_sample_ends_with_its_set() {
        let mut pool = Pool::of(30, 0);
        pool.load = vec![1; 30];
        let rule =
            Sampling { samples: Samples::UpTo(4), stop_at_empty: false, after_failure: true };
        let (mut policy, mut source) = (Sample::new(rule, Set::new(2, 1)), Source::new(5));
        policy.start(&pool, &mut source.numbers());
        let mut set = Vec::new();
        for _round in 0..5 {
            let mut tried = Vec::new();
            while let Some(victim) = policy.next(&pool, &mut source.numbers()) {
                policy.outcome(victim, Outcome::Thief);
                tried.push(victim);
            }
            // Two attempts complete a set of this kind, and it starts again.
            assert_eq!(tried.len(), 2);
            if set.is_empty() {
                set.clone_from(&tried);
            }
            assert_eq!(tried, set);
        }
    }

    /// Catches: a wrong root, or no examined worker in a small pool.
    #[test]
    fn the_square_root_is_rounded_down_and_at_least_one() {
        for (workers, root) in [(1, 1), (2, 1), (4, 2), (63, 7), (64, 8), (65, 8)] {
            assert_eq!(Samples::Root.of(workers), root);
        }
        assert_eq!(Samples::UpTo(0).of(9), 1);
    }
}
