//! One of two chains.

use std::ops::{ControlFlow, Range};

pub use either::Either;

use crate::iter::{IndexedPositions, Positions};
use crate::loops::Options;

// SAFETY: the positions of one of the two.
unsafe impl<L, R> Positions for Either<L, R>
where
    L: Positions,
    R: Positions<Item = L::Item, Mode = L::Mode>,
{
    type Item = L::Item;
    type Mode = L::Mode;

    #[inline]
    fn num_positions(&self) -> usize {
        either::for_both!(self, chain => chain.num_positions())
    }

    #[inline]
    fn opt_len(&self) -> Option<usize> {
        either::for_both!(self, chain => chain.opt_len())
    }

    fn options(&self) -> Options<'_> {
        either::for_both!(self, chain => chain.options())
    }

    fn change_options(&mut self, change: impl FnOnce(&mut Options<'_>)) {
        either::for_both!(self, chain => chain.change_options(change));
    }

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, sink: S) -> ControlFlow<()>
    where
        S: FnMut(L::Item) -> ControlFlow<()>,
    {
        // SAFETY: the caller's promise is the same.
        either::for_both!(self, chain => unsafe { chain.run(positions, sink) })
    }
}

// SAFETY: as above.
unsafe impl<L, R> IndexedPositions for Either<L, R>
where
    L: IndexedPositions,
    R: IndexedPositions<Item = L::Item, Mode = L::Mode>,
{
    type Piece<'p>
        = Either<L::Piece<'p>, R::Piece<'p>>
    where
        Self: 'p;
    type Backward<'p>
        = Either<L::Backward<'p>, R::Backward<'p>>
    where
        Self: 'p;

    #[inline]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_> {
        // SAFETY: the caller's promise is the same.
        either::map_both!(self, chain => unsafe { chain.piece(positions) })
    }

    #[inline]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_> {
        // SAFETY: the caller's promise is the same.
        either::map_both!(self, chain => unsafe { chain.backward(positions) })
    }
}
