//! Giving way: what a task that yields runs, and how deep a chain of tasks lies on the stack.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;

use sinew_core::open::{OpenScope, OpenScopeFifo};
use sinew_core::{Pool, Wait, Worker};

use crate::support::{ends, meet, with_each_full_pool};

/// The length of a chain of tasks.
const CHAIN: usize = 100_000;

/// Where the stacks of tasks begin, by thread.
#[derive(Default)]
struct Stack(Mutex<Vec<(thread::ThreadId, usize, usize)>>);

impl Stack {
    /// Notes the place of the calling task.
    fn note(&self) {
        let local = 0u8;
        let (here, at) = (thread::current().id(), black_box(&raw const local).addr());
        let mut places = self.0.lock().unwrap();
        match places.iter_mut().find(|place| place.0 == here) {
            Some((_, low, high)) => (*low, *high) = ((*low).min(at), (*high).max(at)),
            None => places.push((here, at, at)),
        }
    }

    /// Bytes between the highest and the lowest place on any one thread.
    fn span(&self) -> usize {
        self.0.lock().unwrap().iter().map(|(_, low, high)| high - low).max().unwrap()
    }
}

/// Catches: a task that runs inside the one that spawned it, of any kind, with and without a
/// waiting scope.
#[test]
fn a_chain_of_tasks_does_not_grow_the_stack() {
    fn open<'s>(s: &OpenScope<'s>, stack: &'s Stack, left: usize) {
        stack.note();
        if left > 0 {
            s.spawn(move |s| open(s, stack, left - 1));
        }
    }
    fn fifo<'s>(s: &OpenScopeFifo<'s>, stack: &'s Stack, left: usize) {
        stack.note();
        if left > 0 {
            s.spawn_fifo(move |s| fifo(s, stack, left - 1));
        }
    }
    fn detached(w: &Worker, stack: &Arc<Stack>, left: usize, done: mpsc::Sender<()>) {
        stack.note();
        let theirs = Arc::clone(stack);
        match left {
            0 => done.send(()).unwrap(),
            _ if left.is_multiple_of(2) => w.spawn(move |w| detached(w, &theirs, left - 1, done)),
            _ => w.spawn_fifo(move |w| detached(w, &theirs, left - 1, done)),
        }
    }
    ends(|| {
        for threads in [1, 2] {
            with_each_full_pool(threads, |pool| {
                let stack = Arc::new(Stack::default());
                pool.open_scope(|s| s.spawn(|s| open(s, &stack, CHAIN)));
                pool.open_scope_fifo(|s| s.spawn_fifo(|s| fifo(s, &stack, CHAIN)));
                pool.in_place_scope(|s| s.spawn(|s| open(s, &stack, CHAIN)));
                let ((done, end), theirs) = (mpsc::channel(), Arc::clone(&stack));
                pool.spawn(move |w| detached(w, &theirs, CHAIN, done));
                end.recv().unwrap();
                // A byte a task would be more.
                assert!(stack.span() < CHAIN, "{}", stack.span());
            });
        }
    });
}

/// Catches: a yield that runs something although there is nothing, or that does not run what
/// there is, the newest first.
#[test]
fn yielding_runs_one_task_of_the_workers_own() {
    ends(|| {
        with_each_full_pool(1, |pool| {
            for give_way in [Worker::yield_local, Worker::yield_now] {
                pool.install(|w| {
                    assert!(!give_way(w) && !w.has_own_tasks());
                    let ran = Arc::new(Mutex::new(Vec::new()));
                    for i in 0..2 {
                        let ran = Arc::clone(&ran);
                        w.spawn(move |_| ran.lock().unwrap().push(i));
                    }
                    assert!(w.has_own_tasks() && ran.lock().unwrap().is_empty());
                    assert!(give_way(w));
                    assert_eq!(*ran.lock().unwrap(), [1]);
                    assert!(give_way(w));
                    assert_eq!(*ran.lock().unwrap(), [1, 0]);
                    assert!(!give_way(w) && !w.has_own_tasks());
                });
            }
        });
    });
}

