//! Coordinators of machines that decide together. A machine is a table of its own; the coordinators
//! are ranks that are threads; programs are members that say what they would have done.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use sinew::Pool;
use sinew_coord::{
    Coordinator, CpuSet, Member, Offer, OwnSettings, Policy, Reason, Row, Script, Table,
};
use sinew_dist::World;
use sinew_dist::machines::Machines;
use sinew_dist::threads::Ranks;
use sinew_policy::share::Layout;

const CORES: usize = 8;

/// The numbers of the jobs of programs; programs without one are none's.
const JOB: u64 = 77;

fn table(folder: &Path, machine: u32) -> Table {
    let place = folder.join(machine.to_string());
    Table::open_on(&place, Layout::flat(CORES)).unwrap()
}

fn join(table: &Table, name: &str, job: u64) -> Member {
    let offer = Offer::on(name, CpuSet::first(CORES), CORES as u32);
    Member::join(table, offer.own_settings(OwnSettings { job, ..OwnSettings::default() })).unwrap()
}

/// The cores that are assigned to the programs of a machine, by name.
fn assigned(table: &Table) -> Vec<(String, u32)> {
    let rows = table.read();
    let mut all: Vec<_> = rows.iter().map(|row| (row.name.to_string(), row.assigned)).collect();
    all.sort();
    all
}

fn threads_of(table: &Table, name: &str) -> u32 {
    let rows = table.read();
    rows.iter().find(|row| row.name.as_str() == name).map_or(0, |row| row.grant.threads)
}

/// A job in phases: each rank has its load, and waits for the slowest.
struct Phases<'m> {
    ranks: Vec<(&'m Member, f64)>,
    last_ns: u64,
}

impl<'m> Phases<'m> {
    fn new(ranks: Vec<(&'m Member, f64)>) -> Self {
        let last_ns = ranks[0].0.table().now_ns();
        Self { ranks, last_ns }
    }

    /// The ranks have worked until now. With so many threads, each has waited for a part of it.
    fn run(&mut self) {
        let now_ns = self.ranks[0].0.table().now_ns();
        let passed = now_ns - std::mem::replace(&mut self.last_ns, now_ns);
        let time = |(member, load): &(&Member, f64)| load / f64::from(member.share().threads);
        let slowest = self.ranks.iter().map(time).fold(0.0, f64::max);
        for rank in &self.ranks {
            let waited = passed as f64 * (1.0 - time(rank) / slowest);
            rank.0.report_wait(Duration::from_nanos(waited as u64));
            rank.0.report(1);
        }
    }
}

/// Runs the coordinator of one machine until `is_over`, or until another one ends.
fn coordinate(world: &World, folder: &Path, is_over: impl Fn(&Table) -> bool) {
    let table = table(folder, world.rank());
    let mut coordinator = Coordinator::start(&table, Policy::Equal, Script::default()).unwrap();
    let mut machines = Machines::over(world, Duration::from_millis(5));
    loop {
        let version = table.version();
        coordinator.step().unwrap();
        if !machines.step(&coordinator, is_over(&table)).unwrap() {
            return;
        }
        coordinator.wait(version, Duration::from_millis(5));
    }
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        std::thread::yield_now();
    }
}

fn names(expected: &[(&str, u32)]) -> Vec<(String, u32)> {
    expected.iter().map(|(name, cores)| ((*name).to_owned(), *cores)).collect()
}

/// Catches: machines that decide by themselves, loads by which a rank that waits seems to work,
/// cores that stay with a job that has ended, and a machine without programs that ends the others.
#[test]
fn a_rank_that_waits_for_another_machine_leaves_cores_to_its_neighbours() {
    let folder = tempfile::tempdir().unwrap();
    let tables: Vec<Table> = (0..3).map(|machine| table(folder.path(), machine)).collect();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let run = || {
            Ranks::new(3).run(|world| {
                // Relaxed: it publishes nothing.
                coordinate(world, folder.path(), |_| is_over.load(Ordering::Relaxed));
            })
        };
        let coordinators = scope.spawn(run);
        let heavy = join(&tables[0], "heavy", JOB);
        let (light, other) = (join(&tables[1], "light", JOB), join(&tables[1], "other", 0));
        let mut job = Phases::new(vec![(&heavy, 8.0), (&light, 1.8)]);
        wait_until(|| {
            job.run();
            let (first, second) = (assigned(&tables[0]), assigned(&tables[1]));
            first == names(&[("heavy", 8)]) && second == names(&[("light", 2), ("other", 6)])
        });
        wait_until(|| (light.share().threads, other.share().threads) == (2, 6));
        // The light rank gets heavier.
        let mut job = Phases::new(vec![(&heavy, 2.0), (&light, 8.0)]);
        wait_until(|| {
            job.run();
            assigned(&tables[1]) == names(&[("light", 4), ("other", 4)])
        });
        drop((heavy, light));
        wait_until(|| assigned(&tables[1]) == names(&[("other", 8)]));
        assert_eq!(assigned(&tables[2]), []);
        let reasons: Vec<Reason> = tables[1].log().iter().map(|one| one.reason).collect();
        assert!(reasons.contains(&Reason::Assigned), "{reasons:?}");
        is_over.store(true, Ordering::Relaxed);
        coordinators.join().unwrap().unwrap();
        assert_eq!(assigned(&tables[1]), names(&[("other", 0)]));
    });
}

