//! The share policies on synthetic machines.
//!
//! Blind to: the effect of a share on a program's speed.

mod energy;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// `packages` packages of `caches` caches of `cores` cores of `siblings` CPUs.
fn machine(packages: usize, caches: usize, cores: usize, siblings: usize) -> Layout {
    let all = packages * caches * cores;
    let place = |cpu: usize| {
        let core = cpu % all;
        Place { cpu, core, cache: core / cores, package: core / cores / caches }
    };
    Layout::new((0..all * siblings).map(place))
}

fn machines() -> impl Strategy<Value = Layout> {
    (1..=4_usize, 1..=3_usize, 1..=4_usize, 1..=2_usize)
        .prop_map(|(p, c, n, s)| machine(p, c, n, s))
}

fn weights() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1.0), Just(2.0), 0.1..10.0]
}

/// Programs that may run anywhere, and always have work for all the cores that they can use.
fn free_program(cpus: usize) -> impl Strategy<Value = Program> {
    (1..=cpus as u32 + 2, weights(), 1..=3_u32).prop_map(move |(max, weight, min)| Program {
        weight,
        min: min.min(max),
        ..Program::new(max, CpuSet::first(cpus))
    })
}

/// The same, measured or not, and some with a request.
fn measured_program(cpus: usize) -> impl Strategy<Value = Program> {
    let speeds = vec((1..20_u32, 0.1..100_f32), 0..6);
    (free_program(cpus), speeds, proptest::option::of(1..=cpus as u32)).prop_map(
        |(free, speeds, threads)| {
            let speeds = speeds.into_iter().map(|(cores, rate)| Speed { cores, rate });
            let request =
                threads.map(|threads| Request { threads: Some(threads), ..Request::default() });
            Program { curve: Curve::from_points(speeds), request, ..free }
        },
    )
}

/// Arbitrary programs, with arbitrary held cores.
fn any_program(cpus: usize) -> impl Strategy<Value = Program> {
    let set =
        move || vec(0..cpus + 3, 1..cpus + 2).prop_map(|cpus| cpus.into_iter().collect::<CpuSet>());
    let speeds = vec((1..20_u32, 0.1..100_f32), 0..6);
    (free_program(cpus), set(), set(), 0..=cpus as u32, 0..5_u32, speeds, any::<bool>()).prop_map(
        move |(free, mask, held, demand, threads, speeds, anywhere)| Program {
            mask: if anywhere { free.mask } else { mask },
            demand,
            held: Grant { threads, cores: held.clone() },
            curve: Curve::from_points(
                speeds.into_iter().map(|(cores, rate)| Speed { cores, rate }),
            ),
            request: (threads == 3).then_some(Request {
                threads: Some(2),
                cores: Some(held),
                schedule: None,
            }),
            ..free
        },
    )
}

fn mixes(most: usize) -> impl Strategy<Value = (Layout, Vec<Program>)> {
    machines().prop_flat_map(move |layout| {
        let cpus = layout.len();
        (Just(layout), vec(any_program(cpus), 1..=most))
    })
}

fn policies() -> impl Strategy<Value = Policy> {
    proptest::sample::select(Policy::ALL.to_vec())
}

/// The machine's power, if it is known.
fn powers() -> impl Strategy<Value = Option<Power>> {
    let power = (0.0..100_f64, 0.0..20_f64).prop_map(|(idle_w, core_w)| Power { idle_w, core_w });
    proptest::option::of(power)
}

fn effects(programs: usize, changes: &[f64]) -> Effects {
    let mut effects = Effects::among(programs);
    for a in 0..programs {
        for b in 0..programs {
            effects.set(a, b, changes[(a * 7 + b * 3) % changes.len()]);
        }
    }
    effects
}

