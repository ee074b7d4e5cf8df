//! Whom to steal from.
//!
//! A thief asks its policy for a victim, tries it, and tells the policy what came of it. The policy sees the other
//! workers only through a read-only [`View`], whose answers may be out of date by the time they are used: a wrong guess
//! costs an attempt, never a task.
//!
//! The trait is made for the whole family of rules from the literature. A walk needs nothing but numbers; a rule that
//! samples compares [`View::oldest_depth`]; one that follows the load reads [`View::load`]; one that knows the machine
//! reads [`View::distance`]; one that stops after meeting other thieves counts [`Outcome::Thief`]; one that stays with
//! a good victim remembers [`Outcome::Stolen`].
//!
//! # Rounds
//!
//! A *search* begins with [`VictimPolicy::start`] and lasts until the thief has found work or given up. It is divided
//! into *rounds*: `next` answers `None` once every other worker had its turn, so that the thief can do between rounds
//! what must be done now and then (look at its inbox, ask for an exposure, decide to park). The call after that
//! begins the next round of the same search.
//!
//! # Invariants
//!
//! - I1: a policy never answers the thief itself, nor a number that is not below [`View::workers`].
//! - I2: every round ends, and within one round of [`Random`] no worker is answered twice.
//! - I3: a worker that has stealable tasks, active or not, is answered in every round of [`Random`].
//!
//! # Tests
//!
//! I1 to I3 are property tests over pools in which workers come and go; the start and the permutation are tested for
//! being spread evenly.

use std::fmt;
use std::str::FromStr;

/// What a policy may know about the pool at the moment of the question.
pub trait View {
    /// The number of seats; never changes during the life of a pool.
    fn workers(&self) -> usize;
    /// The seat of the thief.
    fn me(&self) -> usize;
    /// Whether somebody works at seat `worker` now.
    fn is_active(&self, worker: usize) -> bool;
    /// How many tasks of `worker` wait to be stolen or run.
    fn load(&self, worker: usize) -> usize;
    /// The depth of the oldest task of `worker` in the tree of tasks (0 is the root), if it has any.
    fn oldest_depth(&self, worker: usize) -> Option<u32>;
    /// How far `worker` is from the thief, as a level of the machine: 0 shares everything, more is farther.
    fn distance(&self, worker: usize) -> u8;
}

/// What came of one attempt to steal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The thief got a task.
    Stolen,
    /// The victim works, but had nothing to steal.
    Empty,
    /// Another thief, or the victim itself, was faster.
    Lost,
    /// The victim was without work and stealing too.
    Thief,
}

/// A rule for choosing victims, private to one worker.
///
/// `random` answers 64 evenly distributed bits at each call. A policy draws what it needs and nothing more, so that a
/// simulation with the same numbers makes the same choices.
pub trait VictimPolicy: Send {
    /// A search begins.
    fn start(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64);

    /// The next victim to try, or `None` when a round is over.
    fn next(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) -> Option<usize>;

    /// What came of trying `victim`. Told after every attempt, also of those made on other advice (leapfrogging).
    fn outcome(&mut self, victim: usize, outcome: Outcome);
}

/// The policies to choose from when a pool is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Victims {
    /// A random permutation walked from a random start; see [`Random`].
    #[default]
    Random,
}

impl Victims {
    /// A fresh policy of this kind for one worker.
    pub fn policy(self) -> Box<dyn VictimPolicy> {
        match self {
            Self::Random => Box::new(Random::new()),
        }
    }
}

impl fmt::Display for Victims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => f.write_str("random"),
        }
    }
}

impl FromStr for Victims {
    type Err = ParseVictimsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim().to_ascii_lowercase().as_str() {
            "random" => Ok(Self::Random),
            _ => Err(ParseVictimsError(text.to_owned())),
        }
    }
}

/// The text does not name a victim policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseVictimsError(String);

impl fmt::Display for ParseVictimsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a victim policy: write `random`", self.0)
    }
}

impl std::error::Error for ParseVictimsError {}

/// Walks a private random permutation of the other workers from a random start.
///
/// The permutation is drawn once, at the first search, and the start once a search, so an attempt costs no random number.
/// Thieves with different permutations do not follow each other around the pool.
///
/// Source: Faxén, "Wool: a work stealing library" and its later study of victim selection (there: RAND).
/// Differences: a seat that nobody occupies and that holds no task is skipped.
#[derive(Debug, Default, Clone)]
pub struct Random {
    /// All seats but the thief's, shuffled.
    order: Vec<usize>,
    /// Where in `order` the next victim is.
    at: usize,
    /// How many of `order` this round has still to visit.
    left: usize,
}

impl Random {
    /// A policy that has yet to draw its permutation.
    pub fn new() -> Self {
        Self::default()
    }

    #[cold]
    fn draw_order(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) {
        self.order = (0..view.workers()).filter(|&worker| worker != view.me()).collect();
        for last in (1..self.order.len()).rev() {
            self.order.swap(last, below(last + 1, random));
        }
    }
}

