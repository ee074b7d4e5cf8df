//! The whole pool under random schedules.
//!
//! Each test runs its program under as many schedules as `SINEW_SHUTTLE_ITERATIONS` says: a third
//! drawn at random, a third in bursts, a third from PCT (Burckhardt et al., "A Randomized Scheduler
//! with Probabilistic Guarantees of Finding Bugs", 2010). A failure prints its schedule, and
//! `SINEW_SHUTTLE_REPLAY=schedule` runs the test named on the command line under that one only.
//! `SHUTTLE_RANDOM_SEED` repeats a whole run.
//!
//! Stacks have four slots here and queues begin with two, so that tests reach their limits. The
//! checker reports a hang as a deadlock, also if a program waits for another task, since it parks
//! at the checker's barriers. All accesses are sequentially consistent; loom checks weaker orders
//! (`sinew_deque::stack::loom` and others).
//!
//! The planted bugs end in a deadlock. A bug in the stack's protocol runs a task whose frame no
//! longer exists, which would crash a whole pool; those bugs are planted in the loom models.
//!
//! Panics are resumed rather than begun, because the checker prints a schedule for every one that
//! begins.

mod bursts;
mod calls;
mod deadlines;
mod drop_in;
mod locks;
mod observer;
mod two_field;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use bursts::BurstScheduler;
use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler, ReplayScheduler};
use shuttle::sync::Barrier;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::{Config, MaxSteps, Runner, thread};
use sinew_sync::plant::{Bug, plant};

use crate::{Counters, Pool, ScopeBuilder, Spin, Wait, Worker, scope};

/// Preemptions that PCT places in a schedule, and one.
const DEPTH: usize = 4;

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = 1 << 19;
    // Thousands are usual. A program that reaches this spins.
    config.max_steps = MaxSteps::FailAfter(300_000);
    config
}

fn explore(program: fn()) {
    let config = config();
    if let Ok(schedule) = std::env::var("SINEW_SHUTTLE_REPLAY") {
        Runner::new(ReplayScheduler::new_from_encoded(&schedule), config).run(program);
        return;
    }
    let schedules =
        std::env::var("SINEW_SHUTTLE_ITERATIONS").ok().and_then(|text| text.parse().ok());
    let third = schedules.unwrap_or(500_usize).div_ceil(3);
    Runner::new(RandomScheduler::new(third), config.clone()).run(program);
    Runner::new(BurstScheduler::new(third), config.clone()).run(program);
    Runner::new(PctScheduler::new(DEPTH, third), config).run(program);
}

/// The number of schedules for tests with a planted bug: on average, the rarest bug is found after
/// a twentieth of them.
const HUNT: usize = 400;

/// Plants `bug` and explores: the test that calls it expects the checker to fail. Enough schedules
/// to find it in any run.
fn hunt(bug: Bug, program: fn()) {
    plant(&[bug]);
    explore_long(program);
}

fn explore_long(program: fn()) {
    (0..HUNT).for_each(|_| explore(program));
}

fn pool(threads: usize) -> Pool {
    Pool::builder().threads(threads).build().unwrap()
}

fn fib(w: &Worker, n: usize) -> usize {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

fn add(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::SeqCst);
}

fn meet(barrier: &Barrier) {
    barrier.wait();
}

/// The text of a payload made by `resume_unwind(Box::new("…"))`.
fn caught<R>(f: impl FnOnce() -> R) -> &'static str {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(_) => "no panic",
        Err(payload) => payload.downcast_ref::<&str>().copied().unwrap_or("another payload"),
    }
}

fn joins() {
    let pool = pool(3);
    assert_eq!(pool.run(|w| fib(w, 5)), 5);
}

/// Catches: lost or repeated arms, a joiner that is not woken, a worker that does not end with the
/// pool.
#[test]
fn shuttle_joins_compute_and_the_pool_ends() {
    explore(joins);
}

