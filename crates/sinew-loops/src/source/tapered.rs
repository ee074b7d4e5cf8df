//! Chunks that shrink with what remains: guided self-scheduling, factoring and tapered chunks.
//!
//! One word holds the next iteration, from which the rules compute the size of the next chunk. So
//! a claim is one compare-and-swap.

use sinew_policy::chunk::next_chunk;
use sinew_policy::schedule::ChunkRule;
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicUsize, Ordering};
use std::ops::Range;

/// The source of [`Mechanism::Counter`](sinew_policy::schedule::Mechanism::Counter), but for chunks
/// of one size.
#[derive(Debug)]
pub struct Tapered {
    next: CachePadded<AtomicUsize>,
    n: usize,
    workers: usize,
    rule: ChunkRule,
}

impl Tapered {
    /// `n` iterations for `workers`, in chunks by `rule`.
    #[inline]
    pub fn new(n: usize, workers: usize, rule: ChunkRule) -> Self {
        Self { next: CachePadded::new(AtomicUsize::new(0)), n, workers, rule }
    }

    #[inline]
    fn size(&self, remaining: usize) -> usize {
        next_chunk(self.rule, self.n, remaining, self.workers)
    }

    /// The next chunk.
    #[inline]
    pub fn claim(&self) -> Option<Range<usize>> {
        let mut start = self.next.load(Ordering::Relaxed);
        while start < self.n {
            let end = start + self.size(self.n - start);
            // Relaxed: see the module's orderings.
            match self.next.compare_exchange_weak(start, end, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return Some(start..end),
                Err(seen) => start = seen,
            }
        }
        None
    }

    /// Whether everything has been claimed.
    #[inline]
    pub fn is_exhausted(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.n
    }

    /// Closes the source, and returns the unclaimed iterations.
    pub fn close(&self) -> Option<Range<usize>> {
        let start = self.next.swap(self.n, Ordering::Relaxed);
        (start < self.n).then_some(start..self.n)
    }
}
