//! Domains, with and without a limited memory.

use super::run::BETWEEN_CHECKS;
use super::*;
use crate::random::NS;

fn free(machine: &str, tasks: usize) -> Domains {
    let (spawn, take) = (Duration::ZERO, Duration::ZERO);
    Domains {
        spawn,
        take,
        most_pending: None,
        far: vec![2.0],
        readers: None,
        ..Domains::new(machine.parse().expect("a machine"), tasks)
    }
}

fn run(setup: &Domains) -> DomainsReport {
    setup.run().expect("a run")
}

/// Catches: tasks that run in another domain although a worker of their own is free, or that
/// wait although other workers may run them.
#[test]
fn evenly_spread_tasks_stay_in_their_domain_and_other_workers_help_only_where_they_may() {
    let even = Domains { placement: Placement::Turns, ..free("package:4 core:2", 80) };
    for order in [Order::Ring, Order::Distance, Order::Strict] {
        let report = run(&Domains { order, ..even.clone() });
        assert_eq!((report.time, report.near, report.far), (100_000 * NS, 80, 0), "{order:?}");
    }
    let all_in_one = Domains { placement: Placement::First, ..even };
    assert_eq!(run(&Domains { order: Order::Strict, ..all_in_one.clone() }).time, 400_000 * NS);
    let helped = run(&all_in_one);
    // In 20 us two workers run two tasks each in their own domain, and six run one each in
    // another one.
    assert_eq!((helped.time, helped.far), (160_000 * NS, 48));
}

/// Catches: a single queue that respects domains.
#[test]
fn one_queue_runs_most_tasks_far_from_their_data() {
    let blocks = free("package:4 core:2", 800);
    let (single, ring) = (run(&Domains { order: Order::Single, ..blocks.clone() }), run(&blocks));
    // Two workers run four tasks in their domain while the six others run six.
    assert_eq!(
        (single.far, single.time, ring.far, ring.time),
        (480, 1_600_000 * NS, 0, 1_000_000 * NS)
    );
}

/// Catches: tasks that share a memory they are not on, or that do not share the one they are on.
#[test]
fn each_domain_has_a_memory_of_its_own() {
    let shared = |placement, readers| {
        let setup = Domains { placement, readers, ..free("package:4 core:2", 80) };
        run(&Domains { far: vec![1.0], order: Order::Single, ..setup }).time
    };
    // Eight workers on eight tasks at once; one memory feeds two of them.
    assert_eq!(shared(Placement::First, None), 100_000 * NS);
    assert_eq!(shared(Placement::First, Some(2.0)), 400_000 * NS);
    assert_eq!(shared(Placement::Turns, Some(2.0)), 100_000 * NS);
    assert_eq!(shared(Placement::Runs(40), Some(2.0)), 400_000 * NS);
    assert_eq!(shared(Placement::Runs(4), Some(2.0)), 200_000 * NS);
}

/// Catches: a bound that is exceeded, or kept by idling.
#[test]
fn a_spawner_at_the_bound_runs_tasks_itself() {
    let bound = Domains { most_pending: Some(3), ..free("package:1 core:1", 20) };
    let report = run(&bound);
    assert_eq!((report.pending, report.time), (3, 200_000 * NS));
}

/// Catches: a run that continues after it was told to stop, a stopped run reported as complete,
/// a progress value that does not match the tasks that ran.
#[test]
fn a_stopped_run_reports_what_it_has_done() {
    let setup = free("package:2 core:2", 100_000);
    let mut shares = Vec::new();
    let stopped = setup.run_while(|progress| {
        shares.push((progress.tasks, progress.share));
        shares.len() < 3
    });
    let stopped = stopped.expect("no violation");
    assert_eq!((stopped.events, stopped.is_whole), (3 * BETWEEN_CHECKS, false));
    assert!(stopped.time < run(&setup).time && run(&setup).is_whole, "{stopped:?}");
    assert!(
        shares.iter().all(|&(tasks, share)| share == Some(tasks as f64 / 100_000.0)),
        "{shares:?}"
    );
}

/// Catches: different runs with the same fingerprint.
#[test]
fn runs_that_differ_have_different_fingerprints() {
    let setup = Domains { placement: Placement::First, ..free("package:2 core:2", 99) };
    let seeds = [0, 1].map(|seed| Domains { seed, ..setup.clone() });
    let strict = Domains { order: Order::Strict, ..setup };
    let traces = seeds.iter().chain([&strict]).map(|setup| run(setup).trace).collect::<Vec<_>>();
    assert!(traces[0] != traces[1] && traces[0] != traces[2], "{traces:x?}");
}

/// Catches: a combination that loses a task or does not repeat.
#[test]
fn two_hundred_random_scopes_keep_every_rule_and_repeat() {
    for seed in 0..200 {
        let chance = &mut fastrand::Rng::with_seed(seed);
        let machine =
            ["core:3", "package:3 l3:2 core:2", "package:2 node:2 core:2"][chance.usize(..3)];
        let setup = Domains {
            order: [Order::Ring, Order::Distance, Order::Strict, Order::Single][chance.usize(..4)],
            placement: [Placement::Blocks, Placement::Turns, Placement::First][chance.usize(..3)],
            task: Duration::Exponential(chance.u64(1..9_000) * NS),
            far: vec![1.5, 3.0],
            readers: chance.bool().then(|| f64::from(chance.u32(1..9)) / 2.0),
            most_pending: chance.bool().then(|| chance.usize(1..40)),
            seed,
            ..Domains::new(machine.parse().expect("a machine"), chance.usize(..300))
        };
        assert_eq!(run(&setup), run(&setup), "seed {seed}");
    }
}

/// Catches: an impossible scope that runs.
#[test]
fn impossible_scopes_are_refused_by_the_value() {
    let setup = free("core:2", 3);
    for (setup, says) in [
        (Domains { workers: 3, ..setup.clone() }, "3 workers"),
        (Domains { far: vec![0.5], ..setup.clone() }, "0.5"),
        (Domains { readers: Some(0.0), ..setup.clone() }, "not 0"),
        (Domains { most_pending: Some(0), ..setup }, "allow 1"),
    ] {
        let error = setup.run().expect_err(says).to_string();
        assert!(error.contains(says) && !error.contains('\n'), "{error}");
    }
}
