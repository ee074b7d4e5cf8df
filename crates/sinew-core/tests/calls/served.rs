//! Calls that come while every worker has work are served between two pieces of it.

use std::cell::Cell;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sinew_core::{Cancelled, Pool, Priority, Wait, Worker};
use sinew_loops::loops::{Options, for_each};
use sinew_loops::sort::{sort_by, sort_by_under};
use sinew_loops::stream::{self, Exit, Identity, Parallel, Stages};
use sinew_loops::{Control, Operation, Participant};
use sinew_policy::chunk::Schedule;

use crate::support::{ends, full_pool, pool};

/// Keeps one of two workers blocked and the other one at `work`, repeatedly, while `meanwhile` runs
/// on this thread. No worker searches then.
fn while_all_work<R>(
    pool: &Pool,
    work: impl Fn(&Worker) + Sync,
    meanwhile: impl FnOnce() -> R,
) -> R {
    let (begun, hold, over) = (Barrier::new(3), Barrier::new(2), AtomicBool::new(false));
    thread::scope(|s| {
        s.spawn(|| {
            pool.install(|_| {
                begun.wait();
                hold.wait();
            });
        });
        s.spawn(|| {
            pool.install(|w| {
                begun.wait();
                while !over.load(Ordering::SeqCst) {
                    work(w);
                }
            });
        });
        begun.wait();
        let result = meanwhile();
        over.store(true, Ordering::SeqCst);
        hold.wait();
        result
    })
}

/// Catches: a call that waits for the end of a task which lasts until the call is over.
fn is_served_during(work: impl Fn(&Worker) + Sync + Send + 'static) {
    ends(move || {
        let pool = full_pool(2);
        for round in 0..20 {
            assert_eq!(while_all_work(&pool, &work, || pool.install(|_| round)), round);
        }
    });
}

fn loop_by(schedule: Schedule) -> impl Fn(&Worker) + Sync + Send + 'static {
    move |w| {
        let options = Options { schedule, ..Options::default() };
        for_each(w, 0..1_000, &options, |_| thread::yield_now()).unwrap();
    }
}

#[test]
fn calls_are_served_between_chunks() {
    is_served_during(loop_by(Schedule::Dynamic { chunk: 1 }));
}

#[test]
fn calls_are_served_between_chunks_that_thieves_leave_each_other() {
    is_served_during(loop_by(Schedule::Stealing));
}

#[test]
fn calls_are_served_between_halves() {
    is_served_during(loop_by(Schedule::Simple { grain: 1 }));
}

#[test]
fn calls_are_served_between_slices() {
    let control = Control::new();
    is_served_during(move |w| {
        let options = Options { control: Some(&control), ..Options::default() };
        for_each(w, 0..1_000, &options, |_| thread::yield_now()).unwrap();
    });
}

#[test]
fn calls_are_served_between_items_of_a_stream() {
    is_served_during(|w| {
        let end = Parallel::new(Identity, |_: usize| thread::yield_now()).connect(Exit);
        stream::run(w, 0..100_usize, &end, &stream::Options::default()).unwrap();
    });
}

/// Two threads are in a long loop of a pool as it is by default: one uses the external slot, the
/// other waits for the only worker thread, which serves it. A third thread makes short calls.
///
/// Catches: a short call that waits for the end of both loops.
#[test]
fn a_short_call_beside_two_long_loops_of_a_default_pool_is_served() {
    ends(|| {
        let (pool, control) = (Pool::builder().threads(2).build().unwrap(), Control::new());
        let (begun, over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let long_loop = |w: &Worker| {
            begun.fetch_add(1, Ordering::SeqCst);
            let options = Options { control: Some(&control), ..Options::default() };
            let item = |_| match over.load(Ordering::SeqCst) {
                true => (),
                false => thread::yield_now(),
            };
            for_each(w, 0..usize::MAX, &options, item).unwrap_err();
        };
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| pool.run(long_loop));
            }
            while begun.load(Ordering::SeqCst) < 2 {
                thread::yield_now();
            }
            for _ in 0..20 {
                let sum = AtomicUsize::new(0);
                let add = |item| {
                    sum.fetch_add(item, Ordering::SeqCst);
                };
                pool.run(|w| for_each(w, 0..20_usize, &Options::default(), add).unwrap());
                assert_eq!(sum.into_inner(), 190);
            }
            over.store(true, Ordering::SeqCst);
            control.cancel();
        });
    });
}

/// Numbers in no order.
fn mixed(length: u64) -> Vec<u64> {
    (0..length).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
}

#[test]
fn calls_are_served_between_leaves_of_a_sort() {
    is_served_during(|w| sort_by(w, &mut mixed(50_000), usize::MAX, u64::cmp));
}

