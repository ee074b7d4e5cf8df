//! Adaptors that treat every item by itself.

use std::ops::{ControlFlow, Range};

use crate::iter::{IndexedPositions, Positions};

adaptors! {
    /// The chain of [`map`](crate::iter::ParIter::map).
    Map<B, F> { f: F }
    /// The chain of [`filter`](crate::iter::ParIter::filter).
    Filter<B, F> { f: F }
    /// The chain of [`filter_map`](crate::iter::ParIter::filter_map).
    FilterMap<B, F> { f: F }
    /// The chain of [`inspect`](crate::iter::ParIter::inspect).
    Inspect<B, F> { f: F }
    /// The chain of [`update`](crate::iter::ParIter::update).
    Update<B, F> { f: F }
    /// The chain of [`cloned`](crate::iter::ParIter::cloned).
    Cloned<B> {}
    /// The chain of [`copied`](crate::iter::ParIter::copied).
    Copied<B> {}
}

// SAFETY: an item for each of the chain within.
unsafe impl<B: Positions, R: Send, F: Fn(B::Item) -> R + Sync + Send> Positions for Map<B, F> {
    type Item = R;
    forward_to_base!(len);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(R) -> ControlFlow<()>,
    {
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, |item| sink((self.f)(item))) }
    }
}

// SAFETY: as above.
unsafe impl<B: IndexedPositions, R: Send, F: Fn(B::Item) -> R + Sync + Send> IndexedPositions
    for Map<B, F>
{
    type Piece<'p>
        = std::iter::Map<B::Piece<'p>, &'p F>
    where
        Self: 'p;
    type Backward<'p>
        = std::iter::Map<B::Backward<'p>, &'p F>
    where
        Self: 'p;

    #[inline]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_> {
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.piece(positions) }.map(&self.f)
    }

    #[inline]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_> {
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.backward(positions) }.map(&self.f)
    }
}

// SAFETY: the items of each position are among those of the chain within.
unsafe impl<B: Positions, F: Fn(&B::Item) -> bool + Sync + Send> Positions for Filter<B, F> {
    type Item = B::Item;
    forward_to_base!(positions);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(B::Item) -> ControlFlow<()>,
    {
        let keep = |item| if (self.f)(&item) { sink(item) } else { ControlFlow::Continue(()) };
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, keep) }
    }
}

// SAFETY: the items of each position come from those of the chain within.
unsafe impl<B: Positions, R: Send, F: Fn(B::Item) -> Option<R> + Sync + Send> Positions
    for FilterMap<B, F>
{
    type Item = R;
    forward_to_base!(positions);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(R) -> ControlFlow<()>,
    {
        let keep = |item| (self.f)(item).map_or(ControlFlow::Continue(()), &mut sink);
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, keep) }
    }
}

// SAFETY: the items of the chain within.
unsafe impl<B: Positions, F: Fn(&B::Item) + Sync + Send> Positions for Inspect<B, F> {
    type Item = B::Item;
    forward_to_base!(len);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(B::Item) -> ControlFlow<()>,
    {
        let seen = |item| {
            (self.f)(&item);
            sink(item)
        };
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, seen) }
    }
}

// SAFETY: as above.
unsafe impl<B: IndexedPositions, F: Fn(&B::Item) + Sync + Send> IndexedPositions for Inspect<B, F> {
    type Piece<'p>
        = std::iter::Inspect<B::Piece<'p>, &'p F>
    where
        Self: 'p;
    type Backward<'p>
        = std::iter::Inspect<B::Backward<'p>, &'p F>
    where
        Self: 'p;

    #[inline]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_> {
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.piece(positions) }.inspect(&self.f)
    }

    #[inline]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_> {
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.backward(positions) }.inspect(&self.f)
    }
}

// SAFETY: an item for each of the chain within.
unsafe impl<'a, T: Clone + Send + Sync + 'a, B: Positions<Item = &'a T>> Positions for Cloned<B> {
    type Item = T;
    forward_to_base!(len);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(T) -> ControlFlow<()>,
    {
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, |item: &T| sink(item.clone())) }
    }
}

// SAFETY: as above.
unsafe impl<'a, T: Clone + Send + Sync + 'a, B: IndexedPositions<Item = &'a T>> IndexedPositions
    for Cloned<B>
{
    type Piece<'p>
        = std::iter::Cloned<B::Piece<'p>>
    where
        Self: 'p;
    type Backward<'p>
        = std::iter::Cloned<B::Backward<'p>>
    where
        Self: 'p;

    #[inline]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_> {
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.piece(positions) }.cloned()
    }

    #[inline]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_> {
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.backward(positions) }.cloned()
    }
}

// SAFETY: an item for each of the chain within.
unsafe impl<'a, T: Copy + Send + Sync + 'a, B: Positions<Item = &'a T>> Positions for Copied<B> {
    type Item = T;
    forward_to_base!(len);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(T) -> ControlFlow<()>,
    {
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, |item: &T| sink(*item)) }
    }
}

// SAFETY: as above.
unsafe impl<'a, T: Copy + Send + Sync + 'a, B: IndexedPositions<Item = &'a T>> IndexedPositions
    for Copied<B>
{
    type Piece<'p>
        = std::iter::Copied<B::Piece<'p>>
    where
        Self: 'p;
    type Backward<'p>
        = std::iter::Copied<B::Backward<'p>>
    where
        Self: 'p;

    #[inline]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_> {
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.piece(positions) }.copied()
    }

    #[inline]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_> {
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.backward(positions) }.copied()
    }
}

// SAFETY: the items of the chain within.
unsafe impl<B: Positions, F: Fn(&mut B::Item) + Sync + Send> Positions for Update<B, F> {
    type Item = B::Item;
    forward_to_base!(len);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(B::Item) -> ControlFlow<()>,
    {
        let updated = |mut item| {
            (self.f)(&mut item);
            sink(item)
        };
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, updated) }
    }
}

// SAFETY: as above.
unsafe impl<B: IndexedPositions, F: Fn(&mut B::Item) + Sync + Send> IndexedPositions
    for Update<B, F>
{
    type Piece<'p>
        = Updated<'p, B::Piece<'p>, F>
    where
        Self: 'p;
    type Backward<'p>
        = Updated<'p, B::Backward<'p>, F>
    where
        Self: 'p;

    #[inline]
    unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_> {
        // SAFETY: the caller's promise is the same.
        Updated { items: unsafe { self.base.piece(positions) }, f: &self.f }
    }

    #[inline]
    unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_> {
        // SAFETY: the caller's promise is the same.
        Updated { items: unsafe { self.base.backward(positions) }, f: &self.f }
    }
}

/// The items of a range, each after a call of `f`.
#[derive(Debug)]
pub struct Updated<'p, I, F> {
    items: I,
    f: &'p F,
}

impl<I: Iterator, F: Fn(&mut I::Item)> Iterator for Updated<'_, I, F> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        let mut item = self.items.next()?;
        (self.f)(&mut item);
        Some(item)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}
