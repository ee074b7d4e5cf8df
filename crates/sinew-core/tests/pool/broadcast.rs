//! Broadcasts: every thread of the pool calls the closure once, whatever it is doing.

use std::collections::HashSet;
use std::panic::{PanicHookInfo, panic_any};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use sinew_core::{BroadcastContext, Pool, ScopeBuilder, Spin, Wait, Worker};

use crate::support::{
    Drops, all_left, assert_passed, child, ends, full_pool, is_child, meet, message_of, payload_of,
    pool, telling, with_each_full_pool,
};

fn fib(w: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

/// Catches: a thread that is left out or called twice, results in another order, a part that
/// thinks it is another.
#[test]
fn every_thread_calls_once_and_results_are_in_the_order_of_slots() {
    ends(|| {
        for threads in 1..=4 {
            with_each_full_pool(threads, |pool| {
                for _ in 0..20 {
                    let parts = pool.broadcast(|part| {
                        let index = sinew_core::run(|w| w.index());
                        (part.index(), index, part.num_threads(), thread::current().id())
                    });
                    assert_eq!(parts.len(), threads);
                    for (i, &(part, worker, parts, _)) in parts.iter().enumerate() {
                        assert_eq!((part, worker, parts), (i, i, threads));
                    }
                    assert_eq!(
                        parts.iter().map(|part| part.3).collect::<HashSet<_>>().len(),
                        threads
                    );
                }
            });
        }
    });
}

/// Catches: an external thread that takes part in the broadcast of another thread, or is left out
/// of its own, and a pool of external threads only that waits for a thread.
#[test]
fn external_threads_take_part_in_their_own_broadcasts() {
    ends(|| {
        let here = thread::current().id();
        for threads in 1..=3 {
            let pool = &pool(threads);
            let call = || {
                let part = |part: BroadcastContext<'_>| {
                    (part.index(), part.num_threads(), thread::current().id())
                };
                pool.broadcast(part)
            };
            let check = |parts: Vec<_>, first: usize| {
                assert_eq!(parts.len(), threads - first);
                for (i, &(part, all, id)) in parts.iter().enumerate() {
                    assert_eq!((part, all, id == here), (i, threads - first, i + first == 0));
                }
            };
            check(call(), 1);
            check(pool.run(|_| call()), 0);
            check(pool.run(|w| w.join(|_| call(), |_| ()).0), 0);
            if threads > 1 {
                // From a thread of the pool, while this one has the external slot.
                check(
                    pool.run(|w| w.broadcast(|part| (part.index() == 1).then(call)))[1]
                        .clone()
                        .unwrap(),
                    1,
                );
            }
            check(call(), 1);
        }
    });
}

/// Catches: a caller inside the pool that waits for its own part, and workers that wait for each
/// other's.
#[test]
fn broadcasts_from_inside_and_in_each_other_reach_all() {
    ends(|| {
        for threads in 1..=3 {
            with_each_full_pool(threads, |pool| {
                for _ in 0..20 {
                    assert_eq!(pool.install(|w| w.broadcast(|part| part.index()).len()), threads);
                    let ran = AtomicUsize::new(0);
                    let count = || ran.fetch_add(1, Ordering::Relaxed);
                    // Each part a broadcast, and each part of that a join.
                    let sums = pool.broadcast(|_| {
                        let inner = pool.broadcast(|_| {
                            count();
                            pool.run(|w| fib(w, 5))
                        });
                        inner.into_iter().sum::<u64>()
                    });
                    assert_eq!(sums, vec![5 * threads as u64; threads]);
                    assert_eq!(ran.load(Ordering::Relaxed), threads * threads);
                    // Two at once from one join.
                    pool.install(|w| {
                        w.join(|w| w.broadcast(|_| count()), |w| w.broadcast(|_| count()))
                    });
                    assert_eq!(ran.into_inner(), threads * threads + 2 * threads);
                }
            });
        }
    });
}

