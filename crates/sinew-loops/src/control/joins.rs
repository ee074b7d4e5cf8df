//! Operations that are made of joins: how many workers take part.
//!
//! A worker *takes part* from the moment when it takes up something of the operation until it is
//! done with that: a stolen arm and all that the arm spawns. [`Operation::join`] checks the
//! requested number before it offers an arm. If the maximum is reached, the worker runs both arms.
//! A thief beyond the maximum *hands back* an arm that was offered before, and the arm's owner runs
//! it. So a lower number takes effect as stolen arms end, a higher one at the next join.
//!
//! # Invariants
//!
//! - E1: no worker begins to take part where the maximum is reached. A worker that waits for a
//!   stolen arm does not count; so the count may exceed the maximum when the arm returns.
//!
//! # Cost
//!
//! Some loads for a join, of lines that are written when a worker comes or leaves, or when a
//! request changes; a lock for each worker that comes.
//!
//! # Not handled
//!
//! A participant beyond the maximum in the middle of a stolen arm: its frames cannot be moved.
//!
//! # Tests
//!
//! `control::shuttle`, with a planted bug; `sinew-core`'s `tests/pool/course.rs`; the crate
//! `sinew`'s `tests/changes.rs`.

use sinew_sync::atomic::{AtomicBool, Ordering};

use super::Operation;
use crate::participants::Suspended;
use sinew_core::Worker;

impl Operation<'_> {
    /// [`Worker::join`] of a worker that takes part. No more workers than requested, and no more
    /// than the pool allows, work at once, apart from those at arms that were stolen before. The
    /// thief of the second arm takes part. Before the arms, the worker serves a
    /// [call](Worker::serve_calls) from outside that waits.
    ///
    /// # Panics
    ///
    /// If an arm does, as [`Worker::join`].
    ///
    /// # Cost
    ///
    /// Some nanoseconds more than [`Worker::join`].
    pub fn join<A, B, RA, RB>(&self, w: &Worker, a: A, b: B) -> (RA, RB)
    where
        A: for<'w> FnOnce(&'w Worker) -> RA,
        B: for<'w> FnOnce(&'w Worker) -> RB + Send,
        RB: Send,
    {
        self.follow(w);
        w.check_limits();
        if self.maximum(w).is_some_and(|maximum| self.participants.count() >= maximum) {
            // No push checks the poll word here.
            w.safe_point();
            return (a(w), b(w));
        }
        let (is_taken, mut suspended) = (AtomicBool::new(false), None);
        let first = |w: &Worker| {
            let result = a(w);
            let waits = is_taken.load(Ordering::Relaxed);
            suspended = waits.then(|| Suspended::new(&self.participants));
            result
        };
        let second = |w: &Worker, is_stolen: bool| {
            if !is_stolen {
                return Ok(b(w));
            }
            self.follow_request();
            let maximum = self.maximum(w).unwrap_or(usize::MAX);
            let Some(registration) = self.participants.register_below(maximum) else {
                return Err(b);
            };
            is_taken.store(true, Ordering::Relaxed);
            let _participant = self.enter(w, 0, Some(registration));
            Ok(b(w))
        };
        let (first, second) = w.join_context(first, second);
        // The arm has returned. If it panicked, unwinding does the same.
        drop(suspended);
        (first, second.unwrap_or_else(|b| b(w)))
    }
}
