//! Units that wait for each other in a fixed order.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use sinew::stm::{Locking, TArray, TQueue, TVar, Transaction};
use sinew::worklist::{Settings, Worklist};

use super::{Gate, WORKERS, every_kind, list_of, pool, watched};

/// Held by tests with irrevocable transactions, which abort all others of the process, and by those
/// that count aborts.
static IRREVOCABLE: Mutex<()> = Mutex::new(());

/// Catches: a unit that is tried again only when the list is empty, and units in a worker's hands
/// that no other can take.
#[test]
fn a_chain_of_a_hundred_units_ends_under_the_default_settings() {
    for _ in 0..20 {
        watched(|| {
            let done = TArray::new(100, false);
            let mut list = Worklist::from((0..100).collect::<Vec<usize>>());
            let report = pool(2).run(|_| {
                list.run(|tx, &unit| {
                    if unit > 0 && !done.get(tx, unit - 1)? {
                        tx.retry()
                    } else {
                        done.set(tx, unit, true)
                    }
                })
            });
            assert_eq!((report.unwrap().commits, done.load_all()), (100, vec![true; 100]));
        });
    }
}

/// Runs a chain of units in this order, under these settings and this time of locks.
fn run_chain(order: Vec<usize>, settings: Settings, locking: Locking) {
    let length = order.len();
    let done: Vec<TVar<bool>> = (0..length).map(|_| TVar::new(false)).collect();
    let how = Transaction::new().locking(locking);
    let mut list = list_of(order, settings).transactions(how);
    let report = pool(WORKERS).run(|_| {
        list.run(|tx, &unit| {
            if unit > 0 && !done[unit - 1].get(tx)? { tx.retry() } else { done[unit].set(tx, true) }
        })
    });
    let report = report.unwrap_or_else(|error| panic!("{settings}: {error}"));
    assert_eq!((report.commits, list.len()), (length as u64, 0), "{settings}");
    assert!(done.iter().all(TVar::load));
}

/// Catches: a kind of list, or a time of locks, in which units that wait are forgotten.
#[test]
fn chains_end_under_settings_of_every_kind() {
    for threads in [1, 2, WORKERS] {
        for settings in every_kind(threads) {
            for locking in [Locking::Encounter, Locking::Commit] {
                watched(move || {
                    run_chain((0..60).collect(), settings, locking);
                    run_chain((0..60).rev().collect(), settings, locking);
                });
            }
        }
    }
}

/// Catches: a unit that is tried again and again although nothing has changed, and one that is
/// woken by each of the changes before it is tried.
#[test]
fn a_unit_that_waits_is_not_tried_before_the_change() {
    let _alone = IRREVOCABLE.lock();
    watched(|| {
        let (go, tries, others) = (TVar::new(false), AtomicUsize::new(0), TVar::new(0));
        // The last unit comes first. The first one makes the change.
        let mut list = list_of(0..10_000_usize, Settings::baseline(1).stealing(true));
        let report = pool(1).run(|_| {
            list.run(|tx, &unit| match unit {
                0 => go.set(tx, true),
                9_999 => {
                    tries.fetch_add(1, Ordering::Relaxed);
                    if go.get(tx)? { Ok(()) } else { tx.retry() }
                }
                _ => others.modify(tx, |n| n + 1),
            })
        });
        let report = report.unwrap();
        assert_eq!((report.commits, report.waits, report.aborts), (10_000, 1, 0));
        assert_eq!((tries.into_inner(), others.load()), (2, 9_998));
    });
}

/// Catches: takers that are all tried after each item, which takes time by the square of their
/// number.
#[test]
fn units_that_were_woken_let_the_others_run_first() {
    watched(|| {
        let (queue, tries) = (TQueue::new(), AtomicUsize::new(0));
        // The takers come first.
        let units = [[false; 1_000], [true; 1_000]].concat();
        let mut list = list_of(units, Settings::baseline(1).stealing(true));
        let report = pool(1).run(|_| {
            list.run(|tx, &takes| {
                if !takes {
                    return queue.push(tx, 1_u8);
                }
                tries.fetch_add(1, Ordering::Relaxed);
                if queue.pop(tx)?.is_some() { Ok(()) } else { tx.retry() }
            })
        });
        let report = report.unwrap();
        assert_eq!(report.commits, 2_000);
        // Other tests' irrevocable transactions may abort some.
        assert!(tries.into_inner() as u64 <= 2_000 + report.aborts);
    });
}

/// Catches: a unit that only the worker can run that has parked it. One unit holds its worker until
/// the one that waits has run.
#[test]
fn a_woken_unit_is_run_by_any_worker() {
    for round in 0..20 {
        watched(move || {
            let (go, has_run) = (TVar::new(false), Gate::default());
            let mut list = list_of([2, 1, 0], Settings::baseline(2).stealing(round % 2 == 0));
            let report = pool(2).run(|_| {
                list.run_fold(
                    |tx, &unit, _| match unit {
                        0 => {
                            if go.get(tx)? {
                                Ok(unit)
                            } else {
                                tx.retry()
                            }
                        }
                        1 => {
                            has_run.wait();
                            Ok(unit)
                        }
                        _ => go.set(tx, true).map(|()| unit),
                    },
                    |(): &mut (), unit| {
                        if unit == 0 {
                            has_run.open();
                        }
                    },
                )
            });
            assert_eq!(report.unwrap().commits, 3);
        });
    }
}

/// Catches: what an irrevocable unit does that happens twice, since the unit beside it in one
/// transaction waits.
#[test]
fn an_irrevocable_unit_beside_one_that_waits_runs_once() {
    let _alone = IRREVOCABLE.lock();
    for threads in 1..=2 {
        watched(move || {
            let (go, effects) = (TVar::new(0_u32), AtomicUsize::new(0));
            let units = (0..100_u32).collect::<Vec<_>>();
            let settings = Settings::baseline(threads).coalescing(true);
            let mut list = list_of(units, settings);
            let report = pool(threads).run(|_| {
                list.run(|tx, &unit| {
                    let seen = go.get(tx)?;
                    if unit % 2 == 0 {
                        // Waits for half of the others.
                        return if seen < 25 { tx.retry() } else { Ok(()) };
                    }
                    go.set(tx, seen + 1)?;
                    tx.irrevocable()?;
                    effects.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                })
            });
            assert_eq!((report.unwrap().commits, effects.into_inner()), (100, 50));
        });
    }
}

/// Catches: a unit of a pair that waits for what only the other one reads, or is said to have read
/// nothing since it saw what the other one wrote.
#[test]
fn the_second_unit_of_a_pair_waits_by_itself() {
    watched(|| {
        let (flag, tries) = (TVar::new(0_u32), AtomicUsize::new(0));
        // Pairs are run from the end: 3 and 2 first.
        let mut list = list_of(0..4_u32, Settings::baseline(1).coalescing(true));
        let report = pool(1).run(|_| {
            list.run(|tx, &unit| match unit {
                3 => flag.set(tx, 1),
                2 => {
                    tries.fetch_add(1, Ordering::Relaxed);
                    // The pair sees 1 without a read. Alone it waits until the flag is 2.
                    if flag.get(tx)? == 1 { tx.retry() } else { Ok(()) }
                }
                1 => flag.set(tx, 2),
                _ => Ok(()),
            })
        });
        assert_eq!((report.unwrap().commits, flag.load()), (4, 2));
        assert!((2..=4).contains(&tries.into_inner()));
    });
}
