//! J1 to J6 on random machines and jobs, and closed forms.

use fastrand::Rng;

use super::super::{Effects, Layout, Policy, Program, Speed};
use super::*;
use sinew_cpus::CpuSet;

struct Case {
    machines: Vec<u32>,
    jobs: Vec<Job>,
    ranks: Vec<Rank>,
}

fn case(random: &mut Rng, is_crowded: bool) -> Case {
    let machines: Vec<u32> = (0..random.usize(1..6)).map(|_| random.u32(1..20)).collect();
    let jobs = (0..random.usize(1..7))
        .map(|_| Job { waits: random.bool(), weight: [1.0, 1.0, 2.0, 0.5][random.usize(0..4)] });
    let jobs: Vec<Job> = jobs.collect();
    let mut room = machines.clone();
    let mut ranks = Vec::new();
    for _ in 0..random.usize(1..16) {
        let machine = random.usize(0..machines.len());
        if room[machine] == 0 && !is_crowded {
            continue;
        }
        room[machine] = room[machine].saturating_sub(1);
        ranks.push(rank(random, machine, jobs.len()));
    }
    Case { machines, jobs, ranks }
}

fn rank(random: &mut Rng, machine: usize, jobs: usize) -> Rank {
    let job = random.usize(0..jobs);
    let serial = random.f64() * 0.5;
    let point = |cores: u32| Speed {
        cores,
        rate: (1.0 / (serial + (1.0 - serial) / f64::from(cores))) as f32,
    };
    let curve = match random.u32(0..3) {
        0 => Curve::default(),
        1 => Curve::from_points([1, 2, 4, 8].map(point)),
        _ => Curve::from_points(
            [(1, 1.0), (4, 3.0), (8, 2.0)].map(|(cores, rate)| Speed { cores, rate }),
        ),
    };
    Rank {
        min: random.u32(0..4),
        load: 0.1 + random.f64() * 2.0,
        curve,
        held: random.u32(0..8),
        ..Rank::new(machine, job, random.u32(0..17))
    }
}

impl Case {
    fn decide(&self) -> Vec<u32> {
        decide(&self.machines, &self.jobs, &self.ranks)
    }

    fn used(&self, machine: usize, counts: &[u32]) -> u32 {
        let here = self.ranks.iter().zip(counts).filter(|(rank, _)| rank.machine == machine);
        here.map(|(_, count)| count).sum()
    }

    fn active(&self, machine: usize) -> u32 {
        self.ranks.iter().filter(|rank| rank.machine == machine && rank.max > 0).count() as u32
    }

    /// On a crowded machine a rank has a part of a core.
    fn cores(&self, rank: &Rank, count: u32) -> f64 {
        let (cores, active) = (self.machines[rank.machine], self.active(rank.machine));
        if active > cores { f64::from(cores) / f64::from(active) } else { f64::from(count) }
    }

    fn speed(&self, job: usize, counts: &[u32]) -> f64 {
        let ranks = self.ranks.iter().zip(counts);
        let own = ranks.filter(|(rank, _)| rank.job == job && rank.max > 0);
        speed(self.jobs[job], own.map(|(rank, count)| (rank, self.cores(rank, *count))))
    }
}

fn each_case(most: u64, check: impl Fn(&Case, &[u32])) {
    for seed in 0..most {
        let random = &mut Rng::with_seed(seed);
        let case = case(random, seed % 4 == 0);
        check(&case, &case.decide());
    }
}

/// Catches: J1: a core that two ranks get, and cores of a crowded machine.
#[test]
fn no_machine_gives_more_cores_than_it_has() {
    each_case(2_000, |case, counts| {
        for (machine, &cores) in case.machines.iter().enumerate() {
            let (used, active) = (case.used(machine, counts), case.active(machine));
            assert!(used <= cores || active > cores && used == active, "{machine}: {counts:?}");
        }
    });
}

