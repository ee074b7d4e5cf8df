//! The ways to end a pool: `drop` joins the threads, `close` does not wait, `shutdown` waits for
//! all that was and is to be. And the hooks of threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;

use sinew_core::{Pool, Worker};

use crate::support::{Drops, add, all_left, ends, linger, meet, message_of, telling};

fn fib(w: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

/// Spawns a tree of detached tasks, of 2 to the power of `depth` + 1, less 1.
fn grow(w: &Worker, depth: u32, ran: &Arc<AtomicUsize>) {
    ran.fetch_add(1, Ordering::SeqCst);
    if depth > 0 {
        for _ in 0..2 {
            let ran = Arc::clone(ran);
            w.spawn(move |w| grow(w, depth - 1, &ran));
        }
    }
}

/// Catches: a close that waits for a task, tasks that it forgets, and threads that stay.
#[test]
fn a_closed_pool_runs_what_was_spawned_and_nobody_waits_for_it() {
    ends(|| {
        for threads in 1..=4 {
            let ((builder, exits), ran) = (telling(threads), Arc::new(AtomicUsize::new(0)));
            let pool = builder.build().unwrap();
            let closed = Arc::new(Barrier::new(2));
            let (counted, until) = (Arc::clone(&ran), Arc::clone(&closed));
            pool.spawn(move |w| {
                until.wait();
                grow(w, 5, &counted);
            });
            let counted = Arc::clone(&ran);
            pool.spawn(move |w| grow(w, 5, &counted));
            pool.close();
            // The first task goes on only now.
            closed.wait();
            assert_eq!(all_left(&exits), Vec::from_iter(0..threads));
            assert_eq!(ran.load(Ordering::SeqCst), 2 * 63);
        }
    });
}

/// Catches: a shutdown that returns before a task has run, or before a thread is through with
/// its exit hook.
#[test]
fn a_shutdown_waits_for_tasks_threads_and_exit_hooks() {
    ends(|| {
        for threads in 1..=4 {
            let (ran, left) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let leaves = Arc::clone(&left);
            let builder =
                Pool::builder().threads(threads).external_slot(false).on_exit(move |_| {
                    linger(1);
                    leaves.fetch_add(1, Ordering::SeqCst);
                });
            // The test has no handles of these threads.
            let pool = builder
                .build_with(|slot| {
                    thread::spawn(|| slot.run());
                    Ok(())
                })
                .unwrap();
            let counted = Arc::clone(&ran);
            pool.spawn(move |w| grow(w, 6, &counted));
            pool.shutdown();
            assert_eq!((ran.load(Ordering::SeqCst), left.load(Ordering::SeqCst)), (127, threads));
        }
    });
}

/// Catches: a worker that waits for itself, or a pool that survives the refusal.
#[test]
fn a_worker_cannot_wait_for_the_end_of_its_own_pool() {
    ends(|| {
        let (builder, exits) = telling(2);
        let pool = Arc::new(builder.build().unwrap());
        let (give, take) = mpsc::channel::<Arc<Pool>>();
        let (tell, told) = mpsc::channel();
        pool.spawn(move |_| {
            let pool = Arc::into_inner(take.recv().unwrap()).unwrap();
            tell.send(message_of(|| pool.shutdown())).unwrap();
        });
        give.send(pool).unwrap();
        assert!(told.recv().unwrap().contains("cannot wait for the end of its own pool"));
        assert_eq!(all_left(&exits), [0, 1]);
    });
}

/// Catches: a task that is never dropped, because the pool ended without it.
#[test]
fn what_tasks_own_is_dropped_when_their_pool_has_ended() {
    ends(|| {
        static DROPS: Drops = Drops::new();
        for close in [Pool::close, Pool::shutdown, drop] {
            let before = DROPS.count();
            let (builder, exits) = telling(3);
            let pool = builder.build().unwrap();
            for _ in 0..50 {
                let owned = DROPS.child();
                pool.spawn(move |w| {
                    w.spawn_fifo(move |_| drop(owned));
                });
                let owned = DROPS.child();
                pool.spawn_broadcast(move |_| {
                    let _ = &owned;
                });
            }
            close(pool);
            assert_eq!(all_left(&exits), [0, 1, 2]);
            assert_eq!(DROPS.count() - before, 100);
        }
    });
}

/// Catches: a hook's payload that is lost or stops the process although there is a handler, and
/// a thread that goes with it.
#[test]
fn the_panic_handler_gets_the_payloads_of_hooks() {
    ends(|| {
        let payloads = Arc::new(Mutex::new(Vec::new()));
        let handled = Arc::clone(&payloads);
        let pool = Pool::builder()
            .threads(3)
            .external_slot(false)
            .on_start(|slot| std::panic::panic_any(("start", slot)))
            .on_exit(|slot| std::panic::panic_any(("exit", slot)))
            .panic_handler(move |payload| {
                handled.lock().unwrap().push(*payload.downcast::<(&str, usize)>().unwrap());
            })
            .build()
            .unwrap();
        // All three work nevertheless.
        assert_eq!(pool.broadcast(|part| part.index()), [0, 1, 2]);
        let all = Barrier::new(3);
        pool.install(|w| w.join(|_| meet(&all), |w| w.join(|_| meet(&all), |_| meet(&all))));
        pool.shutdown();
        let mut payloads = payloads.lock().unwrap();
        payloads.sort_unstable();
        let of = |name| (0..3).map(move |slot| (name, slot));
        assert_eq!(*payloads, Vec::from_iter(of("exit").chain(of("start"))));
    });
}

/// Catches: hooks outside of their pool, or a worker that cannot join yet or any more.
#[test]
fn hooks_run_as_workers_of_their_slots() {
    ends(|| {
        let (seen, sees) =
            (Arc::new(Mutex::new(Vec::new())), |seen: &Mutex<Vec<_>>, hook, slot| {
                let (index, sum) = sinew_core::run(|w| (w.index(), fib(w, 10)));
                seen.lock().unwrap().push((hook, slot == index, sum));
            });
        let (starts, exits) = (Arc::clone(&seen), Arc::clone(&seen));
        let pool = Pool::builder()
            .threads(3)
            .external_slot(false)
            .on_start(move |slot| sees(&starts, "start", slot))
            .on_exit(move |slot| sees(&exits, "exit", slot))
            .build()
            .unwrap();
        assert_eq!(pool.install(|w| fib(w, 10)), 55);
        pool.shutdown();
        let seen = seen.lock().unwrap();
        for hook in ["start", "exit"] {
            assert_eq!(
                seen.iter().filter(|&&call| call == (hook, true, 55)).count(),
                3,
                "{seen:?}"
            );
        }
    });
}

/// Catches: a thread that comes when the others have left, and forgets what its hook has spawned
/// or does without the hooks.
#[test]
fn what_hooks_spawn_runs_in_pools_that_end_at_once() {
    ends(|| {
        for threads in 1..=3 {
            for _ in 0..100 {
                let [starts, ran, exits] = [0; 3].map(|_| Arc::new(AtomicUsize::new(0)));
                let (started, runs, exited) =
                    (Arc::clone(&starts), Arc::clone(&ran), Arc::clone(&exits));
                let pool =
                    Pool::builder().threads(threads).external_slot(false).on_start(move |_| {
                        add(&started);
                        let runs = Arc::clone(&runs);
                        sinew_core::spawn(move |_| add(&runs));
                    });
                let pool = pool.on_exit(move |_| add(&exited));
                pool.build().unwrap().shutdown();
                let counts = [&starts, &ran, &exits].map(|count| count.load(Ordering::SeqCst));
                assert_eq!(counts, [threads; 3]);
            }
        }
    });
}

/// Catches: a thread that comes when the others have left, and keeps the pool or does without
/// its exit hook.
#[test]
fn a_thread_that_comes_too_late_leaves_with_its_hook() {
    ends(|| {
        for threads in 1..=4 {
            for _ in 0..100 {
                let (builder, exits) = telling(threads);
                let ran = Arc::new(AtomicUsize::new(0));
                let counted = Arc::clone(&ran);
                let pool = builder.build().unwrap();
                pool.spawn(move |w| grow(w, 3, &counted));
                pool.close();
                assert_eq!(all_left(&exits), Vec::from_iter(0..threads));
                assert_eq!(ran.load(Ordering::SeqCst), 15);
            }
        }
    });
}

/// Catches: a building thread that its pool waits for, or that gets the hooks of others.
#[test]
fn a_pool_of_the_building_thread_ends_without_it() {
    for threads in 1..=3 {
        for close in [Pool::close, drop] {
            ends(move || {
                let (builder, exits) = telling(threads);
                let pool = builder.use_current_thread().build().unwrap();
                assert_eq!(pool.run(|w| fib(w, 10)), 55);
                close(pool);
                // The channel closes only with the pool, which stays.
                let left = (1..threads).map(|_| exits.recv().unwrap()).sum::<usize>();
                assert_eq!(left, (1..threads).sum::<usize>());
                assert!(exits.try_recv().is_err());
            });
        }
        // Any other thread may wait for it.
        ends(move || {
            let (builder, exits) = telling(threads);
            let pool = builder.use_current_thread().build().unwrap();
            thread::spawn(|| pool.shutdown()).join().unwrap();
            assert_eq!(exits.try_iter().sum::<usize>(), (1..threads).sum::<usize>());
        });
    }
}

/// Catches: a thread that resigns while a worker that waits in a task still needs it.
#[test]
fn an_ending_pool_still_broadcasts() {
    ends(|| {
        for threads in 1..=3 {
            let (builder, exits) = telling(threads);
            let pool = builder.build().unwrap();
            let (closed, slots) = (Arc::new(Barrier::new(2)), Arc::new(Mutex::new(Vec::new())));
            let (until, seen) = (Arc::clone(&closed), Arc::clone(&slots));
            pool.spawn(move |w| {
                until.wait();
                assert_eq!(w.broadcast(|part| part.index()).len(), w.max_threads());
                w.spawn_broadcast(move |part| seen.lock().unwrap().push(part.index()));
            });
            pool.close();
            closed.wait();
            assert_eq!(all_left(&exits).len(), threads);
            let mut slots = slots.lock().unwrap();
            slots.sort_unstable();
            assert_eq!(*slots, Vec::from_iter(0..threads));
        }
    });
}
