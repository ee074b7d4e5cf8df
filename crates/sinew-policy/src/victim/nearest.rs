//! Distance: the nearest worker first, several times, before one that is farther.

use super::levels::{self, LevelOrder, Members};
use super::{Outcome, Random, Reach, VictimPolicy, View, is_near, is_worth_trying};

/// How often a search tries the workers that share more than the last-level cache, before it goes
/// farther.
const CLOSE: u32 = 50;

/// How often it tries those that share the last-level cache, or at least the package.
const PACKAGE: u32 = 3;

/// Workers at one distance.
#[derive(Debug, Clone)]
struct Level {
    members: Members,
    times: u32,
    near: bool,
}

/// Walks a list of the other workers from the nearest to the farthest. It tries those that share
/// more than the last-level cache 50 times, the rest of the package 3 times, and all others once.
/// Each success returns to the top. Only the master of a package leaves it: for other workers the
/// list ends with the package.
///
/// A round is one walk of the list.
///
/// Source: A.-A. Chasapis, "Optimization Techniques for Task-based Parallel Programming Models"
/// (2014), section 3.2, after Q. Chen, M. Guo and Z. Huang, "CATS" (2012). Difference: workers at
/// the same distance are in a private random order, so that the thieves of a cache do not all start
/// with the same one.
#[derive(Debug, Clone, Default)]
pub struct Nearest {
    levels: Vec<Level>,
    /// The number of workers for which the list was made.
    workers: usize,
    level: usize,
    /// The number of finished walks of this level.
    pass: u32,
    at: usize,
}

impl Nearest {
    /// A rule without a list yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn make_list(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) {
        self.workers = view.workers();
        let times = |near, distance| match (near, distance < view.last_level()) {
            (false, _) => 1,
            (true, false) => PACKAGE,
            (true, true) => CLOSE,
        };
        let level = |level: levels::Level| {
            let times = times(level.near, level.distance);
            Level { members: level.members, times, near: level.near }
        };
        self.levels =
            levels::levels(view, random, LevelOrder::PackageFirst).into_iter().map(level).collect();
    }

    fn return_to_the_top(&mut self) {
        (self.level, self.pass, self.at) = (0, 0, 0);
    }
}

impl VictimPolicy for Nearest {
    fn start(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) {
        if self.workers != view.workers() {
            self.make_list(view, random);
        }
        self.return_to_the_top();
    }

    fn next(&mut self, view: &dyn View, _random: &mut dyn FnMut() -> u64) -> Option<usize> {
        while let Some(level) = self.levels.get(self.level) {
            if !level.near && view.reach() == Reach::Package {
                break;
            }
            while self.at < level.members.len() {
                let victim = level.members.at(self.at);
                self.at += 1;
                if is_worth_trying(view, victim) {
                    return Some(victim);
                }
            }
            (self.pass, self.at) = (self.pass + 1, 0);
            if self.pass >= level.times {
                (self.level, self.pass) = (self.level + 1, 0);
            }
        }
        self.return_to_the_top();
        None
    }

    fn outcome(&mut self, _victim: usize, outcome: Outcome) {
        if outcome == Outcome::Stolen {
            self.return_to_the_top();
        }
    }

    fn allows(&self, view: &dyn View, victim: usize) -> bool {
        view.reach() != Reach::Package || is_near(view, victim)
    }
}

/// [`Nearest`], but one attempt in this many goes to a random worker that the rule of masters
/// allows. Chasapis' thesis proposes it as a compromise with random stealing.
#[derive(Debug, Clone)]
pub struct NearestOrRandom {
    random_every: u32,
    /// Attempts since the last random one.
    attempts: u32,
    nearest: Nearest,
    random: Random,
}

impl NearestOrRandom {
    /// One attempt in `random_every` is random.
    pub fn new(random_every: u32) -> Self {
        Self { random_every, attempts: 0, nearest: Nearest::new(), random: Random::new() }
    }
}

impl VictimPolicy for NearestOrRandom {
    fn start(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) {
        self.nearest.start(view, random);
        self.random.start(view, random);
    }

    fn next(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) -> Option<usize> {
        self.attempts += 1;
        if self.attempts >= self.random_every {
            self.attempts = 0;
            let victim = self.random.next(view, random).filter(|&victim| self.allows(view, victim));
            if victim.is_some() {
                return victim;
            }
        }
        self.nearest.next(view, random)
    }

    fn outcome(&mut self, victim: usize, outcome: Outcome) {
        self.nearest.outcome(victim, outcome);
    }

    fn allows(&self, view: &dyn View, victim: usize) -> bool {
        self.nearest.allows(view, victim)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Pool, Source, round};
    use super::*;

    /// The first `count` victims as distances, in runs.
    fn runs(victims: &[usize], pool: &Pool) -> Vec<(u8, usize)> {
        victims
            .chunk_by(|&a, &b| pool.distance(a) == pool.distance(b))
            .map(|run| (pool.distance(run[0]), run.len()))
            .collect()
    }