/// Catches: parts that a worker blocked in a join does not run, whatever its policy, so that
/// caller and worker wait for each other.
#[test]
fn a_broadcast_reaches_workers_that_wait_for_its_caller() {
    ends(|| {
        with_each_full_pool(2, |pool| {
            for _ in 0..20 {
                let begun = Barrier::new(2);
                let ((), parts) = pool.install(|w| {
                    w.join(
                        |_| meet(&begun),
                        |w| {
                            begun.wait();
                            w.broadcast(|part| part.index())
                        },
                    )
                });
                assert_eq!(parts, [0, 1]);
                // The same at the end of a scope.
                let begun = Barrier::new(2);
                pool.scope(|s| {
                    s.spawn(|_| {
                        begun.wait();
                        assert_eq!(pool.broadcast(|part| part.index()), [0, 1]);
                    });
                    begun.wait();
                });
            }
        });
    });
}

/// Catches: threads that are busy and are passed over, or that must be free all at once.
#[test]
fn parts_may_wait_for_each_other() {
    ends(|| {
        with_each_full_pool(3, |pool| {
            for _ in 0..20 {
                let all = Barrier::new(3);
                pool.broadcast(|_| meet(&all));
                pool.install(|w| w.broadcast(|_| meet(&all)));
            }
        });
    });
}

/// Catches: pools whose workers wait for each other's parts.
#[test]
fn pools_broadcast_into_each_other() {
    ends(|| {
        for wait in [Wait::Leapfrog, Wait::Any, Wait::Block] {
            let two =
                || Pool::builder().threads(2).external_slot(false).wait(wait).build().unwrap();
            let (a, b) = (two(), two());
            for _ in 0..20 {
                thread::scope(|s| {
                    for (mine, other) in [(&a, &b), (&b, &a)] {
                        s.spawn(move || {
                            let sums = mine
                                .broadcast(|_| other.broadcast(|_| mine.install(|w| fib(w, 5))));
                            assert_eq!(sums, [[5, 5], [5, 5]]);
                        });
                    }
                });
            }
        }
    });
}

/// Catches: a worker blocked in a join that does not serve a caller from another pool, for which
/// its join waits in the end.
#[test]
fn a_broadcast_comes_back_through_another_pool() {
    ends(|| {
        let two =
            || Pool::builder().threads(2).external_slot(false).wait(Wait::Any).build().unwrap();
        let (a, b) = (two(), two());
        for _ in 0..20 {
            let begun = Barrier::new(2);
            let ((), parts) = a.install(|w| {
                w.join(
                    |_| meet(&begun),
                    |_| {
                        begun.wait();
                        b.install(|_| a.broadcast(|part| part.index()))
                    },
                )
            });
            assert_eq!(parts, [0, 1]);
        }
    });
}

/// Catches: parts that are skipped after a panic, the payload of a later slot, results that are
/// leaked or dropped twice.
#[test]
fn the_panic_of_the_first_slot_wins_after_all_have_run() {
    ends(|| {
        with_each_full_pool(4, |pool| {
            let (ran, drops) = (AtomicUsize::new(0), Drops::new());
            let payload = payload_of(|| {
                pool.broadcast(|part| {
                    ran.fetch_add(1, Ordering::SeqCst);
                    let result = drops.child();
                    // The last slot is through before the first one panics.
                    let last = part.index() + 1 == part.num_threads();
                    while !last && drops.count() == 0 {
                        thread::yield_now();
                    }
                    match part.index() {
                        0 => result,
                        slot => panic_any(slot),
                    }
                })
            });
            assert_eq!(*payload.downcast::<usize>().unwrap(), 1);
            assert_eq!((ran.into_inner(), drops.count()), (4, 4));
            assert_eq!(
                message_of(|| pool.install(|w| w.broadcast(|_| panic!("inside")))),
                "inside"
            );
            assert_eq!(pool.broadcast(|part| part.index()), [0, 1, 2, 3]);
        });
    });
}

