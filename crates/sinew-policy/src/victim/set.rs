//! Victim sets: if there are many thieves, each tries only some of the workers.

use super::circle::Circle;
use super::{Outcome, VictimPolicy, View};

/// Failed attempts after which a thief draws a new set: all victims of a set may be thieves that
/// try only each other.
const REDRAW_AFTER: u32 = 1_000;

/// Walks a random permutation like [`Random`](super::Random), and starts again once it has met
/// `thieves` other thieves *and* made `attempts` attempts. So with p workers, t of them thieves, a
/// set has max(`attempts`, `thieves`·p/t) workers on average. Each worker is tried by about
/// `thieves` of them, and the victims' lines stay in a thief's cache while there is little to
/// steal.
///
/// A walk that returns to its start counts from 0 again; 1000 failures in a row draw a new start. A
/// round is one walk.
///
/// Source: K.-F. Faxén and J. Ardelius, "Manycore Work Stealing" (2011), section 2.2, with 12
/// attempts and 4 thieves.
#[derive(Debug, Clone)]
pub struct Set {
    enough_attempts: u32,
    enough_thieves: u32,
    circle: Circle,
    /// Attempts of this walk.
    attempts: u32,
    /// Thieves met in this walk.
    thieves: u32,
    /// Failures since the start was drawn.
    failures: u32,
}

impl Set {
    /// A set of at least `attempts` victims, at least `thieves` of them thieves.
    pub fn new(attempts: u32, thieves: u32) -> Self {
        Self {
            enough_attempts: attempts.max(1),
            enough_thieves: thieves,
            circle: Circle::default(),
            attempts: 0,
            thieves: 0,
            failures: 0,
        }
    }

    fn count_afresh(&mut self) {
        (self.attempts, self.thieves) = (0, 0);
    }

    fn draw_start(&mut self, random: &mut dyn FnMut() -> u64) {
        self.circle.begin(random);
        self.failures = 0;
        self.count_afresh();
    }
}

impl VictimPolicy for Set {
    fn start(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) {
        self.circle.draw_all(view, random);
        self.draw_start(random);
    }

    fn next(&mut self, view: &dyn View, random: &mut dyn FnMut() -> u64) -> Option<usize> {
        if self.failures >= REDRAW_AFTER {
            self.draw_start(random);
            return None;
        }
        if self.attempts >= self.enough_attempts && self.thieves >= self.enough_thieves {
            self.circle.rewind();
            self.count_afresh();
            return None;
        }
        let victim = self.circle.next(view);
        if victim.is_none() {
            self.circle.restart();
            self.count_afresh();
        }
        victim
    }

