//! The trait that sources and adaptors implement.

use std::ops::{ControlFlow, Range};

use super::Mode;
use crate::loops::Options;

/// What a chain is made of: positions with items, and the options of its loop. Its methods are
/// those of [`ParIter`](super::ParIter).
///
/// # Safety
///
/// `run` is sound for every range of positions that was not requested before, also at the same time
/// on different threads, and keeps C2. `num_positions` is constant.
pub unsafe trait Positions: Sized + Send + Sync {
    /// The items.
    type Item: Send;
    /// What the last call returns.
    type Mode: Mode;

    /// The number of positions.
    #[doc(hidden)]
    fn num_positions(&self) -> usize;

    /// The number of items if each position has exactly one.
    #[inline]
    fn opt_len(&self) -> Option<usize> {
        None
    }

    /// The options of the loop.
    #[doc(hidden)]
    fn options(&self) -> Options<'_>;

    #[doc(hidden)]
    fn change_options(&mut self, change: impl FnOnce(&mut Options<'_>));

    /// Pushes the items of `positions` into `sink`, in order, until it breaks. Returns the break of
    /// `sink`; also `Break` if no position has an item any more.
    ///
    /// # Safety
    ///
    /// `positions` is ascending and ends at or below `num_positions()`; none of it was or is requested
    /// a second time (C1). What `run` and pieces return is dropped before the chain.
    #[doc(hidden)]
    unsafe fn run<S>(&self, positions: Range<usize>, sink: S) -> ControlFlow<()>
    where
        S: FnMut(Self::Item) -> ControlFlow<()>;
}
