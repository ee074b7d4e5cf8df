//! Adaptors that number, reverse or leave out positions.

use std::ops::{ControlFlow, Range};

use crate::iter::{IndexedPositions, Positions};

adaptors! {
    /// The chain of [`enumerate`](crate::iter::IndexedParIter::enumerate).
    Enumerate<B> {}
    /// The chain of [`positions`](crate::iter::IndexedParIter::positions).
    Numbers<B, F> { f: F }
    /// The chain of [`rev`](crate::iter::IndexedParIter::rev).
    Rev<B> {}
    /// The chain of [`skip`](crate::iter::IndexedParIter::skip).
    Skip<B> { skipped: usize }
    /// The chain of [`take`](crate::iter::IndexedParIter::take).
    Take<B> { taken: usize }
    /// The chain of [`step_by`](crate::iter::IndexedParIter::step_by).
    StepBy<B> { step: usize }
}

// SAFETY: the positions of the chain within.
unsafe impl<B: IndexedPositions> Positions for Enumerate<B> {
    type Item = (usize, B::Item);
    forward_to_base!(len);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(Self::Item) -> ControlFlow<()>,
    {
        let mut number = positions.start;
        let numbered = |item| {
            let flow = sink((number, item));
            number += 1;
            flow
        };
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, numbered) }
    }
}

// SAFETY: as above.
unsafe impl<B: IndexedPositions> IndexedPositions for Enumerate<B> {
    type Piece<'p>
        = std::iter::Zip<Range<usize>, B::Piece<'p>>
    where
        Self: 'p;
    type Backward<'p>
        = std::iter::Zip<std::iter::Rev<Range<usize>>, B::Backward<'p>>
    where
        Self: 'p;

    #[inline]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_> {
        // SAFETY: the caller's promise is the same.
        positions.clone().zip(unsafe { self.base.piece(positions) })
    }

    #[inline]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_> {
        // SAFETY: the caller's promise is the same.
        positions.clone().rev().zip(unsafe { self.base.backward(positions) })
    }
}

// SAFETY: the positions of some items of the chain within.
unsafe impl<B: IndexedPositions, F: Fn(B::Item) -> bool + Sync + Send> Positions for Numbers<B, F> {
    type Item = usize;
    forward_to_base!(positions);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(usize) -> ControlFlow<()>,
    {
        let mut number = positions.start;
        let found = |item| {
            let flow = if (self.f)(item) { sink(number) } else { ControlFlow::Continue(()) };
            number += 1;
            flow
        };
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, found) }
    }
}

impl<B: Positions> Rev<B> {
    /// The same positions, counted from the other end.
    #[inline]
    fn mirrored(&self, positions: &Range<usize>) -> Range<usize> {
        let len = self.base.num_positions();
        len - positions.end..len - positions.start
    }
}

// SAFETY: each position stands for another one of the chain within.
unsafe impl<B: IndexedPositions> Positions for Rev<B> {
    type Item = B::Item;
    forward_to_base!(indexed);

    #[inline]
    fn num_positions(&self) -> usize {
        self.base.num_positions()
    }
}

// SAFETY: as above.
unsafe impl<B: IndexedPositions> IndexedPositions for Rev<B> {
    type Piece<'p>
        = B::Backward<'p>
    where
        Self: 'p;
    type Backward<'p>
        = B::Piece<'p>
    where
        Self: 'p;

    #[inline]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_> {
        // SAFETY: the caller's promise is the same, for other positions.
        unsafe { self.base.backward(self.mirrored(&positions)) }
    }

    #[inline]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_> {
        // SAFETY: as in `piece`.
        unsafe { self.base.piece(self.mirrored(&positions)) }
    }
}

/// Adaptors with some of the positions of the chain within, and its items.
macro_rules! fewer_positions {
    ($($name:ident, $self:ident => $len:expr, $positions:ident => $within:expr;)*) => {$(
        // SAFETY: different positions stand for different ones of the chain within.
        unsafe impl<B: IndexedPositions> Positions for $name<B> {
            type Item = B::Item;
            forward_to_base!(indexed);

            #[inline]
            fn num_positions(&$self) -> usize {
                $len
            }
        }

        // SAFETY: as above.
        unsafe impl<B: IndexedPositions> IndexedPositions for $name<B> {
            type Piece<'p> = B::Piece<'p> where Self: 'p;
            type Backward<'p> = B::Backward<'p> where Self: 'p;

            #[inline]
            unsafe fn piece(&$self, $positions: Range<usize>) -> Self::Piece<'_> {
                // SAFETY: the positions lie within; the caller's promise is the same.
                unsafe { $self.base.piece($within) }
            }

            #[inline]
            unsafe fn backward(&$self, $positions: Range<usize>) -> Self::Backward<'_> {
                // SAFETY: as in `piece`.
                unsafe { $self.base.backward($within) }
            }
        }
    )*};
}

fewer_positions! {
    Take, self => self.base.num_positions().min(self.taken), positions => positions;
    Skip, self => self.base.num_positions().saturating_sub(self.skipped), positions => {
        // An empty chain within may have fewer positions than are skipped.
        let skipped = self.skipped.min(self.base.num_positions());
        positions.start + skipped..positions.end + skipped
    };
}

impl<B: Positions> StepBy<B> {
    /// The positions of the chain within, from the first to the last one of a step.
    #[inline]
    fn within(&self, positions: &Range<usize>) -> Range<usize> {
        if positions.is_empty() {
            return 0..0;
        }
        positions.start * self.step..(positions.end - 1) * self.step + 1
    }
}

// SAFETY: different positions stand for disjoint ranges of the chain within.
unsafe impl<B: IndexedPositions> Positions for StepBy<B> {
    type Item = B::Item;
    forward_to_base!(indexed);

    #[inline]
    fn num_positions(&self) -> usize {
        self.base.num_positions().div_ceil(self.step)
    }
}

// SAFETY: as above.
unsafe impl<B: IndexedPositions> IndexedPositions for StepBy<B> {
    type Piece<'p>
        = std::iter::StepBy<B::Piece<'p>>
    where
        Self: 'p;
    type Backward<'p>
        = std::iter::StepBy<B::Backward<'p>>
    where
        Self: 'p;

    #[inline]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_> {
        // SAFETY: the positions lie within, and no other range has them; the caller's promise is
        // the same.
        unsafe { self.base.piece(self.within(&positions)) }.step_by(self.step)
    }

    #[inline]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_> {
        // SAFETY: as in `piece`.
        unsafe { self.base.backward(self.within(&positions)) }.step_by(self.step)
    }
}
