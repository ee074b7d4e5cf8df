//! Units that wait for threads outside of the run.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sinew::Control;
use sinew::stm::{TQueue, TVar, atomically};
use sinew::worklist::{Worklist, WorklistError};

use super::{Gate, every_kind, list_of, pool, watched};

/// Catches: a run that ends with an error although a thread keeps it alive, or hangs although that
/// thread has woken it.
#[test]
fn a_thread_outside_wakes_units_that_wait() {
    for settings in every_kind(2) {
        watched(move || {
            let (items, pool) = (TQueue::new(), pool(2));
            let mut list = list_of(0..40_u32, settings);
            let keep_alive = list.keep_alive();
            let has_begun = Gate::default();
            let report = std::thread::scope(|s| {
                let (has_begun, items) = (&has_begun, &items);
                s.spawn(move || {
                    has_begun.wait();
                    for item in 0..40_u32 {
                        atomically(|tx| items.push(tx, item));
                    }
                    drop(keep_alive);
                });
                pool.run(|_| {
                    list.run(|tx, _| {
                        has_begun.open();
                        if items.pop(tx)?.is_some() { Ok(()) } else { tx.retry() }
                    })
                })
            });
            assert_eq!(report.unwrap().commits, 40, "{settings}");
        });
    }
}

/// Whether the kernel reports the thread with this folder below `/proc` as asleep.
fn is_asleep(thread: &Path) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(thread).join("stat")).unwrap();
    // The name of the thread, which stands before its state, may contain anything.
    stat.rsplit_once(')').unwrap().1.trim_start().starts_with('S')
}

/// Catches: workers that search on and on although every unit waits: they would use all processors
/// until a thread outside makes the change.
#[test]
fn every_worker_sleeps_while_every_unit_waits() {
    if !cfg!(target_os = "linux") {
        println!("skipped: the state of a thread is read from /proc");
        return;
    }
    for settings in every_kind(2) {
        watched(move || {
            let (go, pool) = (TVar::new(false), pool(2));
            let mut list = list_of(0..100_u32, settings);
            let keep_alive = list.keep_alive();
            let (has_begun, threads) = (Gate::default(), OnceLock::new());
            let report = std::thread::scope(|s| {
                let (has_begun, go, threads) = (&has_begun, &go, &threads);
                s.spawn(move || {
                    has_begun.wait();
                    let threads: &Vec<PathBuf> = threads.get().unwrap();
                    while !threads.iter().all(|thread| is_asleep(thread)) {
                        std::thread::yield_now();
                    }
                    atomically(|tx| go.set(tx, true));
                    drop(keep_alive);
                });
                pool.run(|w| {
                    let folders = w.broadcast(|_| std::fs::read_link("/proc/thread-self").unwrap());
                    threads.set(folders).unwrap();
                    list.run(|tx, _| {
                        has_begun.open();
                        if go.get(tx)? { Ok(()) } else { tx.retry() }
                    })
                })
            });
            assert_eq!(report.unwrap().commits, 100, "{settings}");
        });
    }
}

/// Catches: a run that sleeps for ever since the last thread that kept it alive has gone without a
/// change.
#[test]
fn a_run_ends_when_the_last_thread_that_keeps_it_alive_has_gone() {
    watched(|| {
        let (go, pool) = (TVar::new(false), pool(2));
        let mut list = Worklist::from((0..10).collect::<Vec<u32>>());
        let keep_alive = list.keep_alive();
        let second = keep_alive.clone();
        let has_begun = Gate::default();
        let ended = std::thread::scope(|s| {
            let (has_begun, go) = (&has_begun, &go);
            s.spawn(move || {
                has_begun.wait();
                drop(keep_alive);
                atomically(|tx| go.set(tx, false));
                drop(second);
            });
            pool.run(|_| {
                list.run(|tx, _| {
                    has_begun.open();
                    if go.get(tx)? { Ok(()) } else { tx.retry() }
                })
            })
        });
        assert!(matches!(ended, Err(WorklistError::Waiting { units: 10, .. })));
        assert_eq!(list.len(), 10);
    });
}

/// Catches: two runs that wait for each other's units by turns, of which one does not notice the
/// other's commit.
#[test]
fn two_lists_wake_each_other() {
    const STEPS: u32 = 300;
    for settings in every_kind(2) {
        watched(move || {
            let step = TVar::new(0_u32);
            let lists = [0, 1].map(|first| list_of((first..STEPS).step_by(2), settings));
            let handles = [lists[1].keep_alive(), lists[0].keep_alive()];
            std::thread::scope(|s| {
                for (mut list, other) in lists.into_iter().zip(handles) {
                    let step = &step;
                    s.spawn(move || {
                        let report = pool(2).run(|_| {
                            list.run(|tx, &unit| {
                                if step.get(tx)? == unit {
                                    step.set(tx, unit + 1)
                                } else {
                                    tx.retry()
                                }
                            })
                        });
                        drop(other);
                        assert_eq!(report.unwrap().commits, u64::from(STEPS / 2), "{settings}");
                    });
                }
            });
            assert_eq!(step.load(), STEPS);
        });
    }
}

/// Catches: a run that sleeps through its cancellation, by its own control or by the pool's.
#[test]
fn a_run_that_sleeps_can_be_cancelled() {
    for by_pool in [false, true] {
        watched(move || {
            let (never, pool, control) = (TVar::new(false), pool(2), Control::new());
            let mut list = Worklist::from((0..10).collect::<Vec<u32>>());
            if !by_pool {
                list = list.control(&control);
            }
            let _keep_alive = list.keep_alive();
            let has_begun = Gate::default();
            let report = std::thread::scope(|s| {
                s.spawn(|| {
                    has_begun.wait();
                    if by_pool { pool.control().cancel() } else { control.cancel() }
                });
                pool.run(|_| {
                    list.run(|tx, _| {
                        has_begun.open();
                        if never.get(tx)? { Ok(()) } else { tx.retry() }
                    })
                })
            });
            let report = report.unwrap();
            assert_eq!((report.cancelled, report.commits, list.len()), (true, 0, 10));
        });
    }
}

/// Catches: a change by the second arm of an enclosing join, which no worker runs if the pool has
/// one worker.
#[test]
fn what_the_sleeping_worker_itself_has_to_run_is_run() {
    watched(|| {
        let go = TVar::new(false);
        let mut list = Worklist::from((0..10).collect::<Vec<u32>>());
        let keep_alive = list.keep_alive();
        let (report, ()) = pool(1).run(|w| {
            w.join(
                |_| list.run(|tx, _| if go.get(tx)? { Ok(()) } else { tx.retry() }),
                |_| {
                    go.store(true);
                    drop(keep_alive);
                },
            )
        });
        assert_eq!(report.unwrap().commits, 10);
    });
}
