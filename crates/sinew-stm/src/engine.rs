//! What all transactions of the process share: the clock, the token, who sleeps, who runs.
//!
//! The clock is one word: the version of the last commit, an even number, and [`TOKEN`] while a transaction is irrevocable.
//! A committer moves it by one `fetch_add`, and so learns with the same instruction whether the token is taken.
//!
//! # Invariants
//!
//! - I4: while a transaction holds the token, no other takes a version and keeps it; so nothing changes that was not
//!   already being written back when the token was taken.
//!
//! # Orderings
//!
//! - C1 `advance` (AcqRel) ↔ `now` (Acquire): who has a version on its clock sees the locks of the commit that made it, so a
//!   snapshot of that version finds each of its records locked or released, never as it was.
//! - C2 `advance` ↔ `take`, both on one word: a committer comes before the taker, which then sees its locks and waits for their
//!   release, or after it, and then sees [`TOKEN`] and gives way. No fence is needed.

use crate::record::FIRST;
use crate::sites::Sites;
use crate::threads::Threads;
use crate::waiting::Sleepers;
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::lock::{Condvar, Mutex};

/// Set in the clock while somebody holds the token.
pub(crate) const TOKEN: u64 = 1;

/// From one version to the next.
pub(crate) const STEP: u64 = 2;

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
}

impl Engine {
    const_unless_modelled! {
        fn new() -> Self {
            Self {
                clock: Clock(CachePadded::new(AtomicU64::new(FIRST))),
                gate: Gate { taken: Mutex::new(false), given: Condvar::new() },
                safe: CachePadded::new(AtomicU64::new(0)),
                threads: Mutex::new(Threads::new()),
                sites: Mutex::new(Sites::new()),
                sleepers: Mutex::new(Sleepers::new()),
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
    taken: Mutex<bool>,
    given: Condvar,
}

impl Gate {
    /// Takes the token as soon as nobody has it.
    pub(crate) fn take(&self, clock: &Clock) {
        let mut taken = self.taken.lock();
        while *taken {
            taken = self.given.wait(taken);
        }
        *taken = true;
        // AcqRel: C2.
        clock.0.fetch_or(TOKEN, Ordering::AcqRel);
    }

    /// Takes the token if nobody has it.
    pub(crate) fn try_take(&self, clock: &Clock) -> bool {
        let mut taken = self.taken.lock();
        if !*taken {
            *taken = true;
            clock.0.fetch_or(TOKEN, Ordering::AcqRel);
            return true;
        }
        false
    }

    /// Gives the token back.
    pub(crate) fn give(&self, clock: &Clock) {
        let mut taken = self.taken.lock();
        // Release: whoever advances next comes after what the holder did. Under the lock, so that the next holder's bit is not
        // the one that is cleared.
        clock.0.fetch_and(!TOKEN, Ordering::Release);
        *taken = false;
        drop(taken);
        self.given.notify_all();
    }

    /// Waits until nobody has the token.
    pub(crate) fn wait(&self) {
        let mut taken = self.taken.lock();
        while *taken {
            taken = self.given.wait(taken);
        }
    }
}
