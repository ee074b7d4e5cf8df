//! The tuner on synthetic costs, and profiles of synthetic chunks.

use super::*;
use proptest::prelude::*;

const ITEMS: usize = 100_000;

/// Runs a loop: its time under each schedule is in nanoseconds, times `noise` in thousandths.
fn run(tuner: &mut Tuner, cost: impl Fn(Schedule) -> u64, noise: u64) -> Schedule {
    let schedule = match tuner.choice() {
        Choice::Profile => Schedule::Stealing,
        Choice::Short => Schedule::Static,
        Choice::Run(schedule) => schedule,
    };
    tuner.record(ITEMS, cost(schedule) * (1_000 + noise) / 1_000, None);
    schedule
}

/// Costs by the kind of schedule: static, stealing, guided, dynamic.
fn by_kind(costs: [u64; 4]) -> impl Fn(Schedule) -> u64 + Copy {
    move |schedule| match schedule {
        Schedule::Static => costs[0],
        Schedule::Stealing => costs[1],
        Schedule::Guided { .. } => costs[2],
        _ => costs[3],
    }
}

proptest! {
    /// Catches: a search that does not end (A1), or that ends with another candidate than the best,
    /// apart from noise.
    #[test]
    fn the_best_candidate_is_kept(
        costs in [1_u64..9, 1..9, 1..9, 1..9],
        noises in proptest::collection::vec(0..30_u64, 60),
        workers in 2..9_usize,
    ) {
        let costs = costs.map(|cost| cost * 2_000_000);
        let (mut tuner, cost) = (Tuner::new(workers), by_kind(costs));
        let mut noises = noises.into_iter();
        for noise in noises.by_ref().take(PROBES) {
            run(&mut tuner, cost, noise);
        }
        prop_assert!(tuner.is_settled());
        for noise in noises {
            let kept = cost(run(&mut tuner, cost, noise));
            prop_assert!(kept as f64 <= 1.03 * *costs.iter().min().unwrap() as f64);
        }
    }

    /// Catches: a panic or a chunk of 0, whatever is measured.
    #[test]
    fn any_measurement_leads_to_a_schedule(
        runs in proptest::collection::vec(
            (any::<usize>(), any::<u64>(), any::<Option<(usize, usize, u64)>>()),
            0..60,
        ),
        workers in 0..9_usize,
    ) {
        let mut tuner = Tuner::new(workers);
        for (items, elapsed_ns, chunk) in runs {
            let profile = chunk.map(|(start, length, ns)| {
                let mut profile = Profile::default();
                profile.add(start, length, items, ns);
                profile
            });
            if let Choice::Run(schedule) = tuner.choice() {
                prop_assert!(schedule.check().is_ok());
            }
            prop_assert!(tuner.best().check().is_ok());
            tuner.record(items, elapsed_ns, profile.as_ref());
        }
    }

    /// Catches: chunks that are divided wrongly among the parts, and partial profiles that do not
    /// add up.
    #[test]
    fn a_profile_does_not_depend_on_how_the_loop_was_cut(
        n in 1_000..100_000_usize,
        cuts in 16..200_usize,
        workers in 2..9_usize,
    ) {
        // Falls from twice the mean to nothing: the first share costs (2 - 1/p) times the mean.
        let cost = |at: usize| 2 * (n - at) as u64;
        let (mut whole, mut other) = (Profile::default(), Profile::default());
        for cut in 0..cuts {
            let range = crate::chunk::share(n, cuts, cut);
            let ns = range.clone().map(cost).sum();
            let part = if cut % 2 == 0 { &mut whole } else { &mut other };
            part.add(range.start, range.len(), n, ns);
        }
        whole.merge(&other);
        let mean = whole.mean_ns().unwrap();
        prop_assert!((mean / n as f64 - 1.0).abs() < 0.01, "{}", mean);
        let unevenness = whole.unevenness(workers, n);
        let right = 2.0 - 1.0 / workers as f64;
        prop_assert!((unevenness - right).abs() < 0.15, "{} instead of {}", unevenness, right);
    }
}

/// Catches: a short loop that is tuned, and a loop that stays short when it has grown.
#[test]
fn short_loops_get_equal_shares() {
    let mut tuner = Tuner::new(4);
    assert_eq!(tuner.choice(), Choice::Profile);
    tuner.record(1_000, SHORT_NS - 1, None);
    assert_eq!((tuner.choice(), tuner.best()), (Choice::Short, Schedule::Static));
    tuner.record(1_000, SHORT_NS, None);
    tuner.record(1_000, SHORT_NS - 1, None);
    tuner.record(1_000, SHORT_NS, None);
    assert_eq!(tuner.choice(), Choice::Short);
    tuner.record(1_000, SHORT_NS, None);
    assert_eq!(tuner.choice(), Choice::Profile);
    tuner.record(1_000, SHORT_NS - 1, None);
    assert!(matches!(tuner.choice(), Choice::Run(_)), "nearly as long as before");
    assert_eq!(prior(SHORT_NS - 1), Schedule::Static);
    assert_eq!(prior(SHORT_NS), Schedule::Stealing);
}

/// Catches: a loop that has changed and keeps its old schedule, and one that is searched again
/// after a single slow run.
#[test]
fn a_drift_leads_to_a_new_search() {
    let mut tuner = Tuner::new(2);
    let (uniform, biased) = (
        by_kind([2_000_000, 2_100_000, 2_200_000, 2_300_000]),
        by_kind([4_000_000, 2_800_000, 2_600_000, 2_500_000]),
    );
    for _ in 0..PROBES {
        run(&mut tuner, uniform, 0);
    }
    assert_eq!(tuner.best(), Schedule::Static);
    for slow in 0..20 {
        run(&mut tuner, uniform, if slow % 3 == 0 { 900 } else { 0 });
    }
    assert_eq!((tuner.best(), tuner.is_settled()), (Schedule::Static, true));
    for _ in 0..DRIFT_RUNS as usize + PROBES {
        run(&mut tuner, biased, 0);
    }
    assert!(tuner.is_settled() && matches!(tuner.best(), Schedule::Dynamic { .. }), "{tuner:?}");
}

/// Catches: a loop with random costs that is searched again and again (A2).
#[test]
fn a_loop_that_is_all_noise_is_settled_most_of_the_time() {
    let mut tuner = Tuner::new(2);
    let mut searching = 0;
    for run_number in 0..2_000_u64 {
        searching += usize::from(!tuner.is_settled());
        // In stretches of a dozen, as other programs cause that come and go.
        let noise = 2_000 * (run_number / 12 % 2);
        run(&mut tuner, by_kind([2_000_000; 4]), noise);
    }
    assert!(searching <= 100, "{searching} of 2000 runs");
}

/// Catches: equal shares that are tried on a loop whose first half has nearly all the cost.
#[test]
fn shares_that_would_be_unequal_are_not_tried() {
    let mut profile = Profile::default();
    (0..16).for_each(|part| {
        profile.add(part * 100, 100, 1_600, if part < 2 { 800_000 } else { 10_000 });
    });
    let mut tuner = Tuner::new(2);
    tuner.record(1_600, 2_000_000, Some(&profile));
    for _ in 1..PROBES {
        assert_ne!(tuner.choice(), Choice::Run(Schedule::Static));
        tuner.record(1_600, 2_000_000, None);
    }
}