/// The grant of a program that may use `usable` when no program has work: all of it, as far as a
/// script's request permits.
fn undisturbed(policy: Policy, program: &Program, usable: CpuSet) -> Grant {
    let request = program.request.as_ref().filter(|_| policy == Policy::Script);
    let requested = request.and_then(|request| request.cores.as_ref());
    let pinned = requested.map(|cores| cores.intersection(&program.mask).len() as u32);
    let most = request.and_then(|request| request.threads).or(pinned).unwrap_or(u32::MAX);
    let cores = requested.map(|cores| cores.intersection(&usable)).filter(|both| !both.is_empty());
    let cores = cores.unwrap_or(usable);
    Grant { threads: most.min(program.max).clamp(1, cores.len() as u32), cores }
}

/// Grants become what is held.
fn hold(programs: &mut [Program], grants: &[Grant]) {
    programs.iter_mut().zip(grants).for_each(|(program, grant)| program.held.clone_from(grant));
}

fn moved(before: &[Grant], after: &[Grant]) -> usize {
    before.iter().zip(after).map(|(a, b)| b.cores.difference(&a.cores).len()).sum()
}

/// The number of masks that can have a core each: the largest matching, found by augmenting paths.
fn matched(masks: &[CpuSet]) -> usize {
    fn augment(
        program: usize,
        masks: &[CpuSet],
        owner: &mut [Option<usize>],
        seen: &mut CpuSet,
    ) -> bool {
        for cpu in masks[program].iter() {
            if seen.contains(cpu) {
                continue;
            }
            seen.insert(cpu);
            if owner[cpu].is_none_or(|other| augment(other, masks, owner, seen)) {
                owner[cpu] = Some(program);
                return true;
            }
        }
        false
    }
    let mut owner = vec![None; MAX_CORES];
    (0..masks.len())
        .filter(|&program| augment(program, masks, &mut owner, &mut CpuSet::default()))
        .count()
}

