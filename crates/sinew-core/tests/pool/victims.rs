//! Victim policies in a real pool, on machines with several packages that are only described.
//!
//! The crate `sinew-policy` tests the rules themselves. These tests show that the pool obeys a
//! rule, gives it correct data, and loses no task.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use sinew_core::victims::{AfterSuccess, LoadScope, Loads};
use sinew_core::{Counters, Mapping, Pool, Spin, Victims, Wait, Worker, scope};

use crate::idle::until_all_park;
use crate::support::{add, ends, meet};

const STRICT: Victims = Victims::SortedLoads(Loads {
    refresh: 5,
    scope: LoadScope::StrictlyPackage,
    after_success: AfterSuccess::Stay,
});

fn all() -> Vec<Victims> {
    Victims::all().to_vec()
}

/// A pool with a thread at each PU of a machine.
fn pool_on(machine: &str, victims: Victims) -> Pool {
    let builder = Pool::builder().machine(machine.parse().unwrap()).mapping(Mapping::Compact);
    builder.external_slot(false).victims(victims).build().unwrap()
}

/// Numbers that look random, one from the other.
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (number ^ (number >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ number
}

/// The children of a node of a tree of pseudorandom shape.
fn children(node: u64, depth: u32) -> impl Iterator<Item = u64> {
    let count = if depth < 4 { 5 } else { [0, 0, 0, 1, 2, 3][mixed(node) as usize % 6] };
    (0..if depth < 40 { count } else { 0 })
        .map(move |child| mixed(node.wrapping_mul(7) + child + 1))
}

fn count(node: u64, depth: u32) -> u64 {
    1 + children(node, depth).map(|child| count(child, depth + 1)).sum::<u64>()
}

/// The same by tasks; `visits` counts nodes as they are visited.
fn count_in(w: &Worker, node: u64, depth: u32, visits: &AtomicU64) -> u64 {
    fn any(w: &Worker, nodes: &[u64], depth: u32, visits: &AtomicU64) -> u64 {
        match nodes {
            [] => 0,
            [node] => count_in(w, *node, depth, visits),
            _ => {
                let (left, right) = nodes.split_at(nodes.len() / 2);
                let (a, b) =
                    w.join(|w| any(w, left, depth, visits), |w| any(w, right, depth, visits));
                a + b
            }
        }
    }
    visits.fetch_add(1, Ordering::Relaxed);
    let nodes: Vec<u64> = children(node, depth).collect();
    1 + any(w, &nodes, depth + 1, visits)
}

/// Counts a tree `rounds` times, while another thread calls `change` with ever new numbers.
fn count_meanwhile(pool: &Pool, rounds: u64, change: impl Fn(u64) + Sync) {
    let is_over = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            for number in (1..).map(mixed).take_while(|_| !is_over.load(Ordering::SeqCst)) {
                change(number);
                thread::yield_now();
            }
        });
        for root in 0..rounds {
            let visits = AtomicU64::new(0);
            let nodes = count(root, 0);
            let found = pool.install(|w| count_in(w, root, 0, &visits));
            assert_eq!(
                (found, visits.load(Ordering::SeqCst)),
                (nodes, nodes),
                "{}",
                pool.victims()
            );
        }
        is_over.store(true, Ordering::SeqCst);
    });
}

/// Catches: a task lost, run twice or left behind under some policy, while workers stand down
/// and come back.
#[test]
fn a_tree_has_its_nodes_under_every_policy_while_the_number_of_workers_changes() {
    ends(|| {
        for victims in all() {
            let pool = pool_on("package:3 l3:1 l2:1 core:2", victims);
            count_meanwhile(&pool, 12, |number| {
                pool.control().set_threads(number as usize % 6 + 1);
            });
        }
    });
}

/// Catches: a worker that loses its place, or a task, when its policy is changed in the middle
/// of a search; a mastership that is left behind.
#[test]
fn the_policy_can_change_at_any_time() {
    ends(|| {
        let all = all();
        for wait in [Wait::Leapfrog, Wait::Descendants] {
            let machine = "package:2 l3:1 core:3".parse().unwrap();
            let builder = Pool::builder().machine(machine).mapping(Mapping::Compact).wait(wait);
            let pool = builder.build().unwrap();
            count_meanwhile(&pool, 40, |number| pool.set_victims(all[number as usize % all.len()]));
        }
    });
}

/// So many tasks of one join each that all have to run at the same time.
fn meet_in(w: &Worker, tasks: usize, all: &Barrier) {
    if tasks == 1 {
        meet(all);
    } else {
        w.join(|w| meet_in(w, tasks / 2, all), |w| meet_in(w, tasks - tasks / 2, all));
    }
}

