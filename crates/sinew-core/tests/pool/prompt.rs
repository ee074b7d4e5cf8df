//! A task is taken while its owner is blocked or computes: nothing depends on the owner coming back
//! to the scheduler.
//!
//! Each of these programs would hang in a runtime whose tasks are handed out at the owner's next
//! call into it.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};

use sinew_core::{Pool, Worker};
use sinew_loops::Control;
use sinew_loops::loops::{Options, for_each};
use sinew_policy::chunk::Schedule;

use crate::support::{ends, meet, with_each_pool};

const ROUNDS: usize = 30;

/// Computes, without a look at the scheduler, until `count` has reached `goal`.
fn compute_until(count: &AtomicU32, goal: u32) {
    while count.load(Ordering::Acquire) < goal {
        std::hint::spin_loop();
    }
}

fn add_one(count: &AtomicU32) {
    count.fetch_add(1, Ordering::AcqRel);
}

/// `program` again and again, in pools of two with all kinds of fences and waiting.
fn rounds(program: impl Fn(&Pool) + Send + 'static) {
    ends(move || {
        with_each_pool(2, |pool| {
            for _ in 0..ROUNDS {
                program(pool);
            }
        });
    });
}

/// Catches: a task that stays private while its owner is blocked.
#[test]
fn a_joined_task_is_taken_while_its_owner_is_blocked() {
    rounds(|pool| {
        let barrier = Barrier::new(2);
        pool.run(|w| w.join(|_| barrier.wait(), |_| barrier.wait()));
    });
}

/// Catches: a task that stays private while its owner computes.
#[test]
fn a_joined_task_is_taken_while_its_owner_computes() {
    rounds(|pool| {
        let done = AtomicU32::new(0);
        pool.run(|w| w.join(|_| compute_until(&done, 1), |_| add_one(&done)));
    });
}

/// Catches: half of the tasks exposed, and the other half forgotten.
#[test]
fn every_pending_task_of_a_computing_owner_is_taken() {
    fn nest(w: &Worker, depth: u32, done: &AtomicU32) {
        match depth {
            0 => compute_until(done, 20),
            _ => drop(w.join(|w| nest(w, depth - 1, done), |_| add_one(done))),
        }
    }
    rounds(|pool| {
        let done = AtomicU32::new(0);
        pool.run(|w| nest(w, 20, &done));
    });
}

/// Catches: a thief whose task blocks in turn: the next level must be taken from it, or from the
/// first owner.
#[test]
fn arms_that_block_at_every_level_all_run_at_once() {
    fn tree(w: &Worker, depth: u32, barrier: &Barrier) {
        match depth {
            0 => meet(barrier),
            _ => drop(w.join(|w| tree(w, depth - 1, barrier), |w| tree(w, depth - 1, barrier))),
        }
    }
    ends(|| {
        with_each_pool(8, |pool| {
            for _ in 0..5 {
                let barrier = Barrier::new(8);
                pool.run(|w| tree(w, 3, &barrier));
            }
        });
    });
}

/// Catches: a scope task that waits for its spawner.
#[test]
fn a_scope_task_is_taken_while_its_owner_is_blocked_or_computes() {
    rounds(|pool| {
        let (barrier, done) = (Barrier::new(2), AtomicU32::new(0));
        pool.run(|_| {
            sinew_core::scope(|s| {
                s.spawn(|_| meet(&barrier));
                barrier.wait();
                s.spawn(|_| add_one(&done));
                compute_until(&done, 1);
            });
        });
    });
}

/// Catches: all but the first of a row of scope tasks, or a thief that keeps a row to itself.
#[test]
fn a_row_of_scope_tasks_that_wait_for_each_other_all_run_at_once() {
    ends(|| {
        with_each_pool(6, |pool| {
            for _ in 0..10 {
                let barrier = Barrier::new(6);
                pool.run(|_| {
                    sinew_core::scope(|s| {
                        (0..5).for_each(|_| s.spawn(|_| meet(&barrier)));
                        barrier.wait();
                    });
                });
            }
        });
    });
}

/// Catches: a detached task that waits for its spawner.
#[test]
fn a_detached_task_is_taken_while_its_spawner_is_blocked_or_computes() {
    use std::sync::Arc;
    rounds(|pool| {
        let (barrier, done) = (Arc::new(Barrier::new(2)), Arc::new(AtomicU32::new(0)));
        pool.run(|_| {
            let theirs = Arc::clone(&barrier);
            sinew_core::spawn(move |_| meet(&theirs));
            barrier.wait();
            for _ in 0..5 {
                let theirs = Arc::clone(&done);
                sinew_core::spawn(move |_| add_one(&theirs));
            }
            compute_until(&done, 5);
        });
    });
}

/// Catches: a task below the slot that its owner pins while it waits in a join.
#[test]
fn tasks_above_and_below_a_blocked_join_are_taken() {
    ends(|| {
        with_each_pool(3, |pool| {
            for _ in 0..ROUNDS {
                let (inner, done) = (Barrier::new(2), AtomicU32::new(0));
                pool.run(|w| {
                    w.join(
                        // Stolen or not, the inner join blocks on an arm that ends only when the
                        // outer arm has run.
                        |w| {
                            let wait = || meet(&inner);
                            w.join(
                                |_| wait(),
                                |_| {
                                    inner.wait();
                                    compute_until(&done, 1);
                                },
                            )
                        },
                        |_| add_one(&done),
                    )
                });
            }
        });
    });
}

/// Catches: a loop that calls others only when the body that wants them has ended; and one whose
/// bodies can no longer call when a loop within them has ended, or call to that one.
#[test]
fn who_raises_the_number_of_threads_of_its_loop_is_joined_at_once() {
    rounds(|pool| {
        let (outer, inner, items) = (Control::new(), Control::new(), AtomicU32::new(0));
        outer.set_threads(1);
        let options = |control| Options {
            schedule: Schedule::Dynamic { chunk: 1 },
            control,
            ..Options::default()
        };
        let item = |item: u32| {
            add_one(&items);
            if item == 0 {
                let change = |_| inner.set_threads(2);
                sinew_core::run(|w| for_each(w, 0..1_u32, &options(Some(&inner)), change)).unwrap();
                outer.set_threads(2);
                compute_until(&items, 2);
            }
        };
        pool.run(|w| for_each(w, 0..100_u32, &options(Some(&outer)), item)).unwrap();
        assert_eq!(items.into_inner(), 100);
    });
}
