//! Calls with a deadline, which passes before they begin, while they run, or at that moment.

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use sinew_core::{CallError, Cancelled, Pool, Wait, Worker};
use sinew_loops::Control;
use sinew_loops::loops::{Options, for_each};

use crate::support::{ends, full_pool, pool, while_blocked};

/// A time that passes soon.
const SOON: Duration = Duration::from_micros(200);
/// A time that does not pass during a test.
const LATE: Duration = Duration::from_secs(3_600);

/// Stores the thread that drops it.
struct Dropped<'d>(&'d std::sync::Mutex<Option<ThreadId>>);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap() = Some(thread::current().id());
    }
}

/// Makes a call that expires before it begins, and checks that its closure is dropped here.
fn expires(pool: &Pool, timeout: Duration, control: Option<&Control>) {
    let dropped = std::sync::Mutex::new(None);
    let owned = Dropped(&dropped);
    let call = pool.call().timeout(timeout);
    let call = control.into_iter().fold(call, |call, control| call.control(control));
    assert_eq!(call.run(move |_| drop(owned)), Err(CallError::Expired));
    assert_eq!(*dropped.lock().unwrap(), Some(thread::current().id()));
    assert!(!control.is_some_and(Control::is_cancelled));
}

/// Catches: a caller that returns only when a worker would have taken its call, a closure that is
/// called nevertheless or dropped by a worker, and a control that a call cancels although it has
/// not begun.
#[test]
fn a_call_expires_while_all_workers_are_blocked() {
    ends(|| {
        for threads in [1, 2, 3] {
            while_blocked(threads, |pool| {
                for _ in 0..20 {
                    expires(pool, SOON, None);
                    expires(pool, SOON, Some(&Control::new()));
                }
            });
        }
    });
}

/// Catches: a call that outwaits the deadline of its control, which no other thread cancels.
#[test]
fn a_call_has_the_deadline_of_its_control() {
    ends(|| {
        while_blocked(2, |pool| {
            for later in [None, Some(LATE)] {
                let control = Control::new();
                control.cancel_after(SOON);
                let call = pool.call().control(&control);
                let call = later.into_iter().fold(call, |call, later| call.timeout(later));
                // Either is right: both are checked at the deadline.
                let ended = call.run(|_| unreachable!("all workers are blocked"));
                assert!(matches!(ended, Err(CallError::Expired | CallError::Cancelled)));
                assert!(control.is_cancelled());
            }
        });
    });
}

/// Catches: the same for a worker of another pool, which serves its own meanwhile.
#[test]
fn a_call_of_a_worker_expires() {
    ends(|| {
        for threads in [1, 2] {
            while_blocked(threads, |blocked| {
                for wait in [Wait::Leapfrog, Wait::Block, Wait::Descendants] {
                    let other = pool(2, wait);
                    for _ in 0..20 {
                        thread::scope(|s| {
                            s.spawn(|| other.install(|_| expires(blocked, SOON, None)));
                            assert_eq!(other.install(|w| w.max_threads()), 2);
                        });
                    }
                }
            });
        }
    });
}

/// Runs `meanwhile` while both workers of a pool are in loops, under a control or not, until it
/// returns.
fn while_in_loops(wait: Wait, control: Option<&Control>, meanwhile: impl FnOnce(&Pool)) {
    let pool = Pool::builder().threads(2).external_slot(false).wait(wait).build().unwrap();
    let (begun, over) = (Barrier::new(3), AtomicBool::new(false));
    let work = |w: &Worker| {
        begun.wait();
        let options = Options { control, ..Options::default() };
        while !over.load(Ordering::SeqCst) {
            for_each(w, 0..1_000, &options, |_| thread::yield_now()).unwrap();
        }
    };
    thread::scope(|s| {
        (0..2).for_each(|_| _ = s.spawn(|| pool.install(work)));
        begun.wait();
        meanwhile(&pool);
        over.store(true, Ordering::SeqCst);
    });
}

/// Catches: a caller that waits for loops which serve no calls.
#[test]
fn a_call_expires_while_all_workers_are_in_loops() {
    ends(|| {
        for control in [None, Some(Control::new())] {
            for wait in [Wait::Block, Wait::Descendants] {
                while_in_loops(wait, control.as_ref(), |pool| {
                    for _ in 0..20 {
                        expires(pool, SOON, None);
                        expires(pool, SOON, Some(&Control::new()));
                    }
                });
            }
        }
    });
}

