//! Classes of tasks: those that may leave their package, and those that stay near their data.
//!
//! In a first run any worker may steal any task, and the runtime measures the tasks of each depth.
//! From that, [`boundary`] computes the last depth with large tasks. In later runs a thief takes
//! any task inside its package, and from other packages only those up to the boundary.

use super::circle::Circle;
use super::{Outcome, Reach, VictimPolicy, View, is_near};

/// The stolen tasks of one depth, and their time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Their number.
    pub tasks: u64,
    /// Their total time, in microseconds.
    pub micros: u64,
}

/// The greatest depth whose tasks may leave their package, from one tally for each depth from 0 on,
/// for a machine of `packages`.
///
/// It is the deepest with tasks of `large_us` microseconds on average. A task that takes as long as
/// reading through a package's cache has more data than the cache holds, or is worth the transfer.
/// But the boundary is deep enough for each package to get a task if every task spawns two.
pub fn boundary(tallies: &[Tally], large_us: u32, packages: usize) -> u32 {
    let is_large =
        |tally: &Tally| tally.tasks > 0 && tally.micros >= tally.tasks * u64::from(large_us);
    let learned = tallies.iter().rposition(is_large).unwrap_or(0);
    let least = packages.max(1).next_power_of_two().ilog2();
    least.max(u32::try_from(learned).unwrap_or(u32::MAX))
}

/// Tries its own package in random order. Then it tries workers of other packages whose oldest task
/// is at [`View::boundary`] or nearer the root, and those without public tasks, which then get a
/// steal request. While the boundary is not known, it tries all of them.
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
        self.near.again();
        self.far.again();
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
    use super::super::circle::WRITTEN;
    use super::super::testing::{Pool, Source, round};
    use super::*;
    use proptest::prelude::*;

    fn tally(tasks: u64, micros: u64) -> Tally {
        Tally { tasks, micros }
    }

    /// Catches: sums instead of means, a boundary one too deep or too shallow, depths without
    /// tasks, or a package without work.
    #[test]
    fn the_boundary_is_the_deepest_depth_of_large_tasks() {
        let tallies =
            [tally(0, 0), tally(2, 8_000), tally(4, 4_000), tally(900, 9_000), tally(0, 0)];
        assert_eq!(boundary(&tallies, 1_000, 1), 2);
        assert_eq!(boundary(&tallies, 1_001, 1), 1);
        assert_eq!(boundary(&tallies, 10, 1), 3);
        for (packages, least) in [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3)] {
            assert_eq!(boundary(&tallies, 1_000_000, packages), least);
            assert_eq!(boundary(&[], 1, packages), least);
        }
    }

    /// Catches: a list of all workers in each thief of a large pool, which for 65,536 takes all
    /// memory; and workers of the own package that are tried twice.
    #[test]
    fn in_a_large_pool_everybody_is_tried_once_and_nobody_is_written_down() {
        let pool = Pool { shape: (8, 8), ..Pool::of(WRITTEN + 10, 7) };
        let (mut policy, mut source) = (Cats::new(), Source::new(1));
        policy.start(&pool, &mut source.numbers());
        let mut victims = round(&mut policy, &pool, &mut source);
        victims.sort_unstable();
        assert!(victims.into_iter().eq((0..WRITTEN + 10).filter(|&worker| worker != pool.me)));
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
