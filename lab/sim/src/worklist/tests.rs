//! Random runs over all settings, closed forms, the tuner, and a planted error.

use sinew_policy::tune::{Knobs, State};
use sinew_policy::worklist::Settings;

use super::run::Run;
use super::{Mix, Tuning, Worklist, WorklistReport};
use crate::models;
use crate::random::{Duration, NS};
use crate::report::Violation;
use crate::setup::{Fault, Mishap};

fn fixed(cores: usize, settings: Settings) -> Worklist {
    Worklist::new(cores, Tuning::Fixed(settings))
}

fn run(list: &Worklist, mix: &Mix) -> WorklistReport {
    let report = list.run_while(mix, |progress| progress.events < 5_000_000).expect("a run");
    assert!(report.is_whole, "no end: {list:?} {mix:?} {:?}", report.counts);
    report
}

fn any_list(chance: &mut fastrand::Rng, seed: u64) -> Worklist {
    let cores = chance.usize(1..=12);
    let tuning = if chance.u8(..3) == 0 {
        Tuning::Auto(Knobs::default())
    } else {
        let settings = Settings::baseline(chance.usize(1..=cores)).stealing(chance.bool());
        let lifespan = [0, 10, 1_000][chance.usize(..3)];
        let swaps = chance.bool().then(|| chance.u32(1..5));
        Tuning::Fixed(settings.lifespan(lifespan).coalescing(chance.bool()).swap_after(swaps))
    };
    let fault = |chance: &mut fastrand::Rng| {
        let worker = chance.usize(..cores);
        let what = match chance.u8(..3) {
            0 if worker > 0 => Mishap::Leaves,
            1 => Mishap::Returns,
            _ => Mishap::Slows(f64::from(chance.u8(4..20)) / 4.0),
        };
        Fault { at: chance.u64(..1_000_000 * NS), worker, what }
    };
    let faults = (0..chance.usize(..5)).map(|_| fault(chance)).collect();
    let list = Worklist { faults, seed, ..Worklist::new(cores, tuning) };
    if seed.is_multiple_of(4) { list.free() } else { list }
}

fn any_mix(chance: &mut fastrand::Rng, seed: u64) -> Mix {
    let unit =
        [Duration::ns(2_000), Duration::Exponential(3_000 * NS), Duration::Pareto(500 * NS, 1.3)];
    Mix {
        reads: chance.u32(..20),
        writes: chance.u32(..5),
        variables: [4, 100, 100_000][chance.usize(..3)],
        skew: [1.0, 3.0][chance.usize(..2)],
        adds: [0.0, 0.7][chance.usize(..2)],
        memory: [0.0, 0.6][chance.usize(..2)],
        seed,
        ..Mix::new(chance.u64(..400), unit[chance.usize(..3)])
    }
}

/// Catches: a unit that is lost or committed twice, a lock that is never released, a transaction
/// with inconsistent reads that commits, a run that does not end or repeat. Covers combinations of
/// settings, costs, conflicts and faults.
#[test]
fn two_hundred_random_worklists_keep_every_rule_and_repeat() {
    for seed in 0..200 {
        let chance = &mut fastrand::Rng::with_seed(seed);
        let (list, mix) = (any_list(chance, seed), any_mix(chance, seed));
        let first = run(&list, &mix);
        assert_eq!(first, run(&list, &mix), "seed {seed}");
        assert!(first.counts.commits >= mix.units);
    }
}

/// Catches: a single worker that takes more or less time than the sum of its operations.
#[test]
fn one_worker_takes_its_units_and_their_costs() {
    let mix = Mix::new(100, Duration::ns(1_000));
    let list = fixed(1, Settings::baseline(1));
    // 20 for the list, 20 for the transaction.
    assert_eq!(run(&list, &mix).time, 100 * 1_040 * NS);
    assert_eq!(run(&list.free(), &mix).time, 100 * 1_000 * NS);
    let pairs = fixed(1, Settings::baseline(1).coalescing(true));
    let report = run(&pairs, &mix);
    assert_eq!((report.time, report.coalesced), (50 * 2_040 * NS, 50));
}

