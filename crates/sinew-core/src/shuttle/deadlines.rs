//! Calls with deadlines and priorities.
//!
//! Time is virtual here: a microsecond for each step of the schedule, and a limited park ends at
//! once.

use std::time::Duration;

use super::calls::{Flag, full};
use super::*;
use crate::{CallError, Priority};

/// Some steps, possibly fewer than a call takes, possibly more.
fn some_steps() -> Duration {
    Duration::from_micros(thread_rng().gen_range(1..80))
}

/// The only worker, or external thread, is blocked until the call has expired. The caller has no
/// pool, or is a worker of another one.
fn blocked_until_expiry() {
    for has_external_slot in [false, true] {
        let pool =
            Arc::new(Pool::builder().threads(1).external_slot(has_external_slot).build().unwrap());
        let [begun, hold] = [0; 2].map(|_| Arc::new(Barrier::new(2)));
        let (theirs, began, held) = (Arc::clone(&pool), Arc::clone(&begun), Arc::clone(&hold));
        let blocked = thread::spawn(move || {
            theirs.run(|_| {
                meet(&began);
                meet(&held);
            });
        });
        meet(&begun);
        let called = match thread_rng().r#gen() {
            true => full(1).install(|_| pool.call().timeout(some_steps()).run(|_| ())),
            false => pool.call().timeout(some_steps()).run(|_| ()),
        };
        assert_eq!(called, Err(CallError::Expired));
        meet(&hold);
        blocked.join().unwrap();
    }
}

/// Catches: a caller that sleeps although its deadline has passed.
#[test]
fn shuttle_an_expired_call_returns_while_the_worker_is_blocked() {
    explore(blocked_until_expiry);
}

#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_caller_that_sleeps_past_its_deadline() {
    hunt(Bug::UntimedWait, blocked_until_expiry);
}

/// Deadlines pass while a worker, or the holder of the external slot, takes the calls. Some have a
/// control, which another thread cancels.
fn expiring_calls() {
    let has_external_slot: bool = thread_rng().r#gen();
    let pool =
        Arc::new(Pool::builder().threads(1).external_slot(has_external_slot).build().unwrap());
    let ran = Arc::new(AtomicUsize::new(0));
    let callers: Vec<_> = (0..3)
        .map(|caller| {
            let (pool, ran, control) = (Arc::clone(&pool), Arc::clone(&ran), Flag::default());
            let cancel = control.clone();
            let priority = [Priority::Low, Priority::Normal, Priority::High][caller];
            let calling = thread::spawn(move || {
                let call = pool.call().timeout(some_steps()).priority(priority);
                match caller {
                    0 => call.control(&control).run(|_| add(&ran)).is_ok(),
                    _ => call.run(|_| add(&ran)).is_ok(),
                }
            });
            if thread_rng().r#gen() {
                crate::Cancellable::cancel(&cancel);
            }
            calling
        })
        .collect();
    let called = callers.into_iter().map(|caller| caller.join().unwrap());
    assert_eq!(called.filter(|called| *called).count(), ran.load(Ordering::SeqCst));
}

/// Catches: a call that runs and expires, or neither.
#[test]
fn shuttle_a_call_runs_or_expires() {
    explore(expiring_calls);
}

#[test]
#[should_panic]
fn shuttle_finds_a_caller_that_reports_a_call_which_runs_as_expired() {
    hunt(Bug::BlindExpiry, expiring_calls);
}

/// A call that has begun runs until its control is cancelled, which its caller does at its
/// deadline.
fn call_until_its_deadline() {
    let pool = pool(2);
    let control = Flag::default();
    let called = pool.call().timeout(some_steps()).control(&control).run(|_| {
        while !crate::Cancellable::is_cancelled(&control) {
            thread::yield_now();
        }
    });
    assert_eq!(called.is_ok(), crate::Cancellable::is_cancelled(&control));
}

/// Catches: a caller that does not cancel the control, or cancels that of a call which has not
/// begun.
#[test]
fn shuttle_a_deadline_cancels_the_control_of_a_call_that_has_begun() {
    explore(call_until_its_deadline);
}

#[test]
#[should_panic]
fn shuttle_finds_a_caller_that_cancels_the_control_of_a_call_that_does_not_begin() {
    hunt(Bug::BlindCancel, call_until_its_deadline);
}

/// Catches: pools whose external threads, workers and standby threads wait for each other past
/// their deadlines.
#[test]
fn shuttle_pools_of_one_call_each_other_with_deadlines() {
    explore(|| {
        let pools = [Arc::new(pool(1)), Arc::new(pool(1))];
        let ran = Arc::new(AtomicUsize::new(0));
        let around = |[a, b]: [Arc<Pool>; 2], ran: Arc<AtomicUsize>| {
            let call = |pool: &Pool, next: &(dyn Fn() -> usize + Sync)| {
                let call = pool.call().timeout(2 * some_steps());
                call.run(|_| {
                    add(&ran);
                    1 + next()
                })
                .unwrap_or(0)
            };
            call(&a, &|| call(&b, &|| call(&a, &|| 0)))
        };
        let (swapped, theirs) = ([1, 0].map(|at: usize| Arc::clone(&pools[at])), Arc::clone(&ran));
        let other = thread::spawn(move || around(swapped, theirs));
        let made = around(pools, Arc::clone(&ran));
        assert_eq!(made + other.join().unwrap(), ran.load(Ordering::SeqCst));
    });
}
