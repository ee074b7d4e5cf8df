//! Scopes: borrowing, nesting, spawning from anywhere, bounds, panics.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;

use sinew_core::{Scope, ScopeBuilder, Worker, scope};

use crate::support::{
    Bomb, Drops, assert_aborted, assert_one_line, child, ends, is_child, message_of, pool,
    with_each_pool,
};

/// Catches: a scope that returns before its tasks, or loses what its body returns.
#[test]
fn a_scope_ends_after_its_tasks_and_returns_what_its_body_does() {
    ends(|| {
        for threads in [1, 2, 4] {
            with_each_pool(threads, |pool| {
                let mut squares = vec![0; 100];
                let length = pool.run(|_| {
                    scope(|s| {
                        for (i, square) in squares.iter_mut().enumerate() {
                            s.spawn(move |_| *square = i * i);
                        }
                        "done".len()
                    })
                });
                assert_eq!(length, 4);
                assert!(squares.iter().enumerate().all(|(i, square)| *square == i * i));
            });
        }
    });
}

fn grow<'scope>(s: &'scope Scope<'scope, '_>, depth: u32, leaves: &'scope AtomicUsize) {
    if depth == 0 {
        leaves.fetch_add(1, Ordering::Relaxed);
        return;
    }
    for _ in 0..3 {
        s.spawn(move |_| grow(s, depth - 1, leaves));
    }
}

/// Catches: tasks of tasks that the scope does not wait for.
#[test]
fn tasks_may_spawn_into_their_scope() {
    ends(|| {
        for threads in [1, 2, 4] {
            let (pool, leaves) = (pool(threads), AtomicUsize::new(0));
            pool.run(|_| scope(|s| grow(s, 6, &leaves)));
            assert_eq!(leaves.into_inner(), 729);
        }
    });
}

/// Catches: an inner scope that waits for the outer one's tasks, or the other way round not at
/// all.
#[test]
fn scopes_nest_and_inner_tasks_may_spawn_into_the_outer_one() {
    ends(|| {
        with_each_pool(3, |pool| {
            let (inner, outer) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let (inner, outer) = (&inner, &outer);
            pool.run(|_| {
                scope(|s| {
                    for _ in 0..10 {
                        s.spawn(move |_| {
                            let before = AtomicUsize::new(0);
                            scope(|t| {
                                for _ in 0..10 {
                                    t.spawn(|_| {
                                        before.fetch_add(1, Ordering::Relaxed);
                                        inner.fetch_add(1, Ordering::Relaxed);
                                        s.spawn(|_| {
                                            outer.fetch_add(1, Ordering::Relaxed);
                                        });
                                    });
                                }
                            });
                            assert_eq!(before.into_inner(), 10);
                        });
                    }
                });
            });
            assert_eq!((inner.load(Ordering::Relaxed), outer.load(Ordering::Relaxed)), (100, 100));
        });
    });
}

/// Catches: tasks from threads that are no workers, also while the scope's owner sleeps at its
/// end.
#[test]
fn foreign_threads_may_spawn_into_a_scope() {
    ends(|| {
        for threads in [1, 2, 3] {
            let (pool, ran) = (pool(threads), AtomicUsize::new(0));
            let ran = &ran;
            pool.run(|_| {
                scope(|s| {
                    thread::scope(|foreign| {
                        for _ in 0..3 {
                            foreign.spawn(|| {
                                for _ in 0..50 {
                                    s.spawn(|_| {
                                        ran.fetch_add(1, Ordering::Relaxed);
                                    });
                                }
                            });
                        }
                    });
                });
            });
            assert_eq!(ran.load(Ordering::Relaxed), 150);
        }
    });
}

/// Catches: an owner that sleeps at the end of its scope beside a task that came late, from a
/// thread that a task waits for.
#[test]
fn a_waiting_owner_runs_what_a_foreign_thread_spawns() {
    ends(|| {
        for threads in [1, 2] {
            let pool = pool(threads);
            let ran = AtomicUsize::new(0);
            let ran = &ran;
            pool.run(|_| {
                scope(|s| {
                    s.spawn(move |_| {
                        thread::scope(|foreign| {
                            foreign.spawn(|| {
                                s.spawn(|_| {
                                    ran.fetch_add(1, Ordering::Relaxed);
                                });
                            });
                        });
                    });
                });
            });
            assert_eq!(ran.load(Ordering::Relaxed), 1);
        }
    });
}

/// Catches: a bound of 0 that queues, and tasks that change their order or their thread under
/// it.
#[test]
fn a_bound_of_zero_runs_every_task_at_its_spawn() {
    with_each_pool(2, |pool| {
        let order = Mutex::new(Vec::new());
        pool.run(|_| {
            let here = thread::current().id();
            ScopeBuilder::new().max_pending(0).run(|s| {
                for i in 0..10 {
                    let order = &order;
                    s.spawn(move |_| {
                        assert_eq!(thread::current().id(), here);
                        order.lock().unwrap().push(i);
                    });
                    assert_eq!(order.lock().unwrap().len(), i + 1);
                }
            });
        });
        assert_eq!(order.into_inner().unwrap(), Vec::from_iter(0..10));
    });
}

