//! Shared by the tests: a pool as data, and random numbers.

use proptest::prelude::*;

use super::circle::LONGEST_LIST;
use super::{Heaviest, Outcome, Reach, Stride, VictimPolicy, Victims, View};

/// A pool at one time.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    pub(super) me: usize,
    pub(super) active: Vec<bool>,
    pub(super) load: Vec<usize>,
    pub(super) depth: Vec<u32>,
    /// Workers per cache, caches per package.
    pub(super) shape: (usize, usize),
    pub(super) reach: Reach,
    pub(super) boundary: Option<u32>,
    pub(super) wants_piece: bool,
    /// Whether it knows the most loaded workers.
    pub(super) tells: bool,
}

/// More workers than have orders with a list.
pub(super) const LARGE: usize = LONGEST_LIST + 60;

impl Pool {
    /// All workers are active, none has tasks, and all share everything.
    pub(super) fn of(workers: usize, me: usize) -> Self {
        Self {
            me,
            active: vec![true; workers],
            load: vec![0; workers],
            depth: vec![1; workers],
            shape: (workers, 1),
            reach: Reach::Machine,
            boundary: None,
            wants_piece: false,
            tells: false,
        }
    }

    /// 4 packages of 3 caches of 2 workers: the distances are 1 in a cache, 2 in a package, 3
    /// otherwise.
    pub(super) fn dunnington(me: usize) -> Self {
        Self { shape: (2, 3), ..Self::of(24, me) }
    }

    /// A pool of fewer than `most` workers, in any state.
    pub(super) fn any(most: usize) -> impl Strategy<Value = Self> {
        let workers = proptest::collection::vec((any::<bool>(), 0..3_usize, 0..9_u32), 1..most);
        let reach =
            prop_oneof![Just(Reach::Package), Just(Reach::Machine), Just(Reach::Everywhere)];
        let rest = (any::<prop::sample::Index>(), 1..5_usize, 1..4_usize, reach);
        let more = (proptest::option::of(0..9_u32), any::<bool>());
        (workers, rest, more).prop_map(
            |(workers, (me, cache, package, reach), (boundary, wants_piece))| {
                let me = me.index(workers.len());
                let (active, load, depth) = workers.into_iter().fold(
                    (Vec::new(), Vec::new(), Vec::new()),
                    |(mut active, mut load, mut depth), worker| {
                        active.push(worker.0);
                        load.push(worker.1);
                        depth.push(worker.2);
                        (active, load, depth)
                    },
                );
                Self {
                    me,
                    active,
                    load,
                    depth,
                    shape: (cache, package),
                    reach,
                    boundary,
                    wants_piece,
                    tells: false,
                }
            },
        )
    }

    pub(super) fn must_be_tried(&self, worker: usize) -> bool {
        worker != self.me && (self.active[worker] || self.load[worker] > 0)
    }

    fn cache(&self, worker: usize) -> usize {
        worker / self.shape.0
    }
}

impl View for Pool {
    fn workers(&self) -> usize {
        self.active.len()
    }
    fn me(&self) -> usize {
        self.me
    }
    fn is_active(&self, worker: usize) -> bool {
        self.active[worker]
    }
    fn load(&self, worker: usize) -> usize {
        self.load[worker]
    }
    fn oldest_depth(&self, worker: usize) -> Option<u32> {
        (self.load[worker] > 0).then_some(self.depth[worker])
    }
    fn distance(&self, worker: usize) -> u8 {
        match worker {
            _ if worker == self.me => 0,
            _ if self.cache(worker) == self.cache(self.me) => 1,
            _ if self.package(worker) == self.package(self.me) => 2,
            _ => 3,
        }
    }
    fn package(&self, worker: usize) -> usize {
        self.cache(worker) / self.shape.1
    }
    fn last_level(&self) -> u8 {
        2
    }
    fn reach(&self) -> Reach {
        self.reach
    }
    fn boundary(&self) -> Option<u32> {
        self.boundary
    }
    fn wants_piece(&self) -> bool {
        self.wants_piece
    }
    fn heaviest(&self, order: &Stride, most: usize) -> Option<Heaviest> {
        let mut all: Vec<usize> = (0..order.others()).map(|place| order.at(place)).collect();
        all.retain(|&worker| self.load[worker] > 0);
        all.sort_by_key(|&worker| std::cmp::Reverse(self.load[worker]));
        let more = all.len() > most;
        all.truncate(most);
        self.tells.then_some(Heaviest { workers: all, more })
    }
}

/// Two thieves of a large pool try the same victims while loads and reach change. One knows the
/// most loaded workers and the other scans for them. A step sets a worker's load, and whether its
/// attempt succeeds.
pub(super) fn same_victims(
    policy: &dyn Fn() -> Box<dyn VictimPolicy>,
    steps: &[(usize, usize, bool)],
) -> Result<(), TestCaseError> {
    let mut pool = Pool { shape: (8, 8), ..Pool::of(LARGE, LARGE / 3) };
    let mut thieves = [policy(), policy()];
    for (number, &(worker, load, succeeds)) in steps.iter().enumerate() {
        pool.load[worker] = load;
        pool.active[worker] = load < 4 || number % 8 > 0;
        pool.reach = [Reach::Package, Reach::Machine, Reach::Everywhere][load % 3];
        let outcome = if succeeds { Outcome::Stolen } else { Outcome::Lost };
        let [found, told] = [false, true].map(|tells| {
            let pool = Pool { tells, ..pool.clone() };
            let (thief, mut source) =
                (&mut thieves[usize::from(tells)], Source::new(number as u64));
            if number % 7 == 0 {
                thief.start(&pool, &mut source.numbers());
            }
            let victim = thief.next(&pool, &mut source.numbers());
            victim.inspect(|&victim| thief.outcome(victim, outcome))
        });
        prop_assert_eq!(found, told, "step {}", number);
    }
    Ok(())
}

/// Random numbers that repeat.
pub(super) struct Source(fastrand::Rng);

impl Source {
    pub(super) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    pub(super) fn numbers(&mut self) -> impl FnMut() -> u64 {
        || self.0.u64(..)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0.usize(..bound)
    }

    pub(super) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// The victims of one round; the outcomes are not reported.
pub(super) fn round(policy: &mut dyn VictimPolicy, pool: &Pool, source: &mut Source) -> Vec<usize> {
    std::iter::from_fn(|| policy.next(pool, &mut source.numbers())).collect()
}

/// Any of the presets.
pub(super) fn any_policy() -> impl Strategy<Value = Victims> {
    proptest::sample::select(Victims::all())
}
