//! Chunks that shrink with what remains: guided self-scheduling and factoring.
//!
//! One word holds the next iteration, from which both rules compute the size of the next chunk. So
//! a claim is one compare-and-swap.

use sinew_policy::chunk::{self, TAPER};
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicUsize, Ordering};
use std::ops::Range;

/// The rule by which chunks shrink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tapering {
    /// A fixed fraction of what remains, at every chunk.
    Guided,
    /// Half of what remains in one batch of equal chunks.
    Factoring,
}

/// The source of [`Schedule::Tapered`](sinew_policy::chunk::Schedule::Tapered) and
/// [`Schedule::Factoring`](sinew_policy::chunk::Schedule::Factoring).
#[derive(Debug)]
pub struct Tapered {
    next: CachePadded<AtomicUsize>,
    n: usize,
    workers: usize,
    tapering: Tapering,
    min: usize,
}

impl Tapered {
    /// `n` iterations for `workers`, at least `min` at a time.
    #[inline]
    pub fn new(n: usize, workers: usize, tapering: Tapering, min: usize) -> Self {
        Self { next: CachePadded::new(AtomicUsize::new(0)), n, workers, tapering, min }
    }

    #[inline]
    fn size(&self, remaining: usize) -> usize {
        match self.tapering {
            Tapering::Guided => chunk::tapered(remaining, self.workers, TAPER, self.min),
            Tapering::Factoring => chunk::factoring(self.n, remaining, self.workers, self.min),
        }
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