/// Catches: units that wait for each other without a reason.
#[test]
fn units_without_conflicts_share_their_time_evenly() {
    let mix = Mix { writes: 0, ..Mix::new(800, Duration::ns(1_000)) };
    for stealing in [false, true] {
        let report = run(&fixed(8, Settings::baseline(8).stealing(stealing)).free(), &mix);
        assert_eq!(
            (report.time, report.counts.aborts),
            (100 * 1_000 * NS, 0),
            "stealing {stealing}"
        );
    }
}

/// Catches: conflicts that are not detected, or that stop everything.
#[test]
fn units_that_write_the_same_variable_run_one_after_the_other() {
    let mix = Mix { reads: 0, writes: 1, variables: 1, ..Mix::new(200, Duration::ns(1_000)) };
    let report = run(&fixed(4, Settings::baseline(4)).free(), &mix);
    // The lock is held from the middle of a unit on.
    assert!(report.time >= 200 * 500 * NS && report.counts.aborts > 100, "{report:?}");
}

/// Catches: helpers without effect.
#[test]
fn a_helper_saves_the_share_of_memory_and_one_that_goes_too_far_costs_it() {
    let mix = Mix { memory: 0.5, words: 5_000, cache: 2_000, ..Mix::new(100, Duration::ns(1_000)) };
    let time =
        |lifespan| run(&fixed(2, Settings::baseline(1).lifespan(lifespan)).free(), &mix).time / NS;
    assert_eq!([time(0), time(1_000), time(10_000)], [100_000, 90_000, 150_000]);
}

/// Units of the example `helpers`, each a sum that all add to: one worker and its helper.
fn with_helper(unit: u64, misses: f64, help: models::Help) -> u64 {
    let memory = help.hidden * misses;
    let mix = Mix { writes: 1, memory, ..Mix::new(1_000, Duration::ns(unit)) };
    let list = fixed(2, Settings::baseline(1).lifespan(1_000)).free();
    run(&Worklist { exchange: help.line, ..list }, &mix).time / NS / 1_000
}

/// Catches: an exchange that is forgotten, paid twice or without a helper, and constants that do
/// not give back what was measured. Blind to: the far helper on 1 MB, which the model makes 18 %
/// too fast (578 ns; 701 were measured).
#[test]
fn a_near_and_a_far_helper_take_as_long_as_measured() {
    let misses = (3_014.0 - 485.0) / 3_014.0;
    for (unit, misses, help, measured) in [
        (3_014, misses, models::NEAR, 1_976.0),
        (485, 0.0, models::NEAR, 544.0),
        (2_942, misses, models::FAR_AWAY, 3_324.0),
        (423, 0.0, models::FAR_AWAY, 803.0),
    ] {
        let simulated = with_helper(unit, misses, help) as f64;
        assert!((simulated / measured - 1.0).abs() < 0.03, "{unit}: {simulated}, not {measured}");
    }
    let mix = Mix::new(100, Duration::ns(1_000));
    let alone = fixed(2, Settings::baseline(1)).free();
    let slow = Worklist { exchange: Duration::ns(9_999), ..alone };
    assert_eq!(run(&slow, &mix).time, 100 * 1_000 * NS, "a worker without a helper");
    let pairs = Settings::baseline(1).lifespan(1_000).coalescing(true);
    let slow = Worklist { tuning: Tuning::Fixed(pairs), exchange: Duration::ns(10), ..slow };
    let lines = Mix { lines: 3, ..mix };
    assert_eq!(run(&slow, &lines).time, 100 * 1_030 * NS, "an exchange for each unit");
}