/// Whether active programs with these masks have cores of their own: as many as threads, and
/// disjoint. No more programs than necessary have one thread on their whole mask instead; on a
/// crowded machine all have.
fn check_cores(busy: &[(CpuSet, Grant)]) -> Result<(), TestCaseError> {
    let masks: Vec<CpuSet> = busy.iter().map(|(mask, _)| mask.clone()).collect();
    let reach = masks.iter().fold(CpuSet::new(), |reach, mask| reach.union(mask));
    if busy.len() > reach.len() {
        prop_assert!(busy.iter().all(|(mask, grant)| (grant.threads, &grant.cores) == (1, mask)));
        return Ok(());
    }
    let mut taken = CpuSet::new();
    let (shared, owners): (Vec<_>, Vec<_>) =
        busy.iter().partition(|(mask, grant)| (grant.threads, &grant.cores) == (1, mask));
    for (_, grant) in owners {
        prop_assert_eq!(grant.cores.len(), grant.threads as usize);
        prop_assert!(grant.cores.intersection(&taken).is_empty(), "{:?}", busy);
        taken = taken.union(&grant.cores);
    }
    let mut without_cores = 0;
    for (_, grant) in shared {
        // A program whose mask is a single core may have that for itself.
        if grant.cores.len() == 1 && grant.cores.intersection(&taken).is_empty() {
            taken = taken.union(&grant.cores);
        } else {
            without_cores += 1;
        }
    }
    prop_assert_eq!(without_cores, busy.len() - matched(&masks), "{:?}", busy);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 200 } else { 2000 }))]

    /// Catches: shares beyond the machine, a program with nothing, one outside its mask, two on one
    /// core (H1 to H3), and a decision that changes when it is repeated (H5).
    #[test]
    fn shares_fit_the_machine_and_every_mask(
        (layout, mut programs) in mixes(64),
        policy in policies(),
        changes in vec(-0.5..0.5, 5),
        power in powers(),
    ) {
        let effects = effects(programs.len(), &changes);
        let grants = decide(policy, &layout, &programs, &effects, power);
        let all = layout.cores();
        let is_active = |p: &Program| p.demand > 0 && !p.mask.intersection(&all).is_empty();
        let all_dormant = !programs.iter().any(is_active);
        for (program, grant) in programs.iter().zip(&grants) {
            prop_assert!(grant.threads >= 1 && !grant.cores.is_empty());
            prop_assert!(grant.cores.is_subset(&program.mask));
            prop_assert!(grant.threads <= program.max.max(1));
            if !is_active(program) {
                let here = program.mask.intersection(&all);
                let usable = if here.is_empty() { program.mask.clone() } else { here };
                let expected = if all_dormant {
                    undisturbed(policy, program, usable)
                } else {
                    Grant { threads: 1, cores: usable }
                };
                prop_assert_eq!(grant, &expected);
            }
        }
        let busy: Vec<(CpuSet, Grant)> = programs
            .iter()
            .zip(&grants)
            .filter(|(program, _)| is_active(program))
            .map(|(program, grant)| (program.mask.intersection(&all), grant.clone()))
            .collect();
        check_cores(&busy)?;
        hold(&mut programs, &grants);
        prop_assert_eq!(decide(policy, &layout, &programs, &effects, power), grants);
    }

    /// Catches: a share more than one core off the weights (H4), unused cores although a program
    /// has work, and minima that are ignored.
    #[test]
    fn numbers_are_within_one_core_of_the_weights(
        (layout, programs) in machines().prop_flat_map(|layout| {
            let cpus = layout.len();
            (Just(layout), vec(free_program(cpus), 1..=cpus.min(64)))
        }),
        policy in proptest::sample::select(vec![
            Policy::Equal,
            Policy::Proportional,
            Policy::Priority,
            Policy::Contention,
        ]),
    ) {
        let grants = decide(policy, &layout, &programs, &Effects::none(), None);
        let ideal = shares(policy, &programs, layout.len());
        for (share, grant) in ideal.iter().zip(&grants) {
            prop_assert!(
                (share - f64::from(grant.threads)).abs() < 1.0 + 1e-6,
                "{ideal:?} {grants:?}"
            );
        }
        let wanted: usize = programs.iter().map(|p| p.max.min(layout.len() as u32) as usize).sum();
        let granted: usize = grants.iter().map(|grant| grant.threads as usize).sum();
        prop_assert_eq!(granted, wanted.min(layout.len()));
        if programs.iter().map(|p| p.min as usize).sum::<usize>() <= layout.len() {
            prop_assert!(programs.iter().zip(&grants).all(|(p, grant)| grant.threads >= p.min));
        }
        for (a, pa) in programs.iter().enumerate() {
            for (b, pb) in programs.iter().enumerate() {
                let above = policy == Policy::Equal
                    && pa.weight > pb.weight
                    && grants[b].threads > pb.min + 1;
                prop_assert!(!above || grants[a].threads + 1 >= grants[b].threads.min(pa.max));
            }
        }
    }

    /// Catches: cores that are idle or given twice, under policies without real-valued shares, or
    /// by requests.
    #[test]
    fn every_usable_core_is_given_once(
        (layout, programs) in machines().prop_flat_map(|layout| {
            let cpus = layout.len();
            (Just(layout), vec(measured_program(cpus), 1..=cpus.min(64)))
        }),
        policy in policies(),
        changes in vec(-0.5..0.5, 5),
    ) {
        let grants = decide(policy, &layout, &programs, &effects(programs.len(), &changes), None);
        let asked =
            |p: &Program| p.request.as_ref().filter(|_| policy == Policy::Script)?.threads;
        let can_use =
            |p: &Program| p.max.min(layout.len() as u32).min(asked(p).unwrap_or(u32::MAX)) as usize;
        let wanted: usize = programs.iter().map(can_use).sum();
        let granted: usize = grants.iter().map(|grant| grant.cores.len()).sum();
        prop_assert_eq!(granted, wanted.min(layout.len()));
        let whole = grants.iter().map(|grant| (layout.cores(), grant.clone()));
        check_cores(&whole.collect::<Vec<_>>())?;
    }

    /// Catches: cores that move to and fro although only noise has changed.
    #[test]
    fn noise_in_demand_and_speed_moves_no_core_to_and_fro(
        layout in machines(),
        bends in vec(4..40_u32, 2..8),
        changes in vec(-0.5..0.5, 5),
        noise in vec(vec(-1.0..1.0_f64, 8), 12),
        policy in policies(),
        power in powers(),
    ) {
        // Far more demand than any grant: for a program with just one thread more than cores, a
        // change is no noise.
        const DEMAND: f64 = 1_000.0;
        let all = layout.cores();
        let curve = |bend: u32, noise: f64| {
            let rate =
                |cores: u32| f64::from(cores).powf(1.0 / f64::from(bend)) * (1.0 + noise / 200.0);
            Curve::from_points([1, 2, 4, 8].map(|cores| Speed { cores, rate: rate(cores) as f32 }))
        };
        let mut programs: Vec<Program> =
            bends
                .iter()
                .map(|&bend| (curve(bend, 0.0), all.clone()))
                .map(|(curve, all)| Program { curve, ..Program::new(2_000, all) })
                .collect();
        programs.iter_mut().for_each(|program| program.demand = DEMAND as u32);
        let decide_with = |programs: &[Program], changes: &[f64]| {
            decide(policy, &layout, programs, &effects(programs.len(), changes), power)
        };
        let mut seen = vec![decide_with(&programs, &changes)];
        hold(&mut programs, &seen[0]);
        for noise in &noise {
            for (i, program) in programs.iter_mut().enumerate() {
                program.demand = (DEMAND * (1.0 + noise[i] / 1_000.0)).round() as u32;
                program.curve = curve(bends[i], noise[i]);
                // The heavier program goes first, by however little: weights are given, not
                // measured.
                if policy != Policy::Priority {
                    program.weight = 1.0 + noise[i] / 2_000.0;
                }
            }
            let felt: Vec<f64> =
                changes.iter().zip(noise).map(|(change, noise)| change + noise / 2_000.0).collect();
            let grants = decide_with(&programs, &felt);
            let last = &seen[seen.len() - 1];
            // Noise may make a move worthwhile that was just below the limit: once, and never back.
            prop_assert!(
                policy == Policy::Contention || moved(last, &grants) == 0,
                "{:?} {:?}",
                last,
                grants
            );
            if grants != *last {
                prop_assert!(!seen.contains(&grants), "{:?} again", grants);
                seen.push(grants.clone());
            }
            hold(&mut programs, &grants);
        }
    }

    /// Catches: a sequence of changes after which shares go on moving although nothing changes.
    #[test]
    fn one_decision_after_the_last_change_is_the_last(
        (layout, mut programs) in mixes(12),
        policy in policies(),
        demands in vec(vec(0..9_u32, 12), 1..6),
        changes in vec(-0.5..0.5, 5),
        power in powers(),
    ) {
        let effects = effects(programs.len(), &changes);
        for demand in &demands {
            programs.iter_mut().zip(demand).for_each(|(program, &demand)| program.demand = demand);
            let grants = decide(policy, &layout, &programs, &effects, power);
            hold(&mut programs, &grants);
        }
        let settled: Vec<Grant> = programs.iter().map(|program| program.held.clone()).collect();
        prop_assert_eq!(decide(policy, &layout, &programs, &effects, power), settled);
    }

    /// Catches: a newcomer for which more cores change their owner than it gets.
    #[test]
    fn a_newcomer_moves_no_more_cores_than_it_gets(
        layout in machines(),
        weights in vec(weights(), 1..6),
    ) {
        let all = layout.cores();
        prop_assume!(weights.len() < layout.len());
        let program = |&weight: &f64| Program { weight, ..Program::new(64, all.clone()) };
        let mut programs: Vec<Program> = weights.iter().map(program).collect();
        let before = decide(Policy::Equal, &layout, &programs, &Effects::none(), None);
        hold(&mut programs, &before);
        programs.push(Program::new(64, all));
        let after = decide(Policy::Equal, &layout, &programs, &Effects::none(), None);
        prop_assert_eq!(moved(&before, &after), 0);
        prop_assert!(
            after[..before.len()]
                .iter()
                .zip(&before)
                .all(|(now, then)| now.cores.is_subset(&then.cores))
        );
    }
}

