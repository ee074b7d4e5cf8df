//! Threads that wait for work which they have handed to a pool: workers of another one, which have something to do meanwhile, and threads without a pool.
//!
//! A thread without a pool watches for its answer for a moment, where that has paid before, and parks. Before it hands its work over it knows which: a thread that
//! is about to park leaves its core, so the worker that it wakes may well come to run there.

use std::sync::Arc;

use sinew_policy::idle::{WATCH_US, Watch};
use sinew_sync::atomic::spin_loop;
use sinew_sync::clock::{TICKS_A_US, ticks};
use sinew_sync::parker::Parker;

use crate::tls;
use crate::wait::Awaited;
use crate::worker::Worker;

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
            None => {
                Self::Thread { parker: parker_of_this_thread(), watches: with_watch(Watch::should_watch) }
            }
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

    /// Waits for something that another pool brings about.
    pub(crate) fn wait(&self, awaited: &dyn Awaited) {
        match self {
            Self::Worker(worker) => worker.wait(awaited, worker.help_for_foreign_work()),
            Self::Thread { parker, watches } => wait_outside(parker, awaited, *watches),
        }
    }
}

/// Waits on the thread whose [`Waiter`] parks at `parker` for something that another pool brings about.
pub(crate) fn wait_elsewhere(parker: &Parker, awaited: &dyn Awaited) {
    match living_worker() {
        Some(worker) => worker.wait(awaited, worker.help_for_foreign_work()),
        None => wait_outside(parker, awaited, with_watch(Watch::should_watch)),
    }
}

/// The worker that this thread is. In a forked child it may be one of a pool whose threads are the parent's: such a worker can serve nobody while it waits for
/// another pool.
fn living_worker<'a>() -> Option<&'a Worker> {
    tls::current().filter(|worker| !worker.pool().is_of_another_process())
}

fn wait_outside(parker: &Parker, awaited: &dyn Awaited, watches: bool) {
    if watches {
        let began = ticks();
        while !awaited.is_done() && ticks().saturating_sub(began) < u64::from(WATCH_US) * TICKS_A_US {
            spin_loop();
        }
        with_watch(|watch| watch.watched(awaited.is_done()));
    }
    while !awaited.is_done() {
        parker.park();
    }
}

/// What this thread has learned about waiting for pools.
#[cfg(not(any(loom, shuttle)))]
fn with_watch<R>(f: impl FnOnce(&mut Watch) -> R) -> R {
    std::thread_local! {
        static WATCH: std::cell::Cell<Watch> = const { std::cell::Cell::new(Watch::new()) };
    }
    let mut watch = WATCH.get();
    let result = f(&mut watch);
    WATCH.set(watch);
    result
}

/// Models have no thread-locals that outlive an execution.
#[cfg(any(loom, shuttle))]
fn with_watch<R>(f: impl FnOnce(&mut Watch) -> R) -> R {
    f(&mut Watch::new())
}

/// A thread that is no worker parks at one place, whatever it waits for: a token too many makes it look once more.
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
