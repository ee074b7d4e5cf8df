//! Taking work from outside, and leaving it to the worker that took the last piece.

use sinew_deque::Queued;
use sinew_sync::atomic::Ordering;
use sinew_sync::clock::{TICKS_A_US, ticks};

use crate::scheduler::job::Allowed;
use crate::state::worker::Worker;

/// How long a worker leaves work from outside to the one that took the last piece: as long as a
/// caller takes to park, and another thread to get its core.
const DEFERRED: u64 = 6 * TICKS_A_US;

impl Worker {
    /// Work from outside.
    pub(crate) fn take_injected(&self, allowed: Allowed) -> Option<Queued> {
        let pool = self.pool();
        if pool.injector.is_empty() {
            self.own.defers_since.set(0);
            return None;
        }
        if self.defers_to_last_taker() {
            return None;
        }
        let queued = pool.injector.pop(allowed.above())?;
        // Relaxed: a hint.
        pool.last_taker.store(self.index(), Ordering::Relaxed);
        Some(queued)
    }

    /// Who took the last piece of work from outside has the first claim to the next, for a moment,
    /// if it is without work as well: a loop that is called again and again finds its data where it
    /// left them. It may be off its core just then, as the caller was woken there, and parks in a
    /// moment.
    fn defers_to_last_taker(&self) -> bool {
        let pool = self.pool();
        // Relaxed, here and below: hints.
        let last = pool.last_taker.load(Ordering::Relaxed);
        let searches = |worker: &Self| worker.searching.load(Ordering::Relaxed);
        if last == self.index() || !pool.slots.get(last).is_some_and(searches) {
            return false;
        }
        let (now, since) = (ticks().max(1), self.own.defers_since.get());
        if since == 0 {
            self.own.defers_since.set(now);
        }
        since == 0 || now.saturating_sub(since) < DEFERRED
    }
}
