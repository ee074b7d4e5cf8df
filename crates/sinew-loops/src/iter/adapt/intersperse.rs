//! Separators between items.

use std::iter::Rev;
use std::ops::Range;

use crate::iter::{IndexedPositions, Positions};

adaptors! {
    /// The chain of [`intersperse`](crate::iter::IndexedParIter::intersperse).
    Intersperse<B, T> { separator: T }
}

/// The positions of the items: those of separators are odd.
#[inline]
fn within(positions: &Range<usize>) -> Range<usize> {
    positions.start.div_ceil(2)..positions.end.div_ceil(2)
}

// SAFETY: different positions stand for different ones of the chain within, or for separators.
unsafe impl<B: IndexedPositions<Item = T>, T: Clone + Send + Sync> Positions for Intersperse<B, T> {
    type Item = T;
    forward_to_base!(indexed);

    #[inline]
    fn num_positions(&self) -> usize {
        // Chains without an end have the most positions.
        self.base.num_positions().saturating_mul(2).saturating_sub(1)
    }
}

// SAFETY: as above.
unsafe impl<B: IndexedPositions<Item = T>, T: Clone + Send + Sync> IndexedPositions
    for Intersperse<B, T>
{
    type Piece<'p>
        = Interspersed<'p, B::Piece<'p>, T, Range<usize>>
    where
        Self: 'p;
    type Backward<'p>
        = Interspersed<'p, B::Backward<'p>, T, Rev<Range<usize>>>
    where
        Self: 'p;

    #[inline]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_> {
        // SAFETY: the range lies below the positions within; the caller's promise is the same.
        let items = unsafe { self.base.piece(within(&positions)) };
        Interspersed { items, positions, separator: &self.separator }
    }

    #[inline]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_> {
        // SAFETY: as in `piece`.
        let items = unsafe { self.base.backward(within(&positions)) };
        Interspersed { items, positions: positions.rev(), separator: &self.separator }
    }
}

/// The items and separators of a range.
#[derive(Debug)]
pub struct Interspersed<'p, I, T, P> {
    items: I,
    positions: P,
    separator: &'p T,
}

impl<I, T, P> Iterator for Interspersed<'_, I, T, P>
where
    I: Iterator<Item = T>,
    T: Clone,
    P: Iterator<Item = usize>,
{
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let is_item = self.positions.next()?.is_multiple_of(2);
        if is_item { self.items.next() } else { Some(self.separator.clone()) }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.positions.size_hint()
    }
}
