//! Programs that hold a lock, or something like it, across a parallel call: known to hang, or to
//! panic, where a waiting thread runs any task. Under [`Wait::Descendants`] all of them end, and
//! are right. That they are no paper tigers is shown by [`reentries`].

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, LazyLock, Mutex, OnceLock, RwLock};
use std::thread;

use rayon_core::ext::{ThreadPoolBuilderExt, ThreadPoolExt, Wait};
use rayon_core::{Scope, ThreadPool, ThreadPoolBuilder};

use crate::support::{alone, ends, fib, is_child};

/// Tasks of each program.
const TASKS: u64 = 200;

fn of(threads: usize, wait: Wait) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).wait(wait).build().unwrap()
}

/// Calls `f` within so many joins.
fn at_depth(depth: u32, f: &(impl Fn() + Sync)) {
    match depth {
        0 => f(),
        _ => _ = rayon_core::join(|| at_depth(depth - 1, f), || ()),
    }
}

/// Calls `f` in many tasks of each kind: arms of a recursion, and tasks of several scopes. The
/// scopes are a plain one, one in order, one that other tasks keep open, and one with tasks that
/// are deeper than every awaited task.
fn in_many_tasks(pool: &ThreadPool, f: impl Fn() + Sync) {
    fn halves(tasks: u64, f: &(impl Fn() + Sync)) {
        match tasks {
            1 => f(),
            _ => _ = rayon_core::join(|| halves(tasks / 2, f), || halves(tasks - tasks / 2, f)),
        }
    }
    fn chain<'s>(s: &Scope<'s>, tasks: u64, f: &'s (impl Fn() + Sync)) {
        if tasks > 0 {
            s.spawn(move |s| {
                chain(s, tasks - 1, f);
                f();
            });
        }
    }
    pool.install(|| halves(TASKS / 5, &f));
    pool.scope(|s| (0..TASKS / 5).for_each(|_| s.spawn(|_| f())));
    pool.scope_fifo(|s| (0..TASKS / 5).for_each(|_| s.spawn_fifo(|_| f())));
    pool.in_place_scope(|s| chain(s, TASKS / 5, &f));
    pool.in_place_scope(|s| {
        let spawn = || (0..TASKS / 10).for_each(|_| s.spawn(|_| f()));
        pool.install(|| rayon_core::join(spawn, || at_depth(100, &spawn)));
    });
}

/// Something parallel, that takes no lock: joins, and a scope whose tasks spawn.
fn parallel() -> u64 {
    let (ones, sum) = (AtomicU64::new(0), fib(8));
    rayon_core::scope(|s| {
        for _ in 0..4 {
            s.spawn(|s| s.spawn(|_| _ = ones.fetch_add(fib(2), Ordering::Relaxed)));
        }
    });
    sum + ones.into_inner()
}

/// The expected result of `parallel`.
const RESULT: u64 = 21 + 4;

fn mutex_across_parallel_calls(pool: &ThreadPool) {
    let sum = Mutex::new(0);
    in_many_tasks(pool, || {
        let mut sum = sum.lock().unwrap();
        *sum += parallel();
    });
    assert_eq!(sum.into_inner().unwrap(), TASKS * RESULT);
}

fn read_lock_across_parallel_calls_while_writers_wait(pool: &ThreadPool) {
    let (sum, tasks, read) = (RwLock::new(0), AtomicU64::new(0), AtomicU64::new(0));
    in_many_tasks(pool, || {
        if tasks.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            let sum = sum.read().unwrap();
            let before = *sum;
            read.fetch_add(parallel(), Ordering::Relaxed);
            assert_eq!(*sum, before);
        } else {
            *sum.write().unwrap() += parallel();
        }
    });
    let (written, read) = (sum.into_inner().unwrap(), read.into_inner());
    assert_eq!((written, read), (TASKS / 2 * RESULT, TASKS / 2 * RESULT));
}

