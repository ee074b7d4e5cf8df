//! Indexed items that several workers visit at once; one worker visits each index.
//!
//! Access is by range, not by index. A worker that has claimed a range gets an ordinary iterator
//! over it, such as a slice's, so inner loops are vectorised as serial ones are.
//!
//! # Invariants
//!
//! - I1: each index of an `Items` value is requested at most once, unless the type is also
//!   [`ReadItems`].
//! - I2: pieces of disjoint ranges share no mutable data.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{ControlFlow, Range};

/// A sequence of items with a length, which is read by ranges.
///
/// # Safety
///
/// Pieces of disjoint ranges may be used at the same time on different threads. `piece` must be
/// sound for every range below the length that was not requested before, in any order of the
/// ranges, and has at most as many items as the range has indices if [`EXACT`](Self::EXACT).
/// `length` is constant.
pub unsafe trait Items: Send + Sync {
    /// The item of one index.
    type Item;
    /// The items of a range, in order.
    type Piece: Iterator<Item = Self::Item>;

    /// Whether there is exactly one item at each index. If not, a range may have any number of
    /// items, and `length` is the number of indices.
    const EXACT: bool = true;

    /// The number of items.
    fn length(&self) -> usize;

    /// The items of `range`.
    ///
    /// # Safety
    ///
    /// `range` is ascending and ends at or below `length()`. No index of it is requested again,
    /// except of a [`ReadItems`]. The piece is dropped before these items are, and these items are
    /// not cloned after the first request.
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece;

    /// Passes the items of `range` to `sink`, in order, until that breaks.
    ///
    /// Slices have a loop of their own, over indices: the compiler knows its length, and unrolls
    /// it, where the length of a loop between two pointers is too complicated.
    ///
    /// # Safety
    ///
    /// As for [`piece`](Self::piece).
    #[inline]
    unsafe fn visit<S>(&self, range: Range<usize>, sink: S) -> ControlFlow<()>
    where
        S: FnMut(Self::Item) -> ControlFlow<()>,
    {
        // SAFETY: the caller's promise is the same.
        unsafe { self.piece(range) }.try_for_each(sink)
    }
}

/// Items that may be requested any number of times, also at the same time.
///
/// # Safety
///
/// `piece` is sound for overlapping ranges.
pub unsafe trait ReadItems: Items {}

/// Types that [`Items`] can be made of: references to slices, vectors and arrays, and ranges of
/// integers.
pub trait IntoItems {
    /// The items.
    type Items: Items;

    /// Converts to items.
    fn into_items(self) -> Self::Items;
}

// SAFETY: any thread may read shared slices at any time (`T: Sync`).
unsafe impl<'a, T: Sync> Items for &'a [T] {
    type Item = &'a T;
    type Piece = std::slice::Iter<'a, T>;

    #[inline]
    fn length(&self) -> usize {
        <[T]>::len(self)
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
        // SAFETY: `range` is ascending and ends at or below the length.
        unsafe { self.get_unchecked(range) }.iter()
    }

    #[inline]
    unsafe fn visit<S>(&self, mut range: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(&'a T) -> ControlFlow<()>,
    {
        // SAFETY: as in `piece`.
        range.try_for_each(|index| sink(unsafe { self.get_unchecked(index) }))
    }
}

// SAFETY: pieces are shared references.
unsafe impl<T: Sync> ReadItems for &[T] {}

/// A mutable slice, taken apart into disjoint pieces.
pub struct SliceMut<'a, T> {
    start: *mut T,
    len: usize,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: it stands for a `&mut [T]`, which may be sent where `T` may.
unsafe impl<T: Send> Send for SliceMut<'_, T> {}
// SAFETY: sharing it only allows to take disjoint pieces (I1), each of which is a `&mut [T]` of its
// own thread.
unsafe impl<T: Send> Sync for SliceMut<'_, T> {}

impl<T> fmt::Debug for SliceMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SliceMut").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<'a, T> SliceMut<'a, T> {
    /// The items of `slice`, by mutable reference.
    #[inline]
    pub fn new(slice: &'a mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), borrow: PhantomData }
    }

    /// The whole slice, if no piece of it was taken.
    #[inline]
    pub fn into_slice(self) -> &'a mut [T] {
        // SAFETY: `start` and `len` are those of the slice that is borrowed for `'a`. `self` is
        // consumed, and a loop consumes its items, so no piece of it exists.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }

    /// The whole slice, while no piece of it is requested.
    #[inline]
    pub(super) fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as in `into_slice`; the mutable borrow of `self` lasts as long as the result.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }

    /// The start of the slice.
    #[inline]
    pub(super) fn start(&self) -> *mut T {
        self.start
    }

    /// # Safety
    ///
    /// As for [`Items::piece`].
    #[inline]
    pub(super) unsafe fn slice(&self, range: Range<usize>) -> &'a mut [T] {
        // SAFETY: the range lies within the slice borrowed for `'a`, and by I1 no other reference
        // to it exists or will.
        unsafe {
            std::slice::from_raw_parts_mut(self.start.add(range.start), range.end - range.start)
        }
    }
}

// SAFETY: disjoint ranges are disjoint memory (I2).
unsafe impl<'a, T: Send> Items for SliceMut<'a, T> {
    type Item = &'a mut T;
    type Piece = std::slice::IterMut<'a, T>;

    #[inline]
    fn length(&self) -> usize {
        self.len
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
        // SAFETY: the caller's promise is the same.
        unsafe { self.slice(range) }.iter_mut()
    }

    #[inline]
    unsafe fn visit<S>(&self, mut range: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(&'a mut T) -> ControlFlow<()>,
    {
        // SAFETY: by I1 no other reference to these elements exists or will, and each is below the
        // length.
        range.try_for_each(|index| sink(unsafe { &mut *self.start.add(index) }))
    }
}

impl<'a, T: Sync> IntoItems for &'a [T] {
    type Items = &'a [T];

    #[inline]
    fn into_items(self) -> Self::Items {
        self
    }
}

impl<'a, T: Send> IntoItems for &'a mut [T] {
    type Items = SliceMut<'a, T>;

    #[inline]
    fn into_items(self) -> Self::Items {
        SliceMut::new(self)
    }
}

impl<'a, T: Sync> IntoItems for &'a Vec<T> {
    type Items = &'a [T];

    #[inline]
    fn into_items(self) -> Self::Items {
        self
    }
}

impl<'a, T: Send> IntoItems for &'a mut Vec<T> {
    type Items = SliceMut<'a, T>;

    #[inline]
    fn into_items(self) -> Self::Items {
        SliceMut::new(self)
    }
}

impl<'a, T: Sync, const N: usize> IntoItems for &'a [T; N] {
    type Items = &'a [T];

    #[inline]
    fn into_items(self) -> Self::Items {
        self
    }
}

impl<'a, T: Send, const N: usize> IntoItems for &'a mut [T; N] {
    type Items = SliceMut<'a, T>;

    #[inline]
    fn into_items(self) -> Self::Items {
        SliceMut::new(self)
    }
}
