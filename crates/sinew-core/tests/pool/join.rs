//! Both arms of a join: results, drops, panics, here and stolen.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use sinew_core::{Pool, Worker};

use crate::support::{
    Bomb, Drops, assert_aborted, child, ends, is_child, message_of, payload_of, pool,
    with_each_pool,
};

fn fib(w: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

/// A join whose second arm is certainly stolen: the first waits until it has begun.
fn stolen<RA: Send, RB: Send>(
    pool: &Pool,
    first: impl FnOnce() -> RA + Send,
    second: impl FnOnce() -> RB + Send,
) -> (RA, RB) {
    let begun = Barrier::new(2);
    pool.run(|w| {
        w.join(
            |_| {
                begun.wait();
                first()
            },
            |_| {
                begun.wait();
                second()
            },
        )
    })
}

/// Catches: arms whose results change places, or an arm that is not run.
#[test]
fn results_come_back_in_the_order_of_the_arms() {
    let pool = pool(2);
    assert_eq!(pool.run(|w| w.join(|_| "first", |_| 2)), ("first", 2));
    assert_eq!(stolen(&pool, || "first", || 2), ("first", 2));
}

/// Catches: lost, repeated or swapped tasks in deep trees.
#[test]
fn nested_joins_compute_what_the_serial_program_does() {
    ends(|| {
        for threads in [1, 2, 3, 8] {
            with_each_pool(threads, |pool| {
                for _ in 0..5 {
                    assert_eq!(pool.run(|w| fib(w, 20)), 6765);
                    assert_eq!(pool.install(|w| fib(w, 15)), 610);
                }
            });
        }
    });
}

/// Catches: a second arm that only seems to be stolen, and a steal that is not counted.
#[test]
fn a_stolen_arm_runs_on_another_thread_and_is_counted() {
    ends(|| {
        with_each_pool(2, |pool| {
            let before = pool.counters();
            let (here, there) = stolen(pool, || thread::current().id(), || thread::current().id());
            assert_eq!(here, thread::current().id());
            assert_ne!(here, there);
            assert_eq!(pool.counters().since(before).stolen, 1);
        });
    });
}

/// Catches: counting on the fast path.
#[test]
fn joins_that_nobody_steals_count_nothing() {
    let pool = pool(1);
    let before = pool.counters();
    pool.run(|_| ());
    let empty = pool.counters();
    assert_eq!(pool.run(|w| fib(w, 15)), 610);
    assert_eq!(pool.counters().since(empty), empty.since(before));
}

/// Catches: a free function that loses the worker, or enters another pool.
#[test]
fn the_free_join_uses_the_pool_it_is_called_in() {
    fn sum(n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let (a, b) = sinew_core::join(|| sum(n / 2), || sum((n - 1) / 2));
        a + b + 1
    }
    let pool = pool(3);
    assert_eq!(pool.run(|_| sum(1000)), 1000);
    let (a, b) = pool.run(|_| {
        sinew_core::join(
            || sinew_core::run(|w| w.max_threads()),
            || sinew_core::run(|w| w.max_threads()),
        )
    });
    assert_eq!((a, b), (3, 3));
}

/// Catches: a second arm that is skipped because the first panicked, a payload that is replaced,
/// a stack left crooked.
#[test]
fn the_second_arm_runs_although_the_first_panics() {
    with_each_pool(2, |pool| {
        let ran = AtomicBool::new(false);
        let message = message_of(|| {
            pool.run(|w| w.join(|_| panic!("first"), |_| ran.store(true, Ordering::SeqCst)));
        });
        assert_eq!(message, "first");
        assert!(ran.into_inner());
        assert_eq!(pool.run(|w| fib(w, 10)), 55);
    });
}

/// Catches: a panic of the second arm that is swallowed.
#[test]
fn a_panic_of_the_second_arm_reaches_the_caller() {
    with_each_pool(2, |pool| {
        let message = message_of(|| pool.run(|w| w.join(|_| 1, |_| -> u32 { panic!("second") })));
        assert_eq!(message, "second");
        assert_eq!(pool.run(|w| fib(w, 10)), 55);
    });
}

/// Catches: the wrong payload when there are two.
#[test]
fn the_first_arm_wins_when_both_panic() {
    ends(|| {
        with_each_pool(2, |pool| {
            let here = || {
                pool.run(|w| {
                    w.join(|_| -> u32 { panic!("first") }, |_| -> u32 { panic!("second") })
                })
            };
            assert_eq!(message_of(here), "first");
            let there =
                || stolen(pool, || -> u32 { panic!("first") }, || -> u32 { panic!("second") });
            assert_eq!(message_of(there), "first");
        });
    });
}

/// Catches: a payload that loses its type on the way from the thief.
#[test]
fn a_payload_comes_back_from_a_thief_as_it_was() {
    ends(|| {
        #[derive(Debug, PartialEq)]
        struct Payload(u32);
        let pool = pool(2);
        let payload =
            payload_of(|| stolen(&pool, || (), || -> () { std::panic::panic_any(Payload(7)) }));
        assert_eq!(*payload.downcast::<Payload>().unwrap(), Payload(7));
        assert_eq!(pool.run(|w| fib(w, 10)), 55);
    });
}

/// Catches: a frame that unwinds while a thief still uses it.
#[test]
fn a_panic_waits_for_the_stolen_arm() {
    ends(|| {
        with_each_pool(2, |pool| {
            let (may_end, ended) = (Barrier::new(2), AtomicBool::new(false));
            let message = message_of(|| {
                stolen(
                    pool,
                    || {
                        // The first arm unwinds only after this barrier; the second goes on beyond
                        // it.
                        may_end.wait();
                        panic!("first")
                    },
                    || {
                        may_end.wait();
                        (0..10_000).for_each(|_| std::hint::spin_loop());
                        ended.store(true, Ordering::SeqCst);
                    },
                )
            });
            assert_eq!(message, "first");
            assert!(ended.into_inner());
        });
    });
}

/// Catches: results and captures that are leaked or dropped twice, on each of the ways out of a
/// join.
#[test]
fn results_and_captures_are_dropped_once() {
    ends(|| {
        with_each_pool(2, |pool| {
            let (captured, returned) = (Drops::default(), Drops::default());
            let first = || {
                let capture = captured.child();
                let result = returned.child();
                move || (drop(capture), result).1
            };
            drop(pool.run(|w| {
                let (a, b) = (first(), first());
                w.join(|_| a(), |_| b())
            }));
            assert_eq!((captured.count(), returned.count()), (2, 2));
            drop(stolen(pool, first(), first()));
            assert_eq!((captured.count(), returned.count()), (4, 4));
            // The result of the arm that does not panic is dropped, wherever it was computed.
            let capture = captured.child();
            payload_of(|| stolen(pool, move || -> u32 { panic!("{capture:?}") }, first()));
            assert_eq!((captured.count(), returned.count()), (6, 5));
            let capture = captured.child();
            payload_of(|| stolen(pool, first(), move || -> u32 { panic!("{capture:?}") }));
            assert_eq!((captured.count(), returned.count()), (8, 6));
        });
    });
}

/// Catches: panics from many depths at once, and tasks that are lost by them.
#[test]
fn every_leaf_of_a_tree_of_panics_runs() {
    fn tree(w: &Worker, depth: u32, leaves: &AtomicUsize) {
        if depth == 0 {
            if leaves.fetch_add(1, Ordering::Relaxed).is_multiple_of(3) {
                panic!("leaf");
            }
            return;
        }
        w.join(|w| tree(w, depth - 1, leaves), |w| tree(w, depth - 1, leaves));
    }
    ends(|| {
        let pool = pool(4);
        for _ in 0..20 {
            let leaves = AtomicUsize::new(0);
            assert_eq!(message_of(|| pool.run(|w| tree(w, 6, &leaves))), "leaf");
            assert_eq!(leaves.into_inner(), 64);
        }
    });
}

/// Catches: a process that goes on with an arm's payload half dropped.
#[test]
fn a_second_payload_that_panics_when_dropped_aborts() {
    if is_child() {
        let pool = pool(1);
        pool.run(|w| {
            w.join(|_| -> u32 { panic!("first") }, |_| -> u32 { std::panic::panic_any(Bomb) })
        });
        return;
    }
    assert_aborted(
        &child("join::a_second_payload_that_panics_when_dropped_aborts").output().unwrap(),
    );
}
