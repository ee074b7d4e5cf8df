//! Threads that wait for work which they have handed to a pool: workers of another one, which have
//! something to do meanwhile, and threads without a pool.
//!
//! A thread without a pool watches for its answer for a moment, where that has paid before, gives
//! its core away, and parks. Before it hands its work over it knows whether it watches: a thread
//! that does not leaves its core, so the worker that it wakes may well come to run there.
//!
//! Where a worker is awake for every core, the caller's is one that a worker wants. While that one
//! computes, a caller that is ready to run but lets it go first costs nothing, and it has its core
//! back when the worker next offers it, within 2 µs. To wake a caller that is parked takes an
//! interrupt of the core that the worker searches on: on a virtual machine 16 to 20 µs in all, as
//! long as many a loop.
//!
//! # Cost
//!
//! An offer of the core that nobody takes, 0.4 µs, before a park.

use std::sync::Arc;

use sinew_policy::idle::{Trial, WATCH_US};
use sinew_sync::atomic::spin_loop;
use sinew_sync::clock::{TICKS_A_US, now_ns, ticks};
use sinew_sync::parker::Parker;
use sinew_sync::thread::yield_now;

use crate::idle::backoff::{MOMENT_NS, TAKEN_NS};
use crate::scheduler::wait::Awaited;
use crate::state::pool_state::PoolState;
use crate::state::tls;
use crate::state::worker::Worker;

/// The calling thread, as one that waits.
pub(crate) enum Waiter<'w> {
    Worker(&'w Worker),
    Thread { parker: Arc<Parker>, watches: bool },
}

impl Waiter<'_> {
    /// The calling thread, about to wait once.
    pub(crate) fn here() -> Self {
        match living_worker() {
            Some(worker) => Self::Worker(worker),
            None => Self::Thread { parker: parker_of_this_thread(), watches: should_watch() },
        }
    }

    /// Where it parks.
    pub(crate) fn parker(&self) -> &Arc<Parker> {
        match self {
            Self::Worker(worker) => &worker.parker,
            Self::Thread { parker, .. } => parker,
        }
    }

    /// Whether it goes on running on its core.
    pub(crate) fn keeps_core(&self) -> bool {
        match self {
            Self::Worker(_) => true,
            Self::Thread { watches, .. } => *watches,
        }
    }

    /// Waits for something that `pool`, which is another one, brings about.
    pub(crate) fn wait(&self, pool: &PoolState, awaited: &dyn Awaited) {
        match self {
            Self::Worker(worker) => worker.wait(awaited, worker.help_for_foreign_work()),
            Self::Thread { parker, watches } => wait_outside(parker, pool, awaited, *watches),
        }
    }
}

/// Waits on the thread whose [`Waiter`] parks at `parker` for something that `pool`, which is
/// another one, brings about.
pub(crate) fn wait_elsewhere(parker: &Parker, pool: &PoolState, awaited: &dyn Awaited) {
    match living_worker() {
        Some(worker) => worker.wait(awaited, worker.help_for_foreign_work()),
        None => wait_outside(parker, pool, awaited, should_watch()),
    }
}

/// The worker that this thread is. In a forked child it may be one of a pool whose threads are the
/// parent's: such a worker can serve nobody while it waits for another pool.
pub(crate) fn living_worker<'a>() -> Option<&'a Worker> {
    tls::current().filter(|worker| !worker.pool().is_of_another_process())
}

fn wait_outside(parker: &Parker, pool: &PoolState, awaited: &dyn Awaited, watches: bool) {
    if watches {
        let began = ticks();
        while !awaited.is_done() && ticks().saturating_sub(began) < u64::from(WATCH_US) * TICKS_A_US
        {
            spin_loop();
        }
        with_learned(|learned| learned.watching.tried(awaited.is_done()));
    }
    if !awaited.is_done() && pool.wants_every_core() {
        give_core_away(awaited);
    }
    while !awaited.is_done() {
        parker.park();
    }
}

/// How often a caller gets its core back in vain, at most: each time, the worker that offered it
/// loses a microsecond or two.
const MOST_RETURNS: u32 = 16;

/// An answer that has lain there for so long came to a caller that should have been woken.
const LATE_NS: u64 = 100_000;

/// Gives the core away for as long as somebody takes it each time. Who offers it again and again in
/// vain has small things to do, and is in a hurry: then it is better to park; and so it is if
/// somebody computes on this core who is not the one that is waited for, and the answer lies there
/// meanwhile.
fn give_core_away(awaited: &dyn Awaited) {
    if cfg!(any(loom, shuttle)) || !with_learned(|learned| learned.giving.is_due()) {
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
                true => learned.giving.cost_dear(),
                false => learned.giving.tried(true),
            });
        }
        if took < MOMENT_NS {
            return; // nobody wanted it, from which nothing is learned
        }
    }
    with_learned(|learned| learned.giving.tried(false));
}

/// Waits without watching, and without giving the core away, at most in a row. In vain, the one
/// costs some microseconds, the other a slice of the scheduler.
const WATCHES_SKIPPED: u32 = 15;
const GIFTS_SKIPPED: u32 = 255;

/// What a thread has learned about waiting for pools.
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
    with_learned(|learned| learned.watching.is_due())
}

#[cfg(not(any(loom, shuttle)))]
fn with_learned<R>(f: impl FnOnce(&mut Learned) -> R) -> R {
    std::thread_local! {
        static LEARNED: std::cell::Cell<Learned> = const { std::cell::Cell::new(Learned::nothing()) };
    }
    let mut learned = LEARNED.get();
    let result = f(&mut learned);
    LEARNED.set(learned);
    result
}

/// Models have no thread-locals that outlive an execution.
#[cfg(any(loom, shuttle))]
fn with_learned<R>(f: impl FnOnce(&mut Learned) -> R) -> R {
    f(&mut Learned::nothing())
}

/// A thread that is no worker parks at one place, whatever it waits for: a token too many makes it
/// look once more.
#[cfg(not(any(loom, shuttle)))]
fn parker_of_this_thread() -> Arc<Parker> {
    std::thread_local! {
        static PARKER: Arc<Parker> = Arc::new(Parker::new());
    }
    // A destructor of another thread-local may come by after this one is gone.
    PARKER.try_with(Arc::clone).unwrap_or_default()
}

#[cfg(any(loom, shuttle))]
fn parker_of_this_thread() -> Arc<Parker> {
    Arc::new(Parker::new())
}