/// Catches: J2, J3: a rank that starves, minima that are ignored, and cores for ranks without work.
#[test]
fn a_rank_with_work_has_a_core_and_none_has_more_than_it_can_use() {
    each_case(2_000, |case, counts| {
        for (machine, &cores) in case.machines.iter().enumerate() {
            let here = || case.ranks.iter().zip(counts).filter(|(rank, _)| rank.machine == machine);
            let minima: u32 = here().map(|(rank, _)| rank.min.max(1).min(rank.max)).sum();
            for (rank, &count) in here() {
                let least = if minima <= cores { rank.min.max(1) } else { 1 };
                assert!((least.min(rank.max)..=rank.max).contains(&count), "{rank:?}: {count}");
            }
        }
    });
}

/// Catches: J4: free cores that would make a job faster.
#[test]
fn a_job_that_waits_gets_no_faster_by_free_cores() {
    each_case(2_000, |case, counts| {
        let free: Vec<u32> = (0..case.machines.len())
            .map(|machine| case.machines[machine].saturating_sub(case.used(machine, counts)))
            .collect();
        for job in (0..case.jobs.len()).filter(|&job| case.jobs[job].waits) {
            let now = case.speed(job, counts);
            let (mut more, mut left) = (counts.to_vec(), free.clone());
            // One core for each of its slowest ranks, if there is room.
            for (at, rank) in case.ranks.iter().enumerate() {
                let is_own = rank.job == job && rank.max > 0;
                let crowded = case.active(rank.machine) > case.machines[rank.machine];
                let cores = case.cores(rank, counts[at]);
                let alone = || speed(case.jobs[job], [(rank, cores)].into_iter());
                let can_rise = rank.max > counts[at] && left[rank.machine] > 0 && !crowded;
                if is_own && can_rise && alone() <= now * 1.000_001 {
                    left[rank.machine] -= 1;
                    more[at] += 1;
                }
            }
            let then = case.speed(job, &more);
            assert!(then <= now * TOLERANCE, "job {job}: {counts:?} {more:?} {now} {then}");
        }
    });
}

/// Catches: J4: a job that pays for the others.
#[test]
fn no_job_is_slower_than_its_machines_alone_would_make_it() {
    each_case(2_000, |case, counts| {
        let free = vec![Job { waits: false, weight: 1.0 }; case.jobs.len()];
        let jobs: Vec<Job> = case
            .jobs
            .iter()
            .zip(free)
            .map(|(job, free)| Job { weight: job.weight, ..free })
            .collect();
        let mut ranks = case.ranks.clone();
        ranks.iter_mut().zip(counts).for_each(|(rank, count)| rank.held = *count);
        let alone = decide(&case.machines, &jobs, &ranks);
        for job in (0..case.jobs.len()).filter(|&job| case.jobs[job].waits) {
            let (ours, before) = (case.speed(job, counts), case.speed(job, &alone));
            let of_best = ours * TOLERANCE * 1.000_01;
            assert!(of_best >= before, "job {job}: {counts:?} {alone:?} {ours} {before}");
        }
    });
}

/// Catches: J5: ranks that change places at every round.
#[test]
fn a_decision_over_its_own_numbers_returns_them() {
    for seed in 0..4_000 {
        let mut case = case(&mut Rng::with_seed(seed), seed % 4 == 0);
        let counts = case.decide();
        case.ranks.iter_mut().zip(&counts).for_each(|(rank, count)| rank.held = *count);
        assert_eq!(case.decide(), counts, "seed {seed}");
    }
}

