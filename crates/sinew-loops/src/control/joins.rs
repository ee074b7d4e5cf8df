//! Operations that consist of joins: how they keep to a maximum of participants.
//!
//! A thief participates while it runs a stolen arm, joins inside that arm included.
//! [`Operation::join`] checks the maximum before it offers an arm. If the maximum is reached, the
//! worker runs both arms. A thief beyond the maximum *returns* the arm unrun, and its owner runs
//! it. So a lower number takes effect as stolen arms end, a higher one at the next join.
//!
//! # Invariants
//!
//! - E1: no worker begins to participate while the maximum is reached. A worker that waits for a
//!   stolen arm does not count; so the count may exceed the maximum when the arm ends.
//!
//! # Cost
//!
//! Some loads for a join, of cache lines that change when a participant comes or leaves or a
//! request is made; a lock for each new participant.
//!
//! # Not handled
//!
//! A participant beyond the maximum in the middle of a stolen arm: its frames cannot be moved.
//!
//! # Tests
//!
//! `control::shuttle`, with a planted bug; `sinew-core`'s `tests/pool/operation.rs`; the crate
//! `sinew`'s `tests/changes.rs`.

use sinew_sync::atomic::{AtomicBool, Ordering};

use super::Operation;
use crate::participants::Suspended;
use sinew_core::Worker;

impl Operation<'_> {
    /// [`Worker::join`] for a participant. At most [`maximum`](Self::maximum) workers run at once,
    /// apart from those that run arms stolen before. The thief of the second arm becomes a
    /// participant. Before the arms, the worker serves a waiting [call](Worker::serve_calls) from
    /// outside.
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
            // In place of the push, which would check the poll word.
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
        // The arm has ended. If it panicked, unwinding drops this as well.
        drop(suspended);
        (first, second.unwrap_or_else(|b| b(w)))
    }
}
