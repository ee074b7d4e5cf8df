//! The trait of chains that have one item at each position.

use std::ops::Range;

use super::ParIter;

/// A chain that has exactly one item at each position, so that its items can be numbered, paired
/// and reversed. [`IndexedParallelIterator`](super::IndexedParallelIterator) is the same without a
/// control.
///
/// # Safety
///
/// `piece` yields exactly one item for each position, in order, and `backward` the same items in
/// the reverse order. [`opt_len`](ParIter::opt_len) is `Some(positions())`.
pub unsafe trait IndexedParIter: ParIter {
    /// The items of a range, in order.
    #[doc(hidden)]
    type Piece<'p>: Iterator<Item = Self::Item>
    where
        Self: 'p;
    /// The items of a range, from the last to the first.
    #[doc(hidden)]
    type Backward<'p>: Iterator<Item = Self::Item>
    where
        Self: 'p;

    /// # Safety
    ///
    /// As for [`ParIter::run`].
    #[doc(hidden)]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_>;

    /// # Safety
    ///
    /// As for [`ParIter::run`].
    #[doc(hidden)]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_>;

    /// The number of items.
    #[inline]
    fn len(&self) -> usize {
        self.positions()
    }
}
