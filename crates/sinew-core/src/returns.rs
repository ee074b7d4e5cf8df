//! Callers from outside that have their answer, and want a core back to go on.
//!
//! A caller parks while the pool works for it, and its core falls to a worker. When it is woken, every core may have a worker on it that computes no more: the one
//! that gave the answer, and others that look for work. The kernel puts the caller behind one of them and lets that one go on for what is left of its slice, as
//! it cannot tell a search from work. Workers that search offer their cores now and then (`patience`), up to 16 µs apart, which is a good part of a short call. So whoever
//! wakes a caller counts it here *afterwards*, and those who search look at the count in each round: where it has risen they offer their core at once, and so does
//! the one that has counted it, if it finds nothing to do. Which of them the caller waits behind only the kernel knows.
//!
//! # Orderings
//!
//! Relaxed throughout: the count publishes nothing. Whoever sees it late offers its core late, as without it. That the caller can be run before the count is seen
//! is in the hands of the kernel, whose call to wake it comes before the count in the waker's program; were it not so, an offer would be in vain, and the next
//! one follows in its time.
//!
//! # Cost
//!
//! An addition to a shared line for each caller that had parked, beside a wake-up of some microseconds; for who searches, a load a round of a line that hardly
//! changes, and an offer that is in vain (0.4 µs) where the caller went elsewhere.
//!
//! # Not handled
//!
//! Callers that watch for their answer have a core. Workers of another pool that search know nothing of it.
//!
//! # Tests
//!
//! Below: who is counted, and when; who offers, in `patience`.

use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicU32, Ordering};

use crate::worker::Worker;

/// How many parked callers of a pool were given their answers.
#[derive(Debug, Default)]
pub(crate) struct Returns(CachePadded<AtomicU32>);

impl Returns {
    /// As many as were counted so far, wrapping.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        // Relaxed: see the top.
        self.0.load(Ordering::Relaxed)
    }

    fn add_one(&self) {
        // Relaxed: as above.
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Worker {
    /// This worker has woken a caller that had parked.
    #[cold]
    pub(crate) fn has_answered(&self) {
        self.pool().returns.add_one();
        self.own.has_answered.set(true);
    }

    /// The returns that a search which begins now need not answer: all but one that this worker has brought about since its last search.
    pub(crate) fn returns_before_search(&self) -> u32 {
        let own = u32::from(self.own.has_answered.replace(false));
        self.pool().returns.count().wrapping_sub(own)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::sync::Arc;

    use sinew_sync::parker::Parker;
    use sinew_sync::thread::yield_now;

    use crate::latch::{Latch, Owner};
    use crate::pool::Pool;
    use crate::waiter::Waiter;

    /// Would miss: a caller that has parked and is not counted, on its way out of a call or of a scope.
    #[test]
    fn a_caller_that_had_parked_is_counted_when_it_has_its_answer() {
        let pool = Pool::builder().threads(2).guest_seat(false).build().unwrap();
        let parker = Arc::clone(Waiter::here().parker());
        let wait_until_parked = || {
            while !parker.is_parked() {
                yield_now();
            }
        };
        pool.run(|_| wait_until_parked());
        let before = pool.inner.returns.count();
        assert!(before >= 1);
        pool.scope(|s| s.spawn(|_| wait_until_parked()));
        assert!(pool.inner.returns.count() > before);
    }

    /// Would miss: offers for callers that have a core.
    #[test]
    fn a_caller_that_watches_is_not_counted() {
        let pool = Pool::builder().threads(1).build().unwrap();
        let before = pool.inner.returns.count();
        pool.run(|w| {
            let latch = Latch::new(Owner::Elsewhere(Arc::new(Parker::new())));
            // SAFETY: valid until after the call.
            unsafe { Latch::set(&raw const latch, w) };
            assert!(latch.is_set() && !w.own.has_answered.get());
        });
        assert_eq!(pool.inner.returns.count(), before);
    }
}
