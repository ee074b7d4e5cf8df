//! Random clusters over all settings, closed forms, and mixes from text.

use sinew_policy::share::Policy;

use super::{Arrival, Cluster, Dispatch, Kind, Mix, Power, ProgramsReport, SECOND, SpeedUp};

fn cluster(machine: &str, machines: usize) -> Cluster {
    Cluster::new(machine.parse().expect("a machine"), machines)
}

fn mix(kinds: Vec<Kind>, programs: &[(u64, usize, u64)]) -> Mix {
    let arrival = |&(at, kind, work): &(u64, usize, u64)| Arrival {
        at: at * SECOND,
        kind,
        work: work * SECOND,
        dies_after: None,
    };
    Mix { kinds, effects: Vec::new(), arrivals: programs.iter().map(arrival).collect() }
}

fn run(cluster: &Cluster, mix: &Mix) -> ProgramsReport {
    let report = cluster.run_while(mix, |progress| progress.events < 1_000_000).expect("a run");
    assert!(report.is_whole, "{report:?}");
    report
}

/// A time in milliseconds.
fn ms(time: u64) -> u64 {
    (time + SECOND / 2_000) / (SECOND / 1_000)
}

/// Catches: a core that is counted twice, a program whose speed ignores its curve.
#[test]
fn a_program_alone_takes_its_work_by_the_curve_of_its_kind() {
    let free = cluster("core:4", 1).free();
    let amdahl = Kind::new("amdahl", 0.5);
    assert_eq!(ms(run(&free, &mix(vec![amdahl], &[(3, 0, 10)])).makespan), 3_000 + 6_250);
    let measured = SpeedUp::Measured(vec![(2, 3.0), (4, 6.0)]);
    let kind = Kind { speed_up: measured, max: 3, ..Kind::new("measured", 0.0) };
    let report = run(&free, &mix(vec![kind], &[(0, 0, 9)]));
    assert_eq!(ms(report.makespan), 3_000);
    assert!(
        (report.mean_slowdown - 1.0).abs() < 1e-6 && (report.fairness - 1.0).abs() < 1e-9,
        "{report:?}"
    );
}

/// Catches: shares that do not follow arrivals and ends.
#[test]
fn two_programs_share_until_one_ends_and_then_the_other_has_all() {
    let free = cluster("core:4", 1).free();
    let report = run(&free, &mix(vec![Kind::new("a", 0.0)], &[(0, 0, 8), (1, 0, 4)]));
    // 4 s of the first program are done at 1 s. With two cores each, both have 4 left and end at 3
    // s.
    assert_eq!((ms(report.makespan), report.moved), (3_000, 2));
    assert!((report.used - 1.0).abs() < 1e-6, "{report:?}");
}

/// Catches: more programs than cores that all run at full speed, or do not run at all.
#[test]
fn more_programs_than_cores_share_them_evenly() {
    let free = cluster("core:2", 1).free();
    let report =
        run(&free, &mix(vec![Kind::new("a", 0.0)], &[(0, 0, 2), (0, 0, 2), (0, 0, 2), (0, 0, 2)]));
    assert_eq!(ms(report.makespan), 4_000);
    let one =
        run(&cluster("core:1", 1).free(), &mix(vec![Kind::new("a", 0.0)], &[(0, 0, 1), (0, 0, 1)]));
    assert_eq!(ms(one.makespan), 2_000);
}

/// Catches: a death that leaves its cores idle, or counts as an end.
#[test]
fn the_cores_of_a_program_that_dies_go_to_the_others() {
    let free = cluster("core:4", 1).free();
    let mut both = mix(vec![Kind::new("a", 0.0)], &[(0, 0, 8), (0, 0, 100)]);
    both.arrivals[1].dies_after = Some(2 * SECOND);
    let report = run(&free, &both);
    assert_eq!((report.ended, report.died, ms(report.makespan)), (1, 1, 3_000));
}

/// Catches: neighbours without effect, and a policy that places harmful neighbours together.
#[test]
fn programs_that_hurt_each_other_are_kept_apart_by_the_policy_that_knows() {
    let kinds =
        || vec![Kind { max: 2, ..Kind::new("a", 0.0) }, Kind { max: 2, ..Kind::new("b", 0.0) }];
    let time = |policy, order: [usize; 4]| {
        let mut four = mix(kinds(), &order.map(|kind| (0, kind, 20)));
        four.effects = vec![(0, 0, -0.5)];
        ms(run(&Cluster { policy, ..cluster("l3:2 core:4", 1).free() }, &four).makespan)
    };
    let orders = [[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]];
    assert_eq!(orders.map(|order| time(Policy::Contention, order)), [10_000; 3]);
    assert!(orders.iter().any(|&order| time(Policy::Equal, order) > 15_000));
}