/// Catches: J6: a rule of its own for machines that share no job.
#[test]
fn ranks_that_nobody_waits_for_get_what_their_machine_alone_gives() {
    for seed in 0..500 {
        let random = &mut Rng::with_seed(seed);
        let mut case = case(random, false);
        case.jobs.iter_mut().for_each(|job| (job.waits, job.weight) = (false, 1.0));
        case.ranks.iter_mut().for_each(|rank| (rank.min, rank.held) = (1, 0));
        let counts = case.decide();
        for (machine, &cores) in case.machines.iter().enumerate() {
            let mask = CpuSet::first(cores as usize);
            let here = |rank: &&Rank| rank.machine == machine && rank.max > 0;
            let programs: Vec<Program> = case
                .ranks
                .iter()
                .filter(here)
                .map(|rank| Program::new(rank.max, mask.clone()))
                .collect();
            let layout = Layout::flat(cores as usize);
            let alone =
                super::super::decide(Policy::Equal, &layout, &programs, &Effects::none(), None);
            let mut alone: Vec<u32> = alone.iter().map(|grant| grant.threads).collect();
            let ranks = case.ranks.iter().zip(&counts).filter(|(rank, _)| here(rank));
            let mut ours: Vec<u32> = ranks.map(|(_, count)| *count).collect();
            alone.sort_unstable();
            ours.sort_unstable();
            assert_eq!(ours, alone, "seed {seed}, {machine}");
        }
    }
}

/// Catches: fair numbers on each machine by itself, which leave cores with a rank that waits.
#[test]
fn cores_that_a_rank_does_not_need_raise_another_job() {
    let jobs = [Job { waits: true, weight: 1.0 }, Job { waits: true, weight: 1.0 }];
    // Both jobs are on both machines. The first has its work on the first machine, the other one on
    // the second.
    let rank = |machine, job, load| Rank { load, ..Rank::new(machine, job, 16) };
    let ranks = [rank(0, 0, 3.0), rank(1, 0, 1.0), rank(0, 1, 1.0), rank(1, 1, 3.0)];
    assert_eq!(decide(&[16, 16], &jobs, &ranks), [12, 4, 4, 12]);
}

/// Catches: a noise of a few percent that moves cores.
#[test]
fn small_changes_of_loads_move_nothing() {
    let jobs = [Job { waits: true, weight: 1.0 }, Job { waits: false, weight: 1.0 }];
    let with = |load, held: [u32; 3]| {
        let second = Rank { load, held: held[1], ..Rank::new(1, 0, 16) };
        let first = Rank { held: held[0], ..Rank::new(0, 0, 16) };
        let other = Rank { held: held[2], ..Rank::new(1, 1, 16) };
        decide(&[16, 16], &jobs, &[first, second, other])
    };
    assert_eq!(with(0.43, [0; 3]), [16, 7, 9]);
    assert_eq!(with(0.45, [0; 3]), [16, 8, 8]);
    assert_eq!(with(0.45, [16, 7, 9]), [16, 7, 9]);
    assert_eq!(with(0.48, [16, 7, 9]), [16, 8, 8]);
}

/// Catches: a last core that moves although its rank is as good as the others.
#[test]
fn of_equal_ranks_the_one_that_has_a_core_more_keeps_it() {
    let jobs = [Job { waits: false, weight: 1.0 }; 3];
    for more in 0..3 {
        let held = |job| if job == more { 6 } else { 5 };
        let ranks = [0, 1, 2].map(|job| Rank { held: held(job), ..Rank::new(0, job, 16) });
        assert_eq!(decide(&[16], &jobs, &ranks), [0, 1, 2].map(held));
    }
}

/// Catches: a core that is lost when another rank of its job gets none.
#[test]
fn a_core_that_a_job_cannot_use_goes_to_the_next() {
    let jobs = [true, false, false].map(|waits| Job { waits, weight: 1.0 });
    // The second rank, which rises first, is on the machine that has free cores.
    let ranks =
        [Rank::new(1, 0, 16), Rank::new(0, 0, 16), Rank::new(0, 1, 16), Rank::new(1, 2, 16)];
    assert_eq!(decide(&[16, 8], &jobs, &ranks), [4, 4, 12, 4]);
}
