//! 200 random runs over all settings, closed forms, and planted errors.

use sinew_policy::split::Splitter;
use sinew_policy::victim::Victims;

use super::Simulation;
use super::plant::Bug;
use crate::costs::Costs;
use crate::random::{Duration, NS};
use crate::report::{Activity, Report, Violation};
use crate::setup::{Fault, Idle, Mishap, Setup, Stack, Waiting};
use crate::workload::{
    Chains, Children, Fib, IterationCosts, RandomTree, Recorded, Serial, Series, Shape, Splits,
    Tree, Uts, Workload,
};
use sinew_policy::Wait;

const SEEDS: u64 = 200;

/// More events than any run here has.
const ENOUGH: u64 = 3_000_000;

fn report<W: Workload>(setup: &Setup, workload: &W) -> Report {
    let run = Simulation::new(setup.clone(), workload).expect("a setup that can be run");
    let report = run
        .run_while(|progress| progress.events < ENOUGH)
        .unwrap_or_else(|broken| panic!("{broken}, {}", brief(setup)));
    assert!(report.is_whole, "no end after {ENOUGH} events: {:?}, {}", report.counts, brief(setup));
    report
}

/// The setup without the tree of the machine.
fn brief(setup: &Setup) -> String {
    let machine = setup.machine.as_ref().map(sinew_topology::Machine::source);
    format!("{:?} on {machine:?}", Setup { machine: None, ..setup.clone() })
}

fn any_cost(chance: &mut fastrand::Rng) -> Duration {
    let mean = chance.u64(1..2_000) * NS;
    match chance.u8(..5) {
        0 => Duration::ZERO,
        1 => Duration::Fixed(mean),
        2 => Duration::Uniform(mean / 2, mean),
        3 => Duration::Pareto(mean / 3, 1.5),
        _ => Duration::Exponential(mean),
    }
}

fn any_faults(chance: &mut fastrand::Rng, workers: usize) -> Vec<Fault> {
    let fault = |chance: &mut fastrand::Rng| {
        let worker = chance.usize(..workers);
        let what = match chance.u8(..4) {
            0 | 1 if worker > 0 => Mishap::Leaves,
            2 => Mishap::Returns,
            _ => Mishap::Slows(f64::from(chance.u8(4..20)) / 4.0),
        };
        Fault { at: chance.u64(..100_000 * NS), worker, what }
    };
    (0..chance.usize(..8)).map(|_| fault(chance)).collect()
}

fn any_setup(seed: u64) -> Setup {
    let mut chance = fastrand::Rng::with_seed(seed);
    let machines = [
        "core:9",
        "package:3 l3:2 core:2",
        "package:8 core:2",
        "package:2 node:2 l3:2 core:2 pu:2",
    ];
    let machine: Option<sinew_topology::Machine> =
        chance.bool().then(|| machines[chance.usize(..4)].parse().expect("a machine"));
    let most = machine.as_ref().map_or(40, |machine| machine.pus().len());
    let workers = chance.usize(1..=most);
    let waits: Vec<Waiting> = Wait::ALL
        .map(Waiting::Runtime)
        .into_iter()
        .chain([Waiting::Thief, Waiting::Leave])
        .collect();
    let stacks =
        [(Stack::Open, 0), (Stack::TWO_FIELD, 0), (Stack::SPLIT, 0), (Stack::SPLIT, 20_000 * NS)];
    let mut costs = Costs {
        spawn: any_cost(&mut chance),
        join: any_cost(&mut chance),
        attempt: any_cost(&mut chance),
        steal: any_cost(&mut chance),
        sample: any_cost(&mut chance),
        publish: any_cost(&mut chance),
        exposure: any_cost(&mut chance),
        wake: any_cost(&mut chance),
        factors: if chance.bool() { vec![0.5, 1.0, 3.0] } else { vec![] },
        refill: if chance.bool() { vec![Duration::ZERO, Duration::ns(500)] } else { vec![] },
        contention: if chance.u8(..4) == 0 { vec![1.25, 2.5] } else { vec![] },
        miss: if chance.bool() { any_cost(&mut chance) } else { Duration::ZERO },
        far: if chance.bool() { vec![1.5] } else { vec![] },
    };
    if seed.is_multiple_of(5) {
        costs = Costs::ZERO;
    }
    let spins = !costs.attempt.is_zero() && chance.bool();
    let victims = Victims::all()[chance.usize(..Victims::all().len())];
    let (stack, silence) = stacks[chance.usize(..stacks.len())];
    Setup {
        machine,
        victims,
        stack,
        silence,
        wait: waits[chance.usize(..waits.len())],
        idle: if spins && seed.is_multiple_of(3) {
            Idle::Adaptive
        } else if spins {
            Idle::Spin
        } else {
            Idle::Park { rounds: chance.u32(1..5) }
        },
        faults: if chance.bool() { any_faults(&mut chance, workers) } else { Vec::new() },
        boundary: chance.bool().then(|| chance.u32(..6)),
        costs,
        seed,
        ..Setup::new(workers)
    }
}

