//! What all transactions of the process share: the clock, the token, who sleeps, who runs.
//!
//! The clock is one word: the version of the last commit, an even number, and [`TOKEN`] while a
//! transaction is irrevocable. A committer moves it by one `fetch_add`, and so learns with the same
//! instruction whether the token is taken.
//!
//! # Invariants
//!
//! - I4: while a transaction holds the token, no other takes a version and keeps it; so nothing
//!   changes that was not already being written back when the token was taken.
//!
//! # Orderings
//!
//! - C1 `advance` (AcqRel) ↔ `now` (Acquire): who has a version on its clock sees the locks of the
//!   commit that made it, so a snapshot of that version finds each of its records locked or
//!   released, never as it was.
//! - C2 `advance` ↔ `take`, both on one word: a committer comes before the taker, which then sees
//!   its locks and waits for their release, or after it, and then sees [`TOKEN`] and gives way. No
//!   fence is needed.

use crate::record::FIRST;
use crate::sites::Sites;
use crate::threads::Threads;
use crate::waiting::Sleepers;
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::lock::{Condvar, Mutex, MutexGuard};

/// Set in the clock while somebody holds the token.
pub(crate) const TOKEN: u64 = 1;

/// From one version to the next.
pub(crate) const STEP: u64 = 2;

/// Locks for the locks of containers.
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
    /// Versions of boxed values retired at this time or before are seen by nobody: see `grace`.
    pub(crate) safe: CachePadded<AtomicU64>,
    pub(crate) threads: Mutex<Threads>,
    pub(crate) sites: Mutex<Sites>,
    pub(crate) sleepers: Mutex<Sleepers>,
    /// Locked while a container gets memory.
    pub(crate) growth: Mutex<()>,
    /// Locked around the locks of containers, by their addresses, so that a thread that forks can
    /// take them all.
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

    /// Whether some transaction is irrevocable; a hint.
    pub(crate) fn token_taken(&self) -> bool {
        // Relaxed: decides only how long to wait.
        self.0.load(Ordering::Relaxed) & TOKEN != 0
    }

    /// Gives back the token of a thread that was lost in a fork.
    pub(crate) fn forget_token(&self) {
        // Relaxed: the process has one thread.
        self.0.fetch_and(!TOKEN, Ordering::Relaxed);
    }

    /// Moves on to the next version; answers the word before.
    #[inline(always)]
    pub(crate) fn advance(&self) -> u64 {
        // AcqRel: C1. Acquire, because the committer now looks at the records that others hold.
        self.0.fetch_add(STEP, Ordering::AcqRel)
    }
}

/// Where transactions wait for the token.
#[derive(Debug)]
pub(crate) struct Gate {
    /// The number of the thread that has the token.
    holder: Mutex<Option<u32>>,
    given: Condvar,
}

impl Gate {
    /// The lock, for a thread that forks.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Option<u32>> {
        self.holder.lock()
    }

    /// Takes the token for a thread as soon as nobody has it.
    pub(crate) fn take(&self, clock: &Clock, thread: u32) {
        let mut holder = self.holder.lock();
        while holder.is_some() {
            holder = self.given.wait(holder);
        }
        *holder = Some(thread);
        // AcqRel: C2.
        clock.0.fetch_or(TOKEN, Ordering::AcqRel);
    }

    /// Takes the token for a thread if nobody has it.
    pub(crate) fn try_take(&self, clock: &Clock, thread: u32) -> bool {
        let mut holder = self.holder.lock();
        if holder.is_none() {
            *holder = Some(thread);
            clock.0.fetch_or(TOKEN, Ordering::AcqRel);
            return true;
        }
        false
    }

    /// Gives the token back.
    pub(crate) fn give(&self, clock: &Clock) {
        let mut holder = self.holder.lock();
        // Release: whoever advances next comes after what the holder did. Under the lock, so that
        // the next holder's bit is not the one that is cleared.
        clock.0.fetch_and(!TOKEN, Ordering::Release);
        *holder = None;
        drop(holder);
        self.given.notify_all();
    }

    /// Waits until nobody has the token.
    pub(crate) fn wait(&self) {
        let mut holder = self.holder.lock();
        while holder.is_some() {
            holder = self.given.wait(holder);
        }
    }
}
