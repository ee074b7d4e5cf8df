//! The features that the drop-in for rayon-core needs: pools without external threads, broadcasts,
//! order, in-place scopes, and a changing number of workers.

use super::*;
use crate::state::pool_state::PoolState;
use crate::tasks::open::OpenScope;

/// A pool with a thread at every slot.
fn full(threads: usize) -> Pool {
    Pool::builder().threads(threads).external_slot(false).wait(Wait::Any).build().unwrap()
}

fn state(pool: &Pool) -> &PoolState {
    &pool.state
}

/// Catches: callers that no thread serves, a pool of one worker that waits for itself, threads that
/// do not end with their pool.
#[test]
fn shuttle_a_pool_without_an_external_slot_serves_its_callers() {
    explore(|| {
        for threads in [1, 2] {
            let pool = full(threads);
            assert_eq!(pool.install(|w| fib(w, 4)), 3);
            assert_eq!(pool.run(|w| fib(w, 3)), 2);
        }
    });
}

/// Catches: a task that is lost or run twice because its pool was closed and no thread waits.
#[test]
fn shuttle_a_closed_pool_runs_what_was_spawned() {
    explore(|| {
        let (pool, ran) = (full(2), Arc::new(AtomicUsize::new(0)));
        let done = Arc::new(Barrier::new(2));
        let (theirs, told) = (Arc::clone(&ran), Arc::clone(&done));
        pool.spawn(move |w| {
            let (inner, told) = (Arc::clone(&theirs), Arc::clone(&told));
            add(&theirs);
            w.spawn(move |_| {
                add(&inner);
                meet(&told);
            });
        });
        pool.close();
        meet(&done);
        assert_eq!(ran.load(Ordering::SeqCst), 2);
    });
}

/// Catches: a shutdown that returns before a thread has left.
#[test]
fn shuttle_a_shutdown_waits_for_every_thread() {
    explore(|| {
        let left = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&left);
        let pool = Pool::builder()
            .threads(2)
            .external_slot(false)
            .on_exit(move |_| add(&counted))
            .build()
            .unwrap();
        pool.spawn(|w| assert_eq!(fib(w, 3), 2));
        pool.shutdown();
        assert_eq!(left.load(Ordering::SeqCst), 2);
    });
}

fn broadcasts() {
    let pool = full(3);
    let (pool, ran) = (&pool, AtomicUsize::new(0));
    assert_eq!(pool.broadcast(|part| (part.index(), part.num_threads())), [(0, 3), (1, 3), (2, 3)]);
    let inside = pool.install(|w| {
        w.join(|w| w.broadcast(|part| part.index()), |w| w.broadcast(|_| add(&ran)).len())
    });
    assert_eq!(inside, (vec![0, 1, 2], 3));
    assert_eq!(ran.into_inner(), 3);
}

/// Catches: a part that is lost, run twice or by the wrong worker, and workers that wait for
/// each other's parts.
#[test]
fn shuttle_broadcasts_reach_every_worker_once() {
    explore(broadcasts);
}

/// Catches: parts that a worker blocked in a join does not run, whatever its policy.
#[test]
fn shuttle_a_broadcast_reaches_workers_that_wait_for_its_caller() {
    explore(|| {
        for wait in [Wait::Leapfrog, Wait::Descendants, Wait::Block] {
            let pool = Pool::builder().threads(2).external_slot(false).wait(wait).build().unwrap();
            let met = Barrier::new(2);
            let all = pool.install(|w| {
                w.join(
                    |_| meet(&met),
                    |w| {
                        meet(&met);
                        w.broadcast(|part| part.index()).len()
                    },
                )
            });
            assert_eq!(all.1, 2);
        }
    });
}

/// Catches: the same between two pools, each of which waits for the other.
#[test]
fn shuttle_pools_broadcast_into_each_other() {
    explore(|| {
        let (a, b) = (full(2), full(2));
        let sums = a.broadcast(|_| b.broadcast(|_| a.install(|w| fib(w, 2))).len());
        assert_eq!(sums, [2, 2]);
    });
}

/// Catches: detached parts that the shutdown omits, or that go to a thread which has left.
#[test]
fn shuttle_a_pool_ends_after_its_detached_broadcasts() {
    explore(|| {
        let (pool, ran) = (full(2), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&ran);
        pool.spawn(move |w| w.spawn_broadcast(move |_| add(&counted)));
        drop(pool);
        assert_eq!(ran.load(Ordering::SeqCst), 2);
    });
}

/// Catches: a token without a task or a task without a token, with a thief at work; an order
/// that is not kept without one.
#[test]
fn shuttle_tasks_in_order_are_each_run_once() {
    explore(|| {
        for threads in [1, 2] {
            let pool = full(threads);
            let order = shuttle::sync::Mutex::new(Vec::new());
            pool.open_scope_fifo(|s| {
                for task in 0..3 {
                    let order = &order;
                    s.spawn_fifo(move |_| order.lock().unwrap().push(task));
                }
            });
            let mut order = order.into_inner().unwrap();
            if threads > 1 {
                order.sort_unstable();
            }
            assert_eq!(order, [0, 1, 2]);
        }
    });
}