/// Catches: work stranded in a package whose only worker is blocked, under a rule that excludes all
/// other workers (X1).
#[test]
fn as_many_tasks_as_workers_meet_across_packages_under_every_policy() {
    ends(|| {
        for victims in all() {
            let pool = pool_on("package:4 core:1", victims);
            for _ in 0..2 {
                let all = Barrier::new(4);
                pool.install(|w| meet_in(w, 4, &all));
            }
            // Each of the three others has come from another package.
            assert!(pool.counters().left_package >= 6, "{victims}: {:?}", pool.counters());
        }
    });
}

/// Catches: work stranded for ever because X1 is checked only at the end of a spin window, and no
/// window ends.
#[test]
fn tasks_of_workers_that_never_park_meet_across_packages_under_every_policy() {
    ends(|| {
        for machine in ["package:4 core:1", "package:2 l3:1 core:2"] {
            for victims in all() {
                let builder =
                    Pool::builder().machine(machine.parse().unwrap()).mapping(Mapping::Compact);
                let pool = builder
                    .external_slot(false)
                    .victims(victims)
                    .spin(Spin::Forever)
                    .build()
                    .unwrap();
                for _ in 0..3 {
                    let all = Barrier::new(4);
                    pool.install(|w| meet_in(w, 4, &all));
                }
                assert_eq!(pool.counters().parks, 0, "{machine}, {victims}");
            }
        }
    });
}

/// The second arm of each join is run by another worker.
fn steal_some(w: &Worker, steals: usize) {
    for _ in 0..steals {
        let both = Barrier::new(2);
        w.join(|_| meet(&both), |_| meet(&both));
    }
}

/// Catches: masters where the rule has none, or none where it needs one.
#[test]
fn packages_have_masters_only_under_rules_that_need_them() {
    ends(|| {
        for victims in all() {
            let pool = pool_on("package:2 core:1", victims);
            pool.install(|w| steal_some(w, 3));
            assert_eq!(pool.counters().masterships > 0, victims.has_masters(), "{victims}");
        }
    });
}

/// Tasks that a thief could take.
const OFFERED: usize = 5;

/// Holds all workers up but `thief`, with tasks in the queue of `owner`. Returns how many the thief
/// has taken once it has them all, or has looked in vain often.
fn taken_by(pool: &Pool, thief: usize, owner: usize) -> usize {
    let workers = pool.max_threads();
    let (held, offered) = (Barrier::new(workers), Barrier::new(workers));
    let (over, taken) = (AtomicBool::new(false), AtomicUsize::new(0));
    let watch = || {
        let often = pool.counters().failed_steals + 500;
        while taken.load(Ordering::SeqCst) < OFFERED && pool.counters().failed_steals < often {
            thread::yield_now();
        }
        over.store(true, Ordering::SeqCst);
    };
    pool.broadcast(|context| {
        held.wait();
        if context.index() == owner {
            scope(|s| {
                (0..OFFERED)
                    .for_each(|_| s.spawn(|w| _ = (w.index() == thief).then(|| add(&taken))));
                offered.wait();
                watch();
            });
            return;
        }
        offered.wait();
        while context.index() != thief && !over.load(Ordering::SeqCst) {
            thread::yield_now();
        }
    });
    taken.into_inner()
}

/// Catches: a slave that steals beyond its package, or two masters of one. A master that never
/// parks stays master while it is blocked; so of two that are released in turn, one may leave.
#[test]
fn one_worker_a_package_may_leave_it() {
    ends(|| {
        let builder = Pool::builder()
            .machine("package:2 l3:1 core:2".parse().unwrap())
            .mapping(Mapping::Compact);
        let builder = builder.external_slot(false).victims(Victims::Nearest);
        let pool = builder.spin(Spin::Forever).withhold(Duration::MAX).build().unwrap();
        for (owner, thieves) in [(0, [2, 3]), (3, [0, 1]), (2, [1, 0]), (1, [3, 2])] {
            let mut taken = thieves.map(|thief| taken_by(&pool, thief, owner));
            taken.sort_unstable();
            assert_eq!(taken, [0, OFFERED], "by {thieves:?} from {owner}");
        }
        assert!(thief_in_the_package(&pool));
    });
}

/// Whether a worker takes what its neighbour has.
fn thief_in_the_package(pool: &Pool) -> bool {
    [(0, 1), (1, 0), (2, 3), (3, 2)]
        .iter()
        .all(|&(thief, owner)| taken_by(pool, thief, owner) == OFFERED)
}

