//! Several items as one.

use std::fmt;
use std::iter::Rev;
use std::ops::{ControlFlow, Range};

use crate::iter::{IndexedPositions, Positions};

adaptors! {
    /// The chain of [`chunks`](crate::iter::IndexedParIter::chunks) and of
    /// [`fold_chunks`](crate::iter::IndexedParIter::fold_chunks).
    Chunks<B, M> { size: usize, merge: M }
}

/// Makes one item of a chunk.
pub trait Merge<T>: Send + Sync {
    /// The item.
    type Item: Send;

    /// The item of a chunk with these items.
    fn merge(&self, items: impl Iterator<Item = T>) -> Self::Item;
}

/// Makes vectors.
#[derive(Debug, Clone, Copy)]
pub struct Collected;

impl<T: Send> Merge<T> for Collected {
    type Item = Vec<T>;

    #[inline]
    fn merge(&self, items: impl Iterator<Item = T>) -> Vec<T> {
        items.collect()
    }
}

/// Folds chunks.
#[derive(Clone)]
pub struct Folded<Z, F> {
    pub(crate) identity: Z,
    pub(crate) fold: F,
}

impl<Z, F> fmt::Debug for Folded<Z, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Folded").finish_non_exhaustive()
    }
}

impl<T, A, Z, F> Merge<T> for Folded<Z, F>
where
    A: Send,
    Z: Fn() -> A + Sync + Send,
    F: Fn(A, T) -> A + Sync + Send,
{
    type Item = A;

    #[inline]
    fn merge(&self, items: impl Iterator<Item = T>) -> A {
        items.fold((self.identity)(), &self.fold)
    }
}

impl<B: IndexedPositions, M: Merge<B::Item>> Chunks<B, M> {
    /// Chunks of `size` items. Panics if it is 0.
    #[inline]
    #[track_caller]
    pub(crate) fn of(base: B, size: usize, merge: M) -> Self {
        assert!(size > 0, "chunks of 0 items never end: use at least 1");
        Self::new(base, size, merge)
    }

    /// The chunk with this number.
    ///
    /// # Safety
    ///
    /// As for [`Positions::run`] with this position.
    #[inline]
    unsafe fn chunk(&self, number: usize) -> M::Item {
        // Below the number of positions within, so it does not overflow.
        let start = number * self.size;
        let end = start + self.size.min(self.base.num_positions() - start);
        // SAFETY: different chunks have different positions of the chain within.
        self.merge.merge(unsafe { self.base.piece(start..end) })
    }
}

// SAFETY: different chunks have different positions of the chain within.
unsafe impl<B: IndexedPositions, M: Merge<B::Item>> Positions for Chunks<B, M> {
    type Item = M::Item;
    forward_to_base!();

    #[inline]
    fn num_positions(&self) -> usize {
        self.base.num_positions().div_ceil(self.size)
    }

    #[inline]
    fn opt_len(&self) -> Option<usize> {
        Some(self.num_positions())
    }

    #[inline]
    unsafe fn run<S>(&self, mut positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(M::Item) -> ControlFlow<()>,
    {
        // SAFETY: the caller's promise is the same; each number comes once.
        positions.try_for_each(|number| sink(unsafe { self.chunk(number) }))
    }
}

// SAFETY: as above.
unsafe impl<B: IndexedPositions, M: Merge<B::Item>> IndexedPositions for Chunks<B, M> {
    type Piece<'p>
        = ChunksPiece<'p, B, M>
    where
        Self: 'p;
    type Backward<'p>
        = Rev<ChunksPiece<'p, B, M>>
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
pub struct ChunksPiece<'p, B, M> {
    chunks: &'p Chunks<B, M>,
    left: Range<usize>,
}

impl<B: IndexedPositions, M: Merge<B::Item>> Iterator for ChunksPiece<'_, B, M> {
    type Item = M::Item;

    #[inline]
    fn next(&mut self) -> Option<M::Item> {
        // SAFETY: the promise for this piece; each number comes once.
        self.left.next().map(|number| unsafe { self.chunks.chunk(number) })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<B: IndexedPositions, M: Merge<B::Item>> DoubleEndedIterator for ChunksPiece<'_, B, M> {
    #[inline]
    fn next_back(&mut self) -> Option<M::Item> {
        // SAFETY: as in `next`.
        self.left.next_back().map(|number| unsafe { self.chunks.chunk(number) })
    }
}
