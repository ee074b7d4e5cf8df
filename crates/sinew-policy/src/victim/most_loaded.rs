//! Load: now and then, the worker with most tasks that wait.

use super::{Outcome, Random, VictimPolicy, View};

/// One attempt in `every` goes to the worker with most tasks that wait, found by a scan of all
/// workers; the others are [`Random`]. If no worker has any, that one is random, too.
///
/// Source: A.-A. Chasapis, "Optimization Techniques for Task-based Parallel Programming Models"
/// (2014), section 3.3.2.1, with `every` 1 and 5. Differences: ties are broken by the thief's
/// private order. A round ends with the random walk's, or after as many attempts at the most loaded
/// worker as there are others. The next round is then random throughout, so that a loaded worker
/// from which no steal succeeds does not keep a thief for ever.
///
/// # Cost
///
/// The attempt at the most loaded worker reads one line of each worker, unless the [`View`] knows
/// it.
#[derive(Debug, Clone)]
pub struct MostLoaded {
    every: u32,
    /// Attempts since the last one at the most loaded worker.
    attempts: u32,
    /// Attempts at the most loaded worker in this round.
    scans: usize,
    /// Whether this round is random throughout.
    plain: bool,
    walk: Random,
}

impl MostLoaded {
    /// One attempt in `every`, at least 1, goes to the most loaded worker, beginning with the
    /// first.
    pub fn new(every: u32) -> Self {
        let every = every.max(1);
        Self { every, attempts: every - 1, scans: 0, plain: false, walk: Random::new() }
    }

    fn heaviest(&self, view: &dyn View) -> Option<usize> {
        if let Some(known) = self.walk.stride().and_then(|order| view.heaviest(&order, 1)) {
            return known.workers.first().copied();
        }
        let mut heaviest = None;
        let mut most = 0;
        for worker in self.walk.members() {
            let load = view.load(worker);
            if load > most {
                (most, heaviest) = (load, Some(worker));
            }
        }
        heaviest
    }

    fn end_round(&mut self, plain: bool) -> Option<usize> {
        (self.scans, self.plain) = (0, plain);
        None
    }
}

impl VictimPolicy for MostLoaded {
    fn start(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) {
        (self.scans, self.plain) = (0, false);
        self.walk.start(view, random);
    }

    fn next(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) -> Option<usize> {
        if self.scans > 0 && self.scans >= self.walk.others() {
            self.walk.restart();
            return self.end_round(true);
        }
        self.attempts += 1;
        if self.attempts >= self.every && !self.plain {
            self.attempts = 0;
            if let Some(heaviest) = self.heaviest(view) {
                self.scans += 1;
                return Some(heaviest);
            }
        }
        self.walk.next(view, random).or_else(|| self.end_round(false))
    }

    fn outcome(&mut self, _victim: usize, _outcome: Outcome) {}
}

#[cfg(test)]
mod tests {
    use super::super::testing::{LARGE, Pool, Source, round, same_victims};
    use super::*;
    use proptest::prelude::*;

    /// A pool in which worker 5 has most tasks.
    fn uneven() -> Pool {
        let mut pool = Pool::of(9, 2);
        pool.load = vec![1, 0, 99, 3, 2, 7, 0, 6, 1];
        pool
    }

    proptest! {
        /// Catches: a choice that has not most tasks, that is the thief itself, or that comes too
        /// early or too late.
        #[test]
        fn the_heaviest_is_tried_once_in_so_many_attempts_across_searches(
            every in 1..8_usize,
            searches in proptest::collection::vec(1..12_usize, 1..10),
            seed in any::<u64>(),
        ) {
            let pool = uneven();
            let (mut policy, mut source) = (MostLoaded::new(every as u32), Source::new(seed));
            let mut victims = Vec::new();
            for attempts in searches {
                policy.start(&pool, &mut source.numbers());
                for _ in 0..attempts.min(8) {
                    victims.extend(policy.next(&pool, &mut source.numbers()));
                }
            }
            prop_assert!(victims.iter().step_by(every).all(|&victim| victim == 5), "{:?}", victims);
        }

        /// Catches: attempts in between that do not follow the random walk.
        #[test]
        fn the_attempts_between_are_the_random_walk(seed in any::<u64>()) {
            let pool = uneven();
            let (mut policy, mut ours) = (MostLoaded::new(5), Source::new(seed));
            let (mut random, mut theirs) = (Random::new(), Source::new(seed));
            policy.start(&pool, &mut ours.numbers());
            random.start(&pool, &mut theirs.numbers());
            let victims = round(&mut policy, &pool, &mut ours);
            let others: Vec<usize> =
                victims
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| at % 5 != 0)
                    .map(|(_, &victim)| victim)
                    .collect();
            prop_assert_eq!(others, round(&mut random, &pool, &mut theirs));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        /// Catches: a list of the most loaded workers that leads to another victim than the scan.
        #[test]
        fn a_known_list_leads_to_the_same_victims_as_a_scan(
            steps in proptest::collection::vec((0..LARGE, 0..5_usize, any::<bool>()), 1..40),
            every in 1..4_u32,
        ) {
            same_victims(&|| Box::new(MostLoaded::new(every)), &steps)?;
        }
    }

    /// Catches: a thief that tries one loaded worker for ever.
    #[test]
    fn a_round_of_failures_at_the_heaviest_is_followed_by_one_past_all() {
        let pool = uneven();
        let (mut policy, mut source) = (MostLoaded::new(1), Source::new(4));
        policy.start(&pool, &mut source.numbers());
        assert_eq!(round(&mut policy, &pool, &mut source), [5; 8]);
        let mut all = round(&mut policy, &pool, &mut source);
        all.sort_unstable();
        assert_eq!(all, [0, 1, 3, 4, 5, 6, 7, 8]);
        assert_eq!(round(&mut policy, &pool, &mut source), [5; 8]);
    }

    /// Catches: a common favourite among equals.
    #[test]
    fn of_equals_each_thief_has_its_own_favourite() {
        let mut pool = Pool::of(6, 0);
        pool.load = vec![4; 6];
        let favourites: std::collections::HashSet<_> = (0..100)
            .map(|seed| {
                let (mut policy, mut source) = (MostLoaded::new(1), Source::new(seed));
                policy.start(&pool, &mut source.numbers());
                policy.next(&pool, &mut source.numbers())
            })
            .collect();
        assert_eq!(favourites.len(), 5);
    }

    /// Catches: idle workers that never get a steal request when no worker has tasks.
    #[test]
    fn without_public_tasks_it_is_the_random_walk() {
        let pool = Pool::of(9, 2);
        let (mut policy, mut source) = (MostLoaded::new(1), Source::new(4));
        policy.start(&pool, &mut source.numbers());
        let mut all = round(&mut policy, &pool, &mut source);
        all.sort_unstable();
        assert_eq!(all, [0, 1, 3, 4, 5, 6, 7, 8]);
    }
}
