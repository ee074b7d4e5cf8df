//! The elements of a vector, by value.
//!
//! # Invariants
//!
//! - W1: an element is dropped by the piece that contains its index, by the code that the piece
//!   gave it to, or, if no piece did, by the [`Owned`] items.

use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit, needs_drop};
use std::ops::Range;

use sinew_sync::lock::Mutex;

use super::items::{IntoItems, Items};

/// The ranges of elements that pieces were requested for; empty if elements have no drop glue.
#[derive(Debug, Default)]
pub(super) struct Requested(Mutex<Vec<Range<usize>>>);

impl Requested {
    /// A piece becomes the owner of the elements of `range`.
    #[inline]
    pub(super) fn note<T>(&self, range: &Range<usize>) {
        if needs_drop::<T>() {
            let mut requested = self.0.lock();
            match requested.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => requested.push(range.clone()),
            }
        }
    }

    /// Drops the elements that no piece became the owner of.
    ///
    /// # Safety
    ///
    /// `start` points to `len` elements, of which those are gone whose ranges were noted. The
    /// others are not used again.
    pub(super) unsafe fn drop_rest<T>(&mut self, start: *mut T, len: usize) {
        if !needs_drop::<T>() {
            return;
        }
        let mut requested = std::mem::take(&mut *self.0.lock());
        requested.sort_unstable_by_key(|range| range.start);
        let ends = requested.iter().map(|range| range.start).chain([len]);
        let starts = [0].into_iter().chain(requested.iter().map(|range| range.end));
        for (from, to) in starts.zip(ends).filter(|(from, to)| from < to) {
            // SAFETY: no piece had these elements, so they are still here (W1).
            unsafe {
                std::ptr::slice_from_raw_parts_mut(start.add(from), to - from).drop_in_place();
            };
        }
    }
}

/// The elements of a vector, each of which moves out once.
///
/// # Cost
///
/// A lock and an entry of a list for a piece whose elements have drop glue; nothing for others.
pub struct Owned<T> {
    /// Its elements are not the vector's to drop.
    elements: Vec<MaybeUninit<T>>,
    requested: Requested,
}

// SAFETY: pieces move elements to other threads; each element goes to one of them (I1), and no
// reference to one is shared.
unsafe impl<T: Send> Sync for Owned<T> {}

impl<T> fmt::Debug for Owned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owned").field("len", &self.elements.len()).finish_non_exhaustive()
    }
}

impl<T> From<Vec<T>> for Owned<T> {
    #[inline]
    fn from(vector: Vec<T>) -> Self {
        let mut vector = ManuallyDrop::new(vector);
        let (start, len, capacity) = (vector.as_mut_ptr(), vector.len(), vector.capacity());
        // SAFETY: the parts are those of a vector that is not dropped, and `MaybeUninit<T>` has the
        // layout of `T`.
        let elements = unsafe { Vec::from_raw_parts(start.cast(), len, capacity) };
        Self { elements, requested: Requested::default() }
    }
}

impl<T: Clone> Clone for Owned<T> {
    /// Clones all elements. Pieces are requested by a last call, which has the chain by value; so
    /// no piece has an element when a chain is cloned.
    fn clone(&self) -> Self {
        // SAFETY: no piece was requested before (the promise of `Items::piece`), so the elements
        // are here.
        let elements = unsafe { std::slice::from_raw_parts(self.start(), self.elements.len()) };
        Self::from(elements.to_vec())
    }
}

impl<T> Owned<T> {
    /// The first element.
    #[inline]
    fn start(&self) -> *mut T {
        self.elements.as_ptr().cast::<T>().cast_mut()
    }
}

// SAFETY: pieces of disjoint ranges own different elements.
unsafe impl<T: Send> Items for Owned<T> {
    type Item = T;
    type Piece = OwnedPiece<T>;

    #[inline]
    fn length(&self) -> usize {
        self.elements.len()
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> OwnedPiece<T> {
        self.requested.note::<T>(&range);
        // SAFETY: the range lies in the vector, and by I1 no other piece has its elements.
        unsafe { OwnedPiece::new(self.start(), range) }
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        let (start, len) = (self.start(), self.elements.len());
        // SAFETY: every piece was noted; the vector does not drop its elements.
        unsafe { self.requested.drop_rest(start, len) };
    }
}

/// Some elements of a vector, by value. Dropping it drops those that are left.
pub struct OwnedPiece<T> {
    start: *mut T,
    left: Range<usize>,
}

// SAFETY: it owns its elements.
unsafe impl<T: Send> Send for OwnedPiece<T> {}

impl<T> OwnedPiece<T> {
    /// The elements of `range`.
    ///
    /// # Safety
    ///
    /// `start` points to the elements, and the piece becomes the only owner of those in `range`.
    #[inline]
    pub(super) unsafe fn new(start: *mut T, range: Range<usize>) -> Self {
        Self { start, left: range }
    }
}

impl<T> fmt::Debug for OwnedPiece<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPiece").field("left", &self.left).finish_non_exhaustive()
    }
}

impl<T> Iterator for OwnedPiece<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let index = self.left.next()?;
        // SAFETY: the index was left, so its element is here, and is read once.
        Some(unsafe { self.start.add(index).read() })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<T> DoubleEndedIterator for OwnedPiece<T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        let index = self.left.next_back()?;
        // SAFETY: as in `next`.
        Some(unsafe { self.start.add(index).read() })
    }
}

impl<T> ExactSizeIterator for OwnedPiece<T> {}

impl<T> Drop for OwnedPiece<T> {
    #[inline]
    fn drop(&mut self) {
        if needs_drop::<T>() {
            let Range { start, end } = std::mem::take(&mut self.left);
            // SAFETY: the elements that are left are here, and their indices are left no more.
            unsafe {
                std::ptr::slice_from_raw_parts_mut(self.start.add(start), end - start)
                    .drop_in_place();
            }
        }
    }
}

impl<T: Send> IntoItems for Vec<T> {
    type Items = Owned<T>;

    #[inline]
    fn into_items(self) -> Owned<T> {
        Owned::from(self)
    }
}

impl<T: Send, const N: usize> IntoItems for [T; N] {
    type Items = Owned<T>;

    #[inline]
    fn into_items(self) -> Owned<T> {
        Owned::from(Vec::from(self))
    }
}