/// Catches: a gain that falls with more misses, or rises with more lines or farther ones.
#[test]
fn a_helper_saves_more_the_more_it_hides_and_less_the_more_it_exchanges() {
    let time = |memory, lines, exchange| {
        let mix = Mix { memory, lines, ..Mix::new(500, Duration::ns(1_000)) };
        let list = fixed(8, Settings::baseline(4).lifespan(1_000));
        run(&Worklist { exchange: Duration::ns(exchange), ..list }, &mix).time
    };
    assert!([0.0, 0.2, 0.5, 0.9].map(|memory| time(memory, 1, 50)).is_sorted_by(|a, b| a > b));
    assert!([0, 1, 4, 9].map(|lines| time(0.5, lines, 50)).is_sorted_by(|a, b| a < b));
    assert!([0, 48, 360].map(|line| time(0.5, 1, line)).is_sorted_by(|a, b| a < b));
}

/// Catches: a tuner without input, or whose settings are ignored.
#[test]
fn the_tuner_halves_threads_that_conflict_and_steals_where_the_list_is_contended() {
    let tuned = Worklist::new(16, Tuning::Auto(Knobs::default()));
    let hot = Mix { reads: 4, writes: 4, variables: 64, ..Mix::new(40_000, Duration::ns(2_000)) };
    let report = run(&tuned, &hot);
    assert!(report.settings.threads < 8, "{}", report.settings);
    assert!(report.path.rows().iter().any(|row| row.state == State::SwapRetry));
    let short = Mix { writes: 0, ..Mix::new(40_000, Duration::ns(100)) };
    let report = run(&tuned, &short);
    assert!(report.settings.stealing && report.settings.threads == 16, "{}", report.settings);
    let by_hand = run(&fixed(16, Settings::baseline(16)), &short);
    assert!(report.time < by_hand.time * 2 / 3, "{} against {}", report.time, by_hand.time);
}

/// Catches: a check that finds nothing.
#[test]
fn transactions_that_do_not_look_at_their_reads_again_are_found() {
    let mix = Mix { variables: 20, ..Mix::new(500, Duration::ns(1_000)) };
    let list = fixed(4, Settings::baseline(4));
    let mut run = Run::new(&list, &mix);
    run.counters.skips_validation = true;
    assert!(matches!(run.run(|_| true), Err(Violation::Torn(_))));
}

/// Catches: an impossible list that runs.
#[test]
fn impossible_worklists_are_refused_by_the_value() {
    let mix = Mix::new(1, Duration::ns(1));
    let list = fixed(2, Settings::baseline(2));
    for (list, mix, says) in [
        (fixed(0, Settings::baseline(1)), mix, "not 0"),
        (fixed(2, Settings::baseline(3)), mix, "3 threads"),
        (fixed(2, Settings::baseline(0)), mix, "0 threads"),
        (list.clone(), Mix { variables: 0, ..mix }, "variables"),
        (list.clone(), Mix { reads: 99_999, ..mix }, "not 99999"),
        (list.clone(), Mix { writes: 99_998, ..mix }, "not 99998"),
        (list.clone(), Mix { adds: 1.0, ..mix }, "adds is 1"),
        (list.clone(), Mix { memory: -0.0, ..mix }, "memory is -0"),
        (list.clone(), Mix { skew: 0.5, ..mix }, "0.5"),
        (
            Worklist { faults: vec![Fault { at: 0, worker: 0, what: Mishap::Leaves }], ..list },
            mix,
            "core 0",
        ),
    ] {
        let error = list.run(&mix).expect_err(says).to_string();
        assert!(error.contains(says) && !error.contains('\n'), "{error}");
    }
    assert!("units=9,odd=3".parse::<Mix>().expect_err("odd").to_string().starts_with("`odd=3`"));
    assert_eq!(
        "units=9,writes=3".parse(),
        Ok(Mix { writes: 3, ..Mix::new(9, Duration::ns(10_000)) })
    );
}
