//! CATS: large tasks may leave their package, small ones stay near their data.
//!
//! In a first run any worker may steal any task, and the runtime measures the tasks of each depth.
//! From that, [`boundary`](super::boundary()) computes the last depth with large tasks. In later
//! runs a thief takes any task inside its package, and from other packages only those up to the
//! boundary.

use super::circle::Circle;
use super::{Outcome, Reach, VictimPolicy, View, is_near};

/// Tries its own package in random order. Then it tries workers of other packages whose oldest task
/// is at [`View::boundary`] or nearer the root, and those without tasks, which then get a steal
/// request. While the boundary is not known, it tries all of them.
///
/// A round is one such walk.
///
/// Source: Q. Chen, M. Guo and Z. Huang, "CATS: Cache Aware Task-Stealing based on Online Profiling
/// in Multi-socket Multi-core Architectures" (2012). Differences: the size of a task is its running
/// time, not a count of cache misses; and the classes share one queue, as the oldest task is the
/// largest.
#[derive(Debug, Clone, Default)]
pub struct Cats {
    near: Circle,
    far: Circle,
}

impl Cats {
    /// A rule without an order yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl VictimPolicy for Cats {
    fn start(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) {
        self.near.draw(view, random, |worker| is_near(view, worker));
        self.far.draw_most(view, random, |worker| !is_near(view, worker));
        self.near.begin(random);
        self.far.begin(random);
    }

    fn next(&mut self, view: &dyn View, _random: &mut dyn FnMut() -> u64) -> Option<usize> {
        if let Some(victim) = self.near.next(view) {
            return Some(victim);
        }
        while let Some(victim) = self.far.next(view) {
            if !is_near(view, victim) && self.allows(view, victim) {
                return Some(victim);
            }
        }
        self.near.restart();
        self.far.restart();
        None
    }

    fn outcome(&mut self, _victim: usize, _outcome: Outcome) {}

    fn allows(&self, view: &dyn View, victim: usize) -> bool {
        let may_leave = |boundary| view.oldest_depth(victim).is_none_or(|depth| depth <= boundary);
        is_near(view, victim)
            || view.reach() == Reach::Everywhere
            || view.boundary().is_none_or(may_leave)
    }
}

#[cfg(test)]
mod tests {
    use super::super::circle::LONGEST_LIST;
    use super::super::testing::{Pool, Source, round};
    use super::*;
    use proptest::prelude::*;

    /// Catches: a list of all workers in each thief of a large pool, which for 65,536 takes all
    /// memory; and workers of the own package that are tried twice.
    #[test]
    fn in_a_large_pool_each_worker_is_tried_once_and_none_is_listed() {
        let pool = Pool { shape: (8, 8), ..Pool::of(LONGEST_LIST + 10, 7) };
        let (mut policy, mut source) = (Cats::new(), Source::new(1));
        policy.start(&pool, &mut source.numbers());
        let mut victims = round(&mut policy, &pool, &mut source);
        victims.sort_unstable();
        assert!(victims.into_iter().eq((0..LONGEST_LIST + 10).filter(|&worker| worker != pool.me)));
        assert!(policy.far.stride().is_some());
    }

    proptest! {
        /// Catches: a small task that leaves its package, a large one or a steal request that is
        /// left out, or a walk that begins in another package.
        #[test]
        fn beyond_the_package_only_tasks_up_to_the_boundary_are_taken(
            pool in Pool::any(30),
            seed in any::<u64>(),
        ) {
            let (mut policy, mut source) = (Cats::new(), Source::new(seed));
            policy.start(&pool, &mut source.numbers());
            let victims = round(&mut policy, &pool, &mut source);
            let is_near = |w: usize| pool.package(w) == pool.package(pool.me);
            let may_leave = |w: usize| match pool.boundary {
                Some(boundary) => pool.load[w] == 0 || pool.depth[w] <= boundary,
                None => true,
            };
            let free = pool.reach == Reach::Everywhere;
            let mut expected: Vec<usize> = (0..pool.workers())
                .filter(|&w| pool.must_be_tried(w) && (is_near(w) || free || may_leave(w)))
                .collect();
            prop_assert!(victims.is_sorted_by_key(|&w| !is_near(w)));
            let mut victims = victims;
            victims.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(victims, expected);
        }
    }
}
