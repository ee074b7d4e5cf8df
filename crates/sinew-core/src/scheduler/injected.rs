//! Taking work from outside; the worker that took the last piece is preferred.

use sinew_deque::Queued;
use sinew_sync::atomic::Ordering;
use sinew_sync::clock::{TICKS_PER_US, ticks};

use crate::scheduler::job::Allowed;
use crate::state::worker::Worker;

/// How long other workers leave work from outside to the worker that took the last piece: the time
/// in which a caller parks and another thread gets its core.
const DEFERRED: u64 = 6 * TICKS_PER_US;

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

    /// The worker that took the last piece of work from outside is preferred for the next one for a
    /// moment, if it is idle: a loop that is called repeatedly then finds its data in the same
    /// cache. That worker may be waiting for its core, because the caller was woken there and is
    /// about to park.
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