fn once_lock_with_a_parallel_initialiser(pool: &ThreadPool) {
    let (once, calls) = (Mutex::new(OnceLock::new()), AtomicUsize::new(0));
    for _ in 0..10 {
        let once = once.lock().unwrap();
        in_many_tasks(pool, || {
            let value = once.get_or_init(|| {
                calls.fetch_add(1, Ordering::Relaxed);
                parallel()
            });
            assert_eq!(*value, RESULT);
        });
        drop(once);
    }
    assert_eq!(calls.into_inner(), 1);
    once.into_inner().unwrap().take().unwrap();
}

fn lazy_lock_with_a_parallel_initialiser(pool: &ThreadPool) {
    for _ in 0..10 {
        let calls = AtomicUsize::new(0);
        let lazy = LazyLock::new(|| {
            calls.fetch_add(1, Ordering::Relaxed);
            parallel()
        });
        in_many_tasks(pool, || assert_eq!(*lazy, RESULT));
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }
}

thread_local! {
    static BORROWED: RefCell<u64> = const { RefCell::new(0) };
}

fn thread_local_borrowed_across_parallel_calls(pool: &ThreadPool) {
    pool.broadcast(|_| BORROWED.take());
    in_many_tasks(pool, || {
        BORROWED.with(|sum| {
            let mut sum = sum.borrow_mut();
            *sum += parallel();
        });
    });
    assert_eq!(pool.broadcast(|_| BORROWED.take()).into_iter().sum::<u64>(), TASKS * RESULT);
}

/// The programs that hang, or panic, under upstream's policy.
const PROGRAMS: [fn(&ThreadPool); 5] = [
    mutex_across_parallel_calls,
    read_lock_across_parallel_calls_while_writers_wait,
    once_lock_with_a_parallel_initialiser,
    lazy_lock_with_a_parallel_initialiser,
    thread_local_borrowed_across_parallel_calls,
];

/// Catches: a waiting thread that runs a task which is no part of what it waits for, in a join
/// or at the end of a scope; or one that may run nothing and is needed.
#[test]
fn locks_may_be_held_across_parallel_calls() {
    for program in PROGRAMS {
        for wait in [Wait::Descendants, Wait::Block] {
            for threads in 1..=4 {
                ends(move || {
                    let pool = of(threads, wait);
                    (0..10).for_each(|_| program(&pool));
                });
            }
        }
    }
}

/// Catches: the same while a thread waits for another pool, whichever way it went there.
#[test]
fn a_lock_may_be_held_across_a_call_into_another_pool() {
    for threads in 1..=4 {
        ends(move || {
            let (pool, other, sum) =
                (of(threads, Wait::Descendants), of(2, Wait::Descendants), Mutex::new(0));
            for _ in 0..5 {
                in_many_tasks(&pool, || {
                    let mut sum = sum.lock().unwrap();
                    *sum += other.install(parallel);
                });
                in_many_tasks(&pool, || {
                    let (mut sum, there) = (sum.lock().unwrap(), AtomicU64::new(0));
                    other.in_place_scope(|s| {
                        s.spawn(|_| _ = there.fetch_add(parallel(), Ordering::Relaxed));
                    });
                    *sum += there.into_inner();
                });
                in_many_tasks(&pool, || {
                    let mut sum = sum.lock().unwrap();
                    *sum += other
                        .broadcast(|part| if part.index() == 0 { parallel() } else { 0 })
                        .iter()
                        .sum::<u64>();
                });
            }
            assert_eq!(sum.into_inner().unwrap(), 5 * 3 * TASKS * RESULT);
        });
    }
}

/// Catches: the same for unmodified programs: a variable that has no effect on their pools.
#[test]
fn locks_may_be_held_across_parallel_calls_where_the_environment_says_so() {
    let name = "locks::locks_may_be_held_across_parallel_calls_where_the_environment_says_so";
    alone(name, &[("SINEW_WAIT", "descendants"), ("RAYON_NUM_THREADS", "3")], || {
        ends(|| {
            let pool = ThreadPoolBuilder::new().build().unwrap();
            for program in PROGRAMS {
                (0..10).for_each(|_| program(&pool));
            }
            // The global pool as well.
            let sum = Mutex::new(0);
            let locked = |_: &Scope<'_>| {
                let mut sum = sum.lock().unwrap();
                *sum += parallel();
            };
            rayon_core::scope(|s| (0..TASKS).for_each(|_| s.spawn(locked)));
            assert_eq!(sum.into_inner().unwrap(), TASKS * RESULT);
        });
    });
}

