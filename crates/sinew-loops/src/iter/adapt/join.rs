//! Adaptors that join two chains. The options are those of the first.

use std::ops::{ControlFlow, Range};

use crate::iter::{IndexedPositions, Positions};

adaptors! {
    /// The chain of [`zip`](crate::iter::IndexedParIter::zip).
    Zip<B, C> { other: C }
    /// The chain of [`chain`](crate::iter::ParIter::chain).
    Chain<B, C> { other: C }
    /// The chain of [`interleave`](crate::iter::IndexedParIter::interleave).
    Interleave<B, C> { other: C }
}

// SAFETY: position `i` is position `i` of both.
unsafe impl<B: IndexedPositions, C: IndexedPositions> Positions for Zip<B, C> {
    type Item = (B::Item, C::Item);
    forward_to_base!(indexed);

    #[inline]
    fn num_positions(&self) -> usize {
        self.base.num_positions().min(self.other.num_positions())
    }
}

// SAFETY: as above.
unsafe impl<B: IndexedPositions, C: IndexedPositions> IndexedPositions for Zip<B, C> {
    type Piece<'p>
        = std::iter::Zip<B::Piece<'p>, C::Piece<'p>>
    where
        Self: 'p;
    type Backward<'p>
        = std::iter::Zip<B::Backward<'p>, C::Backward<'p>>
    where
        Self: 'p;

    #[inline]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_> {
        // SAFETY: the range ends at or below the shorter length; the caller's promise is the same.
        unsafe { self.base.piece(positions.clone()).zip(self.other.piece(positions)) }
    }

    #[inline]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_> {
        // SAFETY: as in `piece`.
        unsafe { self.base.backward(positions.clone()).zip(self.other.backward(positions)) }
    }
}

impl<B: Positions, C: Positions> Chain<B, C> {
    /// The positions of each part.
    #[inline]
    fn parts(&self, positions: Range<usize>) -> (Range<usize>, Range<usize>) {
        let middle = self.base.num_positions();
        let first = positions.start.min(middle)..positions.end.min(middle);
        let second = positions.start.saturating_sub(middle)..positions.end.saturating_sub(middle);
        (first, second)
    }
}

// SAFETY: the positions of the second chain follow those of the first.
unsafe impl<B: Positions, C: Positions<Item = B::Item>> Positions for Chain<B, C> {
    type Item = B::Item;
    forward_to_base!();

    #[inline]
    fn num_positions(&self) -> usize {
        // Chains without an end have the most positions.
        self.base.num_positions().saturating_add(self.other.num_positions())
    }

    #[inline]
    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()?.checked_add(self.other.opt_len()?)
    }

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(B::Item) -> ControlFlow<()>,
    {
        let (first, second) = self.parts(positions);
        let mut flow = ControlFlow::Continue(());
        if !first.is_empty() {
            let noted = |item| {
                flow = sink(item);
                flow
            };
            // The first chain may break because it has no more items; the second one has.
            // SAFETY: the range lies below the first chain's positions; the caller's promise is the
            // same.
            let _ = unsafe { self.base.run(first, noted) };
        }
        flow?;
        if second.is_empty() {
            return flow;
        }
        // SAFETY: as above, for the second chain.
        unsafe { self.other.run(second, sink) }
    }
}

// SAFETY: as above.
unsafe impl<B: IndexedPositions, C: IndexedPositions<Item = B::Item>> IndexedPositions
    for Chain<B, C>
{
    type Piece<'p>
        = std::iter::Chain<B::Piece<'p>, C::Piece<'p>>
    where
        Self: 'p;
    type Backward<'p>
        = std::iter::Chain<C::Backward<'p>, B::Backward<'p>>
    where
        Self: 'p;

    #[inline]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_> {
        let (first, second) = self.parts(positions);
        // SAFETY: the ranges lie below the chains' positions; the caller's promise is the same.
        unsafe { self.base.piece(first).chain(self.other.piece(second)) }
    }

    #[inline]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_> {
        let (first, second) = self.parts(positions);
        // SAFETY: as in `piece`.
        unsafe { self.other.backward(second).chain(self.base.backward(first)) }
    }
}

/// Where the items of an interleaved chain come from.
#[derive(Debug, Clone, Copy)]
struct Pattern {
    /// Up to this position the parts take turns.
    alternating: usize,
    /// Whether the first part has more items than the second.
    first_is_longer: bool,
}

impl Pattern {
    #[inline]
    fn is_from_first(self, position: usize) -> bool {
        if position < self.alternating { position.is_multiple_of(2) } else { self.first_is_longer }
    }

    /// How many of the items before `position` come from the first part.
    #[inline]
    fn count_of_first(self, position: usize) -> usize {
        let turns = position.min(self.alternating).div_ceil(2);
        turns + if self.first_is_longer { position.saturating_sub(self.alternating) } else { 0 }
    }

    /// The positions of each part.
    #[inline]
    fn parts(self, positions: &Range<usize>) -> (Range<usize>, Range<usize>) {
        let first = self.count_of_first(positions.start)..self.count_of_first(positions.end);
        let second = positions.start - first.start..positions.end - first.end;
        (first, second)
    }
}

impl<B: IndexedPositions, C: IndexedPositions<Item = B::Item>> Interleave<B, C> {
    #[inline]
    fn pattern(&self) -> Pattern {
        let (first, second) = (self.base.num_positions(), self.other.num_positions());
        Pattern { alternating: 2 * first.min(second), first_is_longer: first > second }
    }
}

// SAFETY: the parts' positions are disjoint, and different positions have different ones.
unsafe impl<B: IndexedPositions, C: IndexedPositions<Item = B::Item>> Positions
    for Interleave<B, C>
{
    type Item = B::Item;
    forward_to_base!(indexed);

    #[inline]
    fn num_positions(&self) -> usize {
        self.base.num_positions() + self.other.num_positions()
    }
}

// SAFETY: as above.
unsafe impl<B: IndexedPositions, C: IndexedPositions<Item = B::Item>> IndexedPositions
    for Interleave<B, C>
{
    type Piece<'p>
        = Interleaved<B::Piece<'p>, C::Piece<'p>, Range<usize>>
    where
        Self: 'p;
    type Backward<'p>
        = Interleaved<B::Backward<'p>, C::Backward<'p>, std::iter::Rev<Range<usize>>>
    where
        Self: 'p;

    #[inline]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_> {
        let pattern = self.pattern();
        let (first, second) = pattern.parts(&positions);
        // SAFETY: the ranges lie below the parts' positions; the caller's promise is the same.
        let (first, second) = unsafe { (self.base.piece(first), self.other.piece(second)) };
        Interleaved { first, second, positions, pattern }
    }

    #[inline]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_> {
        let pattern = self.pattern();
        let (first, second) = pattern.parts(&positions);
        // SAFETY: as in `piece`.
        let (first, second) = unsafe { (self.base.backward(first), self.other.backward(second)) };
        Interleaved { first, second, positions: positions.rev(), pattern }
    }
}

/// The items of a range of an interleaved chain.
#[derive(Debug)]
pub struct Interleaved<A, B, P> {
    first: A,
    second: B,
    positions: P,
    pattern: Pattern,
}

impl<T, A, B, P> Iterator for Interleaved<A, B, P>
where
    A: Iterator<Item = T>,
    B: Iterator<Item = T>,
    P: Iterator<Item = usize>,
{
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let position = self.positions.next()?;
        if self.pattern.is_from_first(position) { self.first.next() } else { self.second.next() }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.positions.size_hint()
    }
}