#[test]
fn calls_are_served_between_leaves_of_a_sort_under_a_control() {
    let control = Control::new();
    is_served_during(move |w| sort_by_under(w, &mut mixed(50_000), 2, &control, u64::cmp).unwrap());
}

fn tree(w: &Worker, operation: &Operation<'_>, depth: u32) {
    if depth > 0 {
        operation.join(w, |w| tree(w, operation, depth - 1), |w| tree(w, operation, depth - 1));
    }
}

/// With one thread a join offers nothing, and no push looks up.
#[test]
fn calls_are_served_between_joins_of_an_operation() {
    for threads in [1, 2] {
        let control = Control::new();
        is_served_during(move |w| {
            let operation = Operation::begin(&control, 0).unwrap().with_threads(threads);
            let participant = operation.register(w);
            tree(w, &operation, 8);
            drop(participant);
            operation.end();
        });
    }
}

#[test]
fn calls_are_served_between_items_of_a_numbered_participant() {
    is_served_during(|w| {
        let mut participant = Participant::enter(w, None, 0);
        for _ in 0..1_000 {
            thread::yield_now();
            participant.poll();
        }
    });
}

/// Catches: an external thread of a pool of one whose loop keeps others waiting, though it is cut
/// in slices.
#[test]
fn the_external_thread_of_a_pool_of_one_serves_others() {
    ends(|| {
        let (one, two) = (pool(1, Wait::default()), full_pool(2));
        let (one, begun, control) = (&one, &Barrier::new(2), Control::new());
        for round in 0..20 {
            let over = AtomicBool::new(false);
            thread::scope(|s| {
                s.spawn(|| {
                    one.run(|w| {
                        begun.wait();
                        let options = Options { control: Some(&control), ..Options::default() };
                        while !over.load(Ordering::SeqCst) {
                            for_each(w, 0..1_000, &options, |_| thread::yield_now()).unwrap();
                        }
                    });
                });
                begun.wait();
                assert_eq!(one.run(|w| (w.index(), round)), (0, round));
                assert_eq!(two.install(|_| one.install(|w| (w.index(), round))), (0, round));
                over.store(true, Ordering::SeqCst);
            });
        }
    });
}

/// Catches: callers of a pool of one of which one sleeps on when the slot is free, or has been
/// served.
#[test]
fn callers_of_a_pool_of_one_are_served_or_take_the_slot() {
    ends(|| {
        let (one, ran) = (pool(1, Wait::default()), AtomicUsize::new(0));
        thread::scope(|callers| {
            for caller in 0..6 {
                let (one, ran) = (&one, &ran);
                callers.spawn(move || {
                    let control = Control::new();
                    let options = Options { control: Some(&control), ..Options::default() };
                    for round in 0..200 {
                        let result = one.run(|w| {
                            for_each(w, 0..5, &options, |_| thread::yield_now()).unwrap();
                            ran.fetch_add(1, Ordering::SeqCst);
                            (caller, round)
                        });
                        assert_eq!(result, (caller, round));
                    }
                });
            }
        });
        assert_eq!(ran.into_inner(), 1_200);
    });
}

/// Catches: a detached task, for which no thread waits, that interrupts a loop.
#[test]
fn detached_tasks_are_not_served() {
    ends(|| {
        let pool = full_pool(2);
        for _ in 0..20 {
            let ran: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
            let work = loop_by(Schedule::Dynamic { chunk: 1 });
            let ran_before = while_all_work(&pool, work, || {
                pool.spawn(|_| ran.store(true, Ordering::SeqCst));
                pool.install(|_| ran.load(Ordering::SeqCst))
            });
            assert!(!ran_before);
        }
    });
}

/// A loop without an end arrives while calls run whose loops take `length` items, in a pool of one
/// worker thread and the external slot, and in one of two threads.
fn beside_endless_loops(priorities: [Priority; 2], length: usize) {
    let [short, endless] = priorities;
    for pool in [pool(2, Wait::default()), full_pool(2)] {
        for _ in 0..30 {
            let (control, pool, over) = (&Control::new(), &pool, &AtomicBool::new(false));
            let calls = &AtomicUsize::new(0);
            let options = Options { control: Some(control), ..Options::default() };
            thread::scope(|s| {
                let caller = s.spawn(|| {
                    while !over.load(Ordering::SeqCst) {
                        let call = pool.call().priority(short);
                        call.run(|w| for_each(w, 0..length, &Options::default(), spend).unwrap())
                            .unwrap();
                        calls.fetch_add(1, Ordering::SeqCst);
                    }
                });
                while calls.load(Ordering::SeqCst) < 3 {
                    thread::yield_now();
                }
                s.spawn(|| {
                    let call = pool.call().priority(endless);
                    let ended = call.run(|w| for_each(w, 0..usize::MAX, &options, spend));
                    assert_eq!(ended, Ok(Err(Cancelled)));
                });
                let made = calls.load(Ordering::SeqCst);
                while control.snapshot().done == 0 && calls.load(Ordering::SeqCst) < made + 100 {
                    thread::yield_now();
                }
                over.store(true, Ordering::SeqCst);
                // Its last call ends, although the loop has no end.
                caller.join().unwrap();
                control.cancel();
            });
        }
    }
}

