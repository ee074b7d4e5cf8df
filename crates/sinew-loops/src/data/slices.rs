//! Windows of a slice, and chunks of exactly one size or counted from the end of the slice.
//!
//! [`Chunks`](super::Chunks), counted from the start, are in `adapt`.

use std::ops::Range;

use super::items::{Items, ReadItems, SliceMut};

#[track_caller]
fn checked(size: usize) -> usize {
    assert!(size > 0, "chunks of 0 items never end: use a size of at least 1");
    size
}

/// The elements in these chunks of a slice of `len`; `from_end` counts chunks from its end.
#[inline]
fn covered(chunks: &Range<usize>, size: usize, len: usize, from_end: bool) -> Range<usize> {
    // The last chunk may be shorter, so its end is not a multiple.
    let index = |chunk: usize| chunk.saturating_mul(size).min(len);
    let (start, end) = (index(chunks.start), index(chunks.end));
    if from_end { len - end..len - start } else { start..end }
}

/// The windows of a size in a slice.
#[derive(Debug, Clone, Copy)]
pub struct Windows<'a, T> {
    slice: &'a [T],
    size: usize,
}

impl<'a, T> Windows<'a, T> {
    /// All runs of `size` adjacent elements.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    #[track_caller]
    pub fn new(slice: &'a [T], size: usize) -> Self {
        assert!(size > 0, "windows of 0 elements are everywhere: use a size of at least 1");
        Self { slice, size }
    }

    /// The elements of some windows.
    ///
    /// # Safety
    ///
    /// `range` is ascending and ends at or below the number of windows.
    #[inline]
    unsafe fn elements(&self, range: Range<usize>) -> &'a [T] {
        let end = if range.is_empty() { range.start } else { range.end + self.size - 1 };
        // SAFETY: the last window ends at or below the length.
        unsafe { self.slice.get_unchecked(range.start..end) }
    }
}

// SAFETY: any thread may read shared slices at any time (`T: Sync`).
unsafe impl<'a, T: Sync> Items for Windows<'a, T> {
    type Item = &'a [T];
    type Piece = std::slice::Windows<'a, T>;

    #[inline]
    fn length(&self) -> usize {
        self.slice.len().checked_sub(self.size).map_or(0, |last| last + 1)
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
        // SAFETY: the caller's promise is the same.
        unsafe { self.elements(range) }.windows(self.size)
    }
}

// SAFETY: pieces are shared references.
unsafe impl<T: Sync> ReadItems for Windows<'_, T> {}

/// The windows of a size that is known at compile time.
#[derive(Debug, Clone, Copy)]
pub struct ArrayWindows<'a, T, const N: usize>(Windows<'a, T>);

impl<'a, T, const N: usize> ArrayWindows<'a, T, N> {
    /// All runs of `N` adjacent elements.
    ///
    /// # Panics
    ///
    /// If `N` is 0.
    #[track_caller]
    pub fn new(slice: &'a [T]) -> Self {
        Self(Windows::new(slice, N))
    }
}

// SAFETY: as for `Windows`.
unsafe impl<'a, T: Sync, const N: usize> Items for ArrayWindows<'a, T, N> {
    type Item = &'a [T; N];
    type Piece = ArrayWindowsPiece<'a, T, N>;

    #[inline]
    fn length(&self) -> usize {
        self.0.length()
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
        // SAFETY: the caller's promise is the same.
        ArrayWindowsPiece(unsafe { self.0.elements(range) }.windows(N))
    }
}

// SAFETY: pieces are shared references.
unsafe impl<T: Sync, const N: usize> ReadItems for ArrayWindows<'_, T, N> {}

/// Some of the windows, in order. The standard library has this iterator since Rust 1.94.
#[derive(Debug, Clone)]
pub struct ArrayWindowsPiece<'a, T, const N: usize>(std::slice::Windows<'a, T>);

fn whole<T, const N: usize>(window: &[T]) -> &[T; N] {
    window.try_into().expect("a window has its size")
}

impl<'a, T, const N: usize> Iterator for ArrayWindowsPiece<'a, T, N> {
    type Item = &'a [T; N];

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(whole)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }

    #[inline]
    fn fold<A, F: FnMut(A, Self::Item) -> A>(self, init: A, mut f: F) -> A {
        self.0.fold(init, |value, window| f(value, whole(window)))
    }
}

impl<T, const N: usize> DoubleEndedIterator for ArrayWindowsPiece<'_, T, N> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(whole)
    }
}

impl<T, const N: usize> ExactSizeIterator for ArrayWindowsPiece<'_, T, N> {}

/// Chunks from the end of a shared slice: the last in order, at its start, may be shorter.
#[derive(Debug, Clone, Copy)]
pub struct RChunks<'a, T> {
    slice: &'a [T],
    size: usize,
}

impl<'a, T> RChunks<'a, T> {
    /// Chunks of `size` elements.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    #[track_caller]
    pub fn new(slice: &'a [T], size: usize) -> Self {
        Self { slice, size: checked(size) }
    }
}

