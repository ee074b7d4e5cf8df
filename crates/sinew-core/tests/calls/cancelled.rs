//! Calls under a control that is cancelled while they wait for a worker.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use sinew_core::{CallError, Wait};
use sinew_loops::Control;

use crate::support::{ends, pool, while_blocked};

/// Catches: a caller that returns only when a worker would have taken its call, and a closure that
/// is lost, or called nevertheless.
#[test]
fn a_cancelled_call_returns_while_all_workers_are_blocked() {
    ends(|| {
        for threads in [1, 2, 3] {
            while_blocked(threads, |pool| {
                for _ in 0..50 {
                    let (control, owned) = (Control::new(), std::sync::Arc::new(()));
                    thread::scope(|s| {
                        let (theirs, kept) = (std::sync::Arc::clone(&owned), &control);
                        let caller =
                            s.spawn(move || pool.call().control(kept).run(move |_| drop(theirs)));
                        control.cancel();
                        assert_eq!(caller.join().unwrap(), Err(CallError::Cancelled));
                    });
                    assert_eq!(std::sync::Arc::strong_count(&owned), 1);
                }
            });
        }
    });
}

/// Catches: the same for a worker of another pool, which serves its own meanwhile.
#[test]
fn a_cancelled_call_of_a_worker_returns() {
    ends(|| {
        for threads in [1, 2] {
            while_blocked(threads, |blocked| {
                let other = pool(2, Wait::default());
                for _ in 0..50 {
                    let control = Control::new();
                    thread::scope(|s| {
                        let caller = s.spawn(|| {
                            other.install(|_| blocked.call().control(&control).run(|_| ()))
                        });
                        assert_eq!(other.install(|w| w.max_threads()), 2);
                        control.cancel();
                        assert_eq!(caller.join().unwrap(), Err(CallError::Cancelled));
                    });
                }
            });
        }
    });
}

/// Catches: a pool that cancels what runs, and leaves what waits.
#[test]
fn a_pool_that_cancels_withdraws_calls_as_well() {
    ends(|| {
        while_blocked(2, |pool| {
            let control = Control::new();
            thread::scope(|s| {
                let caller = s.spawn(|| pool.call().control(&control).run(|_| ()));
                while !caller.is_finished() {
                    pool.control().cancel();
                    thread::yield_now();
                }
                assert_eq!(caller.join().unwrap(), Err(CallError::Cancelled));
            });
            assert!(!control.is_cancelled());
        });
    });
}

/// Catches: a call that is both run and withdrawn, or neither.
#[test]
fn a_call_is_run_or_withdrawn() {
    ends(|| {
        for threads in [1, 2, 3] {
            let pool = pool(threads, Wait::default());
            let (ran, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
            thread::scope(|s| {
                for _ in 0..4 {
                    s.spawn(|| {
                        for _ in 0..500 {
                            let control = Control::new();
                            thread::scope(|s| {
                                s.spawn(|| control.cancel());
                                let call = pool.call().control(&control);
                                let called = call.run(|_| ran.fetch_add(1, Ordering::SeqCst));
                                done.fetch_add(usize::from(called.is_ok()), Ordering::SeqCst);
                            });
                        }
                    });
                }
            });
            assert_eq!(ran.into_inner(), done.into_inner());
        }
    });
}