/// Loops that offer their pieces to helpers, with joins in some pieces.
fn any_recording(chance: &mut fastrand::Rng) -> Recorded {
    let mut work = |most: u64| (chance.u64(..most) * NS).to_string();
    let mut piece = |number: usize| match number % 3 {
        0 => format!("{}({}|{})", work(500), work(2_000), work(2_000)),
        _ => work(4_000),
    };
    let mut calls = String::new();
    for pieces in [1, 2, 3, 30] {
        let pieces: Vec<String> = (0..pieces).map(&mut piece).collect();
        calls += &format!("7: 5({{{}}}1|2)({{5|6}}|{{9000000|5}})3\n", pieces.join("|"));
    }
    let graph = format!("sinew graph 1\n{calls}end 4\n");
    Recorded::new(&graph.parse().expect("a graph"))
}

/// Runs the workload twice: both runs must be equal and run every task once. The work must equal
/// that of one worker. Each run also passes its own checks.
fn check<W: Workload>(setup: &Setup, workload: &W, is_fixed: bool) {
    let first = report(setup, workload);
    assert_eq!(first, report(setup, workload), "{}", brief(setup));
    if is_fixed {
        let serial = Serial::of(workload);
        assert_eq!(
            (first.counts.tasks, first.work, first.span),
            (serial.tasks, serial.work, serial.span),
            "{}",
            brief(setup)
        );
    }
}

/// Catches: a task lost or run twice, invented work, time that runs backwards, a trace that depends
/// on more than the seed, a run that never ends or ends too early. Covers combinations of victims,
/// waiting, parking, costs, machines and faults.
#[test]
fn two_hundred_random_runs_keep_every_rule_and_repeat() {
    for seed in 0..SEEDS {
        let setup = any_setup(seed);
        let leaf =
            [Duration::ns(500), Duration::Exponential(800 * NS), Duration::Pareto(200 * NS, 1.2)]
                [seed as usize % 3];
        let chance = &mut fastrand::Rng::with_seed(!seed);
        let loops = || IterationCosts::new(700, Shape::Decreasing, leaf, seed);
        match seed % 8 {
            0 => check(&setup, &Tree::new(chance.u32(0..9), leaf, seed), true),
            1 => check(&setup, &Fib::new(chance.u32(0..13), leaf), true),
            // Recorded tasks have sequels.
            3 if setup.wait != Waiting::Leave => check(&setup, &any_recording(chance), true),
            2 | 3 => check(&setup, &RandomTree::new(chance.u64(1..600), leaf, seed), true),
            4 => check(
                &setup,
                &Uts::new(Children::Geometric { mean: 2.0, depth: 7 }, leaf, seed),
                true,
            ),
            5 => check(
                &setup,
                &Uts::new(Children::Binomial { root: 50, many: 3, probability: 0.3 }, leaf, seed),
                true,
            ),
            6 => check(&setup, &Series::new(Tree::new(5, leaf, seed), 4, leaf), true),
            // Stolen ranges are split further, so there may be more tasks than on one worker.
            _ => check(&setup, &Splits::new(loops(), Splitter::adaptive(setup.workers), 4), false),
        }
    }
}

/// Catches: a trace that depends on the machine, the compiler or the version of the random number
/// generator. If a change is meant to change runs, these constants change with it, and so do the
/// tables in `docs/simulation.md`.
#[test]
fn traces_are_those_that_were_written_down() {
    let machine = Some("package:2 l3:2 core:4".parse().expect("a machine"));
    let leaf = Duration::Pareto(300 * NS, 1.5);
    let costs = Costs { attempt: Duration::Exponential(40 * NS), ..Costs::usual() };
    let setup = Setup { machine, costs, seed: 42, ..Setup::new(16) };
    let trace = |victims: &str| {
        let setup = Setup { victims: victims.parse().expect("a policy"), ..setup.clone() };
        report(&setup, &Series::new(Tree::new(7, leaf, 42), 3, Duration::Uniform(1, 9_000 * NS)))
            .trace
    };
    let written = [0x719e_9ec0_550f_27e8, 0x4404_dfde_cfbe_b531, 0x2d80_1caa_ec84_2e4a];
    assert_eq!(["random", "sample:2", "distance"].map(trace), written);
    let tree = Uts::new(Children::Geometric { mean: 2.0, depth: 8 }, leaf, 42);
    assert_eq!(report(&setup, &tree).trace, 0xda64_4ae9_4da3_8b5f);
}