/// Catches: measured speeds that are not used.
#[test]
fn cores_go_where_they_are_of_use_under_the_policy_that_measures() {
    let kinds = vec![Kind::new("scales", 0.0), Kind::new("hardly", 0.9)];
    let both = mix(kinds, &[(0, 0, 70), (0, 1, 20)]);
    let response =
        |policy| run(&Cluster { policy, ..cluster("core:8", 1).free() }, &both).mean_response;
    assert!(response(Policy::Efficiency) < 0.9 * response(Policy::Equal));
}

/// Catches: watts of idle cores, idle watts that end with the programs' work, and joules of a
/// machine that no one asked for.
#[test]
fn energy_is_what_the_machines_and_their_busy_cores_use() {
    let free = cluster("core:4", 2).free();
    let one = mix(vec![Kind { max: 2, ..Kind::new("a", 0.0) }], &[(1, 0, 8)]);
    assert_eq!(run(&free, &one).energy_j, None);
    let power = Power { idle_w: 10.0, core_w: 3.0 };
    let report = run(&Cluster { power: Some(power), ..free }, &one);
    // Two machines for 5 s, and two cores for 4 s.
    let energy_j = report.energy_j.expect("a power");
    assert!((energy_j - (100.0 + 24.0)).abs() < 1e-3, "{report:?}");
}

/// Catches: a policy that does not use less energy, or less energy times time, than the others; and
/// a mix that is no compromise.
#[test]
fn policies_by_energy_use_less_of_it_and_the_more_time_the_more_it_weighs() {
    let curve = [(1, 1.0), (2, 1.9), (4, 3.1), (8, 3.75)];
    let kind = Kind { speed_up: SpeedUp::Measured(curve.into()), ..Kind::new("a", 0.0) };
    let programs = mix(vec![kind], &[(0, 0, 400), (0, 0, 800)]);
    let power = Some(Power { idle_w: 10.0, core_w: 10.0 });
    let results = |policy| {
        let report = run(&Cluster { policy, power, ..cluster("core:16", 1).free() }, &programs);
        (report.energy_j.expect("a power"), report.makespan as f64 / SECOND as f64)
    };
    let [equal, least, product, mixed] =
        [Policy::Equal, Policy::ENERGY, Policy::ENERGY_DELAY, Policy::Energy { percent: 25 }]
            .map(results);
    assert!(least.0 < 0.8 * equal.0 && least.0 < product.0, "{equal:?} {least:?} {product:?}");
    let of = |(energy, time): (f64, f64)| energy * time;
    assert!(of(product) < of(equal) && of(product) < of(least), "{equal:?} {least:?} {product:?}");
    assert!(product.0 <= mixed.0 && mixed.1 <= product.1, "{product:?} {mixed:?}");
}

/// Catches: a script that is ignored.
#[test]
fn a_script_says_who_has_what_and_when() {
    let script = "when a joins a threads 1\nat 4 a free".parse().expect("a script");
    let setup = Cluster { policy: Policy::Script, script, ..cluster("core:4", 1).free() };
    let report = run(&setup, &mix(vec![Kind::new("a", 0.0)], &[(0, 0, 8)]));
    assert_eq!(ms(report.makespan), 5_000);
}

/// Catches: a machine that gets no programs, or all of them.
#[test]
fn programs_are_spread_by_the_rule() {
    let programs: Vec<(u64, usize, u64)> = (0..8).map(|_| (0, 0, 4)).collect();
    let eight = mix(vec![Kind { max: 1, ..Kind::new("a", 0.0) }], &programs);
    let time =
        |dispatch| ms(run(&Cluster { dispatch, ..cluster("core:2", 4).free() }, &eight).makespan);
    assert_eq!(
        [time(Dispatch::RoundRobin), time(Dispatch::Fewest), time(Dispatch::Packed)],
        [4_000; 3]
    );
    assert!(time(Dispatch::TwoChoices) <= 8_000);
}

