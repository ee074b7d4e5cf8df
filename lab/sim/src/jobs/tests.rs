//! Closed forms, and random jobs in every way.

use super::{JobKind, JobsReport, Machines, Part, SimulatedJob, Way, random, run_jobs};

fn run(setup: &Machines, jobs: &[SimulatedJob]) -> JobsReport {
    run_jobs(setup, jobs, &mut |decide| decide())
}

fn job(kind: JobKind, work: f64, loads: &[f64]) -> SimulatedJob {
    let part = |(machine, &load): (usize, &f64)| Part { machine, load };
    let parts = loads.iter().enumerate().map(part).collect();
    SimulatedJob { at: 0, kind, work, serial: 0.0, parts }
}

fn free(way: Way) -> Machines {
    Machines { round: 1, noise: 0.0, move_cost: 0, ..Machines::new(2, way) }
}

/// Catches: a job that is as fast as the mean of its ranks, and cores that stay with ranks that
/// wait.
#[test]
fn cores_of_ranks_that_wait_make_other_jobs_faster() {
    // On each machine one job has three quarters of its work.
    let jobs = [job(JobKind::Phases, 120.0, &[3.0, 1.0]), job(JobKind::Phases, 120.0, &[1.0, 3.0])];
    let alone = run(&free(Way::Alone), &jobs);
    let whole = run(&free(Way::Whole), &jobs);
    assert!((alone.makespan - 3.0 * 120.0 / 8.0).abs() < 1e-6, "{alone:?}");
    assert!((whole.makespan - 3.0 * 120.0 / 12.0).abs() < 1e-6, "{whole:?}");
}

/// Catches: a bag that waits for its slowest rank, and places that move when a job ends.
#[test]
fn ranks_of_a_bag_add_up_and_static_parts_stay() {
    let jobs = [job(JobKind::Bag, 240.0, &[1.0, 1.0]), job(JobKind::Phases, 40.0, &[1.0])];
    let fixed = run(&free(Way::Static), &jobs);
    assert!((fixed.makespan - 240.0 / 8.0).abs() < 1e-6, "{fixed:?}");
    assert_eq!((fixed.moved, fixed.decisions), (0, 0));
    // The second job has 8 cores for 5 s. Then the bag has all.
    let alone = run(&free(Way::Alone), &jobs);
    assert!((alone.makespan - (5.0 + (240.0 - 5.0 * 24.0) / 32.0)).abs() < 1e-6, "{alone:?}");
}

/// Catches: cores that are given twice, and decisions for all that are worse than none.
#[test]
fn random_jobs_end_sooner_if_all_machines_decide_together() {
    for seed in 0..4 {
        let jobs = random(300, 20, 16, 0.7, seed);
        let [fixed, alone, whole] = Way::ALL.map(|way| run(&Machines::new(20, way), &jobs));
        assert!(whole.total < 0.9 * alone.total.min(fixed.total), "{fixed:?} {alone:?} {whole:?}");
        for report in [fixed, alone, whole] {
            assert!(report.ended == 300 && report.worst_slowdown >= 1.0, "{report:?}");
        }
    }
}