/// Takes some nanoseconds, which the optimiser cannot remove.
fn spend(item: usize) {
    black_box(item);
}

/// Catches: a short call that is interrupted by an endless one, and so never ends.
#[test]
fn short_calls_are_not_interrupted_by_others_of_their_priority() {
    ends(|| beside_endless_loops([Priority::Normal; 2], 1_000));
}

/// Catches: an urgent call of some milliseconds that is interrupted by one of a lower priority.
#[test]
fn urgent_calls_are_not_interrupted_by_others() {
    ends(|| {
        beside_endless_loops([Priority::High, Priority::Normal], 1_000_000);
        beside_endless_loops([Priority::Normal, Priority::Low], 1_000_000);
    });
}

/// Catches: a call that interrupts a loop under the policies for programs that hold locks.
#[test]
fn careful_policies_serve_nobody_in_the_middle() {
    ends(|| {
        for wait in [Wait::Descendants, Wait::Block] {
            let pool = Pool::builder().threads(1).external_slot(false).wait(wait).build().unwrap();
            let (begun, ran) = (Barrier::new(2), AtomicBool::new(false));
            thread::scope(|s| {
                s.spawn(|| {
                    begun.wait();
                    pool.install(|_| ran.store(true, Ordering::SeqCst));
                });
                pool.install(|w| {
                    begun.wait();
                    for _ in 0..2_000 {
                        thread::yield_now();
                        w.safe_point();
                        w.serve_calls();
                    }
                    assert!(!ran.load(Ordering::SeqCst));
                });
            });
            assert!(ran.into_inner());
        }
    });
}

std::thread_local! {
    /// Calls that this thread is in.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

/// Catches: calls that are served one inside the other until the stack is full, and a worker that
/// forgets calls because it may not serve them where it hears of them.
#[test]
fn calls_nest_up_to_four_deep() {
    const CALLERS: usize = 12;
    ends(|| {
        let pool = full_pool(1);
        let (most, begun) = (AtomicUsize::new(0), Barrier::new(CALLERS));
        let call = |w: &Worker| {
            let inside = INSIDE.get() + 1;
            INSIDE.set(inside);
            most.fetch_max(inside, Ordering::SeqCst);
            // Long enough to be interrupted by calls of the same priority.
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_millis(3) {
                thread::yield_now();
                w.safe_point();
                w.serve_calls();
            }
            INSIDE.set(inside - 1);
        };
        thread::scope(|s| {
            for _ in 0..CALLERS {
                s.spawn(|| {
                    begun.wait();
                    (0..3).for_each(|_| pool.install(call));
                });
            }
        });
        // The first is none that is served in the middle of something.
        let most = most.into_inner();
        assert!((2..=5).contains(&most), "{most} calls, one inside the other");
    });
}

/// Catches: results that get mixed up, iterations that are lost or visited twice, and panics that
/// reach the loop instead of the caller.
#[test]
fn a_loop_that_serves_calls_visits_everything_once() {
    const CALLERS: usize = 3;
    ends(|| {
        let pool = &full_pool(2);
        for schedule in
            [Schedule::Dynamic { chunk: 1 }, Schedule::Stealing, Schedule::Simple { grain: 1 }]
        {
            let over = AtomicUsize::new(0);
            thread::scope(|s| {
                for caller in 0..CALLERS {
                    let over = &over;
                    s.spawn(move || {
                        for round in 0..100 {
                            let sum = pool.install(|w| w.join(|_| caller, |_| round));
                            assert_eq!(sum, (caller, round));
                            let panics = || pool.install(|_| resume_unwind(Box::new(round)));
                            let payload: Box<dyn std::any::Any + Send> =
                                catch_unwind(AssertUnwindSafe(panics))
                                    .map(|(): ()| ())
                                    .unwrap_err();
                            assert_eq!(payload.downcast_ref(), Some(&round));
                        }
                        over.fetch_add(1, Ordering::SeqCst);
                    });
                }
                while over.load(Ordering::SeqCst) < CALLERS {
                    let visits: Vec<AtomicUsize> =
                        (0..2_000).map(|_| AtomicUsize::new(0)).collect();
                    let options = Options { schedule, ..Options::default() };
                    let visit = |at: usize| _ = visits[at].fetch_add(1, Ordering::SeqCst);
                    pool.install(|w| for_each(w, 0..visits.len(), &options, visit)).unwrap();
                    assert!(visits.into_iter().all(|visits| visits.into_inner() == 1));
                }
            });
        }
    });
}