/// Catches: cores that stay assigned after the coordinators have failed, and a coordinator that
/// goes on without the others.
#[test]
fn when_one_coordinator_fails_each_machine_decides_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let tables: Vec<Table> = (0..2).map(|machine| table(folder.path(), machine)).collect();
    let heavy = join(&tables[0], "heavy", JOB);
    let (light, _other) = (join(&tables[1], "light", JOB), join(&tables[1], "other", 0));
    let fails = AtomicBool::new(false);
    let end = std::thread::scope(|scope| {
        let run = || {
            Ranks::new(2).run(|world| {
                coordinate(world, folder.path(), |_| {
                    // Relaxed: it publishes nothing.
                    assert!(
                        world.rank() == 1 || !fails.load(Ordering::Relaxed),
                        "a planted failure"
                    );
                    false
                });
            })
        };
        let coordinators = scope.spawn(run);
        let mut job = Phases::new(vec![(&heavy, 8.0), (&light, 1.8)]);
        wait_until(|| {
            job.run();
            threads_of(&tables[1], "light") == 2
        });
        fails.store(true, Ordering::Relaxed);
        coordinators.join().unwrap()
    });
    assert_eq!(end.unwrap_err().to_string(), "rank 0: a planted failure");
    assert_eq!(threads_of(&tables[1], "light"), 4);
    assert!(tables.iter().flat_map(Table::read).all(|row| row.assigned == 0));
}

/// Waits for the other of two ranks without the network, which would be a wait for it.
fn meet(arrived: &AtomicU32, time: u32) {
    arrived.fetch_add(1, Ordering::AcqRel);
    wait_until(|| arrived.load(Ordering::Acquire) >= 2 * time);
}

/// The time of all rows.
fn sum(table: &Table, time: fn(&Row) -> u64) -> u64 {
    table.read().iter().map(time).sum()
}

/// Rank 0 works only once rank 1 has waited for units.
fn run_bag(world: &World, table: &Table) {
    let nodes = world.bag((world.rank() == 0).then_some(6_u32)).run(
        |level, out, count: &mut u64| {
            if level == 6 {
                wait_until(|| sum(table, |row| row.idled_ns) > 0);
                assert_eq!(sum(table, |row| row.waited_ns), 0);
            }
            *count += 1;
            out.extend((0..2).filter(|_| level > 0).map(|_| level - 1));
        },
        |a, b| a + b,
    );
    assert_eq!(nodes, 127);
}

/// The number of a job of two ranks that share a machine.
fn job_number(place: &Path) -> u64 {
    let (table, arrived) = (Table::open(place).unwrap(), AtomicU32::new(0));
    let shared = |_| {
        let pool = Pool::builder().threads(2).coordinate_in(place).build().unwrap();
        wait_until(|| pool.share().is_some());
        pool
    };
    let waited = || sum(&table, |row| row.waited_ns);
    let ranks = Ranks::new(2).run_in(shared, |world| {
        world.pool().run(|_| ());
        run_bag(world, &table);
        meet(&arrived, 1);
        // The bag has a reduction at its end.
        let before = waited();
        meet(&arrived, 2);
        if world.rank() == 0 {
            wait_until(|| waited() > before);
        }
        world.barrier();
        let jobs = || table.read().iter().map(|row| row.own_settings.job).collect::<Vec<_>>();
        wait_until(|| jobs().len() == 2 && jobs().iter().all(|job| *job != 0));
        let jobs = jobs();
        world.barrier();
        jobs
    });
    let jobs = ranks.unwrap().concat();
    assert!(jobs.iter().all(|job| *job == jobs[0]), "{jobs:?}");
    jobs[0]
}

/// Catches: ranks whose rows do not name their job, or name different ones; waits that are not
/// reported, and idle times of a bag that count as waits.
#[test]
fn ranks_name_their_job_and_the_time_that_they_wait() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("table");
    assert_ne!(job_number(&place), job_number(&place), "two jobs");
}