/// Catches: a lost program, a core given twice, invented work, a program faster than alone, a run
/// that does not repeat. Covers combinations of policy, machine, costs, effects and deaths.
#[test]
fn two_hundred_random_clusters_keep_every_rule_and_repeat() {
    for seed in 0..200 {
        let mut chance = fastrand::Rng::with_seed(seed);
        let machine = ["core:3", "package:2 l3:2 core:2", "l3:2 core:4 pu:2"][chance.usize(..3)];
        let policies = Policy::ALL;
        let setup = Cluster {
            policy: policies[seed as usize % policies.len()],
            dispatch: Dispatch::ALL[chance.usize(..4)],
            script: Mix::script(),
            power: chance.bool().then_some(Power { idle_w: 20.0, core_w: 5.0 }),
            seed,
            ..cluster(machine, chance.usize(1..4))
        };
        let setup = if chance.bool() { setup.free() } else { setup };
        let programs = Mix::random(chance.usize(..25), chance.usize(1..20), seed);
        let first = run(&setup, &programs);
        assert_eq!(first, run(&setup, &programs), "seed {seed}");
        assert_eq!(first.arrived, programs.arrivals.len() as u64);
    }
}

/// Catches: a policy that behaves like another one because weights are equal and scripts empty.
#[test]
fn programs_by_chance_tell_the_policies_apart() {
    let mix = Mix::random(40, 16, 3);
    let trace = |policy| {
        let power = Some(Power { idle_w: 10.0, core_w: 5.0 });
        let usual = cluster("package:2 l3:2 core:4", 1);
        let setup = Cluster { policy, power, script: Mix::script(), ..usual };
        run(&setup, &mix).trace
    };
    let traces = Policy::ALL.map(trace);
    assert!((1..traces.len()).all(|at| !traces[..at].contains(&traces[at])), "{traces:x?}");
    assert!(!Mix::script().steps().is_empty());
    let weights =
        |seed| Mix::random(1, 1, seed).kinds.iter().map(|kind| kind.weight).collect::<Vec<_>>();
    assert!((1..20).any(|seed| weights(seed) != weights(0)));
}

/// Catches: programs of wrong kinds, or of only some kinds.
#[test]
fn programs_of_given_kinds_are_of_all_of_them() {
    let kinds = vec![Kind::new("a", 0.0), Kind::new("b", 0.5), Kind::new("c", 1.0)];
    let mix = Mix::of_kinds(kinds.clone(), 60, 4, 0);
    assert_eq!((&mix.kinds, mix.arrivals.len()), (&kinds, 60));
    assert!((0..3).all(|kind| mix.arrivals.iter().any(|arrival| arrival.kind == kind)));
    assert!(Mix::of_kinds(Vec::new(), 60, 4, 0).arrivals.is_empty());
}

/// Catches: a line that is misread or skipped.
#[test]
fn programs_can_be_written_down() {
    let text = "kind solver curve 1:1 2:1.9 max 2 weight 2 # fast\n\n\
                kind render serial 0.05 min 2\n\
                effect solver render -0.2\nprogram solver at 1.5 work 10\nprogram render work 3 \
                dies 20\n\
                many 3 render from 5 every 0.5 work exp:2\n";
    let read: Mix = text.parse().expect("programs");
    assert_eq!(read.kinds[0].speed_up, SpeedUp::Measured(vec![(1, 1.0), (2, 1.9)]));
    assert_eq!((read.kinds[0].max, read.kinds[0].weight, read.kinds[1].min), (2, 2.0, 2));
    assert_eq!(read.effects, [(0, 1, -0.2)]);
    let at: Vec<u64> = read.arrivals.iter().map(|arrival| ms(arrival.at)).collect();
    assert_eq!(at, [1_500, 0, 5_000, 5_500, 6_000]);
    assert_eq!(read.arrivals[1].dies_after, Some(20 * SECOND));
    assert!(run(&cluster("core:4", 1), &read).ended >= 4);
}

/// Catches: invalid input that is accepted, or an error that does not name it.
#[test]
fn what_is_no_program_is_refused_by_its_line() {
    for (text, says) in [
        ("kind a serial 2", "serial part of a is 2"),
        ("kind a\nprogram b work 1", "line 2 of the programs: there is no kind `b`"),
        ("kind a serial -0", "serial part of a is -0"),
        ("kind a\nprogram a at -1", "`-1`"),
        ("kind a\nprogram a at -0", "`-0`"),
        ("kind a curve 2:1 1:1", "the curve of a"),
        ("kind a curve", "the curve of a"),
        ("kind a max 0", "`0`"),
        ("kind a 4", "`4`"),
        ("kind a\neffect a a -2", "-2"),
        ("kind a\nmany x a work 1", "`x`"),
        ("kind a\nmany 2 a", "no work"),
        ("prog a", "`prog`"),
    ] {
        let error = text.parse::<Mix>().expect_err(text).to_string();
        assert!(error.contains(says) && !error.contains('\n'), "{error}");
    }
    assert!(cluster("core:2", 0).run(&Mix::default()).is_err());
    assert!(cluster("package:64 core:32", 1).run(&Mix::default()).is_err());
    assert!("nearest".parse::<Dispatch>().is_err());
}