fn equal(layout: &Layout, programs: &[Program]) -> Vec<Grant> {
    decide(Policy::Equal, layout, programs, &Effects::none(), None)
}

fn threads(grants: &[Grant]) -> Vec<u32> {
    grants.iter().map(|grant| grant.threads).collect()
}

/// Catches: a core that moves from one old program to another, since both lag as much behind their
/// shares as the newcomer does.
#[test]
fn a_newcomer_comes_before_old_programs_that_lag_as_much() {
    let layout = machine(1, 1, 24, 1);
    let program = |weight| Program { weight, ..Program::new(64, layout.cores()) };
    let mut programs: Vec<Program> = [7.15, 1.0, 1.0, 7.92, 1.0].map(program).into();
    let before = equal(&layout, &programs);
    hold(&mut programs, &before);
    programs.push(program(1.0));
    assert_eq!(moved(&before, &equal(&layout, &programs)), 0);
}

/// Catches: programs that share a package or a cache although there is one for each.
#[test]
fn programs_have_packages_and_caches_to_themselves_where_there_are_enough() {
    let layout = machine(2, 2, 4, 1);
    let grants =
        equal(&layout, &[Program::new(64, layout.cores()), Program::new(64, layout.cores())]);
    assert_eq!(
        grants.iter().map(|grant| grant.cores.to_string()).collect::<Vec<_>>(),
        ["0-7", "8-15"]
    );
    let four: Vec<Program> = (0..4).map(|_| Program::new(64, layout.cores())).collect();
    let mut caches: Vec<String> =
        equal(&layout, &four).iter().map(|grant| grant.cores.to_string()).collect();
    caches.sort();
    assert_eq!(caches, ["0-3", "12-15", "4-7", "8-11"]);
}

