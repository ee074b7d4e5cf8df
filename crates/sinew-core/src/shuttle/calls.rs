//! Calls that arrive while all workers have work, withdrawn calls, and pools of one worker that
//! call each other.

use shuttle::sync::atomic::AtomicBool;
use sinew_deque::{Injector, Queued, TaskRef};

use super::*;
use crate::{CallError, Callers, Cancellable, Priority};

/// A flag that cancels calls. Clones are the same flag.
#[derive(Clone, Default)]
pub(super) struct Flag(Arc<(AtomicBool, Callers)>);

impl Cancellable for Flag {
    fn cancel(&self) {
        self.0.0.store(true, Ordering::Relaxed);
        self.0.1.wake_all();
    }

    fn is_cancelled(&self) -> bool {
        self.0.0.load(Ordering::Relaxed)
    }

    fn callers(&self) -> &Callers {
        &self.0.1
    }
}

/// A pool with a thread at every slot.
pub(super) fn full(threads: usize) -> Pool {
    Pool::builder().threads(threads).external_slot(false).build().unwrap()
}

/// Works until `is_over`, and serves calls meanwhile. Fails if that takes long, because no worker
/// was notified.
fn work_until(w: &Worker, is_over: impl Fn() -> bool) {
    for _ in 0..3_000 {
        if is_over() {
            return;
        }
        thread::yield_now();
        w.safe_point();
        w.serve_calls();
    }
    panic!("no call was served");
}

/// The only worker works until a call has run.
fn busy_worker() {
    let (pool, called) = (full(1), AtomicBool::new(false));
    let (pool, called) = (Arc::new(pool), Arc::new(called));
    let (theirs, set) = (Arc::clone(&pool), Arc::clone(&called));
    let begun = Arc::new(Barrier::new(2));
    let began = Arc::clone(&begun);
    let caller = thread::spawn(move || {
        meet(&began);
        theirs.install(|_| set.store(true, Ordering::SeqCst));
    });
    pool.install(|w| {
        meet(&begun);
        work_until(w, || called.load(Ordering::SeqCst));
    });
    caller.join().unwrap();
}

/// Catches: a call of which no worker is notified.
#[test]
fn shuttle_a_worker_at_work_serves_a_call() {
    explore(busy_worker);
}

#[test]
#[should_panic]
fn shuttle_finds_a_call_that_no_worker_is_told_of() {
    hunt(Bug::SilentCall, busy_worker);
}

/// While the call is queued, one worker works, and the other one searches. It finds an arm, in
/// which it waits for the call; or it finds the call, and the first worker runs both arms.
fn searcher_that_finds_work() {
    let (pool, called) = (Arc::new(full(2)), Arc::new(AtomicBool::new(false)));
    let (theirs, set) = (Arc::clone(&pool), Arc::clone(&called));
    let caller = thread::spawn(move || theirs.install(|_| set.store(true, Ordering::SeqCst)));
    pool.install(|w| {
        let wait = |w: &Worker, here: usize| {
            while w.index() != here && !called.load(Ordering::SeqCst) {
                thread::yield_now();
            }
        };
        let here = w.index();
        w.join(|w| work_until(w, || called.load(Ordering::SeqCst)), |w| wait(w, here));
    });
    caller.join().unwrap();
}

/// Catches: a call that relies on a searcher which finds another task.
#[test]
fn shuttle_a_searcher_that_finds_work_hands_calls_on() {
    explore(searcher_that_finds_work);
}

#[test]
#[should_panic]
fn shuttle_finds_a_searcher_that_keeps_a_call() {
    hunt(Bug::KeptCall, searcher_that_finds_work);
}

/// Several callers with nested calls.
fn many_callers() {
    let (pool, ran) = (Arc::new(full(1)), Arc::new(AtomicUsize::new(0)));
    let callers: Vec<_> = (0..3)
        .map(|caller| {
            let (pool, ran) = (Arc::clone(&pool), Arc::clone(&ran));
            thread::spawn(move || {
                let result = pool.install(|w| {
                    (0..2).for_each(|_| {
                        w.safe_point();
                        w.serve_calls();
                    });
                    add(&ran);
                    (caller, fib(w, 2))
                });
                assert_eq!(result, (caller, 1));
            })
        })
        .collect();
    callers.into_iter().for_each(|caller| caller.join().unwrap());
    assert_eq!(ran.load(Ordering::SeqCst), 3);
}

/// Catches: a call that is lost among others, or run twice.
#[test]
fn shuttle_calls_inside_calls_are_each_run_once() {
    explore(many_callers);
}