/// Catches: a scheduler that leaves a worker idle while a task is available.
#[test]
fn greedy_scheduling_without_costs_keeps_the_upper_bound() {
    for seed in 0..60 {
        let workers = 1 + seed as usize % 17;
        let setup =
            Setup { seed, victims: Victims::all()[seed as usize % 23], ..Setup::greedy(workers) };
        assert!(setup.is_greedy());
        report(&setup, &RandomTree::new(400, Duration::Exponential(NS * 100), seed));
        report(&setup, &Tree::new(7, Duration::Uniform(0, NS * 100), seed));
    }
}

/// Catches: a single worker that takes more or less time than the sum of its operations.
#[test]
fn one_worker_takes_the_work_and_a_spawn_and_a_join_for_every_spawned_task() {
    let costs = Costs { spawn: Duration::ns(3), join: Duration::ns(4), ..Costs::usual() };
    let setup = Setup { costs, ..Setup::new(1) };
    for (tasks, leaves) in
        [(Tree::new(0, Duration::ns(9), 0), 1), (Tree::new(6, Duration::ns(9), 0), 64)]
    {
        let report = report(&setup, &tasks);
        assert_eq!(report.time, (leaves * 9 + (leaves - 1) * 7) * NS);
        assert_eq!(report.spent[Activity::Works as usize], leaves * 9 * NS);
    }
}

/// Catches: a steal with a wrong cost, or a second steal.
#[test]
fn two_workers_on_two_chains_take_one_steal_and_one_chain() {
    let costs = Costs { attempt: Duration::ns(30), steal: Duration::ns(50), ..Costs::ZERO };
    let chains = Chains::new(2, 100, Duration::ns(10), 0);
    let free = Setup { stack: Stack::Open, idle: Idle::Spin, costs, ..Setup::new(2) };
    // The thief's first attempt arrives 30 ns after the spawn, and the task 50 ns later; its owner
    // waits for it.
    for wait in [Waiting::Runtime(Wait::Block), Waiting::Thief, Waiting::Leave] {
        let report = report(&Setup { wait, ..free.clone() }, &chains);
        assert_eq!(report.counts.steals, 1, "{wait:?}");
        let late = if wait == Waiting::Thief { 30 } else { 0 };
        assert!((1_080..=1_080 + late).contains(&(report.time / NS)), "{wait:?}: {}", report.time);
    }
    assert_eq!(report(&Setup::greedy(2), &chains).time, 1_000 * NS);
}

/// Catches: a load list whose thieves choose other victims or pay other costs than thieves that
/// sample every worker.
#[test]
fn a_list_of_loads_leads_to_the_same_steps_as_sampling_all_workers() {
    let machine: Option<sinew_topology::Machine> =
        Some("package:33 l3:8 core:8".parse().expect("a machine"));
    let tree = Tree::new(11, Duration::Exponential(20_000 * NS), 3);
    for name in ["most-loaded:5", "sorted:5,machine,stay", "sorted:5,package,restart"] {
        let victims = name.parse().expect("a policy");
        let setup = Setup { victims, machine: machine.clone(), ..Setup::new(2_100) };
        let [told, looking] = [true, false].map(|told| {
            let mut run = Simulation::new(setup.clone(), &tree).expect("a setup");
            run.offers = run.offers.filter(|_| told);
            run.run_while(|progress| progress.events < 2 << 16).expect("no violation")
        });
        assert_eq!(told, looking, "{name}");
    }
}

/// Catches: serial parts that overlap with the work after them.
#[test]
fn serial_parts_bound_the_speedup() {
    let series = Series::new(Tree::new(4, Duration::ns(100), 0), 5, Duration::ns(300));
    let report = report(&Setup::greedy(16), &series);
    assert_eq!(report.time, 5 * 400 * NS);
    assert_eq!(report.time, report.span);
}

