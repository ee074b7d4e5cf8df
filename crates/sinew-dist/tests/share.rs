//! Ranks that share the cores of a machine: threads whose pools have rows in one table.
#![cfg(target_os = "linux")]

mod checks;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use sinew::Pool;
use sinew_coord::{Member, Offer, Table};
use sinew_dist::World;
use sinew_dist::threads::Ranks;

fn pool_in(table: &Path) -> Pool {
    let pool = Pool::builder().threads(2).coordinate_in(table).build().unwrap();
    wait_until(|| pool.share().is_some());
    pool
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        std::thread::yield_now();
    }
}

/// Works until the pools of all `ranks` have work, as the table says.
fn work_together(world: &World, table: &Table, all_work: &AtomicBool) {
    wait_until(|| {
        work(world);
        let rows = table.read();
        if rows.len() >= world.size() as usize && rows.iter().all(|row| row.demand > 0) {
            // Relaxed: it publishes nothing.
            all_work.store(true, Ordering::Relaxed);
        }
        all_work.load(Ordering::Relaxed)
    });
}

/// Works until so many pools of the table have no work.
fn work_until_others_lend(world: &World, table: &Table, lenders: usize) {
    wait_until(|| {
        work(world);
        table.read().iter().filter(|row| row.demand == 0).count() == lenders
    });
}

fn work(world: &World) {
    world.pool().run(|w| w.join(|_| (), |_| ()));
}

/// Catches: parts of an array or units of a bag that depend on the cores of a rank.
#[test]
fn ranks_that_share_a_machine_agree_with_serial_programs() {
    for size in [1, 2, 3, 4, 7] {
        let folder = tempfile::tempdir().unwrap();
        let table = folder.path().join("table");
        for (name, check) in checks::CHECKS {
            println!("{name} over {size} ranks");
            Ranks::new(size).run_in(|_| pool_in(&table), check).unwrap();
        }
    }
}

/// Catches: waits in which nothing is lent.
#[test]
fn ranks_that_wait_lend_and_all_ranks_know() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("table");
    let table = Table::open(&place).unwrap();
    let all_work = AtomicBool::new(false);
    let reports = Ranks::new(3).run_in(
        |_| pool_in(&place),
        |world: &World| {
            work_together(world, &table, &all_work);
            // On a busy machine a rank may come so late that it waits for too short a time.
            for _ in 0..1_000 {
                if world.rank() == 0 {
                    work_until_others_lend(world, &table, 2);
                }
                world.barrier();
                let reports = world.report();
                if reports[1..].iter().all(|one| one.lent > 0) {
                    return reports;
                }
            }
            panic!("nothing is lent");
        },
    );
    let reports = reports.unwrap();
    assert_eq!(reports[0].iter().map(|one| one.rank).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(reports.iter().all(|others| *others == reports[0]));
    for one in &reports[0] {
        assert!((one.lent == 0 || one.waited_s > 0.0) && one.waited_s <= one.total_s, "{one:?}");
        assert_eq!(one.workers, 2);
    }
}

/// Catches: rows of ranks that are gone, whose cores nobody gets.
#[test]
fn ranks_that_die_while_they_lend_leave_their_cores_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("table");
    let table = Table::open(&place).unwrap();
    let other = Member::join(&table, Offer::new("other").max(2)).unwrap();
    let all_work = AtomicBool::new(false);
    let lost = Ranks::new(3).run_in(
        |_| pool_in(&place),
        |world: &World| {
            work_together(world, &table, &all_work);
            if world.rank() == 2 {
                work_until_others_lend(world, &table, 2);
                panic!("dies");
            }
            world.barrier();
        },
    );
    assert_eq!(lost.unwrap_err().to_string(), "rank 2: dies");
    wait_until(|| table.read().len() == 1);
    wait_until(|| other.share().neighbours == 0);
    assert_eq!(other.share().threads, 2);
}
