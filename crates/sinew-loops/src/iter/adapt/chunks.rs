//! Several items as one.

use std::ops::Range;

use crate::iter::{IndexedPositions, Positions};

adaptors! {
    /// The chain of [`chunks`](crate::iter::IndexedParIter::chunks).
    Chunks<B> { size: usize }
}

impl<B: Positions> Chunks<B> {
    /// The positions of the chain within.
    #[inline]
    fn within(&self, chunks: &Range<usize>) -> Range<usize> {
        let position =
            |chunk: usize| chunk.saturating_mul(self.size).min(self.base.num_positions());
        position(chunks.start)..position(chunks.end)
    }
}

// SAFETY: different chunks have different positions of the chain within.
unsafe impl<B: IndexedPositions> Positions for Chunks<B> {
    type Item = Vec<B::Item>;
    forward_to_base!(indexed);

    #[inline]
    fn num_positions(&self) -> usize {
        self.base.num_positions().div_ceil(self.size)
    }
}

// SAFETY: as above.
unsafe impl<B: IndexedPositions> IndexedPositions for Chunks<B> {
    type Piece<'p>
        = Chunked<B::Piece<'p>>
    where
        Self: 'p;
    type Backward<'p>
        = ChunkedBackward<B::Backward<'p>>
    where
        Self: 'p;

    #[inline]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_> {
        // SAFETY: the caller's promise is the same.
        Chunked { items: unsafe { self.base.piece(self.within(&positions)) }, size: self.size }
    }

    #[inline]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_> {
        let within = self.within(&positions);
        let whole = positions.len().saturating_sub(1) * self.size;
        ChunkedBackward {
            next_size: within.len() - whole.min(within.len()),
            // SAFETY: the caller's promise is the same.
            items: unsafe { self.base.backward(within) },
            size: self.size,
        }
    }
}

/// Chunks of the items of a range.
#[derive(Debug)]
pub struct Chunked<I> {
    items: I,
    size: usize,
}

impl<I: Iterator> Iterator for Chunked<I> {
    type Item = Vec<I::Item>;

    #[inline]
    fn next(&mut self) -> Option<Vec<I::Item>> {
        let chunk: Vec<_> = self.items.by_ref().take(self.size).collect();
        (!chunk.is_empty()).then_some(chunk)
    }
}

/// Chunks of the items of a range, from the last to the first, whose items come backwards.
#[derive(Debug)]
pub struct ChunkedBackward<I> {
    items: I,
    /// The size of the next chunk: only the last chunk may be short.
    next_size: usize,
    size: usize,
}

impl<I: Iterator> Iterator for ChunkedBackward<I> {
    type Item = Vec<I::Item>;

    #[inline]
    fn next(&mut self) -> Option<Vec<I::Item>> {
        let size = std::mem::replace(&mut self.next_size, self.size);
        let mut chunk: Vec<_> = self.items.by_ref().take(size).collect();
        chunk.reverse();
        (!chunk.is_empty()).then_some(chunk)
    }
}
