//! Threads start with their pool and end with it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use sinew_core::{BuildError, MAX_THREADS, Mapping, Pool};

use crate::support::{assert_aborted, assert_one_line, child, ends, is_child, pool};

/// Catches: a thread too many or too few, hooks that are not called, and threads that outlive
/// the drop.
#[test]
fn every_thread_starts_once_and_has_ended_when_the_pool_is_dropped() {
    ends(|| {
        for threads in [1, 2, 5] {
            let (started, ended) =
                (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
            let (starts, ends) = (Arc::clone(&started), Arc::clone(&ended));
            let pool = Pool::builder()
                .threads(threads)
                .on_start(move |slot| starts.lock().unwrap().push((slot, thread::current().id())))
                .on_exit(move |slot| ends.lock().unwrap().push((slot, thread::current().id())))
                .build()
                .unwrap();
            assert_eq!(pool.run(|w| w.join(|_| 1, |_| 2)), (1, 2));
            drop(pool);
            let (mut started, mut ended) = (started.lock().unwrap(), ended.lock().unwrap());
            started.sort_unstable_by_key(|(slot, _)| *slot);
            ended.sort_unstable_by_key(|(slot, _)| *slot);
            assert_eq!(*started, *ended);
            assert!(started.iter().map(|(slot, _)| *slot).eq(1..threads), "{started:?}");
        }
    });
}

/// Catches: threads whose names do not tell whose they are.
#[test]
fn threads_have_the_names_that_were_asked_for() {
    ends(|| {
        let name = |pool: &Pool| pool.install(|_| thread::current().name().map(str::to_owned));
        assert_eq!(name(&pool(2)).as_deref(), Some("sinew-1"));
        let named =
            Pool::builder().threads(2).thread_name(|slot| format!("mine {slot}")).build().unwrap();
        assert_eq!(name(&named).as_deref(), Some("mine 1"));
    });
}

/// Catches: a worker that joins its own thread, or a pool that is freed under its workers.
#[test]
fn a_pool_may_be_dropped_by_one_of_its_own_tasks() {
    ends(|| {
        for threads in [1, 2, 4] {
            for _ in 0..20 {
                let (exit, exits) = mpsc::channel();
                let exit = Mutex::new(exit);
                let pool = Pool::builder()
                    .threads(threads)
                    .on_exit(move |_| exit.lock().unwrap().send(()).unwrap())
                    .build()
                    .unwrap();
                let pool = Arc::new(pool);
                let (give, take) = mpsc::channel::<Arc<Pool>>();
                let (done, results) = mpsc::channel();
                pool.spawn(move |_| {
                    let pool = take.recv().unwrap();
                    for _ in 0..3 {
                        let done = done.clone();
                        pool.spawn(move |_| done.send(()).unwrap());
                    }
                    drop(pool);
                });
                give.send(pool).unwrap();
                // The channels close when the last task and the last thread are gone.
                assert_eq!(results.iter().count(), 3);
                assert_eq!(exits.iter().count(), threads - 1);
            }
        }
    });
}

/// Catches: pools that share what should be each one's own.
#[test]
fn several_pools_work_side_by_side() {
    ends(|| {
        let pools = [1, 2, 3].map(pool);
        thread::scope(|s| {
            for pool in &pools {
                s.spawn(move || {
                    for i in 0..50 {
                        let (a, b) = pool.run(|w| w.join(|_| i, |w| w.max_threads()));
                        assert_eq!((a, b), (i, pool.max_threads()));
                    }
                });
            }
        });
    });
}

/// Catches: pools that leave threads, memory or registrations behind until none can be built.
#[test]
fn pools_may_be_built_and_dropped_many_times() {
    ends(|| {
        for _ in 0..300 {
            assert_eq!(pool(3).run(|w| w.join(|_| 1, |_| 2)), (1, 2));
        }
    });
}

/// Catches: a number that is taken although no pool can have it, or a refusal that does not say
/// what to do.
#[test]
fn an_impossible_number_of_workers_is_refused_in_one_line() {
    for threads in [0, MAX_THREADS + 1, usize::MAX] {
        let error = Pool::builder().threads(threads).build().unwrap_err();
        assert!(matches!(error, BuildError::Threads(n) if n == threads));
        let text = error.to_string();
        assert!(
            text.contains(&threads.to_string()) && text.contains(&format!("1 to {MAX_THREADS}")),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1);
    }
}

/// Catches: a processor that is not there and is passed over in silence.
#[test]
fn a_mapping_to_a_missing_processor_is_refused_in_one_line() {
    let mapping: Mapping = "123456".parse().unwrap();
    let error = Pool::builder().threads(1).mapping(mapping).build().unwrap_err();
    assert!(matches!(error, BuildError::Mapping(_)));
    assert!(
        error.to_string().contains("123456") && error.to_string().lines().count() == 1,
        "{error}"
    );
}

/// Catches: a refusal of the system that panics, or threads that it leaves behind.
#[test]
#[cfg(target_pointer_width = "64")]
fn a_thread_that_the_system_refuses_is_an_error_and_the_others_end() {
    ends(|| {
        let (started, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (starts, ends) = (Arc::clone(&started), Arc::clone(&ended));
        let built = Pool::builder()
            .threads(4)
            // More than the address space holds.
            .stack_size(1 << 60)
            .on_start(move |_| {
                starts.fetch_add(1, Ordering::SeqCst);
            })
            .on_exit(move |_| {
                ends.fetch_add(1, Ordering::SeqCst);
            })
            .build();
        let error = built.unwrap_err();
        assert!(matches!(error, BuildError::Spawn(_)));
        assert!(error.to_string().contains("try fewer threads"), "{error}");
        assert_eq!(started.load(Ordering::SeqCst), ended.load(Ordering::SeqCst));
    });
}

/// Catches: a hook's panic that leaves a pool without one of its threads.
#[test]
fn a_hook_that_panics_aborts_with_one_line() {
    if is_child() {
        let _pool = Pool::builder().threads(2).on_start(|_| panic!("in the hook")).build().unwrap();
        return;
    }
    let output = child("lifecycle::a_hook_that_panics_aborts_with_one_line").output().unwrap();
    assert_aborted(&output);
    assert_one_line(&output, "hook panicked");
}

/// Catches: a thread that leaves an ending pool while a task of another still counts on it.
#[test]
fn tasks_that_wait_for_each_other_still_do_when_the_pool_ends() {
    ends(|| {
        let left = Arc::new(AtomicUsize::new(0));
        let leaves = Arc::clone(&left);
        let pool = Pool::builder()
            .threads(3)
            .on_exit(move |_| {
                leaves.fetch_add(1, Ordering::SeqCst);
            })
            .build()
            .unwrap();
        let begun = Arc::new(Barrier::new(2));
        let entered = Arc::clone(&begun);
        pool.spawn(move |w| {
            entered.wait();
            // Long enough for the other thread to leave, if it does so at all.
            let until = Instant::now() + Duration::from_millis(10);
            while left.load(Ordering::SeqCst) == 0 && Instant::now() < until {
                thread::yield_now();
            }
            let barrier = Barrier::new(2);
            w.join(|_| barrier.wait(), |_| barrier.wait());
        });
        begun.wait();
        drop(pool);
    });
}
