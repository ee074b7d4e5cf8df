//! Skeletons that consist of an operation's joins: the number of participants.
//!
//! Blind to: where their threads run (`mapping`), and results under changes at the highest rate
//! (the crate `sinew`'s `tests/changes.rs`).

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use sinew_core::{Pool, Worker};
use sinew_loops::{Control, Operation};

use crate::support::{ends, full_pool, payload_of, pool};

/// A tree of joins with `leaf` at each of its 2^`depth` leaves.
fn tree(w: &Worker, operation: &Operation<'_>, depth: u32, leaf: &(dyn Fn(&Worker) + Sync)) {
    if depth == 0 {
        return leaf(w);
    }
    let half = |w: &Worker| tree(w, operation, depth - 1, leaf);
    operation.join(w, half, half);
}

/// A tree whose first leaf calls `first`, and whose second half is not over before another thread
/// was at a leaf.
fn with_another(w: &Worker, operation: &Operation<'_>, first: impl Fn() + Sync) {
    let (here, begun, helped) = (w.index(), AtomicUsize::new(0), AtomicBool::new(false));
    tree(w, operation, 10, &|w| {
        if w.index() != here {
            helped.store(true, Ordering::SeqCst);
            return;
        }
        match begun.fetch_add(1, Ordering::SeqCst) {
            0 => first(),
            // By then there was a join after it.
            512.. => {
                while !helped.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
            }
            _ => {}
        }
    });
}

/// The same tree by the caller alone.
fn alone(w: &Worker, operation: &Operation<'_>) {
    let (here, leaves) = (w.index(), AtomicUsize::new(0));
    tree(w, operation, 10, &|w| {
        assert_eq!(w.index(), here, "a worker came uncalled");
        leaves.fetch_add(1, Ordering::SeqCst);
    });
    assert_eq!(leaves.into_inner(), 1 << 10);
}

/// Catches: thieves that were not invited, and a number that is read once.
#[test]
fn no_more_come_than_are_wished() {
    ends(|| {
        for pool in [pool(4), full_pool(4)] {
            let (control, free) = (Control::new(), Control::new());
            pool.install(|w| {
                let operation = Operation::begin(&control, 0).unwrap().with_threads(1);
                let participant = operation.register(w);
                for _ in 0..20 {
                    alone(w, &operation);
                    with_another(w, &operation, || control.set_threads(2));
                    control.set_threads(1);
                }
                drop(participant);
                let operation = Operation::begin(&free, 0).unwrap();
                let _participant = operation.register(w);
                with_another(w, &operation, || ());
            });
            assert_eq!((control.snapshot().working, free.snapshot().working), (0, 0));
        }
    });
}

/// Catches: a skeleton of joins that goes by the workers which a pool with an external thread
/// needs, not by the number that was set.
#[test]
fn a_skeleton_of_joins_follows_the_number_of_its_pool() {
    ends(|| {
        for pool in [pool(3), full_pool(3)] {
            let (control, handle) = (Control::new(), pool.control());
            pool.run(|w| {
                let operation = Operation::begin(&control, 0).unwrap();
                let _participant = operation.register(w);
                for _ in 0..20 {
                    handle.set_threads(1);
                    alone(w, &operation);
                    with_another(w, &operation, || {
                        handle.set_threads(3);
                    });
                }
            });
        }
    });
}

/// Catches: an arm that is handed back and lost, or run twice, while the number changes at every
/// leaf; and participants who are counted for ever.
#[test]
fn each_arm_runs_once_whatever_is_wished() {
    fn visit(pool: &Pool) {
        let control = Control::new();
        pool.install(|w| {
            let operation = Operation::begin(&control, 0).unwrap();
            let _participant = operation.register(w);
            for round in 0..50 {
                let slots = Mutex::new(Vec::new());
                tree(w, &operation, 9, &|w| {
                    let number = {
                        let mut slots = slots.lock().unwrap();
                        slots.push(w.index());
                        slots.len()
                    };
                    control.set_threads(1 + (number * 7 + round) % 5);
                });
                assert_eq!(slots.into_inner().unwrap().len(), 1 << 9);
            }
            control.set_threads(1);
            alone(w, &operation);
        });
        assert_eq!(control.snapshot().working, 0);
    }
    ends(|| [pool(4), full_pool(4)].iter().for_each(visit));
}

/// Catches: a panic of a stolen arm, or beside one, after which a participant is still counted as
/// active.
#[test]
fn a_panic_comes_out_and_leaves_nobody_behind() {
    ends(|| {
        let (pool, control) = (full_pool(3), Control::new());
        for bad in 0..40 {
            let leaves = AtomicUsize::new(0);
            let payload = payload_of(|| {
                pool.install(|w| {
                    let operation = Operation::begin(&control, 0).unwrap();
                    let _participant = operation.register(w);
                    tree(w, &operation, 6, &|_| {
                        if leaves.fetch_add(1, Ordering::SeqCst) == bad {
                            resume_unwind(Box::new(bad));
                        }
                    });
                });
            });
            assert_eq!(payload.downcast_ref(), Some(&bad));
            let now = control.snapshot();
            assert_eq!((now.working, now.loops), (0, 0));
        }
    });
}

/// Catches: a participant that is no longer counted as at work once an arm that it waited for has
/// panicked. After two of these, the count wrapped around, and no arm was offered any more.
#[test]
fn a_stolen_arm_that_panics_leaves_the_count_as_it_was() {
    ends(|| {
        for pool in [pool(3), full_pool(3)] {
            let control = Control::new();
            control.set_threads(2);
            pool.install(|w| {
                let operation = Operation::begin(&control, 0).unwrap();
                let participant = operation.register(w);
                for round in 0..6 {
                    let panics = round % 3 < 2;
                    let join = AssertUnwindSafe(|| meet_in_join(w, &operation, panics));
                    assert_eq!(catch_unwind(join).is_err(), panics);
                }
                drop(participant);
                // No participant is counted any more, so both may take part.
                let _participant = operation.register(w);
                meet_in_join(w, &operation, false);
            });
            assert_eq!(control.snapshot().working, 0);
        }
    });
}

/// A join whose first arm returns when another worker is at the second one, which then may panic.
fn meet_in_join(w: &Worker, operation: &Operation<'_>, panics: bool) {
    let is_stolen = AtomicBool::new(false);
    let first = |_: &Worker| {
        while !is_stolen.load(Ordering::SeqCst) {
            thread::yield_now();
        }
    };
    let second = |_: &Worker| {
        is_stolen.store(true, Ordering::SeqCst);
        if panics {
            resume_unwind(Box::new("wanted"));
        }
    };
    operation.join(w, first, second);
}
