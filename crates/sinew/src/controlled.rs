//! Skeletons that are changed while they run, and may be cancelled.

use crate::blocks::{OverBlocks, points};
use crate::over::Over;
use sinew_core::data::{Items, ReadItems, SliceMut};
use sinew_core::loops::Kind;
use sinew_core::{Cancelled, Control, Stopped};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::ops::Range;

impl<'m, I: Items> Over<'m, I> {
    /// Lets `control` change the skeleton while it runs. Comes last before the skeleton is named,
    /// which then answers whether it was cancelled.
    ///
    /// # Cost
    ///
    /// Some microseconds for the skeleton, and a look at the time every 50 µs.
    ///
    /// ```
    /// use sinew::prelude::*;
    ///
    /// let (control, blocks) = (Control::new(), vec![1_u64; 100_000]);
    /// let sum = std::thread::scope(|s| {
    ///     let sum = s.spawn(|| over(&blocks).control(&control).reduce(|| 0, |a, b| a + b));
    ///     control.set_threads(1); // from any thread, at any time
    ///     control.set_schedule(Schedule::Dynamic { chunk: 64 });
    ///     sum.join().unwrap()
    /// });
    /// assert_eq!(sum, Ok(100_000));
    ///
    /// control.cancel();
    /// assert_eq!(over(&blocks).control(&control).map(|x| x + 1), Err(Cancelled));
    /// ```
    pub fn control<'c>(self, control: &'c Control) -> Controlled<'c, I>
    where
        'm: 'c,
    {
        let mut over: Over<'c, I> = self;
        over.options.control = Some(control);
        Controlled { over }
    }
}

/// A skeleton in the making that follows a [`Control`]; see [`Over::control`].
///
/// # Errors
///
/// [`Cancelled`] if the control was cancelled before the skeleton was done, or what the pool runs
/// ([`PoolControl::cancel`](crate::PoolControl::cancel)), and [`Stopped`] where its function may
/// fail as well. Each participant ends with the slice of work that it is at. Results that exist by
/// then are dropped.
///
/// # Panics
///
/// As [`Over`].
#[derive(Debug, Clone, Copy)]
#[must_use = "nothing runs until a skeleton is named, for example `for_each`"]
pub struct Controlled<'c, I> {
    pub(crate) over: Over<'c, I>,
}

#[expect(clippy::missing_errors_doc, reason = "they are all the same, and told at the type")]
impl<I: Items> Controlled<'_, I> {
    /// [`Over::for_each`].
    #[inline]
    pub fn for_each<F>(self, f: F) -> Result<(), Cancelled>
    where
        F: Fn(I::Item) + Sync,
    {
        self.over.run_for_each(f)
    }

    /// [`Over::try_for_each`].
    #[inline]
    pub fn try_for_each<E, F>(self, f: F) -> Result<(), Stopped<E>>
    where
        E: Send,
        F: Fn(I::Item) -> Result<(), E> + Sync,
    {
        self.over.run_try_for_each(f)
    }

    /// [`Over::map`].
    #[inline]
    pub fn map<R, F>(self, f: F) -> Result<Vec<R>, Cancelled>
    where
        R: Send,
        F: Fn(I::Item) -> R + Sync,
    {
        self.over.run_map(f)
    }

    /// [`Over::try_map`].
    #[inline]
    pub fn try_map<R, E, F>(self, f: F) -> Result<Vec<R>, Stopped<E>>
    where
        R: Send,
        E: Send,
        F: Fn(I::Item) -> Result<R, E> + Sync,
    {
        self.over.run_try_map(f)
    }

    /// [`Over::map_array`].
    #[inline]
    pub fn map_array<T, R, F>(self, table: &T, f: F) -> Result<Vec<R>, Cancelled>
    where
        T: Sync + ?Sized,
        R: Send,
        F: Fn(I::Item, &T) -> R + Sync,
    {
        self.map(|item| f(item, table))
    }

    /// [`Over::reduce`].
    #[inline]
    pub fn reduce<A, Z, F>(self, identity: Z, op: F) -> Result<A, Cancelled>
    where
        I::Item: Borrow<A>,
        A: Clone + Send,
        Z: Fn() -> A + Sync,
        F: Fn(A, A) -> A + Sync,
    {
        self.map_reduce(|item| item.borrow().clone(), identity, op)
    }

    /// [`Over::map_reduce`].
    #[inline]
    pub fn map_reduce<A, M, Z, F>(self, map: M, identity: Z, op: F) -> Result<A, Cancelled>
    where
        A: Send,
        M: Fn(I::Item) -> A + Sync,
        Z: Fn() -> A + Sync,
        F: Fn(A, A) -> A + Sync,
    {
        self.over.run_map_reduce(map, identity, op)
    }

    /// [`Over::scan`].
    pub fn scan<A, F>(self, init: A, op: F) -> Result<Vec<A>, Cancelled>
    where
        I: ReadItems,
        I::Item: Borrow<A>,
        A: Clone + Send + Sync,
        F: Fn(A, A) -> A + Sync,
    {
        self.over.run_scan(Kind::Inclusive, init, op)
    }

    /// [`Over::scan_exclusive`].
    pub fn scan_exclusive<A, F>(self, init: A, op: F) -> Result<Vec<A>, Cancelled>
    where
        I: ReadItems,
        I::Item: Borrow<A>,
        A: Clone + Send + Sync,
        F: Fn(A, A) -> A + Sync,
    {
        self.over.run_scan(Kind::Exclusive, init, op)
    }
}

