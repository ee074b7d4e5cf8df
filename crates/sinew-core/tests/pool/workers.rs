//! A number of workers that changes while the pool works.
//!
//! A worker reads the limit between two tasks. In an otherwise idle pool, a worker that has run its
//! part of a broadcast after a change has seen the change. From then on the set of working slots is
//! exact, and so are these tests.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use fastrand::Rng;
use sinew_core::{Pool, Wait, Worker};

use crate::support::{add, all_left, ends, full_pool, meet, pool, telling, with_each_full_pool};

/// The slots at which a tree of joins, a scope and detached tasks were run.
fn slots_at_work(pool: &Pool) -> HashSet<usize> {
    fn tree(w: &Worker, depth: u32, slots: &Mutex<HashSet<usize>>) {
        slots.lock().unwrap().insert(w.index());
        if depth > 0 {
            w.join(|w| tree(w, depth - 1, slots), |w| tree(w, depth - 1, slots));
        }
    }
    let slots = Arc::new(Mutex::new(HashSet::new()));
    let left = Arc::new(AtomicUsize::new(20));
    for _ in 0..20 {
        let (slots, left) = (Arc::clone(&slots), Arc::clone(&left));
        pool.spawn(move |w| {
            tree(w, 2, &slots);
            left.fetch_sub(1, Ordering::SeqCst);
        });
    }
    pool.install(|w| tree(w, 8, &slots));
    pool.scope(|s| (0..100).for_each(|_| s.spawn(|_| sinew_core::run(|w| tree(w, 3, &slots)))));
    while left.load(Ordering::SeqCst) > 0 {
        thread::yield_now();
    }
    let slots = slots.lock().unwrap();
    slots.clone()
}

/// Changes the number of workers of an idle pool, and returns when every worker has seen it.
fn set_and_settle(pool: &Pool, workers: usize) {
    pool.control().set_threads(workers);
    assert_eq!(pool.threads(), workers);
    pool.broadcast(|_| ());
}

/// Catches: a limit that leaves no thread, or that exceeds the slots.
#[test]
fn one_thread_goes_on_and_there_are_no_more_than_slots() {
    fn check(pool: &Pool, least: usize) {
        let most = pool.max_threads();
        assert_eq!(pool.threads(), most);
        for (asked, expected) in [(1, least), (least, least), (most, most), (usize::MAX, most)] {
            pool.control().set_threads(asked);
            assert_eq!((pool.threads(), pool.max_threads()), (expected, most));
        }
    }
    for threads in 1..=4 {
        check(&full_pool(threads), 1);
        // The external thread's slot and one more, where there is one.
        check(&pool(threads), 2.min(threads));
        ends(move || {
            let pool = Pool::builder().threads(threads).use_current_thread().build().unwrap();
            check(&pool, 2.min(threads));
        });
    }
}

/// Catches: a surplus worker that continues, or a caller that the remaining workers do not serve.
#[test]
fn only_slots_below_the_number_work() {
    ends(|| {
        with_each_full_pool(4, |pool| {
            for workers in [1, 2, 3, 1, 4, 2] {
                set_and_settle(pool, workers);
                for _ in 0..5 {
                    let slots = slots_at_work(pool);
                    assert!(slots.iter().all(|&slot| slot < workers), "{slots:?} of {workers}");
                }
            }
        });
        // An external thread sits at slot 0.
        let pool = pool(4);
        set_and_settle(&pool, 2);
        let slots = slots_at_work(&pool);
        assert!(slots.iter().all(|&slot| slot < 2), "{slots:?}");
    });
}

/// Catches: workers that do not return when the limit rises.
#[test]
fn a_raised_number_brings_workers_back() {
    ends(|| {
        with_each_full_pool(4, |pool| {
            for _ in 0..20 {
                for workers in [1, 2, 4, 3, 4] {
                    set_and_settle(pool, workers);
                    // Tasks that need each other need as many workers.
                    let all = Barrier::new(workers);
                    pool.scope(|s| (0..workers).for_each(|_| s.spawn(|_| meet(&all))));
                }
                pool.control().set_threads(1);
                pool.control().set_threads(2);
                let both = Barrier::new(2);
                pool.install(|w| w.join(|_| meet(&both), |_| meet(&both)));
            }
        });
    });
}

/// Catches: a raise that wakes no worker for tasks that wait already.
#[test]
fn a_raise_reaches_tasks_that_wait_already() {
    ends(|| {
        with_each_full_pool(3, |pool| {
            for _ in 0..20 {
                set_and_settle(pool, 1);
                let (all, begun) = (Barrier::new(3), Barrier::new(2));
                thread::scope(|s| {
                    let (begun, all) = (&begun, &all);
                    s.spawn(move || {
                        pool.scope(|s| {
                            (0..2).for_each(|_| s.spawn(|_| meet(all)));
                            begun.wait();
                            all.wait();
                        });
                    });
                    begun.wait();
                    pool.control().set_threads(3);
                });
            }
        });
    });
}