/// Catches: a detached part whose panic goes nowhere, or stops the others.
#[test]
fn the_panic_handler_gets_the_payloads_of_detached_parts() {
    ends(|| {
        let payloads = Arc::new(Mutex::new(Vec::new()));
        let handled = Arc::clone(&payloads);
        let pool = Pool::builder()
            .threads(3)
            .external_slot(false)
            .panic_handler(move |payload| {
                handled.lock().unwrap().push(*payload.downcast::<usize>().unwrap());
            })
            .build()
            .unwrap();
        pool.spawn_broadcast(|part| panic_any(part.index()));
        pool.install(|w| w.spawn_broadcast(|part| panic_any(part.index() + 10)));
        pool.shutdown();
        let mut payloads = payloads.lock().unwrap();
        payloads.sort_unstable();
        assert_eq!(*payloads, [0, 1, 2, 10, 11, 12]);
    });
}

/// Catches: parts of two broadcasts that change places on a worker, or one that is lost when its
/// pool ends.
#[test]
fn broadcasts_of_one_thread_begin_in_order_on_each_worker() {
    ends(|| {
        for threads in 1..=3 {
            with_each_full_pool(threads, |pool| {
                let orders: Arc<Vec<_>> =
                    Arc::new((0..threads).map(|_| Mutex::new(Vec::new())).collect());
                for call in 0..30 {
                    let orders = Arc::clone(&orders);
                    pool.spawn_broadcast(move |part| {
                        orders[part.index()].lock().unwrap().push(call);
                    });
                }
                // One that is waited for comes after them.
                let seen = pool.broadcast(|part| orders[part.index()].lock().unwrap().clone());
                assert!(seen.iter().all(|order| order.iter().copied().eq(0..30)), "{seen:?}");
            });
        }
    });
}

/// Catches: a broadcast that comes before what its worker had queued, or after what others wait
/// with.
#[test]
fn a_worker_runs_its_own_tasks_first_then_broadcasts_then_those_of_callers() {
    ends(|| {
        with_each_full_pool(1, |pool| {
            let order = Arc::new(Mutex::new(Vec::new()));
            let note = |what| {
                let order = Arc::clone(&order);
                move || order.lock().unwrap().push(what)
            };
            let begun = Arc::new(Barrier::new(2));
            let (until, own, part) = (Arc::clone(&begun), note("own"), note("part"));
            pool.spawn(move |w| {
                until.wait();
                until.wait();
                w.spawn_broadcast(move |_| part());
                w.spawn(move |_| own());
            });
            begun.wait();
            let called = note("called");
            pool.spawn(move |_| called());
            begun.wait();
            // The pool's queue is in order.
            pool.install(|_| ());
            assert_eq!(*order.lock().unwrap(), ["own", "part", "called"]);
        });
    });
}

/// Catches: workers that stand down and are not woken for their part, or that stay up after it.
#[test]
fn a_broadcast_reaches_workers_that_have_stood_down() {
    ends(|| {
        with_each_full_pool(4, |pool| {
            pool.control().set_threads(1);
            for _ in 0..20 {
                assert_eq!(pool.broadcast(|part| part.index()), [0, 1, 2, 3]);
                assert_eq!(pool.install(|w| w.broadcast(|part| part.num_threads())), [4; 4]);
                let all = Barrier::new(4);
                pool.broadcast(|_| meet(&all));
            }
            assert_eq!(pool.threads(), 1);
        });
    });
}

/// Catches: detached parts that the end of a pool forgets.
#[test]
fn a_pool_ends_after_its_detached_broadcasts() {
    ends(|| {
        for threads in 1..=3 {
            for close in [Pool::close, Pool::shutdown, drop] {
                let ((builder, exits), ran) = (telling(threads), Arc::new(AtomicUsize::new(0)));
                let pool = builder.build().unwrap();
                let counted = Arc::clone(&ran);
                pool.spawn(move |w| {
                    w.spawn_broadcast(move |_| {
                        counted.fetch_add(1, Ordering::SeqCst);
                    });
                });
                close(pool);
                assert_eq!(all_left(&exits).len(), threads);
                assert_eq!(ran.load(Ordering::SeqCst), threads);
            }
        }
    });
}

