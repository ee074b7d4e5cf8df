//! Closed forms, 40 seeds of every schedule run twice, and the effects of loop memories.

use super::*;
use crate::random::NS;
use crate::workload::Shape;

fn schedules() -> Vec<Schedule> {
    Schedule::every(5).collect()
}

fn free(workers: usize, schedule: Schedule) -> Loop {
    Loop {
        workers,
        schedule,
        claim: Duration::ZERO,
        steal: Duration::ZERO,
        slow: Vec::new(),
        seed: 0,
    }
}

fn uniform(n: usize) -> IterationCosts {
    IterationCosts::new(n, Shape::Uniform, Duration::ns(10), 0)
}

fn time(workers: usize, schedule: Schedule, n: usize) -> Time {
    free(workers, schedule).run(&uniform(n)).expect("a run").time / NS
}

/// Catches: a schedule that waits, overlaps chunks, or uses wrong chunk sizes.
#[test]
fn equal_iterations_take_what_can_be_computed_by_hand() {
    // The longest of 7 shares of 100 iterations has 15.
    assert_eq!(time(7, Schedule::Static, 100), 150);
    // 20 chunks of 5 for 3 workers: one of them runs 7.
    assert_eq!(time(3, Schedule::Dynamic { chunk: 5 }, 100), 350);
    // Batches of 8 equal chunks, each half of the batch before, until 8 single iterations are left.
    assert_eq!(time(8, Schedule::Factoring { min: 1 }, 1_024), 1_280);
    // A single worker runs everything under any schedule.
    for schedule in schedules() {
        assert_eq!(time(1, schedule, 100), 1_000, "{schedule}");
    }
    // Equal shares are never stolen.
    assert_eq!(time(4, Schedule::Affinity, 400), 1_000);
    // 2⁶ pieces of 4 iterations, for 16 workers.
    assert_eq!(time(16, Schedule::Simple { grain: 4 }, 256), 160);
}

/// Catches: a schedule that serves two workers by a wrong rule.
#[test]
fn two_workers_take_what_can_be_computed_by_hand() {
    // Half for each, in slices, in halves or from the start.
    for text in ["static", "affinity", "weighted", "adaptive:1", "simple:1", "factoring:1"] {
        assert_eq!(time(2, text.parse().expect("a schedule"), 256), 1_280, "{text}");
    }
    // Single iterations at the end balance the load.
    for n in [2, 64, 100, 1_000] {
        for text in ["guided:1", "tapered:1", "stealing", "dynamic:1"] {
            assert_eq!(
                time(2, text.parse().expect("a schedule"), n),
                5 * n as u64,
                "{text} of {n}"
            );
        }
    }
    // 4, 4 and 2: one of the workers runs six.
    assert_eq!(time(2, Schedule::Dynamic { chunk: 4 }, 10), 60);
    // Two thirds of the time of the half-speed worker, if single iterations balance the load.
    let slow = Loop { slow: vec![1.0, 2.0], ..free(2, Schedule::Dynamic { chunk: 1 }) };
    assert_eq!(slow.run(&uniform(300)).expect("a run").time, 2_000 * NS);
}

/// Several runs of one loop, each with the memory of those before.
fn sweeps(setup: &Loop, costs: &IterationCosts, many: usize) -> Vec<LoopReport> {
    let mut memory = LoopMemory::default();
    (0..many).map(|_| setup.run_again(costs, &mut memory, |_| true).expect("a run")).collect()
}

/// Catches: parts that are dealt anew in every run, to wrong workers, or not at all.
#[test]
fn affinity_deals_a_part_to_whoever_stole_it() {
    for shape in [Shape::Decreasing, Shape::Biased] {
        let costs = IterationCosts::new(4_000, shape, Duration::ns(100), 0);
        let dear = Loop { steal: Duration::ns(1_000), ..free(4, Schedule::Affinity) };
        let runs = sweeps(&dear, &costs, 4);
        assert!(runs[3].steals < runs[0].steals, "{runs:?}");
        assert!(runs[3].time < runs[0].time, "{runs:?}");
        // Without memory the run equals the first one.
        assert_eq!(dear.run(&costs).expect("a run"), runs[0]);
    }
}

/// Catches: shares that do not follow the speeds of workers.
#[test]
fn weighted_shares_follow_the_speeds_that_workers_had() {
    let setup =
        Loop { slow: vec![1.0, 1.0, 3.0], steal: Duration::ns(500), ..free(3, Schedule::Weighted) };
    let runs = sweeps(&setup, &uniform(7_000), 12);
    assert!(runs[11].steals < runs[0].steals, "{runs:?}");
    // 3,000 iterations for each fast worker, 1,000 for the slow one.
    let late = runs[11].time as f64 / (30_000 * NS) as f64;
    assert!(late < 1.1 && runs[11].time < runs[0].time, "{runs:?}");
}

