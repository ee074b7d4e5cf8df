//! What is under way in a pool and can be cancelled at once: loops and skeletons under a control,
//! and worklists.
//!
//! Each *enrols* when it begins, and notes how often the pool has cancelled before. Once that
//! number is another one it is to end, as if its own control had been cancelled. The control itself
//! is left alone, so what begins later runs.
//!
//! # Invariants
//!
//! - R1: the number is noted once, before anything else is done, and all participants and phases go
//!   by that note: a cancellation reaches all of what has begun before it, and nothing else.
//!
//! # Orderings
//!
//! `Relaxed`: a word that only grows and only has to be seen soon, and a count that is a statistic.
//! Nothing is published by either.
//!
//! # Cost
//!
//! A few atomic operations when something begins and ends; a load of a line that hardly anybody
//! writes where it would look at its control anyway. Loops without a control do not enrol.
//!
//! # Not handled
//!
//! Joins, scopes, detached tasks, and skeletons without a control. What they answer are results
//! alone, of which none can be left out; so they run to their end.
//!
//! # Tests
//!
//! `tests/pool/control.rs`, the crate `sinew`'s `tests/pool.rs`; under random schedules in
//! `loops::controlled::schedules`.

use std::sync::Arc;

use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::callers::Callers;
use crate::tls;

/// What is under way in one pool.
#[derive(Debug, Default)]
pub(crate) struct Roll {
    /// On a line of its own: everybody on the roll looks at it, and who comes and goes writes the
    /// other.
    cancellations: CachePadded<AtomicU64>,
    under_way: AtomicUsize,
    /// Whose calls wait for a worker and are cancelled as well.
    callers: Callers,
}

impl Roll {
    /// Cancels all that is enrolled now.
    pub(crate) fn cancel(&self) {
        self.cancellations.fetch_add(1, Ordering::Relaxed);
        self.callers.wake_all();
    }

    pub(crate) fn callers(&self) -> &Callers {
        &self.callers
    }

    pub(crate) fn under_way(&self) -> usize {
        self.under_way.load(Ordering::Relaxed)
    }

    /// How often the pool has cancelled what it runs.
    pub(crate) fn cancellations(&self) -> u64 {
        self.cancellations.load(Ordering::Relaxed)
    }
}

/// Something under way in a pool that ends early when the pool
/// [cancels](crate::PoolControl::cancel), and can say that it has. For whoever writes skeletons
/// that follow no control; a [`Course`](crate::Course) has it.
///
/// ```
/// use sinew_core::{Enrolled, Pool};
///
/// let pool = Pool::builder().threads(2).build()?;
/// pool.run(|_| {
///     let enrolled = Enrolled::here();
///     pool.control().cancel();
///     assert!(enrolled.is_cancelled() && !Enrolled::here().is_cancelled());
/// });
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
#[derive(Debug, Default)]
#[must_use = "it lasts until it is dropped"]
pub struct Enrolled {
    /// Outside of pools nobody cancels.
    roll: Option<Arc<Roll>>,
    noted: u64,
}

impl Enrolled {
    /// Something begins in the pool whose worker the calling thread is, and lasts until this is
    /// dropped. With a thread that works [`serially`](crate::serially), it is the pool around.
    pub fn here() -> Self {
        let worker =
            tls::current().filter(|worker| !worker.pool().is_serial()).or_else(tls::around_serial);
        let Some(worker) = worker else { return Self::default() };
        let roll = Arc::clone(&worker.pool().roll);
        roll.under_way.fetch_add(1, Ordering::Relaxed);
        Self { noted: roll.cancellations(), roll: Some(roll) }
    }

    /// Whether it is to end: the pool has cancelled since it began.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.roll.as_ref().is_some_and(|roll| roll.cancellations() != self.noted)
    }
}

impl Drop for Enrolled {
    fn drop(&mut self) {
        if let Some(roll) = &self.roll {
            roll.under_way.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
