//! Open scopes, whose tasks get the scope itself; in-place scopes; the order of tasks; yielding.

use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use sinew_core::open::{OpenScope, OpenScopeFifo};
use sinew_core::{Pool, Worker};

use crate::support::{
    Drops, WAITS, add, ends, message_of, pool, with_each_full_pool, with_each_pool,
};

fn grow<'s>(s: &OpenScope<'s>, depth: u32, leaves: &'s AtomicUsize) {
    match depth {
        0 => add(leaves),
        _ => (0..3).for_each(|_| s.spawn(move |s| grow(s, depth - 1, leaves))),
    }
}

fn grow_fifo<'s>(s: &OpenScopeFifo<'s>, depth: u32, leaves: &'s AtomicUsize) {
    match depth {
        0 => add(leaves),
        _ => (0..3).for_each(|_| s.spawn_fifo(move |s| grow_fifo(s, depth - 1, leaves))),
    }
}

/// Catches: tasks of tasks for which the scope does not wait, of either kind of scope, from every
/// kind of caller.
#[test]
fn tasks_may_spawn_into_the_scope_they_get() {
    fn all(pool: &Pool) {
        let leaves = AtomicUsize::new(0);
        pool.open_scope(|s| grow(s, 5, &leaves));
        pool.open_scope_fifo(|s| grow_fifo(s, 5, &leaves));
        pool.in_place_scope(|s| grow(s, 5, &leaves));
        pool.in_place_scope_fifo(|s| grow_fifo(s, 5, &leaves));
        pool.install(|w| w.open_scope(|s| grow(s, 5, &leaves)));
        pool.install(|w| w.open_scope_fifo(|s| grow_fifo(s, 5, &leaves)));
        assert_eq!(leaves.into_inner(), 6 * 243);
    }
    ends(|| {
        for threads in [1, 2, 4] {
            with_each_full_pool(threads, all);
            with_each_pool(threads.max(2), all);
        }
    });
}

/// Catches: a lost result, or a task that ends after its scope and its borrows.
#[test]
fn scopes_return_what_their_body_does_after_their_tasks() {
    ends(|| {
        with_each_full_pool(3, |pool| {
            let mut squares = vec![0; 100];
            let length = pool.open_scope(|s| {
                for (i, square) in squares.iter_mut().enumerate() {
                    s.spawn(move |s| s.spawn(move |_| *square = i * i));
                }
                "done".len()
            });
            assert_eq!((length, squares.iter().sum::<usize>()), (4, 328_350));
            assert_eq!(pool.in_place_scope_fifo(|_| "none".len()), 4);
        });
    });
}

/// Catches: tasks that are lost after a panic, a pool that is unusable afterwards, captures that
/// are leaked or dropped twice.
#[test]
fn every_task_runs_and_one_payload_comes_back() {
    ends(|| {
        with_each_full_pool(3, |pool| {
            let (ran, drops) = (AtomicUsize::new(0), Drops::new());
            let message = message_of(|| {
                pool.open_scope(|s| {
                    for i in 0..20 {
                        let (capture, ran) = (drops.child(), &ran);
                        s.spawn(move |s| {
                            let _capture = capture;
                            s.spawn(move |_| add(ran));
                            assert!(i != 13, "thirteen");
                        });
                    }
                });
            });
            assert_eq!((message, ran.into_inner(), drops.count()), ("thirteen", 20, 20));
            assert_eq!(pool.open_scope(|_| 7), 7);
        });
    });
}

/// Catches: a payload that is replaced by a later one.
#[test]
fn the_first_payload_is_kept() {
    ends(|| {
        with_each_full_pool(1, |pool| {
            let body_first = || {
                pool.open_scope(|s| {
                    s.spawn(|_| panic!("task"));
                    panic!("body");
                });
            };
            assert_eq!(message_of(body_first), "body");
            let in_order = || {
                pool.open_scope_fifo(|s| {
                    s.spawn_fifo(|_| panic!("first"));
                    s.spawn_fifo(|_| panic!("second"));
                });
            };
            assert_eq!(message_of(in_order), "first");
            assert_eq!(message_of(|| pool.in_place_scope(|s| s.spawn(|_| panic!("task")))), "task");
        });
    });
}

