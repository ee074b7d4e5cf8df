//! Several items as one.

use std::iter::Rev;
use std::ops::Range;

use crate::iter::{IndexedPositions, Positions};

adaptors! {
    /// The chain of [`chunks`](crate::iter::IndexedParIter::chunks).
    Chunks<B> { size: usize }
}

impl<B: IndexedPositions> Chunks<B> {
    /// The chunk with this number.
    ///
    /// # Safety
    ///
    /// As for [`Positions::run`] with this position.
    #[inline]
    unsafe fn chunk(&self, number: usize) -> Vec<B::Item> {
        // Below the number of positions within, so it does not overflow.
        let start = number * self.size;
        let end = start + self.size.min(self.base.num_positions() - start);
        // SAFETY: different chunks have different positions of the chain within.
        unsafe { self.base.piece(start..end) }.collect()
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
        = ChunksPiece<'p, B>
    where
        Self: 'p;
    type Backward<'p>
        = Rev<ChunksPiece<'p, B>>
    where
        Self: 'p;

    #[inline]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_> {
        ChunksPiece { chunks: self, left: positions }
    }

    #[inline]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_> {
        ChunksPiece { chunks: self, left: positions }.rev()
    }
}

/// Some of the chunks. Made under the promise of [`Positions::run`] for those that are left.
#[derive(Debug)]
pub struct ChunksPiece<'p, B> {
    chunks: &'p Chunks<B>,
    left: Range<usize>,
}

impl<B: IndexedPositions> Iterator for ChunksPiece<'_, B> {
    type Item = Vec<B::Item>;

    #[inline]
    fn next(&mut self) -> Option<Vec<B::Item>> {
        // SAFETY: the promise for this piece; each number comes once.
        self.left.next().map(|number| unsafe { self.chunks.chunk(number) })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<B: IndexedPositions> DoubleEndedIterator for ChunksPiece<'_, B> {
    #[inline]
    fn next_back(&mut self) -> Option<Vec<B::Item>> {
        // SAFETY: as in `next`.
        self.left.next_back().map(|number| unsafe { self.chunks.chunk(number) })
    }
}
