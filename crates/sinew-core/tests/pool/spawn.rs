//! Detached tasks: when they run, and what becomes of their panics.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use sinew_core::{Pool, Worker};

use crate::support::{assert_aborted, assert_one_line, child, ends, is_child, pool};

fn spawn_tree(depth: u32, ran: &Arc<AtomicUsize>) {
    ran.fetch_add(1, Ordering::SeqCst);
    if depth > 0 {
        for _ in 0..2 {
            let ran = Arc::clone(ran);
            sinew_core::spawn(move |_| spawn_tree(depth - 1, &ran));
        }
    }
}

/// Catches: tasks that are forgotten when the pool ends, in a thread's queue, an external thread's
/// or the pool's; and tasks of those tasks.
#[test]
fn dropping_a_pool_runs_what_was_spawned() {
    ends(|| {
        for threads in [1, 2, 4] {
            for _ in 0..20 {
                let (pool, ran) = (pool(threads), Arc::new(AtomicUsize::new(0)));
                let (inside, outside) = (Arc::clone(&ran), Arc::clone(&ran));
                pool.run(move |_| spawn_tree(5, &inside));
                pool.spawn(move |_| spawn_tree(5, &outside));
                drop(pool);
                assert_eq!(ran.load(Ordering::SeqCst), 2 * 63);
            }
        }
    });
}

/// Catches: tasks that wait until the pool is entered again.
#[test]
fn a_task_from_outside_runs_without_any_further_call() {
    ends(|| {
        for threads in [1, 2, 3] {
            let pool = pool(threads);
            for _ in 0..20 {
                let (done, result) = mpsc::channel();
                pool.spawn(move |w| done.send(w.max_threads()).unwrap());
                assert_eq!(result.recv(), Ok(threads));
            }
        }
    });
}

/// Catches: an external thread that takes its tasks along when it leaves.
#[test]
fn what_an_external_thread_spawned_runs_after_it_has_left() {
    ends(|| {
        for threads in [1, 2, 3] {
            let pool = pool(threads);
            let (done, result) = mpsc::channel();
            pool.run(move |_| {
                (0..10).for_each(|i| {
                    let done = done.clone();
                    sinew_core::spawn(move |_| done.send(i).unwrap());
                });
            });
            let mut all: Vec<_> = result.iter().collect();
            all.sort_unstable();
            assert_eq!(all, Vec::from_iter(0..10));
        }
    });
}

/// Catches: a detached task without a pool around it, or in the wrong one.
#[test]
fn a_detached_task_has_the_worker_of_its_pool() {
    ends(|| {
        let (small, large) = (pool(2), pool(3));
        let (done, result) = mpsc::channel();
        let both = move |w: &Worker| {
            done.send((w.max_threads(), sinew_core::run(|w| w.max_threads()))).unwrap();
        };
        // Spawned into one pool from inside another.
        small.run(|_| large.spawn(both));
        assert_eq!(result.recv(), Ok((3, 3)));
    });
}

/// Catches: a handler that is not called, gets another payload, or stops the worker.
#[test]
fn the_panic_handler_gets_the_payload() {
    ends(|| {
        for threads in [1, 2] {
            let (send, payloads) = mpsc::channel();
            let pool = Pool::builder()
                .threads(threads)
                .panic_handler(move |payload| {
                    send.send(*payload.downcast::<u32>().unwrap()).unwrap();
                })
                .build()
                .unwrap();
            (0..5_u32).for_each(|i| pool.spawn(move |_| std::panic::panic_any(i)));
            drop(pool);
            let mut payloads: Vec<_> = payloads.iter().collect();
            payloads.sort_unstable();
            assert_eq!(payloads, [0, 1, 2, 3, 4]);
        }
    });
}

/// Catches: a lost panic.
#[test]
fn a_panic_without_a_handler_aborts_with_one_line() {
    if is_child() {
        pool(2).spawn(|_| panic!("nobody handles this"));
        return;
    }
    let output = child("spawn::a_panic_without_a_handler_aborts_with_one_line").output().unwrap();
    assert_aborted(&output);
    assert_one_line(&output, "no panic handler");
}

/// Catches: a handler's panic that ends a worker in silence.
#[test]
fn a_handler_that_panics_aborts_with_one_line() {
    if is_child() {
        let pool =
            Pool::builder().threads(2).panic_handler(|_| panic!("in the handler")).build().unwrap();
        pool.spawn(|_| panic!("in the task"));
        return;
    }
    let output = child("spawn::a_handler_that_panics_aborts_with_one_line").output().unwrap();
    assert_aborted(&output);
    assert_one_line(&output, "panic handler panicked");
}

/// Catches: a free `spawn` from a thread of no pool.
#[test]
fn the_free_spawn_uses_the_global_pool_outside_of_others() {
    ends(|| {
        let (done, result) = mpsc::channel();
        sinew_core::spawn(move |w| done.send(w.max_threads()).unwrap());
        assert_eq!(result.recv(), Ok(sinew_core::global_pool().max_threads()));
    });
}
