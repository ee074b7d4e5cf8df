//! The ways into a pool: from outside, from inside, and from one pool into another.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;

use sinew_core::{Pool, Worker};

use crate::support::{ends, meet, message_of, pool};

fn fib(w: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

/// The size of the pool that free functions use here.
fn current() -> usize {
    sinew_core::run(|w| w.max_threads())
}

/// Catches: a caller from outside that is moved to another thread, or an `install` that is not.
#[test]
fn run_stays_on_the_thread_and_install_leaves_it() {
    ends(|| {
        let here = thread::current().id();
        for threads in [1, 2, 4] {
            let pool = pool(threads);
            assert_eq!(pool.run(|w| (w.index(), thread::current().id())), (0, here));
            let (slot, there) = pool.install(|w| (w.index(), thread::current().id()));
            // A pool of one has no thread to go to.
            assert_eq!((slot == 0, there == here), (threads == 1, threads == 1));
        }
    });
}

/// Catches: a second entry that waits for the first, which is the caller's own.
#[test]
fn a_worker_that_enters_its_own_pool_stays_where_it_is() {
    ends(|| {
        for threads in [1, 2] {
            let pool = pool(threads);
            let (outer, inner, installed) = pool.install(|w| {
                let inner = pool.run(|w| (w.index(), thread::current().id()));
                let installed = pool.install(|w| (w.index(), thread::current().id()));
                ((w.index(), thread::current().id()), inner, installed)
            });
            assert_eq!((outer, outer), (inner, installed));
        }
    });
}

/// Catches: callers that share a slot, wait for each other for ever, or get each other's
/// results.
#[test]
fn several_callers_at_once_get_their_own_results() {
    ends(|| {
        for threads in [1, 2, 3] {
            let pool = pool(threads);
            let start = Barrier::new(6);
            thread::scope(|callers| {
                for caller in 0..6 {
                    let (pool, start) = (&pool, &start);
                    callers.spawn(move || {
                        start.wait();
                        for round in 0..100 {
                            let result = match (caller + round) % 2 {
                                0 => pool.run(|w| (caller, round, fib(w, 8))),
                                _ => pool.install(|w| (caller, round, fib(w, 8))),
                            };
                            assert_eq!(result, (caller, round, 21));
                        }
                    });
                }
            });
        }
    });
}

/// Catches: a second caller that waits until the external thread leaves, although the pool has
/// threads.
#[test]
fn a_caller_that_finds_the_slot_taken_is_served_by_a_thread() {
    ends(|| {
        let pool = pool(2);
        let (enter, leave) = (Barrier::new(2), Barrier::new(2));
        thread::scope(|s| {
            s.spawn(|| {
                pool.run(|_| {
                    enter.wait();
                    leave.wait();
                });
            });
            enter.wait();
            assert_eq!(pool.run(|w| w.index()), 1);
            leave.wait();
        });
    });
}

/// Catches: in a pool of one, a caller that never gets the slot.
#[test]
fn callers_of_a_pool_of_one_take_turns() {
    ends(|| {
        let pool = pool(1);
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|callers| {
            for _ in 0..4 {
                callers.spawn(|| {
                    for _ in 0..100 {
                        pool.run(|_| {
                            most.fetch_max(
                                inside.fetch_add(1, Ordering::SeqCst) + 1,
                                Ordering::SeqCst,
                            );
                            inside.fetch_sub(1, Ordering::SeqCst);
                        });
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 1);
    });
}

/// Catches: a panic that stays in the pool, or an external thread that keeps the slot when it
/// unwinds.
#[test]
fn a_panic_comes_back_to_the_caller_and_frees_the_slot() {
    for threads in [1, 2] {
        let pool = pool(threads);
        for _ in 0..3 {
            assert_eq!(message_of(|| pool.run(|_| -> () { panic!("run") })), "run");
            assert_eq!(message_of(|| pool.install(|_| -> () { panic!("install") })), "install");
        }
        assert_eq!(pool.run(|w| (w.index(), fib(w, 10))), (0, 55));
    }
}

/// Catches: free functions that go to a pool farther out than the one entered last, on the way
/// in and on the way back.
#[test]
fn the_pool_entered_last_is_the_current_one() {
    ends(|| {
        let (a, b) = (pool(2), pool(3));
        let seen = a.run(|_| {
            let inner = b.run(|_| {
                (current(), a.run(|_| (current(), b.run(|_| current()), current())), current())
            });
            (inner, current())
        });
        assert_eq!(seen, ((3, (2, 3, 2), 3), 2));
    });
}

/// Catches: a thread that no longer knows a pool farther out, and waits for the slot that it
/// holds itself.
#[test]
fn pools_of_one_may_be_nested_in_each_other() {
    ends(|| {
        let (a, b) = (pool(1), pool(1));
        let sum =
            a.run(|_| b.install(|_| a.run(|_| b.run(|v| fib(v, 6) + a.install(|w| fib(w, 5))))));
        assert_eq!(sum, 5 + 8);
    });
}

/// Catches: stack depths, slots or queues of two pools that get mixed up on one thread.
#[test]
fn trees_may_change_between_pools_at_every_level() {
    fn tree(pools: [&Pool; 2], depth: usize) -> usize {
        if depth == 0 {
            return 1;
        }
        let (a, b) = pools[depth % 2]
            .run(|w| w.join(|_| tree(pools, depth - 1), |_| tree(pools, depth - 1)));
        a + b
    }
    ends(|| {
        let (a, b) = (pool(3), pool(3));
        for _ in 0..20 {
            assert_eq!(tree([&a, &b], 6), 64);
        }
    });
}

/// Catches: two pools whose workers wait for each other.
#[test]
fn pools_that_install_into_each_other_do_not_deadlock() {
    ends(|| {
        // Each has one thread, and no external thread.
        let (a, b) = (pool(2), pool(2));
        assert_eq!(a.install(|_| b.install(|_| a.install(|_| b.install(|w| fib(w, 10))))), 55);
        thread::scope(|s| {
            for (mine, other) in [(&a, &b), (&b, &a)] {
                s.spawn(move || {
                    for _ in 0..100 {
                        assert_eq!(
                            mine.install(|_| other.install(|_| mine.install(|w| fib(w, 5)))),
                            5
                        );
                    }
                });
            }
        });
    });
}

/// Catches: a worker that serves no calls while it waits for another pool.
#[test]
fn a_worker_that_waits_for_another_pool_serves_its_own() {
    ends(|| {
        let (a, b) = (pool(2), pool(2));
        a.install(|_| {
            let (done, wait) = mpsc::channel();
            let a = &a;
            b.install(move |_| {
                a.spawn(move |_| done.send(()).unwrap());
                wait.recv().unwrap();
            });
        });
    });
}

/// Catches: a call from a thread that is gone before the next one comes.
#[test]
fn threads_may_come_and_go() {
    ends(|| {
        let pool = pool(2);
        for n in 0..50 {
            let result =
                thread::scope(|s| s.spawn(|| pool.run(|w| fib(w, n % 10))).join().unwrap());
            assert_eq!(result, pool.install(|w| fib(w, n % 10)));
        }
    });
}

/// Catches: a slot that its holder keeps while it waits for a thread that waits for the slot.
#[test]
fn a_pool_of_one_that_waits_for_another_can_be_called_back() {
    ends(|| {
        let (one, two) = (pool(1), pool(2));
        for _ in 0..50 {
            assert_eq!(one.run(|_| two.install(|_| one.run(|w| fib(w, 10)))), 55);
            assert_eq!(one.run(|_| two.install(|_| one.install(|w| fib(w, 10)))), 55);
        }
    });
}

/// Catches: a call from another pool that is forgotten when the external thread leaves without a
/// look at the queue.
#[test]
fn an_external_thread_that_only_computes_does_not_lose_the_calls_of_others() {
    ends(|| {
        let (one, two) = (pool(1), pool(2));
        for _ in 0..50 {
            let begun = Barrier::new(2);
            thread::scope(|s| {
                s.spawn(|| one.run(|_| meet(&begun)));
                let called = two.install(|_| {
                    begun.wait();
                    one.run(|w| fib(w, 10))
                });
                assert_eq!(called, 55);
            });
        }
    });
}