impl VictimPolicy for Random {
    fn start(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) {
        if self.order.len() + 1 != view.workers() {
            self.draw_order(view, random);
        }
        self.left = self.order.len();
        if self.left > 1 {
            self.at = below(self.left, random);
        }
    }

    fn next(&mut self, view: &dyn View, _random: &mut dyn FnMut() -> u64) -> Option<usize> {
        while self.left > 0 {
            self.left -= 1;
            let victim = self.order[self.at];
            self.at = if self.at + 1 == self.order.len() { 0 } else { self.at + 1 };
            // A seat given up in the middle of a join still holds tasks, and nobody else will run them.
            if view.is_active(victim) || view.load(victim) > 0 {
                return Some(victim);
            }
        }
        self.left = self.order.len();
        None
    }

    fn outcome(&mut self, _victim: usize, _outcome: Outcome) {}
}

/// A number below `bound`, which is at least 1, from one draw; the bias is below `bound`/2⁶⁴.
#[inline]
fn below(bound: usize, random: &mut dyn FnMut() -> u64) -> usize {
    ((u128::from(random()) * bound as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Pool {
        me: usize,
        active: Vec<bool>,
        load: Vec<usize>,
    }

    impl Pool {
        fn of(workers: usize, me: usize) -> Self {
            Self { me, active: vec![true; workers], load: vec![0; workers] }
        }

        fn must_be_tried(&self, worker: usize) -> bool {
            worker != self.me && (self.active[worker] || self.load[worker] > 0)
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
            (self.load[worker] > 0).then_some(1)
        }
        fn distance(&self, _worker: usize) -> u8 {
            1
        }
    }

    fn round(policy: &mut Random, pool: &Pool, random: &mut dyn FnMut() -> u64) -> Vec<usize> {
        std::iter::from_fn(|| policy.next(pool, random)).collect()
    }

    proptest! {
        /// Would miss: a walk that answers the thief, leaves the pool, repeats or forgets somebody, in any round.
        #[test]
        fn every_round_visits_each_worker_with_a_task_or_a_thread_once(
            seats in proptest::collection::vec((any::<bool>(), 0..3_usize), 1..40),
            me in any::<prop::sample::Index>(),
            seed in any::<u64>(),
        ) {
            let (active, load): (Vec<_>, Vec<_>) = seats.into_iter().unzip();
            let pool = Pool { me: me.index(active.len()), active, load };
            let mut source = fastrand::Rng::with_seed(seed);
            let mut random = || source.u64(..);
            let mut policy = Random::new();
            let expected: Vec<usize> = (0..pool.workers()).filter(|&w| pool.must_be_tried(w)).collect();
            for _search in 0..3 {
                policy.start(&pool, &mut random);
                for _round in 0..3 {
                    let mut visited = round(&mut policy, &pool, &mut random);
                    visited.sort_unstable();
                    prop_assert_eq!(&visited, &expected);
                }
            }
        }
    }

    /// Would miss: a start that is not drawn anew, or a permutation that favours some neighbours.
    #[test]
    fn first_victims_and_their_followers_are_spread_evenly() {
        const SEARCHES: u32 = 70_000;
        let pool = Pool::of(8, 3);
        let mut source = fastrand::Rng::with_seed(1);
        let mut random = || source.u64(..);
        let (mut first, mut second) = ([0_u32; 8], [0_u32; 8]);
        for _ in 0..SEARCHES {
            let mut policy = Random::new();
            policy.start(&pool, &mut random);
            first[policy.next(&pool, &mut random).unwrap()] += 1;
            second[policy.next(&pool, &mut random).unwrap()] += 1;
        }
        for worker in (0..8).filter(|&worker| worker != 3) {
            // Six standard deviations of a count around 10,000.
            assert!(first[worker].abs_diff(SEARCHES / 7) < 600, "{first:?}");
            assert!(second[worker].abs_diff(SEARCHES / 7) < 600, "{second:?}");
        }
    }

    /// Would miss: a permutation drawn anew at each search, which would cost as many random numbers as workers.
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
        round(&mut policy, &pool, &mut random);
        assert_eq!(draws, 6 + 1 + 1);
    }

    /// Would miss: an endless search, or an index out of range, in a pool without anybody else.
    #[test]
    fn alone_in_the_pool_there_is_no_victim() {
        let pool = Pool::of(1, 0);
        let mut policy = Random::new();
        policy.start(&pool, &mut || unreachable!("nothing to choose"));
        assert_eq!(policy.next(&pool, &mut || unreachable!("nothing to choose")), None);
    }

    /// Would miss: a name that the error message offers and the parser refuses.
    #[test]
    fn names_are_parsed_as_they_are_printed() {
        assert_eq!(Victims::default().to_string().parse(), Ok(Victims::Random));
        let error = "nearset".parse::<Victims>().unwrap_err();
        assert_eq!(error.to_string(), "`nearset` is not a victim policy: write `random`");
    }
}
