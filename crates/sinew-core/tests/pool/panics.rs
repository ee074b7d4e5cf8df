//! Caught panics: what they leave behind, and on which thread tasks run meanwhile.
//!
//! A panic that a program catches must leave its worker as it was. Tasks that a worker runs between
//! the panic and the end of the call run outside of unwinding: `thread::panicking()` is false
//! there, so locks are poisoned and guards commit as they should.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;

use sinew_core::{Pool, StackKind, Worker, join, scope, serially};

use crate::support::{
    WAITS, add, ends, meet, message_of, pool, with_each_full_pool, with_each_pool,
};

fn fail() {
    resume_unwind(Box::new("wanted"));
}

/// Runs what must panic with what [`fail`] has.
fn panics<R>(f: impl FnOnce() -> R) {
    assert_eq!(message_of(f), "wanted");
}

/// Joins on both stacks and in all ways of waiting, on two threads.
fn with_both_stacks(test: impl Fn(&Pool)) {
    for stack in [StackKind::Split, StackKind::TwoField] {
        for wait in WAITS {
            test(
                &Pool::builder()
                    .threads(2)
                    .external_slot(false)
                    .stack(stack)
                    .wait(wait)
                    .build()
                    .unwrap(),
            );
        }
    }
}

/// Catches: a depth that stays too deep after a caught panic, so that the worker refuses its part
/// of a broadcast in every later wait.
#[test]
fn a_worker_that_has_caught_a_panic_still_takes_its_part_of_a_deeper_broadcast() {
    ends(|| {
        with_both_stacks(|pool| {
            let begun = Barrier::new(2);
            let parts = pool.install(|w| {
                w.join(
                    |w| {
                        (0..3).for_each(|_| panics(|| w.join(|_| (), |_| fail())));
                        meet(&begun);
                    },
                    |w| {
                        meet(&begun);
                        w.broadcast(|part| part.index())
                    },
                )
                .1
            });
            assert_eq!(parts, [0, 1]);
        });
    });
}

/// Catches: arms that are as deep as what waits for them, so that a waiting worker refuses them.
#[test]
fn a_first_arm_and_a_stolen_second_arm_are_one_deeper_than_their_join() {
    ends(|| {
        with_each_pool(2, |pool| {
            pool.run(|w| {
                let before = w.depth();
                for _ in 0..100 {
                    let second = |w: &Worker, stolen| (w.depth(), u32::from(stolen));
                    let (first, (second, stolen)) = w.join_context(Worker::depth, second);
                    assert_eq!((first, second), (before + 1, before + stolen));
                }
                assert_eq!(w.depth(), before);
            });
        });
    });
}

/// Catches: a way out of a join that leaves the depth of an arm behind.
#[test]
fn the_depth_is_as_before_after_every_kind_of_panic() {
    fn deep(w: &Worker, levels: u32) {
        match levels {
            0 => fail(),
            _ if levels.is_multiple_of(2) => _ = w.join(|_| (), |w| deep(w, levels - 1)),
            _ => _ = w.join(|w| deep(w, levels - 1), |_| fail()),
        }
    }
    ends(|| {
        with_each_pool(2, |pool| {
            pool.run(|w| {
                w.join(
                    |w| {
                        let before = w.depth();
                        panics(|| w.join(|_| fail(), |_| ()));
                        panics(|| w.join(|_| (), |_| fail()));
                        panics(|| w.join(|_| fail(), |_| fail()));
                        panics(|| join(|| (), fail));
                        panics(|| scope(|s| s.spawn(|w| deep(w, 5))));
                        panics(|| w.broadcast(|_| fail()));
                        (0..20).for_each(|levels| panics(|| deep(w, levels)));
                        assert_eq!(w.depth(), before);
                    },
                    |_| (),
                )
            });
        });
    });
}

/// Counts tasks, and those among them that begin on an unwinding thread.
#[derive(Default)]
struct Tasks {
    all: AtomicUsize,
    unwinding: AtomicUsize,
}

impl Tasks {
    fn run(&self) {
        add(&self.all);
        if thread::panicking() {
            add(&self.unwinding);
        }
    }

    #[track_caller]
    fn check(&self, expected: usize) {
        assert_eq!(
            (self.all.swap(0, Ordering::SeqCst), self.unwinding.swap(0, Ordering::SeqCst)),
            (expected, 0)
        );
    }
}