    /// Catches: other repetitions than 50, 3 and 1, levels in another order, or a list that differs
    /// from pass to pass.
    #[test]
    fn a_master_tries_the_closest_50_times_its_package_3_times_and_the_others_once() {
        for me in 0..24 {
            let pool = Pool::dunnington(me);
            let (mut policy, mut source) = (Nearest::new(), Source::new(me as u64));
            policy.start(&pool, &mut source.numbers());
            let first = round(&mut policy, &pool, &mut source);
            assert_eq!(runs(&first, &pool), [(1, 50), (2, 3 * 4), (3, 18)]);
            let (once, rest) = first[50..62].split_at(4);
            assert_eq!([once, once].concat(), rest);
            let mut beyond = first[62..].to_vec();
            beyond.sort_unstable();
            assert!(beyond.iter().copied().eq((0..24).filter(|w| w / 6 != me / 6)));
            assert_eq!(round(&mut policy, &pool, &mut source), first);
        }
    }

    /// Catches: a worker other than the master that leaves its package, or does not return to the
    /// top at the end of it.
    #[test]
    fn a_confined_worker_wraps_at_the_end_of_its_package() {
        let pool = Pool { reach: Reach::Package, ..Pool::dunnington(8) };
        let (mut policy, mut source) = (Nearest::new(), Source::new(1));
        policy.start(&pool, &mut source.numbers());
        for _ in 0..3 {
            let victims = round(&mut policy, &pool, &mut source);
            assert_eq!(runs(&victims, &pool), [(1, 50), (2, 12)]);
        }
        assert!((0..24).all(|victim| policy.allows(&pool, victim) == (6..12).contains(&victim)));
    }

    /// Catches: a former master that continues outside of its package.
    #[test]
    fn a_former_master_returns_to_its_package_at_the_next_attempt() {
        let mut pool = Pool::dunnington(0);
        let (mut policy, mut source) = (Nearest::new(), Source::new(1));
        policy.start(&pool, &mut source.numbers());
        for _ in 0..63 {
            policy.next(&pool, &mut source.numbers()).unwrap();
        }
        pool.reach = Reach::Package;
        assert_eq!(policy.next(&pool, &mut source.numbers()), None);
        assert_eq!(policy.next(&pool, &mut source.numbers()), Some(1));
    }

    /// Catches: attempts at worker slots without a thread, or one that is skipped though it still
    /// has tasks.
    #[test]
    fn slots_without_a_thread_are_skipped() {
        let mut pool = Pool::dunnington(0);
        pool.active[1] = false;
        for worker in [3, 4, 5] {
            pool.active[worker] = false;
        }
        pool.load[4] = 2;
        let (mut policy, mut source) = (Nearest::new(), Source::new(1));
        policy.start(&pool, &mut source.numbers());
        let victims = round(&mut policy, &pool, &mut source);
        assert_eq!(runs(&victims, &pool), [(2, 6), (3, 18)]);
        assert!(victims[..2] == [2, 4] || victims[..2] == [4, 2]);
    }

    /// Catches: a search that continues where the last one succeeded, not at the nearest worker.
    #[test]
    fn after_a_success_and_in_each_search_the_nearest_is_first() {
        let pool = Pool::dunnington(0);
        let (mut policy, mut source) = (Nearest::new(), Source::new(1));
        policy.start(&pool, &mut source.numbers());
        for _ in 0..70 {
            policy.next(&pool, &mut source.numbers()).unwrap();
        }
        policy.outcome(20, Outcome::Stolen);
        assert_eq!(policy.next(&pool, &mut source.numbers()), Some(1));
        for _ in 0..70 {
            policy.next(&pool, &mut source.numbers()).unwrap();
        }
        policy.start(&pool, &mut source.numbers());
        assert_eq!(policy.next(&pool, &mut source.numbers()), Some(1));
    }

    /// Catches: thieves of one cache that all try the same worker of the next.
    #[test]
    fn workers_at_the_same_distance_come_in_different_orders() {
        let pool = Pool::dunnington(0);
        let firsts: std::collections::HashSet<usize> = (0..50)
            .map(|seed| {
                let (mut policy, mut source) = (Nearest::new(), Source::new(seed));
                policy.start(&pool, &mut source.numbers());
                round(&mut policy, &pool, &mut source)[50]
            })
            .collect();
        assert_eq!(firsts.len(), 4);
    }

    /// Catches: random attempts too often, too rarely, or outside of the package of a worker that
    /// is not its master.
    #[test]
    fn one_attempt_in_four_is_random_and_a_confined_worker_stays_in_its_package() {
        let pool = Pool::dunnington(0);
        let (mut policy, mut source) = (NearestOrRandom::new(4), Source::new(9));
        policy.start(&pool, &mut source.numbers());
        let victims: Vec<usize> =
            (0..32).map(|_| policy.next(&pool, &mut source.numbers()).unwrap()).collect();
        for (at, &victim) in victims.iter().enumerate() {
            assert!(victim == 1 || at % 4 == 3, "{victims:?}");
        }
        assert!(victims.iter().skip(3).step_by(4).any(|&victim| victim > 5), "{victims:?}");
        let confined = Pool { reach: Reach::Package, ..pool };
        for _ in 0..300 {
            assert!(policy.next(&confined, &mut source.numbers()).is_none_or(|victim| victim < 6));
        }
    }
}
