//! Threads that wait for a call into a pool: workers of another pool, which run other tasks
//! meanwhile, and threads without a pool.
//!
//! A thread without a pool spins for its result for a moment, if that has paid before, yields its
//! core, and parks. It decides whether to spin before it queues the call: if it does not, it frees
//! its core, and the worker that it wakes may run there.
//!
//! If a worker is awake for every core, one of them needs the caller's core. A caller that yields
//! stays ready, costs that worker nothing, and gets its core back when the worker next yields,
//! within 2 µs. The wake-up of a parked caller takes an interrupt of the core on which the worker
//! searches: 16 to 20 µs on a virtual machine, as long as many loops. A caller with a deadline does
//! not yield, since its core may come back after the deadline; it parks with a time limit.
//!
//! # Cost
//!
//! A yield that no thread takes costs 0.4 µs, before a park.

use std::sync::Arc;

use sinew_policy::idle::{Trial, WATCH_US};
use sinew_sync::atomic::spin_loop;
use sinew_sync::clock::{TICKS_PER_US, now_ns, ticks};
use sinew_sync::parker::Parker;
use sinew_sync::thread::yield_now;

use crate::idle::backoff::{MOMENT_NS, TAKEN_NS};
use crate::scheduler::wait::Awaited;
use crate::state::pool_state::PoolState;
use crate::state::tls;
use crate::state::worker::Worker;

/// The calling thread as a waiter.
pub(crate) enum Waiter<'w> {
    Worker(&'w Worker),
    Thread { parker: Arc<Parker>, watches: bool },
}

impl Waiter<'_> {
    /// One wait of the calling thread.
    pub(crate) fn here() -> Self {
        match living_worker() {
            Some(worker) => Self::Worker(worker),
            None => Self::Thread { parker: parker_of_this_thread(), watches: should_watch() },
        }
    }

    /// Its parker.
    pub(crate) fn parker(&self) -> &Arc<Parker> {
        match self {
            Self::Worker(worker) => &worker.parker,
            Self::Thread { parker, .. } => parker,
        }
    }

    /// Whether it spins on its core.
    pub(crate) fn keeps_core(&self) -> bool {
        match self {
            Self::Worker(_) => true,
            Self::Thread { watches, .. } => *watches,
        }
    }

    /// Waits for a result of `pool`, which is another pool.
    pub(crate) fn wait(&self, pool: &PoolState, awaited: &dyn Awaited) {
        match self {
            Self::Worker(worker) => worker.wait(awaited, worker.help_for_foreign_work()),
            Self::Thread { parker, watches } => wait_outside(parker, pool, awaited, *watches),
        }
    }
}

/// Waits for a result of `pool`, which is another pool, on the thread whose [`Waiter`] parks at
/// `parker`.
pub(crate) fn wait_for_call(parker: &Parker, pool: &PoolState, awaited: &dyn Awaited) {
    match living_worker() {
        Some(worker) => worker.wait(awaited, worker.help_for_foreign_work()),
        None => wait_outside(parker, pool, awaited, should_watch()),
    }
}

/// This thread's worker. In a forked child its pool may be inherited, without threads; such a
/// worker cannot serve calls while it waits for another pool.
pub(crate) fn living_worker<'a>() -> Option<&'a Worker> {
    tls::current().filter(|worker| !worker.pool().is_of_another_process())
}

fn wait_outside(parker: &Parker, pool: &PoolState, awaited: &dyn Awaited, watches: bool) {
    if watches {
        let began = ticks();
        while !awaited.is_done()
            && ticks().saturating_sub(began) < u64::from(WATCH_US) * TICKS_PER_US
        {
            spin_loop();
        }
        with_learned(|learned| learned.watching.record(awaited.is_done()));
    }
    // A yield may last for a slice of the scheduler, and a deadline passes meanwhile.
    if !awaited.is_done() && awaited.left_ns().is_none() && pool.wants_every_core() {
        give_core_away(awaited);
    }
    while !awaited.is_done() {
        parker.park_at_most(awaited.left_ns());
    }
}

/// How often at most a caller gets its core back without its result: each time, the worker that
/// yielded loses one or two microseconds.
const MOST_RETURNS: u32 = 16;

/// A result that has been ready for so long shows that the caller should have parked.
const LATE_NS: u64 = 100_000;

/// Yields the core as long as another thread takes it each time. After several yields that no
/// thread takes, parking is better. It is better too if a thread of another program computes on
/// this core while the result is ready.
fn give_core_away(awaited: &dyn Awaited) {
    if cfg!(any(loom, shuttle)) || !with_learned(|learned| learned.giving.should_try()) {
        return;
    }
    let mut last = now_ns();
    for _ in 0..MOST_RETURNS {
        yield_now();
        let now = now_ns();
        let took = now.saturating_sub(last);
        last = now;
        if awaited.is_done() {
            let late = awaited
                .done_at_ns()
                .map_or(took >= TAKEN_NS, |done| now.saturating_sub(done) >= LATE_NS);
            return with_learned(|learned| match late {
                true => learned.giving.skip_most(),
                false => learned.giving.record(true),
            });
        }
        if took < MOMENT_NS {
            return; // no thread took the core: no measurement
        }
    }
    with_learned(|learned| learned.giving.record(false));
}

/// The most waits in a row without spinning, and without yielding. A spin in vain costs some
/// microseconds, a yield in vain a slice of the scheduler.
const WATCHES_SKIPPED: u32 = 15;
const GIFTS_SKIPPED: u32 = 255;

/// A thread's statistics of its waits for pools.
#[derive(Clone, Copy)]
struct Learned {
    watching: Trial,
    giving: Trial,
}

impl Learned {
    const fn nothing() -> Self {
        Self { watching: Trial::new(WATCHES_SKIPPED), giving: Trial::new(GIFTS_SKIPPED) }
    }
}

fn should_watch() -> bool {
    with_learned(|learned| learned.watching.should_try())
}

#[cfg(not(any(loom, shuttle)))]
fn with_learned<R>(f: impl FnOnce(&mut Learned) -> R) -> R {
    use std::cell::Cell;
    std::thread_local! {
        static LEARNED: Cell<Learned> = const { Cell::new(Learned::nothing()) };
    }
    let mut learned = LEARNED.get();
    let result = f(&mut learned);
    LEARNED.set(learned);
    result
}

/// In models, no thread-local may outlive an execution.
#[cfg(any(loom, shuttle))]
fn with_learned<R>(f: impl FnOnce(&mut Learned) -> R) -> R {
    f(&mut Learned::nothing())
}

/// A thread that is no worker uses one parker for all its waits; an extra token makes it check once
/// more.
#[cfg(not(any(loom, shuttle)))]
fn parker_of_this_thread() -> Arc<Parker> {
    std::thread_local! {
        static PARKER: Arc<Parker> = Arc::new(Parker::new());
    }
    // A destructor of another thread-local may run after this one is destroyed.
    PARKER.try_with(Arc::clone).unwrap_or_default()
}

#[cfg(any(loom, shuttle))]
fn parker_of_this_thread() -> Arc<Parker> {
    Arc::new(Parker::new())
}