/// Catches: a class boundary without effect, a boundary that is learned although one is set, or
/// learned from a single root.
#[test]
fn classes_of_tasks_follow_from_what_the_roots_before_have_shown() {
    let machine: Option<sinew_topology::Machine> =
        Some("package:4 core:4".parse().expect("a machine"));
    let cats = |large_us, boundary, roots| {
        let victims = Victims::Cats { large_us };
        let setup = Setup { machine: machine.clone(), victims, boundary, ..Setup::new(16) };
        let tree = Tree::new(8, Duration::Exponential(60_000 * NS), 7);
        report(&setup, &Series::new(tree, roots, Duration::ns(1_000))).trace
    };
    let traces = [1, 200, 100_000].map(|large_us| cats(large_us, None, 6));
    assert!(
        traces[0] != traces[1] && traces[1] != traces[2] && traces[0] != traces[2],
        "{traces:x?}"
    );
    assert_eq!(cats(1, Some(2), 6), cats(200, Some(2), 6));
    assert_eq!(cats(1, None, 1), cats(200, None, 1));
}

/// Catches: a spin window that differs from the policy's, or is not learned: spinning through long
/// serial parts, parking in short ones.
#[test]
fn idle_workers_learn_how_long_to_spin() {
    let times = 60;
    let run = |idle, serial_us: u64| {
        let series = Series::new(
            Tree::new(4, Duration::ns(40_000), 0),
            times,
            Duration::ns(serial_us * 1_000),
        );
        report(&Setup { idle, ..Setup::new(2) }, &series)
    };
    // 40 us, as long as parking costs, suffice from the beginning.
    assert_eq!(run(Idle::Adaptive, 10).counts.wakes, 0);
    // The worker spins through the first window, and through one of thirteen afterwards.
    let (long, spin) = (run(Idle::Adaptive, 1_000), run(Idle::Spin, 1_000));
    let spun = 2.0 * long.share(Activity::Searches) * long.time as f64;
    assert!(long.counts.wakes >= times as u64 - 10, "{:?}", long.counts);
    assert!(spun < (times as f64 / 13.0 + 10.0) * 40e6 + times as f64 * 10e6, "{spun}");
    assert!(long.share(Activity::Searches) < spin.share(Activity::Searches) / 5.0);
}

/// Catches: faults without effect.
#[test]
fn a_slow_worker_is_slow_and_one_that_has_left_does_nothing() {
    let at_once = |worker, what| Fault { at: 0, worker, what };
    let tree = Tree::new(6, Duration::ns(1_000), 0);
    let slow =
        Setup { faults: vec![at_once(0, Mishap::Slows(3.0))], costs: Costs::ZERO, ..Setup::new(1) };
    // The first leaf begins at full speed, because worker 0 comes before the fault event.
    assert_eq!(report(&slow, &tree).time, (1_000 + 63 * 3_000) * NS);
    let costs = Costs { attempt: Duration::ns(10), ..Costs::ZERO };
    let gone = Setup { faults: vec![at_once(1, Mishap::Leaves)], costs, ..Setup::new(2) };
    let alone = report(&gone, &tree);
    assert_eq!((alone.time, alone.counts.steals), (64_000 * NS, 0));
}

/// Catches: a run that continues after it was told to stop.
#[test]
fn a_stopped_run_reports_what_it_has_done() {
    let setup = Setup { idle: Idle::Spin, ..Setup::new(8) };
    let tree = Tree::new(16, Duration::ns(100), 0);
    let run = Simulation::new(setup, &tree).expect("a setup");
    let report = run.run_while(|progress| progress.events < 100_000).expect("no violation");
    assert!(!report.is_whole && report.counts.events == 2 << 16 && report.work > 0);
}

fn planted(bug: Bug, setup: Setup) -> Result<Report, Violation> {
    let trees =
        Series::new(Tree::new(8, Duration::Exponential(1_000 * NS), 1), 2, Duration::ns(5_000));
    let mut run = Simulation::new(setup, &trees).expect("a setup");
    run.plant(bug);
    run.run()
}

/// Catches: checks that find nothing.
#[test]
fn the_checks_find_every_planted_error() {
    let setup =
        || Setup { stack: Stack::Open, wait: Waiting::Runtime(Wait::Block), ..Setup::new(8) };
    let twice = planted(Bug::RunTwice, setup());
    assert!(
        matches!(twice, Err(Violation::NotOnceEach { created, run }) if run > created),
        "{twice:?}"
    );
    assert!(matches!(planted(Bug::WrongTask, setup()), Err(Violation::NotOnceEach { .. })));
    assert!(matches!(planted(Bug::NobodyIsTold, setup()), Err(Violation::Stranded { .. })));
    assert!(matches!(planted(Bug::IntoThePast, setup()), Err(Violation::TimeRanBackwards(_))));
    assert!(matches!(planted(Bug::HalfTheWork, setup()), Err(Violation::WorkNotConserved { .. })));
    assert!(matches!(
        planted(Bug::NobodyIsCalled, Setup::greedy(8)),
        Err(Violation::OutOfBounds { .. })
    ));
}