/// Catches: the same if a blocked worker runs no other tasks.
#[test]
fn shuttle_joins_that_block_compute_as_well() {
    explore(|| {
        let pool = Pool::builder().threads(3).wait(Wait::Block).build().unwrap();
        assert_eq!(pool.run(|w| fib(w, 5)), 5);
    });
}

fn blocked_owner() {
    let (pool, barrier) = (pool(2), Barrier::new(2));
    pool.run(|w| w.join(|_| meet(&barrier), |_| meet(&barrier)));
}

/// Catches: a private task while a worker sleeps.
#[test]
fn shuttle_a_joined_task_is_taken_while_its_owner_is_blocked() {
    explore(blocked_owner);
}

/// The first push wakes a worker, which may be in a timed park at the second; both tasks end before
/// a thief could take them.
fn blocked_owner_after_short_tasks() {
    let (pool, barrier) = (pool(2), Barrier::new(2));
    pool.run(|w| {
        w.join(|_| (), |_| ());
        w.join(|_| (), |_| ());
        w.join(|_| meet(&barrier), |_| meet(&barrier))
    });
}

/// Catches: a push during a timed park that no worker sees.
#[test]
fn shuttle_a_task_is_taken_after_others_that_nobody_was_woken_for() {
    explore(blocked_owner_after_short_tasks);
}

/// Catches: exposures that wait for the end of the spin window, and a pool that cannot end
/// before it.
#[test]
fn shuttle_a_pool_that_spins_for_ever_still_takes_tasks_and_ends() {
    explore(|| {
        for wait in [Wait::Leapfrog, Wait::Block] {
            let pool = Pool::builder().threads(2).wait(wait).spin(Spin::Forever).build().unwrap();
            let barrier = Barrier::new(2);
            pool.run(|w| w.join(|_| meet(&barrier), |_| meet(&barrier)));
            assert_eq!(pool.run(|w| fib(w, 3)), 2);
        }
    });
}

fn row_of_tasks() {
    let (pool, barrier) = (pool(3), Barrier::new(3));
    pool.run(|_| {
        scope(|s| {
            s.spawn(|_| meet(&barrier));
            s.spawn(|_| meet(&barrier));
            meet(&barrier);
        });
    });
}

/// Catches: two tasks for one thief while another sleeps.
#[test]
fn shuttle_a_row_of_scope_tasks_is_taken_while_its_owner_is_blocked() {
    explore(row_of_tasks);
}

/// Catches: a detached task that waits for its spawner.
#[test]
fn shuttle_a_detached_task_is_taken_while_its_spawner_is_blocked() {
    explore(|| {
        let (pool, barrier) = (pool(2), Arc::new(Barrier::new(2)));
        let theirs = Arc::clone(&barrier);
        pool.run(|_| {
            crate::spawn(move |_| meet(&theirs));
            meet(&barrier);
        });
    });
}

/// Catches: a task in the queue of a blocked worker that others do not see.
#[test]
fn shuttle_a_task_that_a_blocked_worker_may_not_run_is_taken() {
    explore(|| {
        let pool = pool(3);
        let (begun, ran) = (Barrier::new(2), Barrier::new(2));
        pool.run(|_| {
            // Two levels down, the joiner may not run the scope's task itself while it waits for
            // the arm, which waits for that task.
            let blocked = |w: &Worker| {
                w.join(
                    |_| meet(&begun),
                    |_| {
                        meet(&begun);
                        meet(&ran);
                    },
                )
            };
            scope(|s| {
                s.spawn(|_| meet(&ran));
                crate::run(|w| w.join(|w| w.join(blocked, |_| ()), |_| ()));
            });
        });
    });
}

/// Catches: lost tasks of inner scopes, of tasks and of arms, and scopes that end too early.
#[test]
fn shuttle_scopes_nest_with_joins() {
    explore(|| {
        let (pool, inner, outer) = (pool(3), AtomicUsize::new(0), AtomicUsize::new(0));
        pool.run(|_| {
            scope(|s| {
                s.spawn(|_| {
                    scope(|t| {
                        t.spawn(|_| add(&inner));
                        t.spawn(|_| s.spawn(|_| add(&outer)));
                        assert_eq!(crate::join(|| crate::run(|w| fib(w, 2)), || 2), (1, 2));
                    });
                    assert_eq!(inner.load(Ordering::SeqCst), 1);
                });
                s.spawn(|_| add(&outer));
            });
        });
        assert_eq!((inner.into_inner(), outer.into_inner()), (1, 2));
    });
}