/// Chunks from the end of a mutable slice: the last in order, at its start, may be shorter.
#[derive(Debug)]
pub struct RChunksMut<'a, T> {
    slice: SliceMut<'a, T>,
    size: usize,
}

impl<'a, T> RChunksMut<'a, T> {
    /// Chunks of `size` elements.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    #[track_caller]
    pub fn new(slice: &'a mut [T], size: usize) -> Self {
        Self { slice: SliceMut::new(slice), size: checked(size) }
    }
}

/// The [`Items`] of chunks of a slice.
macro_rules! chunks {
    ($shared:ident, $mutable:ident, $chunks:ident, $chunks_mut:ident, $from_end:literal) => {
        // SAFETY: chunks of a shared slice may be read by any thread.
        unsafe impl<'a, T: Sync> Items for $shared<'a, T> {
            type Item = &'a [T];
            type Piece = std::slice::$shared<'a, T>;

            #[inline]
            fn length(&self) -> usize {
                self.slice.len().div_ceil(self.size)
            }

            #[inline]
            unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
                let part = covered(&range, self.size, self.slice.len(), $from_end);
                // SAFETY: chunks cover indices of the slice.
                unsafe { self.slice.get_unchecked(part) }.$chunks(self.size)
            }
        }

        // SAFETY: pieces are shared references.
        unsafe impl<T: Sync> ReadItems for $shared<'_, T> {}

        // SAFETY: disjoint ranges of chunks cover disjoint ranges of the slice.
        unsafe impl<'a, T: Send> Items for $mutable<'a, T> {
            type Item = &'a mut [T];
            type Piece = std::slice::$mutable<'a, T>;

            #[inline]
            fn length(&self) -> usize {
                self.slice.length().div_ceil(self.size)
            }

            #[inline]
            unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
                let part = covered(&range, self.size, self.slice.length(), $from_end);
                // SAFETY: each chunk is requested once, so each index of the slice is; chunks
                // cover indices of the slice.
                unsafe { self.slice.slice(part) }.$chunks_mut(self.size)
            }
        }
    };
}

/// Chunks of exactly one size: those of a slice without its remainder.
macro_rules! exact_chunks {
    ($shared:ident, $mutable:ident, $from_end:literal) => {
        /// Chunks of exactly one size of a shared slice, without its remainder.
        #[derive(Debug, Clone, Copy)]
        pub struct $shared<'a, T> {
            slice: &'a [T],
            size: usize,
            remainder: &'a [T],
        }

        impl<'a, T> $shared<'a, T> {
            /// Chunks of `size` elements.
            ///
            /// # Panics
            ///
            /// If `size` is 0.
            #[track_caller]
            pub fn new(slice: &'a [T], size: usize) -> Self {
                let rest = slice.len() % checked(size);
                let (slice, remainder) = if $from_end {
                    let (remainder, slice) = slice.split_at(rest);
                    (slice, remainder)
                } else {
                    slice.split_at(slice.len() - rest)
                };
                Self { slice, size, remainder }
            }

            /// The elements of no chunk.
            pub fn remainder(&self) -> &'a [T] {
                self.remainder
            }
        }

        /// Chunks of exactly one size of a mutable slice, without its remainder.
        #[derive(Debug)]
        pub struct $mutable<'a, T> {
            slice: SliceMut<'a, T>,
            size: usize,
            remainder: SliceMut<'a, T>,
        }

        impl<'a, T> $mutable<'a, T> {
            /// Chunks of `size` elements.
            ///
            /// # Panics
            ///
            /// If `size` is 0.
            #[track_caller]
            pub fn new(slice: &'a mut [T], size: usize) -> Self {
                let rest = slice.len() % checked(size);
                let (slice, remainder) = if $from_end {
                    let (remainder, slice) = slice.split_at_mut(rest);
                    (slice, remainder)
                } else {
                    slice.split_at_mut(slice.len() - rest)
                };
                Self { slice: SliceMut::new(slice), size, remainder: SliceMut::new(remainder) }
            }

            /// The elements of no chunk; none after the first call.
            pub fn take_remainder(&mut self) -> &'a mut [T] {
                std::mem::replace(&mut self.remainder, SliceMut::new(&mut [])).into_slice()
            }

            /// The elements of no chunk.
            pub fn remainder(&mut self) -> &mut [T] {
                self.remainder.as_mut_slice()
            }
        }
    };
}

exact_chunks!(ChunksExact, ChunksExactMut, false);
exact_chunks!(RChunksExact, RChunksExactMut, true);

chunks!(RChunks, RChunksMut, rchunks, rchunks_mut, true);
chunks!(ChunksExact, ChunksExactMut, chunks_exact, chunks_exact_mut, false);
chunks!(RChunksExact, RChunksExactMut, rchunks_exact, rchunks_exact_mut, true);