/// Catches: an exposure that is too early, too late or has another cost; private tasks that no
/// thief gets.
#[test]
fn a_thief_of_a_silent_owner_waits_out_the_silence_and_pays_for_the_exposure() {
    let costs = Costs { attempt: Duration::ns(30), exposure: Duration::ns(700), ..Costs::ZERO };
    let chains = Chains::new(2, 1, Duration::ns(100_000), 0);
    for wait in [
        Waiting::Runtime(Wait::Block),
        Waiting::Thief,
        Waiting::Runtime(Wait::Transitive),
        Waiting::Runtime(Wait::Descendants),
        Waiting::Runtime(Wait::Leapfrog),
    ] {
        let silence = 9_000 * NS;
        let setup =
            Setup { silence, wait, idle: Idle::Spin, costs: costs.clone(), ..Setup::new(2) };
        let report = report(&setup, &chains);
        assert_eq!((report.counts.exposures, report.counts.steals), (1, 1), "{wait:?}");
        // Requested at 30 ns, exposed within one attempt after the silence, taken by the next
        // attempt.
        let begin = report.time / NS - 100_000;
        assert!((9_730..=9_830).contains(&begin), "{wait:?}: {begin}");
    }
}

/// Catches: rules by load or depth that see public tasks only, and so choose the wrong victim, or
/// none, where owners publish their tasks on request.
#[test]
fn rules_that_look_at_tasks_save_steals_on_either_stack() {
    let steals = |stack, victims: &str| {
        let setup = Setup { stack, victims: victims.parse().expect("a policy"), ..Setup::new(32) };
        report(&setup, &Tree::new(12, Duration::Exponential(1_000 * NS), 1)).counts.steals as f64
    };
    for stack in [Stack::TWO_FIELD, Stack::SPLIT] {
        let ratio = steals(stack, "most-loaded:1") / steals(stack, "random");
        assert!(ratio < 0.6, "{stack:?}: {ratio}");
    }
}

/// Catches: an owner that ignores requests, and thieves that expose an owner that publishes.
#[test]
fn an_owner_that_spawns_answers_without_being_exposed() {
    let setup = Setup { wait: Waiting::Thief, ..Setup::new(4) };
    let report = report(&setup, &Fib::new(16, Duration::ns(50)));
    assert_eq!(report.counts.exposures, 0);
    assert!(report.counts.publications > 3 && report.speedup() > 2.0, "{:?}", report.counts);
}

/// Catches: thieves of a two-field stack that never collide.
#[test]
fn thieves_that_come_at_once_back_out_of_a_two_field_stack() {
    let setup = Setup { stack: Stack::TWO_FIELD, ..Setup::new(32) };
    let counts = report(&setup, &Tree::new(10, Duration::ns(3_000), 1)).counts;
    assert!(counts.back_outs > 0 && counts.steals > 31, "{counts:?}");
    let open = Setup { stack: Stack::Open, ..setup };
    assert_eq!(report(&open, &Tree::new(10, Duration::ns(3_000), 1)).counts.back_outs, 0);
}

/// Catches: two ways of waiting that behave the same.
#[test]
fn a_worker_that_may_help_with_more_waits_less() {
    let waits = |wait| {
        let setup = Setup { wait, stack: Stack::Open, ..Setup::new(16) };
        let time = |seed| {
            let report = report(
                &Setup { seed, ..setup.clone() },
                &RandomTree::new(3_000, Duration::ns(2_000), seed),
            );
            report.share(Activity::Waits)
        };
        (0..10).map(time).sum::<f64>()
    };
    let (block, descendants, thief) = (
        waits(Waiting::Runtime(Wait::Block)),
        waits(Waiting::Runtime(Wait::Descendants)),
        waits(Waiting::Thief),
    );
    let (transitive, any) =
        (waits(Waiting::Runtime(Wait::Transitive)), waits(Waiting::Runtime(Wait::Any)));
    assert!(block > thief && thief > any, "{block} {thief} {any}");
    assert!(block > descendants && thief > transitive, "{descendants} {thief} {transitive}");
}
