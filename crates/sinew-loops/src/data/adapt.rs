//! Items made of other items: chunks, one sequence after another, numbered items.

use super::items::{Items, ReadItems, SliceMut};
use std::ops::Range;

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

impl<'a, T> Chunks<'a, T> {
    /// Chunks of `size` elements; the last may be shorter.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    #[track_caller]
    pub(crate) fn new(slice: &'a [T], size: usize) -> Self {
        Self { slice, size: checked(size) }
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

impl<'a, T> ChunksMut<'a, T> {
    /// Chunks of `size` elements; the last may be shorter.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    #[track_caller]
    pub(crate) fn new(slice: &'a mut [T], size: usize) -> Self {
        Self { slice: SliceMut::new(slice), size: checked(size) }
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
pub(crate) struct Enumerate<A> {
    items: A,
}

impl<A: Items> Enumerate<A> {
    /// `items`, numbered from 0.
    #[inline]
    pub(crate) fn new(items: A) -> Self {
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