/// A call of high priority whose tasks two workers share, beside one of normal priority that ends
/// after it.
fn urgent_call() {
    let (pool, is_over) = (Arc::new(full(2)), Arc::new(AtomicBool::new(false)));
    let (theirs, over) = (Arc::clone(&pool), Arc::clone(&is_over));
    let long_call = thread::spawn(move || {
        theirs.install(|_| {
            for _ in 0..2_000 {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                thread::yield_now();
            }
            panic!("the urgent call waits for the long one");
        });
    });
    let piece = |w: &Worker| {
        (0..3).for_each(|_| {
            thread::yield_now();
            w.safe_point();
            w.serve_calls();
        });
    };
    let call = pool.call().priority(Priority::High).run(|w| {
        w.join(piece, piece);
        w.scope(|s| s.spawn(piece));
    });
    assert_eq!(call, Ok(()));
    is_over.store(true, Ordering::SeqCst);
    long_call.join().unwrap();
}

/// Catches: a worker that interrupts a piece of an urgent call for a less urgent one, which may be
/// endless.
#[test]
fn shuttle_less_urgent_calls_do_not_interrupt_an_urgent_one() {
    explore(urgent_call);
}

#[test]
#[should_panic]
fn shuttle_finds_a_thief_that_forgets_the_priority() {
    hunt(Bug::ForgottenPriority, urgent_call);
}

/// The only worker is blocked until the cancelled call has returned.
fn cancelled_call() {
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
        let (control, theirs) = (Flag::default(), Arc::clone(&pool));
        let cancel = control.clone();
        let caller = thread::spawn(move || theirs.call().control(&control).run(|_| ()));
        cancel.cancel();
        assert_eq!(caller.join().unwrap(), Err(CallError::Cancelled));
        meet(&hold);
        blocked.join().unwrap();
    }
}

/// Catches: a caller that continues to sleep when its call is cancelled.
#[test]
fn shuttle_a_cancelled_call_returns_at_once() {
    explore(cancelled_call);
}

#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_cancellation_that_wakes_nobody() {
    hunt(Bug::SilentCancel, cancelled_call);
}

/// Catches: a call that is both run and withdrawn, or neither, and a caller of a pool of one worker
/// that sleeps while the slot is free.
#[test]
fn shuttle_a_call_is_run_or_withdrawn() {
    explore(|| {
        for has_external_slot in [false, true] {
            let pool = Arc::new(
                Pool::builder().threads(1).external_slot(has_external_slot).build().unwrap(),
            );
            let ran = Arc::new(AtomicUsize::new(0));
            let callers: Vec<_> = (0..3)
                .map(|caller| {
                    let (pool, ran, control) =
                        (Arc::clone(&pool), Arc::clone(&ran), Flag::default());
                    let cancel = control.clone();
                    let caller = thread::spawn(move || match caller {
                        0 => {
                            pool.run(|_| add(&ran));
                            true
                        }
                        _ => pool.call().control(&control).run(|_| add(&ran)).is_ok(),
                    });
                    cancel.cancel();
                    caller
                })
                .collect();
            let called = callers.into_iter().map(|caller| caller.join().unwrap());
            assert_eq!(called.filter(|called| *called).count(), ran.load(Ordering::SeqCst));
        }
    });
}

/// A caller withdraws its call while a worker takes one.
fn withdrawal() {
    let injector = Arc::new(Injector::new());
    let theirs = Arc::clone(&injector);
    let worker = thread::spawn(move || theirs.pop(None).is_some());
    let call = Queued { task: TaskRef::new(std::ptr::NonNull::<u8>::dangling()), depth: 0 };
    let ticket = injector.push_call(call, Priority::Normal);
    thread::yield_now();
    let is_back = injector.withdraw(ticket).is_some();
    let is_taken = worker.join().unwrap();
    assert_eq!(usize::from(is_back) + usize::from(is_taken), 1);
}

/// Catches: a call that the caller withdraws and a worker runs.
#[test]
fn shuttle_a_call_is_withdrawn_or_taken() {
    explore(withdrawal);
}

#[test]
#[should_panic]
fn shuttle_finds_a_torn_withdrawal() {
    hunt(Bug::TornWithdrawal, withdrawal);
}

/// Catches: a pool of one worker whose external thread, callers and standby thread wait for each
/// other.
#[test]
fn shuttle_pools_of_one_call_each_other() {
    explore(|| {
        let (a, b) = (Arc::new(pool(1)), Arc::new(pool(1)));
        let (theirs, others) = (Arc::clone(&a), Arc::clone(&b));
        let other =
            thread::spawn(move || others.install(|_| theirs.install(|_| others.install(|_| 1))));
        assert_eq!(a.install(|_| b.install(|_| a.install(|_| 1))), 1);
        assert_eq!(other.join().unwrap(), 1);
    });
}
