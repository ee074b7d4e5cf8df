//! The state that all transactions of the process share: the clock, the token, the sleepers, the
//! threads.
//!
//! The clock is one word: the version of the last commit, an even number, and [`TOKEN`] while a
//! transaction is irrevocable. A committer advances it by one `fetch_add`, whose result also shows
//! whether the token is taken.
//!
//! # Invariants
//!
//! - I4: while a transaction holds the token, no other one takes a version and keeps it. So nothing
//!   changes that was not already being written back when the token was taken.
//!
//! # Orderings
//!
//! - C1 `advance` (AcqRel) ↔ `now` (Acquire): a thread with a version on its clock sees the locks
//!   of the commit that made it. So a snapshot of that version finds each of its records locked or
//!   released, never in its earlier state.
//! - C2 `advance` ↔ `take`, both on one word: a committer precedes the taker, which then sees its
//!   locks and waits for their release, or follows it, and then sees [`TOKEN`] and gives way. No
//!   fence is needed.

use crate::record::FIRST;
use crate::sites::{Counters, Sites};
use crate::sleepers::Sleepers;
use crate::threads::Threads;
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::lock::{Condvar, Mutex, MutexGuard};
use std::panic::Location;

/// Set in the clock while a thread holds the token.
pub(crate) const TOKEN: u64 = 1;

/// The difference between successive versions.
pub(crate) const STEP: u64 = 2;

/// Locks that are taken before the locks of containers.
pub(crate) const ARENAS: usize = if cfg!(any(loom, shuttle)) { 1 } else { 64 };

#[cfg(not(any(loom, shuttle)))]
const fn arenas() -> [CachePadded<Mutex<()>>; ARENAS] {
    [const { CachePadded::new(Mutex::new(())) }; ARENAS]
}

#[cfg(any(loom, shuttle))]
fn arenas() -> [CachePadded<Mutex<()>>; ARENAS] {
    std::array::from_fn(|_| CachePadded::new(Mutex::new(())))
}

/// The one engine.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) clock: Clock,
    pub(crate) gate: Gate,
    /// No transaction can see versions of boxed values retired at this time or before: see `grace`.
    pub(crate) safe: CachePadded<AtomicU64>,
    pub(crate) threads: Mutex<Threads>,
    pub(crate) sites: Mutex<Sites>,
    pub(crate) sleepers: Mutex<Sleepers>,
    /// Locked while a container allocates memory.
    pub(crate) growth: Mutex<()>,
    /// Each is locked around the lock of a container, which its address chooses. So a thread that
    /// forks can take all of them.
    pub(crate) arenas: [CachePadded<Mutex<()>>; ARENAS],
}

impl Engine {
    const_unless_modelled! {
        fn new() -> Self {
            Self {
                clock: Clock(CachePadded::new(AtomicU64::new(FIRST))),
                gate: Gate { holder: Mutex::new(None), given: Condvar::new() },
                safe: CachePadded::new(AtomicU64::new(0)),
                threads: Mutex::new(Threads::new()),
                sites: Mutex::new(Sites::new()),
                sleepers: Mutex::new(Sleepers::new()),
                growth: Mutex::new(()),
                arenas: arenas(),
            }
        }
    }
}

#[cfg(not(any(loom, shuttle)))]
static ENGINE: Engine = Engine::new();

#[cfg(loom)]
loom::lazy_static! {
    static ref ENGINE: Engine = Engine::new();
}

#[cfg(shuttle)]
shuttle::lazy_static! {
    static ref ENGINE: Engine = Engine::new();
}

/// The engine of this process, or of this execution of a model.
#[inline(always)]
pub(crate) fn engine() -> &'static Engine {
    &ENGINE
}

/// The version clock.
#[derive(Debug)]
pub(crate) struct Clock(CachePadded<AtomicU64>);

impl Clock {
    /// The version of the last commit.
    #[inline(always)]
    pub(crate) fn now(&self) -> u64 {
        // Acquire: C1.
        self.0.load(Ordering::Acquire) & !TOKEN
    }

    /// Whether a transaction is irrevocable; a hint.
    pub(crate) fn token_taken(&self) -> bool {
        // Relaxed: decides only how long to wait.
        self.0.load(Ordering::Relaxed) & TOKEN != 0
    }

    /// Releases the token of a thread that does not exist after a fork.
    pub(crate) fn forget_token(&self) {
        // Relaxed: the process has one thread.
        self.0.fetch_and(!TOKEN, Ordering::Relaxed);
    }

    /// Advances to the next version; returns the word before.
    #[inline(always)]
    pub(crate) fn advance(&self) -> u64 {
        // AcqRel: C1. Acquire, because the committer now reads the records that others hold.
        self.0.fetch_add(STEP, Ordering::AcqRel)
    }
}

/// Transactions wait here for the token.
#[derive(Debug)]
pub(crate) struct Gate {
    /// The number of the thread that holds the token.
    holder: Mutex<Option<u32>>,
    given: Condvar,
}

impl Gate {
    /// The lock, for a thread that forks.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Option<u32>> {
        self.holder.lock()
    }

    /// Takes the token for a thread as soon as it is free.
    pub(crate) fn take(&self, clock: &Clock, thread: u32) {
        let mut holder = self.holder.lock();
        while holder.is_some() {
            holder = self.given.wait(holder);
        }
        *holder = Some(thread);
        // AcqRel: C2.
        clock.0.fetch_or(TOKEN, Ordering::AcqRel);
    }

    /// Takes the token for a thread if it is free.
    pub(crate) fn try_take(&self, clock: &Clock, thread: u32) -> bool {
        let mut holder = self.holder.lock();
        if holder.is_none() {
            *holder = Some(thread);
            clock.0.fetch_or(TOKEN, Ordering::AcqRel);
            return true;
        }
        false
    }

    /// Releases the token.
    pub(crate) fn give(&self, clock: &Clock) {
        let mut holder = self.holder.lock();
        // Release: the next thread that advances the clock sees the holder's changes. Under the
        // lock, so that this store does not clear the next holder's bit.
        clock.0.fetch_and(!TOKEN, Ordering::Release);
        *holder = None;
        drop(holder);
        self.given.notify_all();
    }

    /// Waits until the token is free.
    pub(crate) fn wait(&self) {
        let mut holder = self.holder.lock();
        while holder.is_some() {
            holder = self.given.wait(holder);
        }
    }
}

/// The counters of every place that has started a transaction, sorted by file and line.
///
/// # Cost
///
/// A lock, and a visit to each thread's counters.
pub fn counters_by_site() -> Vec<(&'static Location<'static>, Counters)> {
    engine().sites.lock().all()
}
