//! Worker slots: pools without an external slot, pools whose builder is worker 0, threads that the
//! user provides.

use std::collections::HashSet;
use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::{io, thread};

use sinew_core::{BuildError, Pool, Wait, Worker};

use crate::support::{
    all_left, ends, full_pool, meet, message_of, pool, telling, with_each_full_pool,
};

fn fib(w: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

/// Catches: a caller that uses a thread's slot, or a slot without a thread.
#[test]
fn without_a_external_slot_run_and_install_leave_the_thread_and_every_slot_works() {
    ends(|| {
        let here = thread::current().id();
        for threads in 1..=4 {
            with_each_full_pool(threads, |pool| {
                assert_eq!(pool.max_threads(), threads);
                assert_ne!(pool.run(|_| thread::current().id()), here);
                assert_ne!(pool.install(|_| thread::current().id()), here);
                // All slots at once.
                let (all, slots) = (Barrier::new(threads), Mutex::new(HashSet::new()));
                pool.scope(|s| {
                    for _ in 0..threads {
                        s.spawn(|_| {
                            all.wait();
                            slots.lock().unwrap().insert(sinew_core::run(|w| w.index()));
                        });
                    }
                });
                assert_eq!(slots.into_inner().unwrap(), HashSet::from_iter(0..threads));
            });
        }
    });
}

/// Catches: callers that no thread serves, that get each other's results, or that wait for a thread
/// which waits for them.
#[test]
fn without_a_external_slot_several_callers_get_their_own_results() {
    ends(|| {
        for threads in 1..=4 {
            with_each_full_pool(threads, |pool| {
                let start = Barrier::new(4);
                thread::scope(|callers| {
                    for caller in 0..4 {
                        let start = &start;
                        callers.spawn(move || {
                            start.wait();
                            for round in 0..25 {
                                let result = match (caller + round) % 2 {
                                    0 => pool.run(|w| (caller, round, fib(w, 8))),
                                    _ => pool.install(|_| (caller, round, pool.run(|w| fib(w, 8)))),
                                };
                                assert_eq!(result, (caller, round, 21));
                            }
                        });
                    }
                });
            });
        }
    });
}

/// Catches: a panic that stays in the pool, or ends one of its threads.
#[test]
fn without_a_external_slot_a_panic_comes_back_to_the_caller() {
    ends(|| {
        for threads in [1, 2] {
            with_each_full_pool(threads, |pool| {
                assert_eq!(message_of(|| pool.run(|_| -> () { panic!("run") })), "run");
                assert_eq!(message_of(|| pool.install(|_| -> () { panic!("install") })), "install");
                assert_eq!(pool.broadcast(|part| part.index()).len(), threads);
            });
        }
    });
}

/// Catches: pools of one thread that wait for each other, or that do not serve while they wait.
#[test]
fn pools_of_one_thread_call_into_each_other_and_back() {
    ends(|| {
        for wait in [Wait::Leapfrog, Wait::Any, Wait::Block] {
            let one =
                || Pool::builder().threads(1).external_slot(false).wait(wait).build().unwrap();
            let (a, b) = (one(), one());
            for _ in 0..50 {
                assert_eq!(a.run(|_| b.run(|_| a.run(|_| b.install(|w| fib(w, 8))))), 21);
                assert_eq!(a.in_place_scope(|_| b.install(|_| a.install(|w| fib(w, 8)))), 21);
            }
        }
    });
}

/// A test of a thread that becomes a worker permanently, on a thread of its own.
fn alone(test: impl FnOnce() + Send + 'static) {
    ends(|| thread::spawn(test).join().map_err(std::panic::resume_unwind).unwrap());
}

fn of_this_thread(threads: usize, wait: Wait) -> Pool {
    Pool::builder().threads(threads).use_current_thread().wait(wait).build().unwrap()
}

/// Catches: a building thread whose calls run on another thread or at another slot, or a free
/// function that uses another pool.
#[test]
fn the_building_thread_is_worker_0() {
    alone(|| {
        let (pool, here) = (of_this_thread(3, Wait::default()), thread::current().id());
        assert_eq!(pool.run(|w| (w.index(), thread::current().id())), (0, here));
        assert_eq!(pool.install(|w| (w.index(), thread::current().id())), (0, here));
        assert_eq!(
            sinew_core::with_current(|w| w.map(|w| (w.index(), w.max_threads()))),
            Some((0, 3))
        );
        let parts = pool.broadcast(|part| (part.index(), thread::current().id() == here));
        assert_eq!(parts, [(0, true), (1, false), (2, false)]);
        // Inside another pool that one is current, and afterwards this one again.
        assert_eq!(full_pool(2).install(|w| w.max_threads()), 2);
        assert_eq!(sinew_core::run(|w| w.max_threads()), 3);
        pool.close();
        // It stays a worker; no other thread is left.
        assert_eq!(sinew_core::join(|| 1, || 2), (1, 2));
    });
}

/// Catches: tasks of the building thread that no worker finds.
#[test]
fn the_others_take_tasks_of_the_building_thread() {
    alone(|| {
        let pool = of_this_thread(3, Wait::default());
        for _ in 0..50 {
            let all = Barrier::new(3);
            pool.run(|w| w.join(|_| meet(&all), |w| w.join(|_| meet(&all), |_| meet(&all))));
            sinew_core::scope(|s| {
                (0..2).for_each(|_| s.spawn(|_| meet(&all)));
                all.wait();
            });
        }
        let done = Arc::new(Barrier::new(2));
        let theirs = Arc::clone(&done);
        sinew_core::spawn(move |_| meet(&theirs));
        done.wait();
        pool.close();
    });
}

/// Catches: a call from outside that waits for ever although a thread of the pool waits or yields.
#[test]
fn the_building_thread_serves_others_while_it_waits() {
    alone(|| {
        // The only worker yields.
        let pool = of_this_thread(1, Wait::default());
        let served = AtomicUsize::new(0);
        thread::scope(|s| {
            s.spawn(|| {
                assert_eq!(pool.install(|w| (w.index(), fib(w, 8))), (0, 21));
                served.fetch_add(1, Ordering::SeqCst);
            });
            while served.load(Ordering::SeqCst) == 0 {
                pool.run(|w| w.yield_now());
            }
        });
    });
    alone(|| {
        // The other worker is in an arm that ends only when the building thread has served a
        // caller.
        let pool = of_this_thread(2, Wait::Any);
        let begun = Barrier::new(2);
        let ((), slot) = pool.run(|w| {
            w.join(
                |_| meet(&begun),
                |_| {
                    begun.wait();
                    thread::scope(|s| s.spawn(|| pool.install(|w| w.index())).join().unwrap())
                },
            )
        });
        assert_eq!(slot, 0);
    });
}

/// Catches: a thread that would have to be two workers at once.
#[test]
fn a_worker_cannot_build_a_pool_of_its_own_thread() {
    alone(|| {
        let build = || Pool::builder().threads(2).use_current_thread().build();
        for error in
            [pool(2).run(|_| build().unwrap_err()), full_pool(1).install(|_| build().unwrap_err())]
        {
            assert!(matches!(error, BuildError::AlreadyWorker));
            assert!(
                error.source().is_none() && error.to_string().contains("another pool"),
                "{error}"
            );
        }
        let first = build().unwrap();
        assert!(matches!(build().unwrap_err(), BuildError::AlreadyWorker));
        // Its thread is a worker permanently.
        drop(first);
        assert!(matches!(build().unwrap_err(), BuildError::AlreadyWorker));
    });
}

/// Catches: slots that are assigned twice, in another order or not at all, or a shutdown that does
/// not wait for a user's thread.
#[test]
fn threads_may_come_from_the_user() {
    ends(|| {
        for threads in 1..=4 {
            let (builder, exits) = telling(threads);
            let mut handles = Vec::new();
            let pool = builder
                .build_with(|slot| {
                    assert_eq!(slot.index(), handles.len());
                    handles.push(thread::spawn(|| slot.run()));
                    Ok(())
                })
                .unwrap();
            let all = handles.iter().map(|handle| handle.thread().id()).collect::<Vec<_>>();
            assert_eq!(pool.broadcast(|_| thread::current().id()), all);
            pool.shutdown();
            assert_eq!(all_left(&exits), Vec::from_iter(0..threads));
            handles.into_iter().for_each(|handle| handle.join().unwrap());
        }
    });
}

/// Catches: a pool whose threads outlive what they borrow, or never leave their scope.
#[test]
fn threads_may_live_in_a_scope_of_the_standard_library() {
    ends(|| {
        let left = AtomicUsize::new(0);
        let sum = thread::scope(|s| {
            let start = |slot: sinew_core::WorkerThread| {
                s.spawn(|| {
                    slot.run();
                    left.fetch_add(1, Ordering::SeqCst);
                });
                Ok(())
            };
            let pool = Pool::builder().threads(3).external_slot(false).build_with(start).unwrap();
            pool.install(|w| fib(w, 12))
        });
        assert_eq!((sum, left.into_inner()), (144, 3));
    });
}

/// Catches: threads that wait for a pool which was never built, or a cause that is lost.
#[test]
fn a_thread_that_the_user_refuses_is_an_error_and_the_others_end() {
    ends(|| {
        for refused in 0..4 {
            let (builder, exits) = telling(4);
            let mut handles = Vec::new();
            let built = builder.build_with(|slot| {
                if slot.index() == refused {
                    return Err(io::Error::other("no more"));
                }
                handles.push(thread::spawn(|| slot.run()));
                Ok(())
            });
            let error = built.unwrap_err();
            assert!(matches!(error, BuildError::Spawn(_)));
            assert_eq!(error.source().unwrap().to_string(), "no more");
            handles.into_iter().for_each(|handle| handle.join().unwrap());
            assert_eq!(all_left(&exits), Vec::from_iter(0..refused));
        }
    });
}

/// Catches: a pool that waits, while it works or at its end, for a thread that never started.
#[test]
fn a_pool_does_without_the_thread_of_a_slot_that_was_dropped() {
    ends(|| {
        for missing in 0..3 {
            let (builder, exits) = telling(3);
            let start = |slot: sinew_core::WorkerThread| {
                if slot.index() != missing {
                    thread::spawn(|| slot.run());
                }
                Ok(())
            };
            let pool = builder.build_with(start).unwrap();
            let both = Barrier::new(2);
            pool.install(|w| w.join(|_| meet(&both), |_| meet(&both)));
            assert_eq!(pool.install(|w| fib(w, 12)), 144);
            pool.shutdown();
            assert_eq!(all_left(&exits), Vec::from_iter((0..3).filter(|&slot| slot != missing)));
        }
    });
}
