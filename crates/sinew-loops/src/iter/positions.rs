//! The traits that sources and adaptors implement, and what makes chains.

use std::ops::{ControlFlow, Range};

use sinew_core::{Cancelled, Worker};

use super::mode::{Mode, Uncontrolled};
use crate::loops::Options;

/// The parts of a chain: positions with items, and the options of its loop. Its methods are
/// those of [`ParIter`](super::ParIter).
///
/// # Safety
///
/// `run` is sound for every range of positions that was not requested before, also at the same time
/// on different threads, and keeps C2. If `opt_len` is `Some`, it pushes at most as many items as
/// there are positions in the range. `num_positions` is constant.
pub unsafe trait Positions: Sized + Send + Sync {
    /// The items.
    type Item: Send;
    /// The type of the last call's result.
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
    /// `positions` is ascending and ends at or below `num_positions()`; none of it was or is
    /// requested a second time (C1). Pieces are dropped before the chain.
    #[doc(hidden)]
    unsafe fn run<S>(&self, positions: Range<usize>, sink: S) -> ControlFlow<()>
    where
        S: FnMut(Self::Item) -> ControlFlow<()>;

    /// Runs the chain as `run` says, in the current pool.
    #[doc(hidden)]
    #[inline]
    fn end<R: Send>(
        self,
        run: impl FnOnce(&Worker, &Self, &Options<'_>) -> Result<R, Cancelled> + Send,
    ) -> Out<Self, R> {
        let ended = sinew_core::run(|w| {
            let meter = Self::Mode::meter(w);
            let options = Options { meter: meter.as_ref(), ..self.options() };
            let value = run(w, &self, &options)?;
            Ok((value, meter.map(|meter| meter.read())))
        });
        Self::Mode::measured(ended)
    }
}

/// Positions with exactly one item each.
///
/// # Safety
///
/// `piece` yields exactly one item for each position, in order, and `backward` the same items in
/// the reverse order. [`opt_len`](Positions::opt_len) is `Some(num_positions())`.
pub unsafe trait IndexedPositions: Positions {
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
    /// As for [`Positions::run`].
    #[doc(hidden)]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_>;

    /// # Safety
    ///
    /// As for [`Positions::run`].
    #[doc(hidden)]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_>;
}

/// Types that a chain can be made of, by value.
pub trait IntoParallelIterator {
    /// The items.
    type Item: Send;
    /// The chain.
    type Iter: Positions<Item = Self::Item, Mode = Uncontrolled>;

    /// A chain over all items of `self`.
    fn into_par_iter(self) -> Self::Iter;
}

impl<P: Positions<Mode = Uncontrolled>> IntoParallelIterator for P {
    type Item = P::Item;
    type Iter = P;

    #[inline]
    fn into_par_iter(self) -> P {
        self
    }
}

/// The type that a last call of the chain `P` returns: `T`, or a result with `T` if the chain has a
/// [control](super::Over::control), or a pair with `T` if it has a [meter](super::Over::metrics).
pub type Out<P, T> = <<P as Positions>::Mode as Mode>::Output<T>;
