//! Items made of other items: chunks, zips, numbered items.

use super::items::{Items, ReadItems, SliceMut};
use super::ranges::Index;
use std::ops::Range;

/// Items that can be cut into chunks of one size (the last may be shorter).
pub trait Chunk: Items {
    /// The chunks.
    type Chunks: Items;

    /// Chunks of `size` items.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    fn into_chunks(self, size: usize) -> Self::Chunks;
}

#[track_caller]
fn checked(size: usize) -> usize {
    assert!(size > 0, "chunks of 0 items never end: use a size of at least 1");
    size
}

/// The items in `chunks`.
#[inline]
fn covered(chunks: &Range<usize>, size: usize, len: usize) -> Range<usize> {
    // The last chunk may be shorter, so its end is not a multiple.
    let index = |chunk: usize| chunk.saturating_mul(size).min(len);
    index(chunks.start)..index(chunks.end)
}

/// Chunks of a shared slice.
#[derive(Debug, Clone, Copy)]
pub struct Chunks<'a, T> {
    slice: &'a [T],
    size: usize,
}

impl<'a, T: Sync> Chunk for &'a [T] {
    type Chunks = Chunks<'a, T>;

    fn into_chunks(self, size: usize) -> Self::Chunks {
        Chunks { slice: self, size: checked(size) }
    }
}

// SAFETY: chunks of a shared slice may be read by any thread.
unsafe impl<'a, T: Sync> Items for Chunks<'a, T> {
    type Item = &'a [T];
    type Piece = std::slice::Chunks<'a, T>;

    #[inline]
    fn length(&self) -> usize {
        self.slice.len().div_ceil(self.size)
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
        // SAFETY: `range` ends at or below `length()`, so what it covers lies within the slice.
        unsafe { self.slice.get_unchecked(covered(&range, self.size, self.slice.len())) }
            .chunks(self.size)
    }
}

// SAFETY: pieces are shared references.
unsafe impl<T: Sync> ReadItems for Chunks<'_, T> {}

/// Chunks of a mutable slice.
#[derive(Debug)]
pub struct ChunksMut<'a, T> {
    slice: SliceMut<'a, T>,
    size: usize,
}

impl<'a, T: Send> Chunk for SliceMut<'a, T> {
    type Chunks = ChunksMut<'a, T>;

    fn into_chunks(self, size: usize) -> Self::Chunks {
        ChunksMut { slice: self, size: checked(size) }
    }
}

// SAFETY: disjoint ranges of chunks cover disjoint ranges of the slice.
unsafe impl<'a, T: Send> Items for ChunksMut<'a, T> {
    type Item = &'a mut [T];
    type Piece = std::slice::ChunksMut<'a, T>;

    #[inline]
    fn length(&self) -> usize {
        self.slice.length().div_ceil(self.size)
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
        // SAFETY: each chunk is requested once, so each index of the slice is; the chunks cover
        // indices of the slice.
        unsafe { self.slice.slice(covered(&range, self.size, self.slice.length())) }
            .chunks_mut(self.size)
    }
}

/// Chunks of a range of integers, each a range.
#[derive(Debug, Clone)]
pub struct RangeChunks<N> {
    range: Range<N>,
    len: usize,
    size: usize,
}

impl<N: Index> Chunk for Range<N> {
    type Chunks = RangeChunks<N>;

    fn into_chunks(self, size: usize) -> Self::Chunks {
        RangeChunks { len: N::count(&self), range: self, size: checked(size) }
    }
}

// SAFETY: ranges are computed, nothing is shared.
unsafe impl<N: Index> Items for RangeChunks<N> {
    type Item = Range<N>;
    type Piece = RangeChunksPiece<N>;

    #[inline]
    fn length(&self) -> usize {
        self.len.div_ceil(self.size)
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
        RangeChunksPiece { chunks: self.clone(), left: range }
    }
}

// SAFETY: as above.
unsafe impl<N: Index> ReadItems for RangeChunks<N> {}

/// Some of the chunks of a range of integers.
#[derive(Debug, Clone)]
pub struct RangeChunksPiece<N> {
    chunks: RangeChunks<N>,
    left: Range<usize>,
}

impl<N: Index> Iterator for RangeChunksPiece<N> {
    type Item = Range<N>;

    #[inline]
    fn next(&mut self) -> Option<Range<N>> {
        let number = self.left.next()?;
        let part = covered(&(number..number + 1), self.chunks.size, self.chunks.len);
        Some(N::part(&self.chunks.range, part))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

/// Two sequences of items, pair by pair, as long as the shorter.
#[derive(Debug, Clone)]
pub struct Zip<A, B> {
    a: A,
    b: B,
}

impl<A: Items, B: Items> Zip<A, B> {
    /// Pairs of `a` and `b`.
    #[inline]
    pub fn new(a: A, b: B) -> Self {
        Self { a, b }
    }
}

// SAFETY: index `i` of the pair is index `i` of both parts, so each index of them is requested at
// most once.
unsafe impl<A: Items, B: Items> Items for Zip<A, B> {
    type Item = (A::Item, B::Item);
    type Piece = std::iter::Zip<A::Piece, B::Piece>;

    #[inline]
    fn length(&self) -> usize {
        self.a.length().min(self.b.length())
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
        // SAFETY: the range ends at or below the shorter length, and the promise for the pair holds
        // for each part.
        unsafe { self.a.piece(range.clone()).zip(self.b.piece(range)) }
    }
}

// SAFETY: both parts allow it.
unsafe impl<A: ReadItems, B: ReadItems> ReadItems for Zip<A, B> {}

/// Two sequences of items, one after the other.
#[derive(Debug, Clone)]
pub struct Chain<A, B> {
    a: A,
    b: B,
}

impl<A: Items, B: Items<Item = A::Item>> Chain<A, B> {
    /// The items of `a`, then those of `b`, whose indices must be fewer than `usize::MAX` together.
    #[inline]
    pub fn new(a: A, b: B) -> Self {
        Self { a, b }
    }
}

// SAFETY: each index of the chain is one index of one part.
unsafe impl<A: Items, B: Items<Item = A::Item>> Items for Chain<A, B> {
    type Item = A::Item;
    type Piece = std::iter::Chain<A::Piece, B::Piece>;

    const EXACT: bool = A::EXACT && B::EXACT;

    #[inline]
    fn length(&self) -> usize {
        self.a.length() + self.b.length()
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
        let middle = self.a.length();
        let a = range.start.min(middle)..range.end.min(middle);
        let b = range.start.max(middle) - middle..range.end.max(middle) - middle;
        // SAFETY: both ranges are ascending and below the length of their part, and the caller
        // requests no index again.
        unsafe { self.a.piece(a).chain(self.b.piece(b)) }
    }
}

/// Items with their numbers.
#[derive(Debug, Clone)]
pub struct Enumerate<A> {
    items: A,
}

impl<A: Items> Enumerate<A> {
    /// `items`, numbered from 0.
    #[inline]
    pub fn new(items: A) -> Self {
        Self { items }
    }
}

// SAFETY: index for index the items within.
unsafe impl<A: Items> Items for Enumerate<A> {
    type Item = (usize, A::Item);
    type Piece = std::iter::Zip<Range<usize>, A::Piece>;

    #[inline]
    fn length(&self) -> usize {
        self.items.length()
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
        // SAFETY: the caller's promise is the same.
        range.clone().zip(unsafe { self.items.piece(range) })
    }
}

// SAFETY: the items within allow it.
unsafe impl<A: ReadItems> ReadItems for Enumerate<A> {}