thread_local! {
    static HOLDS: Cell<bool> = const { Cell::new(false) };
}

/// How a thread waits for what another one does: the first closure stays, the second one goes.
type Across = fn(&(dyn Fn() + Sync), &(dyn Fn() + Sync));

fn join(here: &(dyn Fn() + Sync), there: &(dyn Fn() + Sync)) {
    rayon_core::join(here, there);
}

fn scope(here: &(dyn Fn() + Sync), there: &(dyn Fn() + Sync)) {
    rayon_core::scope(|s| {
        s.spawn(|_| there());
        here();
    });
}

/// Has one thread hold a "lock" `across` a wait for the other thread, which has spawned a task that
/// takes it, too, and that lies deeper than the wait. Returns how often that task came to a thread
/// that held it already: where a lock would hang. Nothing is left to chance: the other thread's
/// part ends only when the task has been run, or when the thread that waits has gone to sleep.
fn reentries(pool: &ThreadPool, across: Across) -> usize {
    assert_eq!(pool.current_num_threads(), 2);
    let (begun, reentries, ran) = (Barrier::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
    let locked = || {
        if HOLDS.replace(true) {
            reentries.fetch_add(1, Ordering::SeqCst);
        } else {
            HOLDS.set(false);
        }
        ran.fetch_add(1, Ordering::SeqCst);
    };
    let locked = &locked;
    pool.in_place_scope(|s| {
        let there = || {
            at_depth(5, &|| s.spawn(move |_| locked()));
            // Only this closure and the other one's thread run, and that thread is awake.
            let parks = pool.counters().parks;
            begun.wait();
            while ran.load(Ordering::SeqCst) == 0 && pool.counters().parks == parks {
                thread::yield_now();
            }
        };
        pool.install(|| {
            HOLDS.set(true);
            across(&|| _ = begun.wait(), &there);
            HOLDS.set(false);
        });
    });
    assert_eq!(ran.into_inner(), 1);
    reentries.into_inner()
}

/// Catches: programs above that no policy fails, so that they end for nothing; and a policy that
/// is not the one that was asked for.
#[test]
fn a_thread_that_waits_takes_its_lock_again_under_the_policies_that_let_it() {
    ends(|| {
        for (wait, expected) in
            [(Wait::Any, 1), (Wait::Leapfrog, 1), (Wait::Descendants, 0), (Wait::Block, 0)]
        {
            let pool = of(2, wait);
            for _ in 0..20 {
                assert_eq!(
                    [join, scope].map(|across| reentries(&pool, across)),
                    [expected; 2],
                    "{wait}"
                );
            }
        }
    });
}

/// Catches: a variable that does not set the policy, that beats the builder, or a default that
/// is not upstream's.
#[test]
fn the_environment_sets_the_policy_unless_the_builder_does() {
    let name = "locks::the_environment_sets_the_policy_unless_the_builder_does";
    let counted = || {
        let build = || ThreadPoolBuilder::new().num_threads(2);
        let set = [Wait::Any, Wait::Descendants]
            .map(|wait| reentries(&build().wait(wait).build().unwrap(), join));
        assert_eq!(set, [1, 0]);
        let expected = std::env::var("EXPECTED").unwrap().parse();
        assert_eq!(Ok(reentries(&build().build().unwrap(), join)), expected);
    };
    if is_child() {
        return ends(counted);
    }
    for (wait, expected) in [("any", "1"), ("leapfrog", "1"), ("descendants", "0"), ("block", "0")]
    {
        alone(name, &[("SINEW_WAIT", wait), ("EXPECTED", expected)], || ());
    }
    alone(name, &[("EXPECTED", "1")], || ());
}