/// Catches: a second arm that is run by a destructor, in every kind of join and wherever it is
/// called.
#[test]
fn a_second_arm_does_not_see_the_panic_of_the_first() {
    ends(|| {
        let tasks = Tasks::default();
        let second = || tasks.run();
        with_each_pool(2, |pool| {
            pool.run(|w| panics(|| w.join(|_| fail(), |_| second())));
            pool.run(|w| panics(|| w.join_context(|_| fail(), |_, _| second())));
            pool.run(|_| panics(|| join(fail, second)));
            pool.run(|_| panics(|| serially(|| join(fail, second))));
            panics(|| pool.run(|w| w.join(|_| fail(), |_| second())));
            panics(|| pool.install(|w| w.join(|_| fail(), |_| second())));
            panics(|| {
                sinew_core::join_context(
                    |join| pool.install(|w| join(w)),
                    |_, _| fail(),
                    |_, _| second(),
                )
            });
            // A join in the second arm of a join.
            pool.run(|w| {
                panics(|| w.join(|_| fail(), |w| panics(|| w.join(|_| fail(), |_| second()))));
            });
            tasks.check(8);
        });
        panics(|| join(fail, second));
        panics(|| serially(|| join(fail, second)));
        tasks.check(2);
    });
}

/// Catches: a worker that waits for a stolen arm inside a destructor, and runs other tasks there.
#[test]
fn tasks_run_while_a_panic_waits_for_a_stolen_arm_do_not_see_it() {
    ends(|| {
        let tasks = Tasks::default();
        with_both_stacks(|pool| {
            let begun = Barrier::new(2);
            let both = || {
                pool.install(|w| {
                    w.join(
                        |_| {
                            meet(&begun);
                            fail();
                        },
                        |w| {
                            meet(&begun);
                            // A part for each worker: the joiner's is run where it waits.
                            w.broadcast(|_| tasks.run());
                        },
                    )
                });
            };
            panics(both);
            tasks.check(2);
        });
    });
}

/// Catches: tasks of a scope whose body, or one of whose tasks, panics, run in a destructor; and
/// those of what the body calls.
#[test]
fn tasks_of_a_scope_do_not_see_the_panic_of_its_body() {
    ends(|| {
        let tasks = Tasks::default();
        with_each_full_pool(2, |pool| {
            let body = || {
                scope(|s| {
                    (0..10).for_each(|_| s.spawn(|_| tasks.run()));
                    fail();
                });
            };
            pool.install(|_| panics(body));
            pool.install(|_| panics(|| serially(body)));
            panics(|| {
                pool.in_place_scope(|s| {
                    (0..10).for_each(|_| s.spawn(|_| tasks.run()));
                    fail();
                });
            });
            panics(|| {
                pool.open_scope_fifo(|s| {
                    (0..10).for_each(|_| s.spawn_fifo(|_| tasks.run()));
                    fail();
                });
            });
            tasks.check(40);
        });
    });
}

/// Catches: detached tasks that an external thread runs in a destructor when it leaves.
#[test]
fn detached_tasks_of_a_pool_of_one_do_not_see_the_panic_of_its_external_thread() {
    ends(|| {
        static TASKS: Tasks = Tasks { all: AtomicUsize::new(0), unwinding: AtomicUsize::new(0) };
        let pool = pool(1);
        panics(|| {
            pool.run(|w| {
                (0..10).for_each(|_| w.spawn(|_| TASKS.run()));
                fail();
            });
        });
        TASKS.check(10);
    });
}

/// Catches: detached tasks that the end of a pool of one runs on the unwinding thread that drops
/// it.
#[test]
fn detached_tasks_do_not_see_the_panic_that_drops_their_pool_of_one() {
    ends(|| {
        static TASKS: Tasks = Tasks { all: AtomicUsize::new(0), unwinding: AtomicUsize::new(0) };
        for _ in 0..20 {
            panics(|| {
                let pool = pool(1);
                // The thread for detached tasks mostly begins when the pool ends already, so that
                // the end of the pool runs them.
                (0..10).for_each(|_| pool.spawn(|_| TASKS.run()));
                fail();
            });
            TASKS.check(10);
        }
    });
}

/// Catches: a lock that is panicked under and not poisoned, because its owner seemed to unwind
/// already when it took it.
#[test]
fn a_lock_that_an_arm_panics_under_is_poisoned() {
    ends(|| {
        with_each_pool(2, |pool| {
            let lock = Mutex::new(());
            let second = || {
                let _guard = lock.lock().unwrap();
                fail();
            };
            panics(|| pool.run(|w| w.join(|_| fail(), |_| second())));
            assert!(lock.is_poisoned());
        });
    });
}