/// Catches: a bound that deadlocks or loses a task.
#[test]
fn shuttle_bounded_scopes_run_every_task() {
    explore(|| {
        let (pool, ran) = (pool(3), AtomicUsize::new(0));
        pool.run(|_| {
            ScopeBuilder::new().max_pending(1).run(|s| (0..4).for_each(|_| s.spawn(|_| add(&ran))))
        });
        assert_eq!(ran.into_inner(), 4);
    });
}

/// Catches: an owner that sleeps at the end of its scope while a task from outside waits.
#[test]
fn shuttle_a_foreign_thread_may_spawn_into_a_scope() {
    explore(|| {
        let (pool, ran) = (pool(2), AtomicUsize::new(0));
        pool.run(|_| {
            scope(|s| {
                s.spawn(|_| {
                    thread::scope(|foreign| drop(foreign.spawn(|| s.spawn(|_| add(&ran)))))
                });
            });
        });
        assert_eq!(ran.into_inner(), 1);
    });
}

/// Catches: an arm that does not run because the other one panicked, the wrong payload, a frame
/// that ends before its thief reports.
#[test]
fn shuttle_a_panic_in_either_arm_waits_for_the_other() {
    explore(|| {
        let pool = pool(3);
        let ran = AtomicUsize::new(0);
        let second = caught(|| {
            pool.run(|w| {
                w.join(
                    |w| fib(w, 2),
                    |_| {
                        add(&ran);
                        resume_unwind(Box::new("second"))
                    },
                )
            })
        });
        assert_eq!((second, ran.load(Ordering::SeqCst)), ("second", 1));
        let first = caught(|| {
            pool.run(|w| {
                w.join(
                    |w| w.join(|_| resume_unwind(Box::new("first")), |_| add(&ran)),
                    |_| {
                        add(&ran);
                        resume_unwind(Box::new("late"))
                    },
                )
            })
        });
        assert_eq!((first, ran.into_inner()), ("first", 3));
    });
}

/// Catches: a scope that unwinds before its tasks are over.
#[test]
fn shuttle_a_panic_in_a_scope_waits_for_its_tasks() {
    explore(|| {
        let (pool, ran) = (pool(3), AtomicUsize::new(0));
        let message = caught(|| {
            pool.run(|_| {
                scope(|s| {
                    s.spawn(|_| add(&ran));
                    s.spawn(|_| resume_unwind(Box::new("task")));
                    s.spawn(|_| add(&ran));
                });
            });
        });
        assert_eq!((message, ran.into_inner()), ("task", 2));
    });
}

/// Catches: arms lost or run twice where the stack (here of four slots) is full, with thieves
/// below and a panic at the bottom.
#[test]
fn shuttle_an_overflowing_recursion_loses_nothing() {
    fn deep(w: &Worker, depth: usize, arms: &AtomicUsize, panics: bool) {
        if depth > 0 {
            w.join(|w| deep(w, depth - 1, arms, panics), |_| add(arms));
        } else if panics {
            resume_unwind(Box::new("bottom"));
        }
    }
    explore(|| {
        let pool = pool(3);
        let arms = AtomicUsize::new(0);
        pool.run(|w| deep(w, 7, &arms, false));
        assert_eq!(arms.load(Ordering::SeqCst), 7);
        assert_eq!(caught(|| pool.run(|w| deep(w, 7, &arms, true))), "bottom");
        assert_eq!(arms.into_inner(), 14);
    });
}

