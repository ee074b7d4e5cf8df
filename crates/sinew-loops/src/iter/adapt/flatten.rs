//! Adaptors with several items for each of the chain within.

use std::ops::{ControlFlow, Range};

use crate::iter::{IntoParallelIterator, Positions};

adaptors! {
    /// The chain of [`flat_map`](crate::iter::ParIter::flat_map).
    FlatMap<B, F> { f: F }
    /// The chain of [`flat_map_iter`](crate::iter::ParIter::flat_map_iter).
    FlatMapIter<B, F> { f: F }
    /// The chain of [`flatten`](crate::iter::ParIter::flatten).
    Flatten<B> {}
    /// The chain of [`flatten_iter`](crate::iter::ParIter::flatten_iter).
    FlattenIter<B> {}
}

/// Pushes all items of `inner` into `sink`. Returns `Break` only if `sink` did, and not because
/// `inner` has no more items.
#[inline]
pub(super) fn run_all<P: Positions>(
    inner: &P,
    mut sink: impl FnMut(P::Item) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut flow = ControlFlow::Continue(());
    let noted = |item| {
        flow = sink(item);
        flow
    };
    // SAFETY: the whole chain is requested once, here.
    let _ = unsafe { inner.run(0..inner.num_positions(), noted) };
    flow
}

// SAFETY: the items of each position come from those of the chain within.
unsafe impl<B, R, F> Positions for FlatMap<B, F>
where
    B: Positions,
    R: IntoParallelIterator,
    F: Fn(B::Item) -> R + Sync + Send,
{
    type Item = R::Item;
    forward_to_base!(positions);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(R::Item) -> ControlFlow<()>,
    {
        let all = |item| run_all(&(self.f)(item).into_par_iter(), &mut sink);
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, all) }
    }
}

// SAFETY: as above.
unsafe impl<B, R, F> Positions for FlatMapIter<B, F>
where
    B: Positions,
    R: IntoIterator<Item: Send>,
    F: Fn(B::Item) -> R + Sync + Send,
{
    type Item = R::Item;
    forward_to_base!(positions);

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

// SAFETY: as above.
unsafe impl<B: Positions<Item: IntoParallelIterator>> Positions for Flatten<B> {
    type Item = <B::Item as IntoParallelIterator>::Item;
    forward_to_base!(positions);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(Self::Item) -> ControlFlow<()>,
    {
        let all = |item: B::Item| run_all(&item.into_par_iter(), &mut sink);
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, all) }
    }
}

// SAFETY: as above.
unsafe impl<B: Positions<Item: IntoIterator<Item: Send>>> Positions for FlattenIter<B> {
    type Item = <B::Item as IntoIterator>::Item;
    forward_to_base!(positions);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(Self::Item) -> ControlFlow<()>,
    {
        let all = |item: B::Item| item.into_iter().try_for_each(&mut sink);
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, all) }
    }
}