/// Catches: an `auto` that never changes its schedule.
#[test]
fn auto_tries_schedules_and_keeps_the_best() {
    let setup =
        Loop { claim: Duration::ns(30), steal: Duration::ns(300), ..free(4, Schedule::Auto) };
    let long = IterationCosts::new(20_000, Shape::Decreasing, Duration::ns(2_000), 0);
    let runs = sweeps(&setup, &long, 14);
    let tried = &runs[..sinew_policy::auto::PROBES];
    assert_eq!(runs[0].ran, Schedule::Stealing);
    assert!(tried.iter().any(|run| matches!(run.ran, Schedule::Dynamic { .. })), "{runs:?}");
    assert!(runs[10..].iter().all(|run| run.ran == runs[13].ran), "{runs:?}");
    assert_eq!(Some(runs[13].time), tried[1..].iter().map(|run| run.time).min(), "{runs:?}");
    // Tuning does not pay for a short loop.
    assert!(sweeps(&setup, &uniform(100), 5).iter().all(|run| run.ran == Schedule::Static));
}

/// Catches: a loop that continues after it was told to stop, or a stopped run that changes the
/// memory.
#[test]
fn a_stopped_loop_reports_what_it_has_done_and_teaches_nothing() {
    let (setup, costs) = (free(3, Schedule::Dynamic { chunk: 1 }), uniform(100_000));
    let (mut memory, mut shares) = (LoopMemory::default(), Vec::new());
    let stopped = setup.run_again(&costs, &mut memory, |progress| {
        shares.push(progress.share);
        shares.len() < 2
    });
    let stopped = stopped.expect("no violation");
    assert!(!stopped.is_whole && stopped.work < costs.total() && stopped.time > 0, "{stopped:?}");
    assert!(shares.is_sorted() && shares.len() == 2, "{shares:?}");
    let tree = Loop { schedule: Schedule::Adaptive { grain: 1 }, ..setup };
    let mut last = None;
    let whole = tree.run_again(&costs, &mut memory, |progress| {
        last = progress.share;
        true
    });
    assert!(whole.expect("no violation").is_whole);
    assert!(last.is_none_or(|share| (0.0..=1.0).contains(&share)), "{last:?}");
}

/// Catches: different loops with the same fingerprint.
#[test]
fn loops_that_differ_have_different_fingerprints() {
    let trace = |seed, schedule| {
        let costs = IterationCosts::new(99, Shape::Heavy, Duration::Exponential(NS), seed);
        Loop { seed, ..free(3, schedule) }.run(&costs).expect("a run").trace
    };
    let traces = [
        trace(0, Schedule::Stealing),
        trace(1, Schedule::Stealing),
        trace(0, Schedule::Static),
        trace(0, Schedule::Dynamic { chunk: 2 }),
    ];
    assert!((1..4).all(|at| !traces[..at].contains(&traces[at])), "{traces:x?}");
}

/// Catches: a worker that stops while iterations are left, and a claim that counts twice.
#[test]
fn no_schedule_is_later_than_the_even_share_and_one_chunk() {
    for shape in [Shape::Uniform, Shape::Biased, Shape::Decreasing, Shape::Heavy] {
        for (seed, schedule) in
            (0..40).flat_map(|seed| schedules().into_iter().map(move |schedule| (seed, schedule)))
        {
            let workers = 1 + seed as usize % 9;
            let costs =
                IterationCosts::new(50 * seed as usize, shape, Duration::Pareto(NS, 1.3), seed);
            let free = Loop { seed, ..free(workers, schedule) };
            let run = free.run(&costs).expect("a run");
            assert_eq!(run, free.run(&costs).expect("a run"), "{schedule}, seed {seed}");
            // A share that has begun is not stolen.
            if run.ran != Schedule::Static {
                let bound = costs.total().div_ceil(workers as u64) + run.longest_chunk;
                assert!(
                    run.time <= bound,
                    "{schedule}, {workers} workers, seed {seed}: {run:?} beyond {bound}"
                );
            }
            let dear =
                Loop { claim: Duration::ns(5), steal: Duration::Exponential(NS * 50), ..free };
            assert_eq!(dear.run(&costs), dear.run(&costs), "{schedule}, seed {seed}");
            assert!(dear.run(&costs).expect("a run").time >= costs.total() / workers as u64);
        }
    }
}

/// Catches: an impossible loop that runs.
#[test]
fn impossible_loops_are_refused() {
    assert!(free(0, Schedule::Static).run(&uniform(1)).is_err());
    let error = free(1, Schedule::Dynamic { chunk: 0 }).run(&uniform(1)).expect_err("no chunk");
    assert!(error.to_string().contains("dynamic:0"), "{error}");
    let fast = Loop { slow: vec![0.5], ..free(1, Schedule::Static) };
    assert!(fast.run(&uniform(1)).expect_err("too fast").to_string().contains("0.5"));
}