/// Catches: a deadline that keeps workers from serving a call.
#[test]
fn loops_serve_calls_with_deadlines() {
    ends(|| {
        for control in [None, Some(Control::new())] {
            while_in_loops(Wait::Leapfrog, control.as_ref(), |pool| {
                for round in 0..20 {
                    assert_eq!(pool.call().timeout(LATE).run(|_| round), Ok(round));
                }
            });
        }
    });
}

/// Calls `f` under a control and a deadline, with more time after each call that has expired before
/// it began. Returns its result.
fn begins<R: Send>(pool: &Pool, f: impl Fn(&Worker, &Control) -> R + Send + Sync) -> R {
    let mut timeout = SOON;
    loop {
        let control = Control::new();
        match pool.call().control(&control).timeout(timeout).run(|w| f(w, &control)) {
            Ok(result) => {
                assert!(control.is_cancelled());
                return result;
            }
            Err(error) => assert_eq!((error, control.is_cancelled()), (CallError::Expired, false)),
        }
        timeout *= 2;
    }
}

fn endless(w: &Worker, control: &Control) -> Result<(), Cancelled> {
    let options = Options { control: Some(control), ..Options::default() };
    // Something in each item: the optimiser deletes an empty loop, whatever its length.
    for_each(w, 0..usize::MAX, &options, |item| {
        black_box(item);
    })
}

/// Catches: loops that run on after the deadline, in a call of a thread without a pool and of a
/// worker; and a call that runs in the external slot, where no thread waits.
#[test]
fn a_deadline_ends_the_loops_under_the_control_of_a_call_that_has_begun() {
    ends(|| {
        for pool in [pool(2, Wait::default()), pool(3, Wait::default()), full_pool(1), full_pool(2)]
        {
            assert_eq!(begins(&pool, endless), Err(Cancelled));
            let other = full_pool(1);
            assert_eq!(other.install(|_| begins(&pool, endless)), Err(Cancelled));
        }
    });
}

/// Catches: the same for a pool of one that starts a thread for a worker of another pool.
#[test]
fn a_deadline_ends_the_loops_of_a_pool_of_one_that_a_worker_calls() {
    ends(|| {
        let (one, other) = (pool(1, Wait::default()), full_pool(1));
        assert_eq!(other.install(|_| begins(&one, endless)), Err(Cancelled));
    });
}

/// Catches: a payload that is lost because the deadline has passed.
#[test]
fn a_panic_reaches_the_caller_before_and_after_the_deadline() {
    ends(|| {
        for pool in [pool(1, Wait::default()), pool(2, Wait::default()), full_pool(2)] {
            let panics = || pool.call().timeout(LATE).run(|_| resume_unwind(Box::new("early")));
            let payload = catch_unwind(AssertUnwindSafe(panics)).map(|_: Result<(), _>| ());
            assert_eq!(payload.unwrap_err().downcast_ref(), Some(&"early"));
        }
        for pool in [pool(2, Wait::default()), full_pool(1)] {
            let panics = |w: &Worker, control: &Control| {
                assert_eq!(endless(w, control), Err(Cancelled));
                resume_unwind(Box::new("late"))
            };
            let payload = catch_unwind(AssertUnwindSafe(|| begins(&pool, panics)));
            assert_eq!(payload.unwrap_err().downcast_ref(), Some(&"late"));
        }
    });
}

/// Catches: a call that is made after its deadline because a worker, or the slot, is free, and a
/// later deadline that replaces an earlier one.
#[test]
fn a_deadline_in_the_past_has_passed_everywhere() {
    ends(|| {
        let past = Instant::now();
        for pool in [pool(1, Wait::default()), pool(2, Wait::default()), full_pool(2)] {
            let all_expire = || {
                expires(&pool, Duration::ZERO, None);
                let calls = [
                    pool.call().deadline(past),
                    pool.call().deadline(past).timeout(LATE),
                    pool.call().timeout(LATE).deadline(past),
                ];
                for call in calls {
                    assert_eq!(call.run(|_| ()), Err(CallError::Expired));
                }
            };
            all_expire();
            pool.run(|_| all_expire());
            pool.install(|_| all_expire());
            for far in [LATE, Duration::MAX] {
                assert_eq!(pool.call().timeout(far).run(|_| 1), Ok(1));
            }
        }
    });
}