/// Catches: a body that moves to another thread, tasks that run on the thread of a caller from
/// outside, an owner that sleeps although its scope has ended.
#[test]
fn the_body_of_a_scope_in_place_stays_where_it_is() {
    ends(|| {
        with_each_full_pool(2, |pool| {
            // Neither the body nor what it returns may be sent.
            let (here, local) = (thread::current().id(), Rc::new(5));
            let threads = Mutex::new(Vec::new());
            let returned = pool.in_place_scope(|s| {
                assert_eq!(thread::current().id(), here);
                for _ in 0..20 {
                    s.spawn(|s| s.spawn(|_| threads.lock().unwrap().push(thread::current().id())));
                }
                Rc::clone(&local)
            });
            assert_eq!(*returned, 5);
            assert!(!threads.into_inner().unwrap().contains(&here));
            assert_eq!(message_of(|| pool.in_place_scope(|_| -> () { panic!("body") })), "body");
        });
    });
}

/// Catches: a scope in place whose owner, a worker of the pool or of another one, waits for
/// itself or runs tasks of the wrong pool.
#[test]
fn workers_may_own_scopes_in_place() {
    ends(|| {
        for wait in WAITS {
            let of = |threads| {
                let builder = Pool::builder().threads(threads).external_slot(false).wait(wait);
                builder.build().unwrap()
            };
            let (one, two) = (of(1), of(2));
            let sizes = Mutex::new(Vec::new());
            let note = || sizes.lock().unwrap().push(sinew_core::run(|w| w.max_threads()));
            let begin = |pool: &Pool, tasks: usize| {
                pool.in_place_scope(|s| (0..tasks).for_each(|_| s.spawn(|s| s.spawn(|_| note()))));
            };
            one.install(|_| begin(&one, 10));
            one.install(|_| begin(&two, 20));
            two.install(|_| begin(&one, 30));
            two.install(|w| w.join(|_| begin(&two, 40), |_| begin(&one, 50)));
            let sizes = sizes.into_inner().unwrap();
            assert_eq!(sizes.iter().filter(|&&size| size == 1).count(), 10 + 30 + 50);
            assert_eq!(sizes.iter().filter(|&&size| size == 2).count(), 20 + 40);
        }
    });
}

/// Catches: a scope's broadcast that misses a thread, is not waited for, cannot spawn, or loses
/// its panic.
#[test]
fn scopes_broadcast_to_every_thread() {
    ends(|| {
        for threads in 1..=3 {
            with_each_full_pool(threads, |pool| {
                let (slots, tasks) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
                let (parts, counted) = (&slots, &tasks);
                let all = Barrier::new(threads);
                let all = &all;
                pool.open_scope(|s| {
                    s.spawn_broadcast(move |s, part| {
                        all.wait();
                        parts.lock().unwrap().push(part.index());
                        s.spawn(move |_| add(counted));
                    });
                });
                pool.in_place_scope_fifo(|s| {
                    s.spawn_broadcast(move |s, part| {
                        parts.lock().unwrap().push(part.num_threads());
                        s.spawn_fifo(move |_| add(counted));
                    });
                });
                let mut slots = slots.into_inner().unwrap();
                slots[..threads].sort_unstable();
                assert_eq!(slots, Vec::from_iter((0..threads).chain(vec![threads; threads])));
                assert_eq!(tasks.into_inner(), 2 * threads);
                let panics = || pool.open_scope(|s| s.spawn_broadcast(|_, _| panic!("part")));
                assert_eq!(message_of(panics), "part");
            });
        }
    });
}

/// Notes numbers in the order in which the tasks of two nested scopes come.
macro_rules! order {
    ($pool:expr, $outer:ident $spawn_outer:ident, $inner:ident $spawn_inner:ident) => {{
        let notes = Mutex::new(Vec::new());
        let noted = &notes;
        $pool.install(|w| {
            w.$outer(|s| {
                for i in 0..10 {
                    s.$spawn_outer(move |_| {
                        let inner = |w: &Worker| {
                            w.$inner(|s| {
                                (0..10).for_each(|j| {
                                    s.$spawn_inner(move |_| noted.lock().unwrap().push(10 * i + j));
                                });
                            });
                        };
                        sinew_core::with_current(|w| inner(w.unwrap()));
                    });
                }
            });
        });
        notes.into_inner().unwrap()
    }};
}