/// Catches: two programs on the two siblings of one core.
#[test]
fn siblings_of_a_core_go_to_one_program() {
    let layout = machine(1, 1, 4, 2);
    let grants =
        equal(&layout, &[Program::new(64, layout.cores()), Program::new(64, layout.cores())]);
    for grant in grants {
        let mut cores: Vec<usize> = grant.cores.iter().map(|cpu| cpu % 4).collect();
        cores.sort_unstable();
        cores.dedup();
        assert_eq!((grant.threads, cores.len()), (4, 2));
    }
}

/// Catches: a program whose only core another one took though that had a choice.
#[test]
fn a_program_with_a_choice_leaves_the_core_to_one_without() {
    let layout = Layout::flat(3);
    let mask = |cpus: &[usize]| cpus.iter().copied().collect::<CpuSet>();
    let mut programs = vec![
        Program::new(3, mask(&[0, 1, 2])),
        Program::new(2, mask(&[0, 1])),
        Program::new(1, mask(&[0])),
    ];
    for held in 0..3 {
        programs[0].held = Grant { threads: 1, cores: mask(&[held]) };
        let cores: Vec<String> =
            equal(&layout, &programs).iter().map(|grant| grant.cores.to_string()).collect();
        assert_eq!(cores, ["2", "1", "0"]);
    }
}

/// Catches: cores kept by a program without work, and a dormant one without a core on which to
/// wake.
#[test]
fn the_cores_of_a_dormant_program_go_to_the_others() {
    let (layout, all) = (Layout::flat(4), CpuSet::first(4));
    let dormant = Program { demand: 0, ..Program::new(4, all.clone()) };
    let grants = equal(&layout, &[Program::new(4, all.clone()), dormant]);
    assert_eq!((grants[0].threads, &grants[1]), (4, &Grant { threads: 1, cores: all }));
}

/// Catches: rotation, or a program without a thread, on a crowded machine.
#[test]
fn with_more_programs_than_cores_each_has_one_thread_anywhere() {
    let (layout, all) = (Layout::flat(2), CpuSet::first(2));
    let grants = equal(&layout, &vec![Program::new(2, all.clone()); 3]);
    assert_eq!(grants, vec![Grant { threads: 1, cores: all }; 3]);
}

