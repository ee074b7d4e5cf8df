//! Adaptors that treat every item by itself.

use std::ops::{ControlFlow, Range};

use crate::iter::{IndexedParIter, ParIter};

/// Declares an adaptor of a chain and a function.
macro_rules! adaptors {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone)]
        #[must_use = "nothing runs before a last call, for example `for_each`"]
        pub struct $name<B, F> {
            base: B,
            f: F,
        }

        impl<B, F> $name<B, F> {
            #[inline]
            pub(crate) fn new(base: B, f: F) -> Self {
                Self { base, f }
            }
        }
    )*};
}

adaptors! {
    /// The chain of [`ParIter::map`].
    Map;
    /// The chain of [`ParIter::filter`].
    Filter;
    /// The chain of [`ParIter::filter_map`].
    FilterMap;
    /// The chain of [`ParIter::flat_map_iter`].
    FlatMapIter;
    /// The chain of [`ParIter::inspect`].
    Inspect;
}

// SAFETY: an item for each of the chain within.
unsafe impl<B: ParIter, R: Send, F: Fn(B::Item) -> R + Sync + Send> ParIter for Map<B, F> {
    type Item = R;
    forward_to!(base);

    #[inline]
    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()
    }

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
unsafe impl<B: IndexedParIter, R: Send, F: Fn(B::Item) -> R + Sync + Send> IndexedParIter
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
unsafe impl<B: ParIter, F: Fn(&B::Item) -> bool + Sync + Send> ParIter for Filter<B, F> {
    type Item = B::Item;
    forward_to!(base);

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
unsafe impl<B: ParIter, R: Send, F: Fn(B::Item) -> Option<R> + Sync + Send> ParIter
    for FilterMap<B, F>
{
    type Item = R;
    forward_to!(base);

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

// SAFETY: as above.
unsafe impl<B, R, F> ParIter for FlatMapIter<B, F>
where
    B: ParIter,
    R: IntoIterator<Item: Send>,
    F: Fn(B::Item) -> R + Sync + Send,
{
    type Item = R::Item;
    forward_to!(base);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(R::Item) -> ControlFlow<()>,
    {
        let all = |item| (self.f)(item).into_iter().try_for_each(&mut sink);
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, all) }
    }
}

// SAFETY: the items of the chain within.
unsafe impl<B: ParIter, F: Fn(&B::Item) + Sync + Send> ParIter for Inspect<B, F> {
    type Item = B::Item;
    forward_to!(base);

    #[inline]
    fn opt_len(&self) -> Option<usize> {
        self.base.opt_len()
    }

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
unsafe impl<B: IndexedParIter, F: Fn(&B::Item) + Sync + Send> IndexedParIter for Inspect<B, F> {
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