/// Catches: tasks that a worker keeps when it stands down.
#[test]
fn a_worker_that_stands_down_leaves_its_tasks_to_the_others() {
    ends(|| {
        with_each_full_pool(2, |pool| {
            for _ in 0..20 {
                let slots = Arc::new(Mutex::new(Vec::new()));
                let others = Arc::clone(&slots);
                pool.broadcast(|part| {
                    if part.index() == 1 {
                        pool.control().set_threads(1);
                        for _ in 0..10 {
                            let slots = Arc::clone(&others);
                            sinew_core::spawn(move |w| slots.lock().unwrap().push(w.index()));
                        }
                    }
                });
                while slots.lock().unwrap().len() < 10 {
                    thread::yield_now();
                }
                assert_eq!(*slots.lock().unwrap(), [0; 10]);
                pool.control().set_threads(2);
            }
        });
    });
}

/// Catches: a surplus worker that leaves a join, or whose arms are not stolen.
#[test]
fn a_surplus_worker_brings_its_task_to_an_end() {
    ends(|| {
        with_each_full_pool(2, |pool| {
            for _ in 0..20 {
                let both = Barrier::new(2);
                let slots = pool.broadcast(|part| match part.index() {
                    0 => (0, 0),
                    _ => sinew_core::run(|w| {
                        pool.control().set_threads(1);
                        let at = |w: &Worker| {
                            both.wait();
                            w.index()
                        };
                        w.join(at, at)
                    }),
                });
                assert_eq!(slots, [(0, 0), (1, 0)]);
                pool.control().set_threads(2);
            }
        });
    });
}

/// Catches: an end that waits for workers which have stood down, or tasks that need a second
/// worker to end.
#[test]
fn a_pool_with_few_workers_ends_with_all() {
    ends(|| {
        for close in [Pool::close, Pool::shutdown, drop] {
            for _ in 0..20 {
                let (builder, exits) = telling(3);
                let pool = builder.build().unwrap();
                set_and_settle(&pool, 1);
                let all = Arc::new(Barrier::new(3));
                for _ in 0..3 {
                    let all = Arc::clone(&all);
                    pool.spawn(move |_| meet(&all));
                }
                close(pool);
                assert_eq!(all_left(&exits), [0, 1, 2]);
            }
        }
    });
}

/// Work of every kind, with known results.
fn work(pool: &Pool, round: usize) {
    fn count(w: &Worker, depth: u32) -> usize {
        match depth {
            0 => 1,
            _ => {
                let (a, b) = w.join(|w| count(w, depth - 1), |w| count(w, depth - 1));
                a + b
            }
        }
    }
    let ran = AtomicUsize::new(0);
    match round % 4 {
        0 => assert_eq!(pool.install(|w| count(w, 8)), 256),
        1 => {
            pool.in_place_scope(|s| {
                for _ in 0..20 {
                    s.spawn(|s| s.spawn(|_| add(&ran)));
                }
            });
            assert_eq!(ran.into_inner(), 20);
        }
        2 => {
            let parts = pool.broadcast(|_| pool.run(|w| count(w, 3)));
            assert_eq!(parts, vec![8; parts.len()]);
        }
        _ => {
            let inside =
                pool.install(|w| w.join(|w| w.broadcast(|part| part.index()), |w| count(w, 4)));
            assert_eq!(inside.1, 16);
            assert!(inside.0.iter().copied().eq(0..inside.0.len()));
        }
    }
}

/// Catches: a task, a caller or a part that is lost because the worker that was woken for it stands
/// down.
#[test]
fn the_number_may_change_at_any_time() {
    fn changing(pool: &Pool, seed: u64) {
        let over = AtomicBool::new(false);
        thread::scope(|s| {
            s.spawn(|| {
                let mut rng = Rng::with_seed(seed);
                while !over.load(Ordering::Relaxed) {
                    pool.control().set_threads(rng.usize(1..6));
                    (0..rng.u32(..20)).for_each(|_| thread::yield_now());
                }
            });
            thread::scope(|callers| {
                for caller in 0..2 {
                    callers.spawn(move || (0..100).for_each(|round| work(pool, caller + round)));
                }
            });
            over.store(true, Ordering::Relaxed);
        });
        pool.control().set_threads(1);
        (0..4).for_each(|round| work(pool, round));
    }
    ends(|| {
        with_each_full_pool(4, |pool| changing(pool, 1));
        for wait in [Wait::Leapfrog, Wait::Any] {
            changing(&Pool::builder().threads(4).wait(wait).build().unwrap(), 2);
        }
    });
}