/// Catches: each policy that does not follow its rule.
#[test]
fn each_policy_does_what_its_name_says() {
    let (layout, all) = (Layout::flat(8), CpuSet::first(8));
    let mut programs = vec![Program::new(8, all); 2];
    programs[1].demand = 2;
    let by = |policy, programs: &[Program]| {
        threads(&decide(policy, &layout, programs, &Effects::none(), None))
    };
    assert_eq!(by(Policy::Equal, &programs), [6, 2]);
    programs[1].demand = 4;
    programs[0].demand = 12;
    programs[0].max = 12;
    assert_eq!(by(Policy::Proportional, &programs), [6, 2]);
    (programs[0].weight, programs[1].weight) = (1.0, 3.0);
    assert_eq!(by(Policy::Priority, &programs), [4, 4]);
    (programs[0].demand, programs[1].demand) = (8, 8);
    assert_eq!(by(Policy::Priority, &programs), [1, 7]);
    assert_eq!(by(Policy::Equal, &programs), [2, 6]);
    programs[0].weight = 3.0;
    let speed = |cores, rate| Speed { cores, rate };
    programs[0].curve = Curve::from_points([speed(1, 10.0), speed(2, 19.0), speed(8, 70.0)]);
    programs[1].curve =
        Curve::from_points([speed(1, 500.0), speed(2, 980.0), speed(3, 990.0), speed(4, 990.0)]);
    assert_eq!(by(Policy::Efficiency, &programs), [6, 2]);
    programs[1].request = Some(Request {
        threads: None,
        cores: Some([5, 6, 7].into_iter().collect()),
        schedule: None,
    });
    let grants = decide(Policy::Script, &layout, &programs, &Effects::none(), None);
    assert_eq!((threads(&grants), grants[1].cores.to_string()), (vec![5, 3], "5-7".to_owned()));
}

/// Catches: an unmeasured program that takes all that measured ones could have had, since an
/// unknown speed resembles a perfect one; and one that gets too little to be measured.
#[test]
fn an_unmeasured_program_has_an_equal_part_under_efficiency() {
    let layout = Layout::flat(9);
    let mut programs = vec![Program::new(9, layout.cores()); 3];
    let curve = |top: f32| {
        Curve::from_points(
            [(1, 10.0), (2, 20.0), (9, top)].map(|(cores, rate)| Speed { cores, rate }),
        )
    };
    (programs[1].curve, programs[2].curve) = (curve(21.0), curve(80.0));
    let by = |programs: &[Program]| {
        threads(&decide(Policy::Efficiency, &layout, programs, &Effects::none(), None))
    };
    assert_eq!(by(&programs), [3, 2, 4]);
    (programs[1].curve, programs[2].curve) = Default::default();
    assert_eq!(by(&programs), [3, 3, 3]);
}

/// Catches: measured contention that is ignored, and a profitable neighbour that is not used.
#[test]
fn programs_that_slow_each_other_are_kept_apart_and_the_others_together() {
    let layout = machine(1, 2, 2, 1);
    let mut programs = vec![Program { max: 1, ..Program::new(1, layout.cores()) }; 4];
    let mut effects = Effects::among(4);
    let friends = [(0, 3), (1, 2)];
    for (a, b) in [(0, 1), (0, 2), (3, 1), (3, 2)] {
        effects.set(a, b, -0.3);
        effects.set(b, a, -0.3);
    }
    friends.iter().for_each(|&(a, b)| effects.set(a, b, 0.1));
    let first = equal(&layout, &programs);
    hold(&mut programs, &first);
    let grants = decide(Policy::Contention, &layout, &programs, &effects, None);
    let cache = |i: usize| grants[i].cores.iter().next().map(|cpu| cpu / 2);
    assert!(
        friends.iter().all(|&(a, b)| cache(a) == cache(b)) && cache(0) != cache(1),
        "{grants:?}"
    );
}
