//! The trait of all chains.

use std::cmp::Ordering;
use std::iter::{Product, Sum};
use std::ops::{ControlFlow, Range};

use sinew_core::{Cancelled, Worker};
use sinew_policy::chunk::Schedule;

use super::over::{at_least_one, sound};
use super::{Filter, FilterMap, FlatMapIter, FromParallelIterator, Inspect, Map, Mode, Out, ends};
use crate::loops::Options;

/// A chain: a source, with any number of adaptors. [`ParallelIterator`](super::ParallelIterator) is
/// the same without a control.
///
/// # Safety
///
/// `run` is sound for every range of positions that was not requested before, also at the same time
/// on different threads, and keeps C2. `positions` is constant.
pub unsafe trait ParIter: Sized + Send + Sync {
    /// The items.
    type Item: Send;
    /// What the last call returns.
    type Mode: Mode;

    /// The number of positions.
    #[doc(hidden)]
    fn positions(&self) -> usize;

    /// The number of items if each position has exactly one.
    #[inline]
    fn opt_len(&self) -> Option<usize> {
        None
    }

    /// The options of the loop.
    #[doc(hidden)]
    fn options(&self) -> Options<'_>;

    #[doc(hidden)]
    fn change_options(&mut self, change: impl FnOnce(&mut Options<'_>));

    /// Pushes the items of `positions` into `sink`, in order, until it breaks. Returns the break of
    /// `sink`; also `Break` if no position has an item any more.
    ///
    /// # Safety
    ///
    /// `positions` is ascending and ends at or below `positions()`; none of it was or is requested
    /// a second time (C1). What `run` and pieces return is dropped before the chain.
    #[doc(hidden)]
    unsafe fn run<S>(&self, positions: Range<usize>, sink: S) -> ControlFlow<()>
    where
        S: FnMut(Self::Item) -> ControlFlow<()>;

    /// Runs the chain as `run` says, in the current pool.
    #[doc(hidden)]
    #[inline]
    fn end<R: Send>(
        self,
        run: impl FnOnce(&Worker, &Self, &Options<'_>) -> Result<R, Cancelled> + Send,
    ) -> Out<Self, R> {
        let ended = sinew_core::run(|w| {
            let meter = Self::Mode::meter(w);
            let options = Options { meter: meter.as_ref(), ..self.options() };
            let value = run(w, &self, &options)?;
            Ok((value, meter.map(|meter| meter.read())))
        });
        Self::Mode::measured(ended)
    }

    /// The schedule of the loop; [`Schedule::Stealing`] by default.
    ///
    /// It has priority over the pool's schedule and over a granted one. A loop without a schedule,
    /// or with [`Schedule::Auto`] or [`default_schedule`](Self::default_schedule), follows the
    /// pool's.
    ///
    /// # Panics
    ///
    /// If a chunk of the schedule is 0.
    #[track_caller]
    fn schedule(mut self, schedule: Schedule) -> Self {
        let schedule = sound(schedule);
        self.change_options(|options| {
            options.schedule = schedule;
            options.open = schedule == Schedule::Auto;
        });
        self
    }

    /// The default schedule of the loop, which the pool's schedule, or a granted one, replaces.
    ///
    /// # Panics
    ///
    /// If a chunk of the schedule is 0.
    #[track_caller]
    fn default_schedule(mut self, schedule: Schedule) -> Self {
        let schedule = sound(schedule);
        self.change_options(|options| (options.schedule, options.open) = (schedule, true));
        self
    }

    /// The maximum number of workers, the caller included; by default all of the pool.
    ///
    /// # Panics
    ///
    /// If `threads` is 0.
    #[track_caller]
    fn threads(mut self, threads: usize) -> Self {
        let threads = at_least_one(threads);
        self.change_options(|options| options.threads = threads);
        self
    }

    /// Makes `reduce`, `sum`, `min` and the like combine in an order that follows from the number
    /// of positions alone.
    ///
    /// Sums of floating-point numbers are then bitwise identical for any number of threads and any
    /// schedule.
    fn reproducible(mut self) -> Self {
        self.change_options(|options| options.reproducible = true);
        self
    }

    /// `f` of each item.
    #[inline]
    fn map<R: Send, F: Fn(Self::Item) -> R + Sync + Send>(self, f: F) -> Map<Self, F> {
        Map::new(self, f)
    }

    /// The items for which `f` returns true.
    #[inline]
    fn filter<F: Fn(&Self::Item) -> bool + Sync + Send>(self, f: F) -> Filter<Self, F> {
        Filter::new(self, f)
    }

    /// The values that `f` returns, without `None`.
    #[inline]
    fn filter_map<R: Send, F: Fn(Self::Item) -> Option<R> + Sync + Send>(
        self,
        f: F,
    ) -> FilterMap<Self, F> {
        FilterMap::new(self, f)
    }

    /// The items of the sequential iterators that `f` returns.
    #[inline]
    fn flat_map_iter<R, F>(self, f: F) -> FlatMapIter<Self, F>
    where
        R: IntoIterator<Item: Send>,
        F: Fn(Self::Item) -> R + Sync + Send,
    {
        FlatMapIter::new(self, f)
    }

    /// The items, after `f` has seen a reference to each.
    #[inline]
    fn inspect<F: Fn(&Self::Item) + Sync + Send>(self, f: F) -> Inspect<Self, F> {
        Inspect::new(self, f)
    }

    /// Calls `f` with every item.
    #[inline]
    fn for_each<F: Fn(Self::Item) + Sync + Send>(self, f: F) -> Out<Self, ()> {
        self.end(|w, chain, options| ends::for_each(w, chain, options, f))
    }

    /// The number of items.
    #[inline]
    fn count(self) -> Out<Self, usize> {
        self.end(ends::count)
    }

    /// Combines all items in order; `identity()` if there are none. `op` must be associative, and
    /// `identity()` its neutral element: any number of partial results may begin with one.
    #[inline]
    fn reduce<Z, F>(self, identity: Z, op: F) -> Out<Self, Self::Item>
    where
        Z: Fn() -> Self::Item + Sync + Send,
        F: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
    {
        self.end(|w, chain, options| ends::reduce(w, chain, options, identity, op))
    }

    /// Combines all items in order; `None` if there are none. `op` must be associative.
    #[inline]
    fn reduce_with<F>(self, op: F) -> Out<Self, Option<Self::Item>>
    where
        F: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
    {
        self.end(|w, chain, options| ends::reduce_with(w, chain, options, op))
    }

    /// The sum of all items.
    #[inline]
    fn sum<S>(self) -> Out<Self, S>
    where
        S: Send + Sum<Self::Item> + Sum<S>,
    {
        self.end(|w, chain, options| ends::sum(w, chain, options))
    }

    /// The product of all items.
    #[inline]
    fn product<S>(self) -> Out<Self, S>
    where
        S: Send + Product<Self::Item> + Product<S>,
    {
        self.end(|w, chain, options| ends::product(w, chain, options))
    }

    /// The least item, the first of equal ones; `None` if there are none.
    #[inline]
    fn min(self) -> Out<Self, Option<Self::Item>>
    where
        Self::Item: Ord,
    {
        self.min_by(Ord::cmp)
    }

    /// The least item by `compare`, the first of equal ones.
    #[inline]
    fn min_by<F>(self, compare: F) -> Out<Self, Option<Self::Item>>
    where
        F: Fn(&Self::Item, &Self::Item) -> Ordering + Sync + Send,
    {
        self.reduce_with(move |a, b| if compare(&a, &b).is_le() { a } else { b })
    }

    /// The greatest item, the last of equal ones; `None` if there are none.
    #[inline]
    fn max(self) -> Out<Self, Option<Self::Item>>
    where
        Self::Item: Ord,
    {
        self.max_by(Ord::cmp)
    }

    /// The greatest item by `compare`, the last of equal ones.
    #[inline]
    fn max_by<F>(self, compare: F) -> Out<Self, Option<Self::Item>>
    where
        F: Fn(&Self::Item, &Self::Item) -> Ordering + Sync + Send,
    {
        self.reduce_with(move |a, b| if compare(&a, &b).is_gt() { a } else { b })
    }

    /// A collection of all items, in order.
    #[inline]
    fn collect<C: FromParallelIterator<Self::Item> + Send>(self) -> Out<Self, C> {
        self.end(|w, chain, options| C::collect_from(w, chain, options))
    }
}