impl<T: Send> Controlled<'_, SliceMut<'_, T>> {
    /// [`Over::sort`]. A cancelled slice holds all its elements in some order.
    ///
    /// # Errors
    ///
    /// [`Cancelled`] if the control was cancelled before the slice was sorted.
    pub fn sort(self) -> Result<(), Cancelled>
    where
        T: Ord,
    {
        self.sort_by(T::cmp)
    }

    /// [`Over::sort_by`]. A cancelled slice holds all its elements in some order.
    ///
    /// # Errors
    ///
    /// [`Cancelled`] if the control was cancelled before the slice was sorted.
    ///
    /// ```
    /// use sinew::prelude::*;
    ///
    /// let (control, mut xs) = (Control::new(), vec![2.5, -1.0, 0.5]);
    /// assert_eq!(over(&mut xs).control(&control).sort_by(f64::total_cmp), Ok(()));
    /// assert_eq!(xs, [-1.0, 0.5, 2.5]);
    /// ```
    pub fn sort_by<C>(self, compare: C) -> Result<(), Cancelled>
    where
        C: Fn(&T, &T) -> Ordering + Sync,
    {
        self.over.run_sort_by(compare)
    }

    /// [`Over::sort_by_key`]. A cancelled slice holds all its elements in some order.
    ///
    /// # Errors
    ///
    /// [`Cancelled`] if the control was cancelled before the slice was sorted.
    pub fn sort_by_key<K, F>(self, key: F) -> Result<(), Cancelled>
    where
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        self.sort_by(|a, b| key(a).cmp(&key(b)))
    }
}

impl<'m, const N: usize> OverBlocks<'m, N> {
    /// Lets `control` change the skeleton while it runs; see [`Over::control`]. A change has to
    /// wait for the blocks under way.
    pub fn control<'c>(self, control: &'c Control) -> ControlledBlocks<'c, N>
    where
        'm: 'c,
    {
        let mut over: OverBlocks<'c, N> = self;
        over.options.control = Some(control);
        ControlledBlocks { over }
    }
}

/// A skeleton over `N` dimensions in the making that follows a [`Control`]; see
/// [`OverBlocks::control`].
///
/// # Errors
///
/// [`Cancelled`] if the control was cancelled before the skeleton was done.
///
/// # Panics
///
/// As [`OverBlocks`].
#[derive(Debug, Clone)]
#[must_use = "nothing runs until a skeleton is named, for example `for_each`"]
pub struct ControlledBlocks<'c, const N: usize> {
    over: OverBlocks<'c, N>,
}

#[expect(clippy::missing_errors_doc, reason = "they are all the same, and told at the type")]
impl<const N: usize> ControlledBlocks<'_, N> {
    /// [`OverBlocks::for_each_block`].
    #[inline]
    #[track_caller]
    pub fn for_each_block<F>(self, f: F) -> Result<(), Cancelled>
    where
        F: Fn([Range<usize>; N]) + Sync,
    {
        self.over.run_for_each_block(f)
    }

    /// [`OverBlocks::for_each`].
    #[inline]
    #[track_caller]
    pub fn for_each<F>(self, f: F) -> Result<(), Cancelled>
    where
        F: Fn([usize; N]) + Sync,
    {
        self.for_each_block(|block| points(&block, &f))
    }

    /// [`OverBlocks::map_reduce`].
    #[inline]
    #[track_caller]
    pub fn map_reduce<A, M, Z, F>(self, map: M, identity: Z, op: F) -> Result<A, Cancelled>
    where
        A: Send,
        M: Fn([usize; N]) -> A + Sync,
        Z: Fn() -> A + Sync,
        F: Fn(A, A) -> A + Sync,
    {
        self.over.run_map_reduce(map, identity, op)
    }
}