/// Catches: a bound that is passed over.
#[test]
fn a_bound_limits_the_tasks_that_are_not_over() {
    ends(|| {
        for bound in [1, 2, 7] {
            with_each_pool(3, |pool| {
                let (live, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
                pool.run(|_| {
                    ScopeBuilder::new().max_pending(bound).run(|s| {
                        for _ in 0..500 {
                            most.fetch_max(
                                live.fetch_add(1, Ordering::SeqCst) + 1,
                                Ordering::SeqCst,
                            );
                            s.spawn(|_| {
                                live.fetch_sub(1, Ordering::SeqCst);
                            });
                        }
                    });
                });
                assert_eq!(live.into_inner(), 0);
                // One more than the bound: the task that its spawner runs at once.
                assert!(most.into_inner() <= bound + 1);
            });
        }
    });
}

/// Catches: a tree of tasks under a bound that waits for itself.
#[test]
fn tasks_of_tasks_respect_a_bound_and_all_run() {
    ends(|| {
        for bound in [0, 1, 5] {
            let (pool, leaves) = (pool(3), AtomicUsize::new(0));
            pool.run(|_| ScopeBuilder::new().max_pending(bound).run(|s| grow(s, 6, &leaves)));
            assert_eq!(leaves.into_inner(), 729);
        }
    });
}

/// Catches: tasks that a panic of another takes along, a payload replaced by a later one, a pool
/// that is unusable afterwards.
#[test]
fn the_first_payload_is_kept_and_all_tasks_run() {
    for threads in [1, 2] {
        let (pool, ran) = (pool(threads), AtomicUsize::new(0));
        let message = message_of(|| {
            pool.run(|_| {
                ScopeBuilder::new().max_pending(0).run(|s| {
                    s.spawn(|_| panic!("first"));
                    s.spawn(|_| panic!("second"));
                    (0..10).for_each(|_| {
                        s.spawn(|_| {
                            ran.fetch_add(1, Ordering::Relaxed);
                        });
                    });
                });
            });
        });
        assert_eq!((message, ran.into_inner()), ("first", 10));
        assert_eq!(pool.run(|_| scope(|_| 7)), 7);
    }
}

/// Catches: a body's panic that leaves tasks behind, which borrow from the frame that unwinds.
#[test]
fn tasks_run_although_the_body_panics() {
    ends(|| {
        with_each_pool(2, |pool| {
            let ran = AtomicUsize::new(0);
            let message = message_of(|| {
                pool.run(|_| {
                    scope(|s| {
                        (0..10).for_each(|_| {
                            s.spawn(|_| {
                                ran.fetch_add(1, Ordering::Relaxed);
                            });
                        });
                        panic!("body");
                    });
                });
            });
            assert_eq!((message, ran.into_inner()), ("body", 10));
        });
    });
}

/// Catches: a body's payload that is replaced by that of a task which panics later.
#[test]
fn the_payload_of_a_body_that_panics_first_is_kept() {
    // Alone, the worker runs the task after the body.
    let pool = pool(1);
    let message = message_of(|| {
        pool.run(|_| {
            scope(|s| {
                s.spawn(|_| panic!("task"));
                panic!("body");
            });
        });
    });
    assert_eq!(message, "body");
}

/// Catches: captures of tasks that are leaked or dropped twice, with and without panics.
#[test]
fn captures_of_tasks_are_dropped_once() {
    with_each_pool(2, |pool| {
        let drops = Drops::default();
        let message = message_of(|| {
            pool.run(|_| {
                scope(|s| {
                    for i in 0..20 {
                        let capture = drops.child();
                        s.spawn(move |_| {
                            let _capture = capture;
                            assert!(i != 13, "thirteen");
                        });
                    }
                });
            });
        });
        assert_eq!((message, drops.count()), ("thirteen", 20));
    });
}

/// Catches: a second payload whose drop unwinds out of the worker, and leaves the scope waiting
/// for ever.
#[test]
fn a_later_payload_that_panics_when_dropped_aborts() {
    if is_child() {
        pool(1).run(|_| {
            scope(|s| (0..2).for_each(|_| s.spawn(|_| std::panic::panic_any(Bomb))));
        });
        return;
    }
    let output = child("scope::a_later_payload_that_panics_when_dropped_aborts").output().unwrap();
    assert_aborted(&output);
    assert_one_line(&output, "payload");
}

/// Catches: joins inside scope tasks inside joins, whose tasks lie in different queues.
#[test]
fn joins_and_scopes_nest_in_any_order() {
    fn mixed(w: &Worker, depth: u32) -> usize {
        if depth == 0 {
            return 1;
        }
        let sum = AtomicUsize::new(0);
        let (a, ()) = w.join(
            |w| mixed(w, depth - 1),
            |_| {
                scope(|s| {
                    for _ in 0..2 {
                        s.spawn(|w| {
                            sum.fetch_add(mixed(w, depth - 1), Ordering::Relaxed);
                        });
                    }
                });
            },
        );
        a + sum.into_inner()
    }
    ends(|| {
        for threads in [1, 2, 4] {
            with_each_pool(threads, |pool| assert_eq!(pool.run(|w| mixed(w, 6)), 729));
        }
    });
}

/// Catches: a second scope that inherits what a first one left behind, and scopes of several
/// threads at once.
#[test]
fn scopes_of_several_callers_do_not_mix() {
    ends(|| {
        let pool = pool(3);
        let start = Barrier::new(4);
        thread::scope(|callers| {
            for _ in 0..4 {
                callers.spawn(|| {
                    start.wait();
                    for _ in 0..50 {
                        let ran = AtomicUsize::new(0);
                        pool.run(|_| {
                            scope(|s| {
                                (0..8).for_each(|_| {
                                    s.spawn(|_| {
                                        ran.fetch_add(1, Ordering::Relaxed);
                                    });
                                });
                            });
                        });
                        assert_eq!(ran.into_inner(), 8);
                    }
                });
            }
        });
    });
}
