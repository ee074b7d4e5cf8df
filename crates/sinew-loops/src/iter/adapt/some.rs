//! Adaptors that take or skip some of the items, by a count or a condition that all workers share.
//!
//! Counters and flags are `Relaxed`: they publish nothing, and each decision concerns one item.

use std::ops::{ControlFlow, Range};

use sinew_sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::iter::Positions;

adaptors! {
    /// The chain of [`while_some`](crate::iter::ParIter::while_some).
    WhileSome<B> { ended: Flag }
    /// The chain of [`take_any`](crate::iter::ParIter::take_any).
    TakeAny<B> { left: Count }
    /// The chain of [`skip_any`](crate::iter::ParIter::skip_any).
    SkipAny<B> { left: Count }
    /// The chain of [`take_any_while`](crate::iter::ParIter::take_any_while).
    TakeAnyWhile<B, F> { f: F, ended: Flag }
    /// The chain of [`skip_any_while`](crate::iter::ParIter::skip_any_while).
    SkipAnyWhile<B, F> { f: F, ended: Flag }
}

/// Whether a worker has ended the chain, or its beginning.
#[derive(Debug, Default)]
pub(crate) struct Flag(AtomicBool);

impl Flag {
    #[inline]
    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Clone for Flag {
    fn clone(&self) -> Self {
        Self(AtomicBool::new(self.is_set()))
    }
}

/// How many items are left to take or to skip.
#[derive(Debug)]
pub(crate) struct Count(AtomicUsize);

impl Count {
    pub(crate) fn new(left: usize) -> Self {
        Self(AtomicUsize::new(left))
    }

    #[inline]
    fn left(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes one. Returns whether there was one.
    #[inline]
    fn take_one(&self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        self.left() > 0
            && self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }
}

impl Clone for Count {
    fn clone(&self) -> Self {
        Self::new(self.left())
    }
}

// SAFETY: the items of the chain within, up to the end.
unsafe impl<B: Positions<Item = Option<T>>, T: Send> Positions for WhileSome<B> {
    type Item = T;
    forward_to_base!(positions);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(T) -> ControlFlow<()>,
    {
        let some = |item: Option<T>| match item {
            Some(item) if !self.ended.is_set() => sink(item),
            _ => {
                self.ended.set();
                ControlFlow::Break(())
            }
        };
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, some) }
    }
}

// SAFETY: some items of the chain within.
unsafe impl<B: Positions> Positions for TakeAny<B> {
    type Item = B::Item;
    forward_to_base!(positions);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(B::Item) -> ControlFlow<()>,
    {
        if self.left.left() == 0 {
            return ControlFlow::Break(());
        }
        let taken = |item| {
            if !self.left.take_one() {
                return ControlFlow::Break(());
            }
            sink(item)?;
            // The next item is not computed in vain.
            match self.left.left() {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        };
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, taken) }
    }
}

// SAFETY: some items of the chain within.
unsafe impl<B: Positions> Positions for SkipAny<B> {
    type Item = B::Item;
    forward_to_base!(positions);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(B::Item) -> ControlFlow<()>,
    {
        let kept = |item| match self.left.take_one() {
            true => ControlFlow::Continue(()),
            false => sink(item),
        };
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, kept) }
    }
}

// SAFETY: some items of the chain within.
unsafe impl<B: Positions, F: Fn(&B::Item) -> bool + Sync + Send> Positions for TakeAnyWhile<B, F> {
    type Item = B::Item;
    forward_to_base!(positions);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(B::Item) -> ControlFlow<()>,
    {
        let taken = |item| {
            if self.ended.is_set() || !(self.f)(&item) {
                self.ended.set();
                return ControlFlow::Break(());
            }
            sink(item)
        };
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, taken) }
    }
}

// SAFETY: some items of the chain within.
unsafe impl<B: Positions, F: Fn(&B::Item) -> bool + Sync + Send> Positions for SkipAnyWhile<B, F> {
    type Item = B::Item;
    forward_to_base!(positions);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(B::Item) -> ControlFlow<()>,
    {
        let kept = |item| {
            if !self.ended.is_set() && (self.f)(&item) {
                return ControlFlow::Continue(());
            }
            self.ended.set();
            sink(item)
        };
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, kept) }
    }
}