fn detached_at_the_end() {
    let (pool, ran) = (pool(3), Arc::new(AtomicUsize::new(0)));
    for _ in 0..2 {
        let (ran, barrier) = (Arc::clone(&ran), Arc::new(Barrier::new(2)));
        pool.spawn(move |_| {
            let (theirs, counted) = (Arc::clone(&barrier), Arc::clone(&ran));
            // A task that needs a second worker while the pool ends.
            crate::spawn(move |_| {
                meet(&theirs);
                add(&counted);
            });
            meet(&barrier);
            add(&ran);
        });
    }
    drop(pool);
    assert_eq!(ran.load(Ordering::SeqCst), 4);
}

/// A task that arrives at any moment of the only thread's search, together with the shutdown.
fn detached_from_outside() {
    let (pool, ran) = (pool(2), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&ran);
    for _ in 0..thread_rng().gen_range(0..20) {
        thread::yield_now();
    }
    pool.spawn(move |_| add(&counted));
    drop(pool);
    assert_eq!(ran.load(Ordering::SeqCst), 1, "a detached task was forgotten");
}

/// Catches: detached tasks that the shutdown omits, or that wait for a thread which has left.
#[test]
fn shuttle_a_pool_ends_after_its_detached_tasks() {
    explore(detached_from_outside);
    explore(|| {
        let (pool, ran) = (pool(3), Arc::new(AtomicUsize::new(0)));
        let (inside, outside) = (Arc::clone(&ran), Arc::clone(&ran));
        pool.run(move |_| crate::spawn(move |_| add(&inside)));
        pool.spawn(move |w| {
            assert_eq!(fib(w, 3), 2);
            let nested = Arc::clone(&outside);
            crate::spawn(move |_| add(&nested));
            add(&outside);
        });
        drop(pool);
        assert_eq!(ran.load(Ordering::SeqCst), 3);
    });
}

/// Every thread's hook starts a task, and the pool ends before all threads have started.
fn tasks_of_hooks() {
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ran);
    let builder = Pool::builder().threads(2).external_slot(false).on_start(move |_| {
        let counted = Arc::clone(&counted);
        crate::spawn(move |_| add(&counted));
    });
    drop(builder.build().unwrap());
    assert_eq!(ran.load(Ordering::SeqCst), 2, "a hook was forgotten");
}

/// Catches: a pool that ends before a thread's hook has started its task.
#[test]
fn shuttle_a_pool_waits_for_threads_with_hooks() {
    explore(tasks_of_hooks);
}

#[test]
#[should_panic(expected = "a hook was forgotten")]
fn shuttle_finds_a_thread_with_a_hook_that_does_not_count() {
    hunt(Bug::UncountedHook, tasks_of_hooks);
}

/// Catches: a pool of one worker whose standby thread and external threads block each other.
#[test]
fn shuttle_a_pool_of_one_runs_detached_tasks() {
    explore(|| {
        let (pool, ran) = (pool(1), Arc::new(AtomicUsize::new(0)));
        for _ in 0..2 {
            let counted = Arc::clone(&ran);
            pool.spawn(move |_| add(&counted));
            assert_eq!(pool.run(|w| fib(w, 3)), 2);
        }
        drop(pool);
        assert_eq!(ran.load(Ordering::SeqCst), 2);
    });
}

/// Catches: a pool dropped by its own task that waits for itself, or frees what its threads
/// still use.
#[test]
fn shuttle_a_task_may_drop_its_pool() {
    explore(|| {
        let (ran, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(Barrier::new(2)));
        let pool = Arc::new(pool(3));
        let (mine, counted, told) = (Arc::clone(&pool), Arc::clone(&ran), Arc::clone(&done));
        pool.spawn(move |_| {
            meet(&told);
            mine.spawn(move |_| {
                add(&counted);
                meet(&told);
            });
            drop(mine);
        });
        drop(pool);
        meet(&done);
        meet(&done);
        assert_eq!(ran.load(Ordering::SeqCst), 1);
    });
}

fn two_callers(threads: usize) {
    let pool = Arc::new(pool(threads));
    let theirs = Arc::clone(&pool);
    let other = thread::spawn(move || theirs.run(|w| fib(w, 4)) + theirs.install(|w| fib(w, 3)));
    assert_eq!(pool.run(|w| fib(w, 3)) + pool.install(|w| fib(w, 4)), 5);
    assert_eq!(other.join().unwrap(), 5);
}

