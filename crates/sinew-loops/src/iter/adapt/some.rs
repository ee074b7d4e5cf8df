//! Adaptors that take or skip some of the items, by a count or a condition that all workers share.
//!
//! Counters and flags are `Relaxed`: they publish nothing, and each decision concerns one item.

use std::ops::{ControlFlow, Range};

use sinew_sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::iter::ParIter;

adaptors! {
    /// The chain of [`ParIter::while_some`].
    WhileSome<B> { ended: AtomicBool }
    /// The chain of [`ParIter::take_any`].
    TakeAny<B> { left: AtomicUsize }
    /// The chain of [`ParIter::skip_any`].
    SkipAny<B> { left: AtomicUsize }
    /// The chain of [`ParIter::take_any_while`].
    TakeAnyWhile<B, F> { f: F, ended: AtomicBool }
    /// The chain of [`ParIter::skip_any_while`].
    SkipAnyWhile<B, F> { f: F, ended: AtomicBool }
}

/// Takes one from a count. Returns whether there was one.
#[inline]
fn take_one(left: &AtomicUsize) -> bool {
    left.load(Ordering::Relaxed) > 0
        && left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            .is_ok()
}

// SAFETY: the items of the chain within, up to the end.
unsafe impl<B: ParIter<Item = Option<T>>, T: Send> ParIter for WhileSome<B> {
    type Item = T;
    forward_to_base!(positions);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(T) -> ControlFlow<()>,
    {
        let some = |item: Option<T>| match item {
            Some(item) if !self.ended.load(Ordering::Relaxed) => sink(item),
            _ => {
                self.ended.store(true, Ordering::Relaxed);
                ControlFlow::Break(())
            }
        };
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, some) }
    }
}

// SAFETY: some items of the chain within.
unsafe impl<B: ParIter> ParIter for TakeAny<B> {
    type Item = B::Item;
    forward_to_base!(positions);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(B::Item) -> ControlFlow<()>,
    {
        if self.left.load(Ordering::Relaxed) == 0 {
            return ControlFlow::Break(());
        }
        let taken = |item| {
            if !take_one(&self.left) {
                return ControlFlow::Break(());
            }
            sink(item)?;
            // The next item is not computed in vain.
            match self.left.load(Ordering::Relaxed) {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        };
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, taken) }
    }
}

// SAFETY: some items of the chain within.
unsafe impl<B: ParIter> ParIter for SkipAny<B> {
    type Item = B::Item;
    forward_to_base!(positions);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(B::Item) -> ControlFlow<()>,
    {
        let kept = |item| match take_one(&self.left) {
            true => ControlFlow::Continue(()),
            false => sink(item),
        };
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, kept) }
    }
}

// SAFETY: some items of the chain within.
unsafe impl<B: ParIter, F: Fn(&B::Item) -> bool + Sync + Send> ParIter for TakeAnyWhile<B, F> {
    type Item = B::Item;
    forward_to_base!(positions);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(B::Item) -> ControlFlow<()>,
    {
        let taken = |item| {
            if self.ended.load(Ordering::Relaxed) || !(self.f)(&item) {
                self.ended.store(true, Ordering::Relaxed);
                return ControlFlow::Break(());
            }
            sink(item)
        };
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, taken) }
    }
}

// SAFETY: some items of the chain within.
unsafe impl<B: ParIter, F: Fn(&B::Item) -> bool + Sync + Send> ParIter for SkipAnyWhile<B, F> {
    type Item = B::Item;
    forward_to_base!(positions);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(B::Item) -> ControlFlow<()>,
    {
        let kept = |item| {
            if !self.ended.load(Ordering::Relaxed) && (self.f)(&item) {
                return ControlFlow::Continue(());
            }
            self.ended.store(true, Ordering::Relaxed);
            sink(item)
        };
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, kept) }
    }
}
