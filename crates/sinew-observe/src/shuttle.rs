//! Pools with a profiler under random schedules: joins off the fast path, queued tasks, and counts
//! that agree with each other.
//!
//! `cargo xtask shuttle`; a schedule that fails is printed with its seed.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use shuttle::sync::Barrier;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use sinew_core::{Pool, PoolBuilder, Wait, Worker};
use sinew_sync::plant::{Bug, plant};

use crate::Profiler;

fn explore(program: fn()) {
    sinew_sync::explore::explore(program, 4);
}

/// Plants `bug` and explores: the test that calls it expects the checker to fail.
fn hunt(bug: Bug, program: fn()) {
    plant(&[bug]);
    (0..20).for_each(|_| explore(program));
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

fn pool(wait: Wait) -> Pool {
    profiled(Pool::builder().threads(3).wait(wait))
}

fn profiled(builder: PoolBuilder) -> Pool {
    builder.observer(Profiler::new()).build().unwrap()
}

/// Every task was run once, by its maker or another, and every tick is somewhere.
fn check(pool: &Pool, spawned: u64) {
    let profile = Profiler::of(pool).unwrap().take();
    let tasks = profile.tasks();
    assert_eq!((tasks.spawned, tasks.inlined + tasks.stolen), (spawned, spawned), "{tasks:?}");
    for worker in profile.workers() {
        let breakdown = worker.breakdown();
        assert_eq!(breakdown.total() + breakdown.away, worker.elapsed());
    }
    assert!(profile.span(0) <= profile.work());
}

/// Catches: joins that lose or repeat arms once the profile carries them out, also where the
/// stack is full; reports that come too late or to the wrong join.
#[test]
fn shuttle_profiled_joins_are_counted_once() {
    explore(|| {
        let pool = pool(Wait::Leapfrog);
        assert_eq!(pool.run(|w| fib(w, 5)), 5);
        check(&pool, 7);
    });
}

/// Catches: the same under the policies whose waiting workers run only some tasks.
#[test]
fn shuttle_profiled_joins_are_counted_once_whatever_waits() {
    for wait in [Wait::Any, Wait::Descendants, Wait::Block] {
        // A type of its own for each would be needed to hand it to the explorer.
        match wait {
            Wait::Any => explore(|| joins_and_tasks(Wait::Any)),
            Wait::Descendants => explore(|| joins_and_tasks(Wait::Descendants)),
            _ => explore(|| joins_and_tasks(Wait::Block)),
        }
    }
}

fn joins_and_tasks(wait: Wait) {
    let (pool, ran) = (pool(wait), AtomicUsize::new(0));
    pool.run(|w| {
        w.open_scope(|s| s.spawn(|s| s.spawn(|_| add(&ran))));
        w.scope(|s| s.spawn(|w| _ = w.join(|_| (), |_| add(&ran))));
    });
    assert_eq!(ran.into_inner(), 2);
    check(&pool, 4);
}

/// Catches: a panic that leaves a join open, or an arm of it behind.
#[test]
fn shuttle_profiled_panics_leave_the_counts_in_order() {
    explore(|| {
        let pool = pool(Wait::Leapfrog);
        let fall = |_: &Worker| resume_unwind(Box::new("fallen"));
        let fell: Result<(), _> = catch_unwind(AssertUnwindSafe(|| {
            pool.run(|w| _ = w.join(fall_after_join, |w| fib(w, 3)))
        }));
        assert!(fell.is_err());
        let fell: Result<((), ()), _> =
            catch_unwind(AssertUnwindSafe(|| pool.run(|w| w.join(|_| (), fall))));
        assert!(fell.is_err());
        check(&pool, 5);
    });
}

fn fall_after_join(w: &Worker) {
    w.join(|_| (), |_| ());
    resume_unwind(Box::new("fallen"));
}

fn blocked_owner() {
    let (pool, barrier) = (profiled(Pool::builder().threads(2)), Barrier::new(2));
    pool.run(|w| w.join(|_| meet(&barrier), |_| meet(&barrier)));
    let tasks = Profiler::of(&pool).unwrap().take().tasks();
    assert_eq!((tasks.spawned, tasks.inlined, tasks.stolen), (1, 0, 1));
}

/// Catches: a stolen arm that is taken for an inlined one, and a private task beside a worker
/// that sleeps.
#[test]
fn shuttle_a_profiled_task_is_taken_while_its_owner_is_blocked() {
    explore(blocked_owner);
}

#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_forgotten_joiner_in_a_profiled_pool() {
    hunt(Bug::ForgottenJoiner, || {
        // The owner has nothing else to run than to wait, and the thief takes long.
        let pool = profiled(Pool::builder().threads(2).wait(Wait::Block));
        let barrier = Barrier::new(2);
        let long = |w: &Worker| {
            meet(&barrier);
            fib(w, 5)
        };
        pool.run(|w| _ = w.join(|_| meet(&barrier), long));
    });
}