/// Catches: an owner outside the pool that sleeps although its scope has ended, or that blocks
/// another pool.
#[test]
fn shuttle_in_place_scopes_wait_where_they_are() {
    fn grow(scope: &OpenScope<'_>, ran: &'static AtomicUsize) {
        scope.spawn(move |scope| {
            add(ran);
            scope.spawn(move |_| add(ran));
        });
    }
    explore(|| {
        let (a, b) = (full(1), full(2));
        let ran: &'static AtomicUsize = Box::leak(Box::new(AtomicUsize::new(0)));
        a.in_place_scope(|s| grow(s, ran));
        assert_eq!(ran.load(Ordering::SeqCst), 2);
        a.install(|_| b.in_place_scope(|s| s.spawn(|_| assert_eq!(a.install(|w| fib(w, 2)), 1))));
    });
}

/// Catches: a yield that does not find the one task it waits for: spawned, delivered, or a
/// second arm below it on the same stack.
#[test]
fn shuttle_a_yielding_task_runs_what_it_waits_for() {
    fn until(flag: &AtomicUsize, give_way: impl Fn() -> bool) {
        while flag.load(Ordering::SeqCst) == 0 {
            if !give_way() {
                thread::yield_now();
            }
        }
    }
    explore(|| {
        let pool = full(1);
        let flag = Arc::new(AtomicUsize::new(0));
        pool.install(|w| w.join(|w| until(&flag, || w.yield_local()), |_| add(&flag)));
        let (spawned, theirs) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&flag));
        let seen = Arc::clone(&spawned);
        pool.install(move |w| {
            w.spawn(move |_| add(&seen));
            until(&spawned, || w.yield_now());
            add(&theirs);
        });
        assert_eq!(flag.load(Ordering::SeqCst), 2);
    });
}

/// Catches: a building thread that is no worker, or whose tasks are not stolen.
#[test]
fn shuttle_the_building_thread_is_a_worker() {
    explore(|| {
        let builder = thread::spawn(|| {
            let pool = Pool::builder().threads(2).use_current_thread().build().unwrap();
            let met = Barrier::new(2);
            pool.run(|w| w.join(|_| meet(&met), |_| meet(&met)));
            let parts = pool.broadcast(|part| part.index());
            assert_eq!((parts, pool.install(|w| w.index())), (vec![0, 1], 0));
            pool.close();
        });
        builder.join().unwrap();
    });
}

/// Work of every kind while another thread changes the number of workers repeatedly.
fn changing_limits() {
    let pool = Arc::new(full(3));
    let theirs = Arc::clone(&pool);
    let changes = thread::spawn(move || {
        for workers in [1, 3, 2, 1, 3] {
            theirs.control().set_threads(workers);
            thread::yield_now();
        }
        theirs.control().set_threads(1);
    });
    let ran = AtomicUsize::new(0);
    for _ in 0..2 {
        assert_eq!(pool.install(|w| fib(w, 4)), 3);
        pool.scope(|s| (0..3).for_each(|_| s.spawn(|_| add(&ran))));
        assert_eq!(pool.broadcast(|part| part.index()), [0, 1, 2]);
    }
    changes.join().unwrap();
    assert_eq!(pool.install(|w| fib(w, 3)), 2);
    assert_eq!(ran.into_inner(), 6);
}

/// Catches: a task or a caller that is lost because the worker that was woken for it stands down.
#[test]
fn shuttle_the_number_of_workers_may_change_at_any_time() {
    explore(changing_limits);
}

/// Two tasks that need each other need a second worker, which has stood down.
fn raised_limit() {
    let (pool, met) = (full(2), Barrier::new(2));
    pool.control().set_threads(1);
    assert_eq!(pool.install(|w| fib(w, 3)), 2);
    pool.control().set_threads(2);
    pool.install(|w| w.join(|_| meet(&met), |_| meet(&met)));
}

/// Catches: a worker that does not return when the limit rises.
#[test]
fn shuttle_a_raised_limit_brings_a_worker_back() {
    explore(raised_limit);
}

#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_limit_that_rises_in_silence() {
    hunt(Bug::SilentRaise, raised_limit);
}

/// The worker that is woken for the first call may be the one that has just become surplus.
fn lowered_limit() {
    let pool = Arc::new(full(2));
    let theirs = Arc::clone(&pool);
    // In most schedules all workers park first.
    (0..60).for_each(|_| thread::yield_now());
    let change = thread::spawn(move || theirs.control().set_threads(1));
    assert_eq!(pool.install(|w| fib(w, 2)), 1);
    change.join().unwrap();
    assert_eq!(state(&pool).active_limit(), 1);
}

/// Catches: a call whose wake-up goes to a worker that stands down.
#[test]
fn shuttle_a_lowered_limit_loses_no_call() {
    explore(lowered_limit);
}

#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_surplus_worker_that_keeps_a_wake_up() {
    hunt(Bug::KeptWake, lowered_limit);
}