/// Catches: steals between packages that are not counted, or steals inside one that are.
#[test]
fn in_one_package_nobody_leaves_it() {
    ends(|| {
        let pool = pool_on("package:1 core:3", STRICT);
        pool.install(|w| steal_some(w, 20));
        let counters = pool.counters();
        assert!(counters.left_package == 0 && counters.stolen >= 20, "{counters:?}");
    });
}

/// Catches: a victim that the rule chose and that is not counted, and an attempt without a choice
/// that is.
#[test]
fn victims_that_the_rule_chose_are_counted() {
    ends(|| {
        let pool = pool_on("package:1 core:3", Victims::Random);
        pool.install(|w| steal_some(w, 20));
        until_all_park(&pool);
        let counters = pool.counters();
        let Counters { chosen_victims, failed_steals, stolen, stolen_waiting, .. } = counters;
        // Of the steals, those after an exposure are not by the rule's choice.
        let chosen = failed_steals..=failed_steals + stolen + stolen_waiting;
        assert!(chosen_victims > 0 && chosen.contains(&chosen_victims), "{counters:?}");
    });
}

/// Catches: steals that are counted at another distance than the victim's, or not at all;
/// successes that are no attempts.
#[test]
fn attempts_to_steal_are_counted_by_distance() {
    ends(|| {
        let pool = pool_on("package:2 l3:1 core:2", Victims::Random);
        for (thief, owner, distance) in [(1, 0, 1), (2, 3, 1), (2, 0, 2), (1, 3, 2)] {
            let before = pool.counters();
            assert_eq!(taken_by(&pool, thief, owner), OFFERED);
            let counted = pool.counters().since(before);
            let mut steals = [0; Counters::DISTANCES];
            steals[distance] = OFFERED as u64;
            assert_eq!(counted.steals_at, steals, "by {thief} from {owner}");
            assert_eq!(counted.steals(), OFFERED as u64);
            let all: u64 = counted.by_distance().map(|at| at.attempts).sum();
            assert!(counted.by_distance().all(|at| at.steals <= at.attempts && at.distance <= 2));
            // The others search meanwhile, and each may have counted an attempt before the first
            // look and its failure after that.
            assert!(
                all + pool.max_threads() as u64 >= counted.steals() + counted.failed_steals,
                "{counted:?}"
            );
        }
    });
}

/// Catches: a choice that is not taken up by workers that search, or taken up once only.
#[test]
fn each_worker_takes_up_a_new_choice_at_its_next_search() {
    ends(|| {
        let pool = pool_on("package:2 core:1", Victims::Random);
        pool.install(|w| steal_some(w, 3));
        assert_eq!(pool.counters().masterships, 0);
        for _ in 0..3 {
            let before = pool.counters().masterships;
            pool.set_victims(Victims::Nearest);
            assert_eq!(pool.victims(), Victims::Nearest);
            // A look without a search may find a task by the old policy.
            while pool.counters().masterships == before {
                pool.install(|w| steal_some(w, 1));
            }
            // The masters resign when they take up a policy without any.
            pool.set_victims(Victims::Random);
            pool.install(|w| steal_some(w, 3));
        }
    });
}

/// Catches: classes that are never learned, learned of nothing, or kept when the policy is
/// chosen anew.
#[test]
fn the_first_run_teaches_the_boundary_between_large_and_small_tasks() {
    ends(|| {
        let cats = Victims::Cats { large_us: 1_000_000 };
        let pool = pool_on("package:4 core:1", cats);
        for _ in 0..2 {
            assert_eq!(pool.class_boundary(), None);
            pool.install(|w| steal_some(w, 2));
            assert_eq!(pool.class_boundary(), None);
            pool.install(|w| steal_some(w, 10));
            // A caller gets its result before the worker has finished the call.
            while pool.class_boundary().is_none() {
                pool.install(|_| ());
            }
            // Nothing took a second, but four packages need two levels of tasks.
            assert_eq!(pool.class_boundary(), Some(2));
            pool.set_victims(cats);
        }
    });
}

/// Catches: threads pinned to processors that exist only in the description, or a number of workers
/// that differs from the description's.
#[test]
fn on_a_machine_that_is_described_nobody_is_pinned() {
    ends(|| {
        let pool = pool_on("package:3 core:2", Victims::Nearest);
        assert_eq!(pool.max_threads(), 6);
        let here = thread::available_parallelism().unwrap();
        assert!(
            pool.broadcast(|_| thread::available_parallelism().unwrap())
                .into_iter()
                .all(|n| n == here)
        );
    });
}
