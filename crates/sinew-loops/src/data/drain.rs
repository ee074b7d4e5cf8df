//! The elements of a part of a vector, by value, as `Vec::drain` gives them.
//!
//! # Invariants
//!
//! - N1: from the beginning to the drop of a [`Drain`] the vector's length ends before the part, so
//!   a drain that is forgotten leaks elements and nothing else.
//! - N2: when the drain is dropped, pieces own the elements that were requested (W1). The drop
//!   drops the others, and moves the elements behind the part down, also if an element panics.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, Range, RangeBounds};
use std::ptr::NonNull;

use super::items::Items;
use super::owned::{OwnedPiece, Requested};

/// A part of a vector, whose elements move out once.
///
/// # Cost
///
/// As for [`Owned`](super::Owned); at the end a move of the elements behind the part.
pub struct Drain<'a, T> {
    /// A vector that is borrowed for `'a`.
    vector: NonNull<Vec<T>>,
    /// The first element of the part.
    first: *mut T,
    /// The elements of the part.
    len: usize,
    /// The elements behind it.
    tail: usize,
    requested: Requested,
    borrow: PhantomData<&'a mut Vec<T>>,
}

// SAFETY: it stands for a `&mut Vec<T>`, which may be sent where `T` may.
unsafe impl<T: Send> Send for Drain<'_, T> {}
// SAFETY: pieces move elements to other threads; each element goes to one of them (I1), and no
// reference to one is shared.
unsafe impl<T: Send> Sync for Drain<'_, T> {}

impl<T> fmt::Debug for Drain<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<'a, T> Drain<'a, T> {
    /// The elements in `range` of `vector`, which loses them.
    ///
    /// # Panics
    ///
    /// If the range does not lie in the vector.
    #[track_caller]
    pub fn new(vector: &'a mut Vec<T>, range: impl RangeBounds<usize>) -> Self {
        let all = vector.len();
        let Range { start, end } = resolved(&range, all);
        // SAFETY: the elements before `start` are initialised (N1).
        unsafe { vector.set_len(start) };
        // SAFETY: `start` is at or below the old length.
        let first = unsafe { vector.as_mut_ptr().add(start) };
        Self {
            vector: NonNull::from(vector),
            first,
            len: end - start,
            tail: all - end,
            requested: Requested::default(),
            borrow: PhantomData,
        }
    }
}

#[track_caller]
fn resolved(range: &impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    assert!(start <= end && end <= len, "the range {start}..{end} is not in a vector of {len}");
    start..end
}

// SAFETY: pieces of disjoint ranges own different elements.
unsafe impl<T: Send> Items for Drain<'_, T> {
    type Item = T;
    type Piece = OwnedPiece<T>;

    #[inline]
    fn length(&self) -> usize {
        self.len
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> OwnedPiece<T> {
        self.requested.note::<T>(&range);
        // SAFETY: the range lies in the part, and by I1 no other piece has its elements.
        unsafe { OwnedPiece::new(self.first, range) }
    }
}

impl<T> Drop for Drain<'_, T> {
    fn drop(&mut self) {
        let _close =
            Close { vector: self.vector, first: self.first, len: self.len, tail: self.tail };
        // SAFETY: every piece was noted, and the vector has these elements no more (N1).
        unsafe { self.requested.drop_rest(self.first, self.len) };
    }
}

/// Moves the elements behind the part to its beginning when it is dropped.
struct Close<T> {
    vector: NonNull<Vec<T>>,
    first: *mut T,
    len: usize,
    tail: usize,
}

impl<T> Drop for Close<T> {
    fn drop(&mut self) {
        // SAFETY: the vector is borrowed for the drain, and the elements of the part are gone. The
        // `tail` elements behind it are initialised, and follow the first ones after the move.
        unsafe {
            let vector = self.vector.as_mut();
            std::ptr::copy(self.first.add(self.len), self.first, self.tail);
            vector.set_len(vector.len() + self.tail);
        }
    }
}