/// Catches: two callers that wait for each other, share a slot, or stay in the pool's queue.
#[test]
fn shuttle_two_callers_from_outside_are_both_served() {
    explore(|| two_callers(1));
    explore(|| two_callers(2));
}

/// Catches: pools whose workers wait for each other.
#[test]
fn shuttle_pools_may_install_into_each_other() {
    explore(|| {
        let (a, b) = (pool(2), pool(2));
        assert_eq!(a.install(|_| b.install(|_| a.install(|w| fib(w, 3)))), 2);
        assert_eq!(
            a.run(|w| w.join(|_| b.run(|w| fib(w, 3)), |_| b.install(|w| fib(w, 2)))),
            (2, 1)
        );
    });
}

/// Catches: a lost wake-up between the last check and the park, at any distance between two pieces
/// of work.
#[test]
fn shuttle_a_pool_parks_and_wakes_again() {
    explore(|| {
        let pool = pool(3);
        for round in 0..3 {
            let barrier = Barrier::new(2);
            pool.install(|w| w.join(|_| meet(&barrier), |_| meet(&barrier)));
            // In some schedules all workers park here, in others none.
            (0..round * 20).for_each(|_| thread::yield_now());
        }
    });
}

/// Catches: schedules that never reach the states to explore, so that all the other tests would
/// prove nothing.
#[test]
fn shuttle_the_schedules_reach_every_mechanism() {
    fn deep(w: &Worker, depth: usize) {
        if depth > 0 {
            w.join(|w| deep(w, depth - 1), |w| fib(w, 3));
        }
    }
    let seen = Arc::new(std::sync::Mutex::new(Counters::default()));
    let sum = Arc::clone(&seen);
    Runner::new(RandomScheduler::new_from_seed(7, 500), config()).run(move || {
        let pool = pool(3);
        pool.run(|w| deep(w, 5));
        let barrier = Barrier::new(2);
        pool.run(|w| w.join(|_| meet(&barrier), |_| meet(&barrier)));
        *sum.lock().unwrap() += pool.counters();
    });
    let seen = *seen.lock().unwrap();
    for (name, count) in seen.iter() {
        let needs_another_test = ["queued_tasks", "injected", "chunks", "rests"].contains(&name)
            || ["backed_out", "left_package", "masterships"].contains(&name);
        assert!(count > 0 || needs_another_test, "{name}: {seen:?}");
    }
}

/// Catches: behaviour that a schedule does not determine, so that a failure could not be replayed.
#[test]
fn shuttle_the_same_seed_gives_the_same_executions() {
    let lengths = || {
        let lengths = Arc::new(std::sync::Mutex::new(Vec::new()));
        let all = Arc::clone(&lengths);
        Runner::new(RandomScheduler::new_from_seed(7, 50), config()).run(move || {
            joins();
            row_of_tasks();
            all.lock().unwrap().push(shuttle::current::context_switches());
        });
        Arc::into_inner(lengths).unwrap().into_inner().unwrap()
    };
    assert_eq!(lengths(), lengths());
}

#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_searcher_that_does_not_look_again() {
    hunt(Bug::NoLastCheck, blocked_owner);
}

#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_timed_park_after_which_no_owner_is_told_to_wake() {
    hunt(Bug::ForgottenStealRequest, blocked_owner_after_short_tasks);
}

#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_searcher_that_wakes_nobody_after_it() {
    hunt(Bug::NoNextSearcher, row_of_tasks);
}

#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_thread_that_leaves_too_early() {
    hunt(Bug::EarlyEnd, detached_at_the_end);
}

#[test]
#[should_panic(expected = "forgotten")]
fn shuttle_finds_a_worker_that_resigns_without_a_look() {
    hunt(Bug::StaleSearch, detached_from_outside);
}

#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_joiner_that_nobody_wakes() {
    hunt(Bug::ForgottenJoiner, joins);
}