/// Catches: an arm that a yielding task cannot find because it lies below on the same stack, or
/// that is run twice.
#[test]
fn yielding_runs_the_second_arms_around() {
    ends(|| {
        with_each_full_pool(1, |pool| {
            for give_way in [Worker::yield_local, Worker::yield_now] {
                let ran = [const { AtomicUsize::new(0) }; 2];
                let arm = |i: usize| ran[i].fetch_add(1, Ordering::Relaxed);
                pool.install(|w| {
                    w.join(
                        |w| {
                            w.join(
                                |w| {
                                    assert!(w.has_own_tasks());
                                    // Both, in whichever order.
                                    assert!(give_way(w) && give_way(w) && !give_way(w));
                                    assert!(!w.has_own_tasks());
                                },
                                |_| arm(0),
                            )
                        },
                        |_| arm(1),
                    )
                });
                assert_eq!(ran.map(AtomicUsize::into_inner), [1, 1]);
            }
        });
    });
}

/// Catches: a local yield that runs a task of another queue, or another yield that does not.
#[test]
fn yielding_to_the_pool_runs_what_callers_have_queued() {
    ends(|| {
        with_each_full_pool(1, |pool| {
            let met = Arc::new(Barrier::new(2));
            let (theirs, (done, end)) = (Arc::clone(&met), mpsc::channel());
            let called = Arc::new(AtomicBool::new(false));
            let seen = Arc::clone(&called);
            pool.spawn(move |w| {
                theirs.wait();
                theirs.wait();
                let local = w.yield_local() || seen.load(Ordering::SeqCst);
                let now = w.yield_now() && seen.load(Ordering::SeqCst);
                done.send((local, now, w.yield_now())).unwrap();
            });
            met.wait();
            pool.spawn(move |_| called.store(true, Ordering::SeqCst));
            met.wait();
            assert_eq!(end.recv(), Ok((false, true, false)));
        });
    });
}

/// Catches: a yield that does not steal, so that a task waits for ever for another one.
#[test]
fn yielding_to_the_pool_takes_tasks_of_other_workers() {
    ends(|| {
        with_each_full_pool(2, |pool| {
            for _ in 0..20 {
                let (begun, done) = (Barrier::new(2), AtomicBool::new(false));
                let wait = |give_way: &dyn Fn()| {
                    while !done.load(Ordering::SeqCst) {
                        give_way();
                    }
                };
                pool.install(|w| {
                    w.join(
                        |w| {
                            begun.wait();
                            begun.wait();
                            wait(&|| _ = w.yield_now());
                        },
                        |w| {
                            begun.wait();
                            w.scope(|s| {
                                s.spawn(|_| done.store(true, Ordering::SeqCst));
                                // Not before the task is spawned.
                                begun.wait();
                                wait(&thread::yield_now);
                            });
                        },
                    )
                });
            }
        });
    });
}

/// Catches: a task that gives way to its part of a broadcast only when it has ended.
#[test]
fn yielding_runs_parts_of_broadcasts() {
    ends(|| {
        with_each_full_pool(2, |pool| {
            for give_way in [Worker::yield_local, Worker::yield_now] {
                let (begun, done) = (Barrier::new(2), AtomicBool::new(false));
                thread::scope(|s| {
                    s.spawn(|| {
                        pool.install(|w| {
                            meet(&begun);
                            while !done.load(Ordering::SeqCst) {
                                give_way(w);
                            }
                        });
                    });
                    begun.wait();
                    assert_eq!(pool.broadcast(|part| part.index()), [0, 1]);
                    done.store(true, Ordering::SeqCst);
                });
            }
        });
    });
}

/// Catches: a thread outside that is taken for a worker, or one of another pool.
#[test]
fn only_workers_of_the_pool_have_something_to_give_way_to() {
    ends(|| {
        let two =
            || Pool::builder().threads(2).external_slot(false).wait(Wait::Any).build().unwrap();
        let (a, b) = (two(), two());
        let in_a = || a.with_current(|w| w.map(|w| w.yield_local()));
        assert_eq!(in_a(), None);
        assert_eq!(a.install(|_| in_a()), Some(false));
        assert_eq!(b.install(|_| in_a()), None);
        // Inside two pools, this one is not the current one.
        assert_eq!(a.install(|_| b.in_place_scope(|_| in_a())), Some(false));
    });
}