/// Catches: an order that depends on the enclosing scope, or on how waiting workers find their
/// tasks.
#[test]
fn alone_a_worker_begins_with_the_newest_or_in_order_as_the_scope_says() {
    ends(|| {
        with_each_full_pool(1, |pool| {
            let newest = || (0..10).rev();
            let inner = |outer: Vec<usize>, inner: Vec<usize>| {
                outer.iter().flat_map(|i| inner.iter().map(move |j| 10 * i + j)).collect::<Vec<_>>()
            };
            let (down, up) = (newest().collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
            assert_eq!(
                order!(pool, open_scope spawn, open_scope spawn),
                inner(down.clone(), down.clone())
            );
            let fifo = order!(pool, open_scope_fifo spawn_fifo, open_scope_fifo spawn_fifo);
            assert_eq!(fifo, inner(up.clone(), up.clone()));
            let outer = order!(pool, open_scope_fifo spawn_fifo, open_scope spawn);
            assert_eq!(outer, inner(up.clone(), down.clone()));
            assert_eq!(order!(pool, open_scope spawn, open_scope_fifo spawn_fifo), inner(down, up));
        });
    });
}

/// Catches: detached tasks in another order than asked for, by the call or by the builder, or
/// from outside.
#[test]
fn alone_a_worker_runs_detached_tasks_in_their_order() {
    fn noted(
        pool: &Pool,
        spawn: impl Fn(&Worker, Box<dyn FnOnce(&Worker) + Send>) + Sync,
    ) -> Vec<u32> {
        let notes = Arc::new(Mutex::new(Vec::new()));
        pool.install(|w| {
            for i in 0..10 {
                let notes = Arc::clone(&notes);
                spawn(w, Box::new(move |_| notes.lock().unwrap().push(i)));
            }
        });
        // A task from outside runs after the worker's own tasks.
        pool.install(|_| ());
        let notes = notes.lock().unwrap();
        notes.clone()
    }
    ends(|| {
        for wait in WAITS {
            let build = || Pool::builder().threads(1).external_slot(false).wait(wait);
            let (newest, oldest) =
                (build().build().unwrap(), build().oldest_first(true).build().unwrap());
            let (up, down) = (Vec::from_iter(0..10), Vec::from_iter((0..10).rev()));
            assert_eq!(noted(&newest, |w, f| w.spawn(f)), down);
            assert_eq!(noted(&newest, |w, f| w.spawn_fifo(f)), up);
            assert_eq!(noted(&newest, |_, f| sinew_core::spawn_fifo(f)), up);
            assert_eq!(noted(&oldest, |w, f| w.spawn(f)), up);
            assert_eq!(noted(&oldest, |w, f| w.spawn_fifo(f)), up);
            let notes = Arc::new(Mutex::new(Vec::new()));
            for i in 0..10 {
                let notes = Arc::clone(&notes);
                newest.spawn_fifo(move |_| notes.lock().unwrap().push(i));
            }
            newest.install(|_| ());
            assert_eq!(*notes.lock().unwrap(), up);
        }
    });
}

/// Catches: tokens and tasks that do not match when several workers take them, and when lists of
/// several workers are in use.
#[test]
fn tasks_in_order_are_each_run_once_among_thieves() {
    ends(|| {
        for oldest_first in [false, true] {
            for wait in WAITS {
                let builder = Pool::builder().threads(4).external_slot(false).wait(wait);
                let pool = builder.oldest_first(oldest_first).build().unwrap();
                let ran = (0..1000).map(|_| AtomicUsize::new(0)).collect::<Vec<_>>();
                let ran = &ran;
                pool.open_scope_fifo(|s| {
                    s.spawn_broadcast(move |s, part| {
                        for task in (part.index()..1000).step_by(4) {
                            s.spawn_fifo(move |_| add(&ran[task]));
                        }
                    });
                });
                assert!(ran.iter().all(|task| task.load(Ordering::Relaxed) == 1));
            }
        }
    });
}

/// Catches: tasks that no thread runs, because the pool has no thread and the caller is not at its
/// slot.
#[test]
fn a_scope_in_place_is_served_in_a_pool_that_has_only_its_external_slot() {
    ends(|| {
        let (one, two) = (pool(1), pool(2));
        let ran = AtomicUsize::new(0);
        let add = || ran.fetch_add(1, Ordering::SeqCst);
        one.in_place_scope(|s| {
            s.spawn(|s| {
                add();
                s.spawn(|_| {
                    add();
                });
            });
        });
        two.install(|_| {
            one.in_place_scope_fifo(|s| {
                s.spawn_fifo(|_| {
                    add();
                });
            });
        });
        assert_eq!(ran.into_inner(), 3);
    });
}
