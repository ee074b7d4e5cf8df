//! Chunks of one size, in the order of the claims.
//!
//! One word counts the claimed chunks. It counts chunks and not iterations so that it cannot
//! overflow: a participant adds 1, and only after it has seen an unclaimed chunk.

use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicUsize, Ordering};
use std::ops::Range;

/// The source of [`Schedule::Dynamic`](sinew_policy::chunk::Schedule::Dynamic).
#[derive(Debug)]
pub struct Dynamic {
    taken: CachePadded<AtomicUsize>,
    chunk: usize,
    chunks: usize,
    n: usize,
}

impl Dynamic {
    /// `n` iterations, `chunk` at a time (0 counts as 1).
    #[inline]
    pub fn new(n: usize, chunk: usize) -> Self {
        // The second bound keeps `chunks` so far from overflow that late claims cannot reach it.
        let chunk = chunk.max(1).max(n >> (usize::BITS - 2));
        Self { taken: CachePadded::new(AtomicUsize::new(0)), chunk, chunks: n.div_ceil(chunk), n }
    }

    /// The next chunk.
    #[inline]
    pub fn claim(&self) -> Option<Range<usize>> {
        if self.is_exhausted() {
            return None;
        }
        // Relaxed: see the module's orderings.
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        (number < self.chunks).then(|| self.from(number).start..self.end(number))
    }

    #[inline]
    fn end(&self, number: usize) -> usize {
        self.n.min((number * self.chunk).saturating_add(self.chunk))
    }

    #[inline]
    fn from(&self, number: usize) -> Range<usize> {
        number * self.chunk..self.n
    }

    /// Whether every chunk has been claimed.
    #[inline]
    pub fn is_exhausted(&self) -> bool {
        self.taken.load(Ordering::Relaxed) >= self.chunks
    }

    /// Closes the source, and returns the unclaimed iterations.
    pub fn close(&self) -> Option<Range<usize>> {
        // Relaxed: see the module's orderings. Later claims find no chunk.
        let number = self.taken.swap(self.chunks, Ordering::Relaxed);
        (number < self.chunks).then(|| self.from(number))
    }
}
