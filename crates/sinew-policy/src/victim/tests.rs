//! Properties of every rule.

use proptest::prelude::*;

use super::testing::{Pool, Source, any_policy};
use super::{Outcome, Reach, VictimPolicy, Victims, View};

/// Far more attempts than any rule needs to reach every worker of a pool of ten.
const ATTEMPTS: usize = 20_000;

/// More than the longest round in a pool of forty: the list of [`Nearest`](super::Nearest).
const ROUND: usize = 2_500;

fn any_failure(source: &mut Source) -> Outcome {
    [Outcome::Empty, Outcome::Lost, Outcome::Thief][source.below(3)]
}

/// Makes `attempts` attempts, which all fail.
fn search_in_vain(
    policy: &mut dyn VictimPolicy,
    pool: &Pool,
    source: &mut Source,
    attempts: usize,
) -> Vec<usize> {
    let mut victims = Vec::new();
    let mut rounds_without = 0;
    policy.start(pool, &mut source.numbers());
    while victims.len() < attempts && rounds_without < 50 {
        let Some(victim) = policy.next(pool, &mut source.numbers()) else {
            rounds_without += 1;
            continue;
        };
        rounds_without = 0;
        policy.outcome(victim, any_failure(source));
        victims.push(victim);
    }
    victims
}

proptest! {
    /// Catches: a victim that is the thief or does not exist, one that the rule itself forbids, or
    /// a round without an end, while workers come and leave and reach changes (V1, V2).
    #[test]
    fn victims_are_others_that_the_rule_allows_and_rounds_end(
        victims in any_policy(),
        pools in proptest::collection::vec(Pool::any(40), 1..6),
        seed in any::<u64>(),
    ) {
        let mut source = Source::new(seed);
        let workers = pools[0].workers();
        let mut policy = victims.policy();
        for mut pool in pools {
            // Numbers and packages stay; the workers' states change.
            pool.load.resize(workers, 0);
            pool.active.resize(workers, true);
            pool.depth.resize(workers, 1);
            (pool.me, pool.shape) = (workers / 2, (2, 2));
            policy.start(&pool, &mut source.numbers());
            let mut attempts = 0;
            loop {
                let Some(victim) = policy.next(&pool, &mut source.numbers()) else { break };
                prop_assert!(victim != pool.me && victim < workers, "{}: {}", victims, victim);
                prop_assert!(policy.allows(&pool, victim), "{}: {}", victims, victim);
                attempts += 1;
                prop_assert!(attempts < ROUND, "{}: a round without an end", victims);
                let outcome =
                    if source.one_in(4) { Outcome::Stolen } else { any_failure(&mut source) };
                policy.outcome(victim, outcome);
                if outcome == Outcome::Stolen {
                    break;
                }
            }
        }
    }

    /// Catches: a worker with tasks that is never tried, since others seem to be better victims
    /// (V4).
    #[test]
    fn each_worker_with_tasks_is_tried_eventually(
        victims in any_policy(),
        pool in Pool::any(10),
        seed in any::<u64>(),
    ) {
        let mut policy = victims.policy();
        let tried = search_in_vain(&mut *policy, &pool, &mut Source::new(seed), ATTEMPTS);
        for worker in (0..pool.workers()).filter(|&w| pool.must_be_tried(w)) {
            let is_tried = tried.contains(&worker);
            prop_assert!(
                is_tried || !policy.allows(&pool, worker),
                "{}: {} never",
                victims,
                worker
            );
        }
    }

    /// Catches: a rule that forbids work even to a thief that may take anything.
    #[test]
    fn reach_everywhere_allows_each_worker(victims in any_policy(), pool in Pool::any(30)) {
        let pool = Pool { reach: Reach::Everywhere, ..pool };
        let mut policy = victims.policy();
        policy.start(&pool, &mut Source::new(1).numbers());
        prop_assert!((0..pool.workers()).all(|worker| policy.allows(&pool, worker)));
    }

    /// Catches: a rule that draws numbers of its own.
    #[test]
    fn the_same_numbers_lead_to_the_same_victims(
        victims in any_policy(),
        pool in Pool::any(20),
        seed in any::<u64>(),
    ) {
        let search = || search_in_vain(&mut *victims.policy(), &pool, &mut Source::new(seed), 200);
        prop_assert_eq!(search(), search());
    }
}

/// Catches: an endless search, or an index out of range, in a pool of one worker, or before the
/// first search.
#[test]
fn before_a_search_and_in_a_pool_of_one_there_is_no_victim() {
    for victims in Victims::all() {
        let mut policy = victims.policy();
        let pool = Pool::of(1, 0);
        for _ in 0..40 {
            assert_eq!(policy.next(&pool, &mut || 0), None, "{victims}");
        }
        policy.start(&pool, &mut || 0);
        for _ in 0..40 {
            assert_eq!(policy.next(&pool, &mut || 0), None, "{victims}");
        }
        assert_eq!(victims.policy().next(&Pool::of(9, 2), &mut || 0), None, "{victims}");
    }
}

/// Catches: packages without masters under a rule that needs one to leave them, or the reverse.
#[test]
fn rules_with_masters_are_those_that_confine_other_workers() {
    let confined = Pool { reach: Reach::Package, ..Pool::dunnington(0) };
    let master = Pool::dunnington(0);
    for victims in Victims::all() {
        let mut policy = victims.policy();
        policy.start(&master, &mut Source::new(1).numbers());
        let differs = policy.allows(&confined, 23) != policy.allows(&master, 23);
        assert_eq!(victims.has_masters(), differs, "{victims}");
    }
}