/// Catches: a text that does not say which part it is.
#[test]
fn a_part_can_be_printed() {
    let texts = full_pool(2).broadcast(|part| format!("{part:?}"));
    assert_eq!(texts[1], "BroadcastContext { index: 1, num_threads: 2, .. }");
}

/// Catches: a blocked worker that refuses its part because another pool lies between it and the
/// broadcast.
#[test]
fn a_broadcast_reaches_a_blocked_worker_by_way_of_another_pool() {
    ends(|| {
        for wait in [Wait::Leapfrog, Wait::Any] {
            let two =
                || Pool::builder().threads(2).external_slot(false).wait(wait).build().unwrap();
            let (a, b, begun) = (two(), two(), Barrier::new(2));
            let parts = a.install(|w| {
                w.join(
                    |_| meet(&begun),
                    |_| {
                        meet(&begun);
                        b.install(|_| a.broadcast(|part| part.index()))
                    },
                )
            });
            assert_eq!(parts.1, [0, 1]);
        }
    });
}

/// Catches: a task of an outer scope that is run in the middle of a deeper one, and broadcasts with
/// the depth of its spawn: the worker that waits for the deeper one refuses its part.
#[test]
fn a_broadcast_of_an_outer_task_reaches_who_waits_for_the_inner_one() {
    ends(|| {
        let builder = Pool::builder().threads(2).external_slot(false).wait(Wait::Descendants);
        let pool = builder.spin(Spin::Forever).build().unwrap();
        let (stolen, spawned, taken) = (Barrier::new(2), Barrier::new(2), AtomicBool::new(false));
        let broadcasts = AtomicUsize::new(0);
        let broadcast = |w: &Worker| broadcasts.store(w.broadcast(|_| ()).len(), Ordering::SeqCst);
        pool.install(|_| {
            ScopeBuilder::new().max_pending(1).run(|s| {
                let outer = |_: &Worker| {
                    meet(&stolen);
                    s.spawn(broadcast);
                    meet(&spawned);
                };
                // The bound is reached: this worker first runs the task that it spawned before.
                let innermost = |_: &Worker| {
                    taken.store(true, Ordering::SeqCst);
                    s.spawn(|_| ());
                };
                let offer = |w: &Worker| {
                    while !taken.load(Ordering::SeqCst) {
                        w.join(|_| (), |_| ());
                    }
                };
                let deeper = |w: &Worker| {
                    meet(&stolen);
                    meet(&spawned);
                    w.join(|w| w.join(|w| w.join(offer, innermost), |_| ()), |_| ());
                };
                sinew_core::run(|w| w.join(outer, deeper));
            });
        });
        assert_eq!(broadcasts.into_inner(), 2);
    });
}

/// Catches: a task that is delivered to the external slot, where no thread runs it, or to a slot
/// that does not exist; a panic that names a line of the pool instead of the caller's.
#[test]
fn spawning_on_a_slot_without_a_thread_panics_at_the_callers_line() {
    if !is_child() {
        // A panic hook belongs to the whole process.
        let name = "broadcast::spawning_on_a_slot_without_a_thread_panics_at_the_callers_line";
        return assert_passed(&child(name).output().unwrap());
    }
    let places = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&places);
    std::panic::set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
        let place = panic.location().map(|place| (place.file().to_owned(), place.line()));
        noted.lock().unwrap().push(place);
    }));
    let line = line!() + 1;
    let spawn = |w: &Worker, slot| w.spawn_on(slot, 0, |_| ());
    pool(3).run(|w| {
        for slot in [0, 3, usize::MAX] {
            let expected = format!("no thread of the pool serves worker slot {slot}");
            let payload = payload_of(|| spawn(w, slot));
            assert_eq!(payload.downcast_ref::<String>(), Some(&expected));
        }
    });
    let places = std::mem::take(&mut *places.lock().unwrap());
    assert_eq!(places, vec![Some((file!().to_owned(), line)); 3]);
}
