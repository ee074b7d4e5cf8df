//! The laws of the models: memories that are shared, data that lie elsewhere, victims that are not
//! in the caches.

use crate::costs::Costs;
use crate::random::Duration;
use crate::report::{Activity, Report};
use crate::setup::{Idle, Setup};
use crate::workload::{Chains, Series, Workload};
use crate::{NS, Simulation};

fn report<W: Workload>(setup: &Setup, workload: &W) -> Report {
    let run = Simulation::new(setup.clone(), workload).expect("a setup that can be run");
    run.run().expect("no violation")
}

/// Catches: neighbours that do not slow each other down, a slow-down of a lone worker or one on
/// another memory, a slow-down that continues after the neighbours have finished.
#[test]
fn a_worker_beside_others_is_slower_by_the_contention() {
    let setup = |workers| {
        let costs = Costs { contention: vec![1.5], ..Costs::ZERO };
        Setup {
            costs,
            machine: Some("package:2 node:1 core:2".parse().expect("a machine")),
            ..Setup::greedy(workers)
        }
    };
    let ms = |workers, chains: &Chains| report(&setup(workers), chains).time as f64 / 1e9;
    let chain = |chains| Chains::new(chains, 1, Duration::ns(10_000_000), 0);
    assert_eq!(ms(1, &chain(2)), 20.0);
    assert!((ms(2, &chain(2)) - 15.0).abs() < 0.1);
    // The third worker has its memory to itself.
    assert!((ms(3, &chain(3)) - 15.0).abs() < 0.1);
    // Two workers beside each other, then one alone.
    assert!((ms(2, &chain(3)) - 25.0).abs() < 0.1);
}

/// Catches: packages of a machine without nodes that do not share its memory.
#[test]
fn two_readers_of_a_memory_that_serves_one_take_twice_the_time() {
    let ms = |machine: &str| {
        let costs = Costs { contention: vec![2.0], ..Costs::ZERO };
        let machine = Some(machine.parse().expect("a machine"));
        let setup = Setup { costs, machine, ..Setup::greedy(2) };
        let chains = Chains::new(2, 1, Duration::ns(10_000_000), 0);
        report(&setup, &chains).time as f64 / 1e9
    };
    assert!((ms("package:2 core:1") - 20.0).abs() < 0.1);
    assert!((ms("package:1 core:2") - 20.0).abs() < 0.1);
    assert!((ms("package:2 node:1 core:1") - 10.0).abs() < 0.1);
}

/// Catches: data that stay where they were touched first, that are far within a package, or that
/// are far before anybody has touched them.
#[test]
fn a_task_takes_longer_where_another_package_has_touched_its_data() {
    let worked = |machine: &str, repetitions| {
        let costs = Costs { far: vec![1.5], ..Costs::ZERO };
        let machine = Some(machine.parse().expect("a machine"));
        let setup = Setup { costs, machine, ..Setup::greedy(2) };
        let halves = Chains::new(2, 1, Duration::ns(1_000), 0);
        let report = report(&setup, &Series::new(halves, repetitions, Duration::ZERO));
        report.spent[Activity::Works as usize] / NS
    };
    assert_eq!(worked("package:2 core:1", 1), 2_000);
    // The worker that finishes last, worker 1, begins the next repetition: the halves change
    // places, once.
    assert_eq!(worked("package:2 core:1", 2), 2_000 + 3_000);
    assert_eq!(worked("package:2 core:1", 3), 2_000 + 3_000 + 2_000);
    assert_eq!(worked("package:1 core:2", 3), 6_000);
}

/// The attempts of idle workers while one worker runs a long task, and how many of them missed.
fn attempts(workers: usize, victims: &str) -> (u64, u64) {
    let costs = Costs { attempt: Duration::ns(100), miss: Duration::ns(50), ..Costs::ZERO };
    let victims = victims.parse().expect("a policy");
    let setup = Setup { costs, victims, idle: Idle::Spin, ..Setup::new(workers) };
    let counts = report(&setup, &Chains::new(1, 1, Duration::ns(200_000), 0)).counts;
    (counts.attempts, counts.misses)
}

/// Catches: a cache that keeps more victims than fit, or evicts the wrong one.
#[test]
fn a_thief_misses_most_victims_if_one_more_than_fit_take_turns() {
    let (attempts_at_16, misses) = attempts(17, "random");
    assert!(misses <= 17 * 16 && attempts_at_16 > 100 * 16, "{misses} of {attempts_at_16}");
    let (attempts_at_17, misses) = attempts(18, "random");
    // Each search begins at another place of the circle.
    assert!(misses > attempts_at_17 / 2, "{misses} of {attempts_at_17}");
}

/// Catches: victims of a set that do not stay in the caches of its thieves.
#[test]
fn a_small_set_of_victims_stays_in_the_caches() {
    let (all, misses) = attempts(64, "set:12,4");
    assert!(all > 50 * misses, "{misses} of {all}");
    let (all, misses) = attempts(64, "random");
    assert!(misses > all / 2, "{misses} of {all}");
}