    fn outcome(&mut self, _victim: usize, outcome: Outcome) {
        self.attempts += 1;
        match outcome {
            Outcome::Stolen => self.failures = 0,
            Outcome::Thief => {
                self.thieves += 1;
                self.failures += 1;
            }
            Outcome::Empty | Outcome::Lost => self.failures += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Pool, Source};
    use super::*;
    use proptest::prelude::*;

    /// One walk through a pool in which the given workers are thieves too.
    fn walk(policy: &mut Set, pool: &Pool, thieves: &[bool], source: &mut Source) -> Vec<usize> {
        let mut victims = Vec::new();
        while let Some(victim) = policy.next(pool, &mut source.numbers()) {
            victims.push(victim);
            policy.outcome(victim, if thieves[victim] { Outcome::Thief } else { Outcome::Empty });
        }
        victims
    }

    proptest! {
        /// Catches: a walk that ends one attempt early or late, ignores one of the two conditions,
        /// starts again at another place, or keeps its counts when it returns.
        #[test]
        fn a_walk_ends_exactly_when_both_counts_are_reached_and_starts_over_from_the_same_place(
            thieves in proptest::collection::vec(any::<bool>(), 2..40),
            attempts in 1..20_u32,
            enough in 0..6_u32,
            seed in any::<u64>(),
        ) {
            let pool = Pool::of(thieves.len(), 0);
            let mut source = Source::new(seed);
            let mut policy = Set::new(attempts, enough);
            policy.start(&pool, &mut source.numbers());
            let first = walk(&mut policy, &pool, &thieves, &mut source);
            let met = |victims: &[usize]| victims.iter().filter(|&&v| thieves[v]).count();
            let is_enough = |victims: &[usize]| {
                victims.len() >= attempts as usize && met(victims) >= enough as usize
            };
            prop_assert!(is_enough(&first) || first.len() == thieves.len() - 1);
            prop_assert!(!is_enough(&first[..first.len() - 1]));
            // Fewer than 1000 failures, so the start stays.
            for _ in 0..1000 / thieves.len() - 1 {
                prop_assert_eq!(&walk(&mut policy, &pool, &thieves, &mut source), &first);
            }
        }
    }

    /// Catches: a start that is drawn too early, too late, or never again.
    #[test]
    fn after_a_thousand_failures_and_not_before_the_start_is_drawn_anew() {
        let pool = Pool::of(101, 0);
        let thieves = [true; 101];
        let mut source = Source::new(3);
        let mut policy = Set::new(10, 1);
        policy.start(&pool, &mut source.numbers());
        let first = walk(&mut policy, &pool, &thieves, &mut source);
        for _ in 1..100 {
            assert_eq!(walk(&mut policy, &pool, &thieves, &mut source), first);
        }
        assert_ne!(walk(&mut policy, &pool, &thieves, &mut source), first);
    }

    /// The mean number of victims of a walk, with `thieves` of 64 workers stealing.
    fn mean_size(thieves: usize, policy: impl Fn() -> Set) -> f64 {
        const WALKS: usize = 4_000;
        let pool = Pool::of(64, 0);
        let mut source = Source::new(7);
        let mut sum = 0;
        for _ in 0..WALKS {
            // The thief itself is one of them. Any others will do, as the permutation is random.
            let stealing: Vec<bool> = (0..64).map(|worker| worker < thieves).collect();
            let mut policy = policy();
            policy.start(&pool, &mut source.numbers());
            sum += walk(&mut policy, &pool, &stealing, &mut source).len();
        }
        sum as f64 / WALKS as f64
    }

    /// Catches: thieves counted twice or not at all: the mean follows m·p/t.
    #[test]
    fn the_mean_size_is_workers_by_thieves_times_the_multiplicity() {
        for thieves in [8, 16, 32] {
            let expected = 4.0 * 64.0 / thieves as f64;
            let mean = mean_size(thieves, || Set::new(1, 4));
            assert!(
                (mean / expected - 1.0).abs() < 0.03,
                "{thieves} thieves: {mean}, not {expected}"
            );
        }
    }

    /// Catches: a least size that is not kept, or that is added to the other condition instead of
    /// being an alternative.
    #[test]
    fn the_least_size_holds_where_there_are_many_thieves_and_hardly_matters_where_there_are_few() {
        let crowded = mean_size(64, || Set::new(12, 4));
        assert!((crowded - 12.0).abs() < 1e-9, "{crowded}");
        let quiet = mean_size(8, || Set::new(12, 4));
        assert!((31.5..33.5).contains(&quiet), "{quiet}");
    }

    /// Catches: a set of all workers that is not the permutation walk.
    #[test]
    fn a_set_of_all_workers_is_the_random_walk() {
        let pool = Pool::of(16, 5);
        let (mut set, mut random) = (Set::new(15, 0), super::super::Random::new());
        let (mut ours, mut theirs) = (Source::new(11), Source::new(11));
        for _search in 0..5 {
            set.start(&pool, &mut ours.numbers());
            random.start(&pool, &mut theirs.numbers());
            for _ in 0..15 {
                let victim = set.next(&pool, &mut ours.numbers());
                assert_eq!(victim, random.next(&pool, &mut theirs.numbers()));
                set.outcome(victim.unwrap(), Outcome::Empty);
            }
        }
    }
}