/// Catches: a worker of the pool that waits for its own call.
#[test]
fn a_worker_of_the_pool_makes_its_call_at_once() {
    ends(|| {
        for pool in [pool(1, Wait::default()), pool(2, Wait::default()), full_pool(1)] {
            let control = Control::new();
            let call = || pool.call().timeout(LATE).control(&control);
            let same = pool.install(|w| {
                let here = w.index();
                call().run(|w| w.index() == here)
            });
            assert_eq!(same, Ok(true));
        }
    });
}

/// Catches: a caller of a pool of one that does not take the slot when it is free, and one that
/// takes it after its deadline.
#[test]
fn callers_of_a_pool_of_one_take_the_slot_or_expire() {
    ends(|| {
        let (one, ran, made) = (pool(1, Wait::default()), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|callers| {
            for caller in 0..6 {
                let (one, ran, made) = (&one, &ran, &made);
                callers.spawn(move || {
                    for round in 0..200 {
                        let timeout = Duration::from_micros(10 * (round % 20));
                        let timeout = if caller < 2 { LATE } else { timeout };
                        let call = one.call().timeout(timeout);
                        let result = call.run(|_| _ = ran.fetch_add(1, Ordering::SeqCst));
                        assert!(result.is_ok() || caller >= 2);
                        made.fetch_add(usize::from(result.is_ok()), Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(made.load(Ordering::SeqCst) >= 400);
        assert_eq!(ran.into_inner(), made.into_inner());
    });
}

/// Catches: a call that is both run and withdrawn, or neither, when its deadline passes as a worker
/// takes it, and a control is cancelled as well.
#[test]
fn a_call_is_run_or_expires_or_is_cancelled() {
    ends(|| {
        for threads in [1, 2, 3] {
            let pool = pool(threads, Wait::default());
            let (ran, made) = (AtomicUsize::new(0), AtomicUsize::new(0));
            thread::scope(|s| {
                for _ in 0..4 {
                    s.spawn(|| {
                        for round in 0..300 {
                            let control = Control::new();
                            thread::scope(|s| {
                                s.spawn(|| control.cancel());
                                let timeout = Duration::from_micros(round % 100);
                                let call = pool.call().control(&control).timeout(timeout);
                                let called = call.run(|_| ran.fetch_add(1, Ordering::SeqCst));
                                made.fetch_add(usize::from(called.is_ok()), Ordering::SeqCst);
                            });
                        }
                    });
                }
            });
            assert_eq!(ran.into_inner(), made.into_inner());
        }
    });
}

/// Catches: an error that depends on which thread makes the call.
#[test]
fn a_call_that_is_cancelled_and_expired_is_cancelled() {
    ends(|| {
        let control = Control::new();
        control.cancel();
        while_blocked(2, |pool| {
            let call = || pool.call().control(&control).timeout(Duration::ZERO).run(|_| ());
            assert_eq!(call(), Err(CallError::Cancelled));
        });
        while_blocked(2, |pool| {
            let (control, owned) = (Control::new(), Arc::new(()));
            thread::scope(|s| {
                let (theirs, kept) = (Arc::clone(&owned), &control);
                let caller = s.spawn(move || {
                    pool.call().control(kept).timeout(SOON).run(move |_| drop(theirs))
                });
                control.cancel();
                caller.join().unwrap().unwrap_err();
            });
            assert_eq!(Arc::strong_count(&owned), 1);
        });
    });
}

/// Goes around a ring of pools, each call with a deadline. Returns the number of calls that were
/// made.
fn around(ring: &[Pool], at: usize, calls: usize) -> usize {
    let timeout = Duration::from_micros(50 * calls as u64);
    let call = ring[at % ring.len()].call().timeout(timeout);
    let made = call.run(|w| {
        let next = |_: &_| if calls > 1 { around(ring, at + 1, calls - 1) } else { 0 };
        let (more, one) = w.join(next, |_| 1);
        more + one
    });
    made.unwrap_or(0)
}

/// Catches: pools that wait for each other, and a call that is made after it was given up.
#[test]
fn pools_call_each_other_in_a_ring_with_deadlines() {
    ends(|| {
        for sizes in [[1, 1, 1], [1, 2, 3], [2, 2, 2]] {
            let ring = sizes.map(|size| pool(size, Wait::default()));
            thread::scope(|callers| {
                for first in 0..ring.len() {
                    let ring = &ring;
                    callers.spawn(move || {
                        for _ in 0..30 {
                            assert!(around(ring, first, 2 * ring.len()) <= 2 * ring.len());
                        }
                    });
                }
            });
        }
    });
}
