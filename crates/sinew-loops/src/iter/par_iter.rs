//! The trait of all chains.

use std::cmp::Ordering;
use std::collections::LinkedList;
use std::iter::{Product, Sum};
use std::marker::PhantomData;

use super::adapt::{Anchor, Count, Flag, clones};
use super::by_ref::ByRef;
use super::{
    Attempt, Chain, Cloned, Copied, Either, Filter, FilterMap, FlatMap, FlatMapIter, Flatten,
    FlattenIter, Fold, FromParallelIterator, Inspect, Intersperse, IntoParallelIterator, Map,
    MapInit, Out, ParallelExtend, Positions, SkipAny, SkipAnyWhile, TakeAny, TakeAnyWhile, TryFold,
    Update, WhileSome, WithState, ends,
};

/// A chain: a source, with any number of adaptors. [`ParallelIterator`](super::ParallelIterator) is
/// the same without a control.
pub trait ParIter: Positions {
    /// `f` of each item.
    #[inline]
    fn map<R: Send, F: Fn(Self::Item) -> R + Sync + Send>(self, f: F) -> Map<Self, F> {
        Map::new(self, f)
    }

    /// `f` of each item and `table`, of which every call may read all elements.
    #[inline]
    fn map_array<T, R, F>(
        self,
        table: &T,
        f: F,
    ) -> Map<Self, impl Fn(Self::Item) -> R + Sync + Send>
    where
        T: Sync + ?Sized,
        R: Send,
        F: Fn(Self::Item, &T) -> R + Sync + Send,
    {
        self.map(move |item| f(item, table))
    }

    /// As [`map`](Self::map), with a clone of `init` for each range of positions.
    #[inline]
    fn map_with<T, R, F>(
        self,
        init: T,
        f: F,
    ) -> MapInit<Self, impl Fn() -> T + Sync + Send + Clone, F>
    where
        T: Send + Clone,
        R: Send,
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
    {
        MapInit::new(self, clones(init), f)
    }

    /// As [`map`](Self::map), with a state that `init` makes for each range of positions. For one
    /// state for each worker see [`with_state`](Self::with_state).
    #[inline]
    fn map_init<T, R, Z, F>(self, init: Z, f: F) -> MapInit<Self, Z, F>
    where
        R: Send,
        Z: Fn() -> T + Sync + Send,
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
    {
        MapInit::new(self, init, f)
    }

    /// A chain whose next function gets a state, which `init` makes once for each worker that runs
    /// the chain.
    #[inline]
    fn with_state<T: Send, Z: Fn() -> T + Sync + Send>(self, init: Z) -> WithState<Self, Z> {
        WithState::new(self, init)
    }

    /// Clones of the items, which are references.
    #[inline]
    fn cloned<'a, T: Clone + Send + Sync + 'a>(self) -> Cloned<Self>
    where
        Self: ParIter<Item = &'a T>,
    {
        Cloned::new(self)
    }

    /// Copies of the items, which are references.
    #[inline]
    fn copied<'a, T: Copy + Send + Sync + 'a>(self) -> Copied<Self>
    where
        Self: ParIter<Item = &'a T>,
    {
        Copied::new(self)
    }

    /// The items, after `f` has seen a reference to each.
    #[inline]
    fn inspect<F: Fn(&Self::Item) + Sync + Send>(self, f: F) -> Inspect<Self, F> {
        Inspect::new(self, f)
    }

    /// The items, after `f` has changed each.
    #[inline]
    fn update<F: Fn(&mut Self::Item) + Sync + Send>(self, f: F) -> Update<Self, F> {
        Update::new(self, f)
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

    /// The items of the chains that `f` returns. Each of these chains runs serially.
    #[inline]
    fn flat_map<R: IntoParallelIterator, F: Fn(Self::Item) -> R + Sync + Send>(
        self,
        f: F,
    ) -> FlatMap<Self, F> {
        FlatMap::new(self, f)
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

    /// The items of the items, each of which can be made a chain. Each of these runs serially.
    #[inline]
    fn flatten(self) -> Flatten<Self>
    where
        Self::Item: IntoParallelIterator,
    {
        Flatten::new(self)
    }

    /// The items of the items, each of which is a sequential collection.
    #[inline]
    fn flatten_iter(self) -> FlattenIter<Self>
    where
        Self::Item: IntoIterator<Item: Send>,
    {
        FlattenIter::new(self)
    }

    /// One value for each range of positions: its items, folded into `identity()`.
    #[inline]
    fn fold<A, Z, F>(self, identity: Z, fold: F) -> Fold<Self, Z, F>
    where
        A: Send,
        Z: Fn() -> A + Sync + Send,
        F: Fn(A, Self::Item) -> A + Sync + Send,
    {
        Fold::new(self, identity, fold)
    }

    /// As [`fold`](Self::fold), with clones of `init`.
    #[inline]
    fn fold_with<A, F>(
        self,
        init: A,
        fold: F,
    ) -> Fold<Self, impl Fn() -> A + Sync + Send + Clone, F>
    where
        A: Send + Clone,
        F: Fn(A, Self::Item) -> A + Sync + Send,
    {
        Fold::new(self, clones(init), fold)
    }

    /// As [`fold`](Self::fold), with a function that may fail, which ends the range.
    #[inline]
    fn try_fold<T, R, Z, F>(self, identity: Z, fold: F) -> TryFold<Self, R, Z, F>
    where
        R: Attempt<Output = T> + Send,
        Z: Fn() -> T + Sync + Send,
        F: Fn(T, Self::Item) -> R + Sync + Send,
    {
        TryFold::new(self, identity, fold, PhantomData)
    }

    /// As [`try_fold`](Self::try_fold), with clones of `init`.
    #[inline]
    fn try_fold_with<T, R, F>(
        self,
        init: T,
        fold: F,
    ) -> TryFold<Self, R, impl Fn() -> T + Sync + Send + Clone, F>
    where
        T: Send + Clone,
        R: Attempt<Output = T> + Send,
        F: Fn(T, Self::Item) -> R + Sync + Send,
    {
        TryFold::new(self, clones(init), fold, PhantomData)
    }

    /// The items of this chain, and then those of `other`.
    #[inline]
    fn chain<C: IntoParallelIterator<Item = Self::Item>>(self, other: C) -> Chain<Self, C::Iter> {
        Chain::new(self, other.into_par_iter())
    }

    /// The items, with clones of `separator` between them.
    #[inline]
    fn intersperse(self, separator: Self::Item) -> Intersperse<Self, Self::Item>
    where
        Self::Item: Clone + Sync,
    {
        Intersperse::new(self, separator, Anchor::default())
    }

    /// The values up to some `None`, whose position depends on the workers.
    #[inline]
    fn while_some<T: Send>(self) -> WhileSome<Self>
    where
        Self: ParIter<Item = Option<T>>,
    {
        WhileSome::new(self, Flag::default())
    }

    /// Any `n` of the items.
    #[inline]
    fn take_any(self, n: usize) -> TakeAny<Self> {
        TakeAny::new(self, Count::new(n))
    }

    /// All items but any `n`.
    #[inline]
    fn skip_any(self, n: usize) -> SkipAny<Self> {
        SkipAny::new(self, Count::new(n))
    }

    /// Items until `f` returns false for any.
    #[inline]
    fn take_any_while<F: Fn(&Self::Item) -> bool + Sync + Send>(
        self,
        f: F,
    ) -> TakeAnyWhile<Self, F> {
        TakeAnyWhile::new(self, f, Flag::default())
    }

    /// Items from when on `f` has returned false for any.
    #[inline]
    fn skip_any_while<F: Fn(&Self::Item) -> bool + Sync + Send>(
        self,
        f: F,
    ) -> SkipAnyWhile<Self, F> {
        SkipAnyWhile::new(self, f, Flag::default())
    }

    /// The chain itself: after a panic each worker ends with its present range.
    #[inline]
    fn panic_fuse(self) -> Self {
        self
    }

    /// Calls `f` with every item.
    #[inline]
    fn for_each<F: Fn(Self::Item) + Sync + Send>(self, f: F) -> Out<Self, ()> {
        self.end(|w, chain, options| ends::for_each(w, chain, options, f))
    }

    /// As [`for_each`](Self::for_each), with a clone of `init` for each range of positions.
    #[inline]
    fn for_each_with<T: Send + Clone, F: Fn(&mut T, Self::Item) + Sync + Send>(
        self,
        init: T,
        f: F,
    ) -> Out<Self, ()> {
        self.map_with(init, f).for_each(drop)
    }

    /// As [`for_each`](Self::for_each), with a state that `init` makes for each range of positions.
    #[inline]
    fn for_each_init<T, Z, F>(self, init: Z, f: F) -> Out<Self, ()>
    where
        Z: Fn() -> T + Sync + Send,
        F: Fn(&mut T, Self::Item) + Sync + Send,
    {
        self.map_init(init, f).for_each(drop)
    }

    /// Calls `f` with items until a call fails; returns the first failure that a worker met.
    #[inline]
    fn try_for_each<R, F>(self, f: F) -> Out<Self, R>
    where
        R: Attempt<Output = (), Failure: Send> + Send,
        F: Fn(Self::Item) -> R + Sync + Send,
    {
        self.end(|w, chain, options| ends::try_for_each(w, chain, options, f))
    }

    /// As [`try_for_each`](Self::try_for_each), with a clone of `init` for each range of positions.
    #[inline]
    fn try_for_each_with<T, R, F>(self, init: T, f: F) -> Out<Self, R>
    where
        T: Send + Clone,
        R: Attempt<Output = (), Failure: Send> + Send,
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
    {
        self.map_with(init, f).try_for_each(|result| result)
    }

    /// As [`try_for_each`](Self::try_for_each), with a state that `init` makes for each range of
    /// positions.
    #[inline]
    fn try_for_each_init<T, R, Z, F>(self, init: Z, f: F) -> Out<Self, R>
    where
        R: Attempt<Output = (), Failure: Send> + Send,
        Z: Fn() -> T + Sync + Send,
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
    {
        self.map_init(init, f).try_for_each(|result| result)
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

    /// Combines the successes of all items in order, or returns the first failure that a worker
    /// met.
    #[inline]
    fn try_reduce<T, Z, F>(self, identity: Z, op: F) -> Out<Self, Self::Item>
    where
        Self::Item: Attempt<Output = T, Failure: Send>,
        T: Send,
        Z: Fn() -> T + Sync + Send,
        F: Fn(T, T) -> Self::Item + Sync + Send,
    {
        self.end(|w, chain, options| {
            let reduced = ends::try_reduce(w, chain, options, || Some(identity()), op)?;
            Ok(reduced.unwrap_or_else(|| Attempt::from_output(identity())))
        })
    }

    /// As [`try_reduce`](Self::try_reduce) without an identity; `None` if there are no items.
    #[inline]
    fn try_reduce_with<T, F>(self, op: F) -> Out<Self, Option<Self::Item>>
    where
        Self::Item: Attempt<Output = T, Failure: Send>,
        T: Send,
        F: Fn(T, T) -> Self::Item + Sync + Send,
    {
        self.end(|w, chain, options| ends::try_reduce(w, chain, options, || None, op))
    }

    /// The sum of all items.
    #[inline]
    fn sum<S: Send + Sum<Self::Item> + Sum<S>>(self) -> Out<Self, S> {
        self.end(|w, chain, options| ends::sum(w, chain, options))
    }

    /// The product of all items.
    #[inline]
    fn product<S: Send + Product<Self::Item> + Product<S>>(self) -> Out<Self, S> {
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

    /// The item with the least `key`, the first of equal ones.
    #[inline]
    fn min_by_key<K: Ord + Send, F: Fn(&Self::Item) -> K + Sync + Send>(
        self,
        key: F,
    ) -> Out<Self, Option<Self::Item>> {
        self.end(|w, chain, options| {
            let least = |a: (K, Self::Item), b: (K, Self::Item)| if a.0 <= b.0 { a } else { b };
            Ok(ends::reduce_with(w, &keyed(chain, &key), options, least)?.map(|(_, item)| item))
        })
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

    /// The item with the greatest `key`, the last of equal ones.
    #[inline]
    fn max_by_key<K: Ord + Send, F: Fn(&Self::Item) -> K + Sync + Send>(
        self,
        key: F,
    ) -> Out<Self, Option<Self::Item>> {
        self.end(|w, chain, options| {
            let greatest = |a: (K, Self::Item), b: (K, Self::Item)| if a.0 > b.0 { a } else { b };
            Ok(ends::reduce_with(w, &keyed(chain, &key), options, greatest)?.map(|(_, item)| item))
        })
    }

    /// Any item for which `f` returns true.
    #[inline]
    fn find_any<F: Fn(&Self::Item) -> bool + Sync + Send>(
        self,
        f: F,
    ) -> Out<Self, Option<Self::Item>> {
        self.find_map_any(move |item| f(&item).then_some(item))
    }

    /// Any value that `f` returns.
    #[inline]
    fn find_map_any<R: Send, F: Fn(Self::Item) -> Option<R> + Sync + Send>(
        self,
        f: F,
    ) -> Out<Self, Option<R>> {
        self.end(|w, chain, options| ends::find_map_any(w, chain, options, f))
    }

    /// The first item for which `f` returns true.
    #[inline]
    fn find_first<F: Fn(&Self::Item) -> bool + Sync + Send>(
        self,
        f: F,
    ) -> Out<Self, Option<Self::Item>> {
        self.find_map_first(move |item| f(&item).then_some(item))
    }

    /// The value that `f` returns for the first item for which it returns one.
    #[inline]
    fn find_map_first<R: Send, F: Fn(Self::Item) -> Option<R> + Sync + Send>(
        self,
        f: F,
    ) -> Out<Self, Option<R>> {
        self.end(|w, chain, options| ends::find_map_first(w, chain, options, f))
    }

    /// The last item for which `f` returns true.
    #[inline]
    fn find_last<F: Fn(&Self::Item) -> bool + Sync + Send>(
        self,
        f: F,
    ) -> Out<Self, Option<Self::Item>> {
        self.find_map_last(move |item| f(&item).then_some(item))
    }

    /// The value that `f` returns for the last item for which it returns one.
    #[inline]
    fn find_map_last<R: Send, F: Fn(Self::Item) -> Option<R> + Sync + Send>(
        self,
        f: F,
    ) -> Out<Self, Option<R>> {
        self.end(|w, chain, options| ends::find_map_last(w, chain, options, f))
    }

    /// Whether `f` returns true for any item.
    #[inline]
    fn any<F: Fn(Self::Item) -> bool + Sync + Send>(self, f: F) -> Out<Self, bool> {
        self.end(|w, chain, options| {
            let found = |item| f(item).then_some(());
            Ok(ends::find_map_any(w, chain, options, found)?.is_some())
        })
    }

    /// Whether `f` returns true for all items.
    #[inline]
    fn all<F: Fn(Self::Item) -> bool + Sync + Send>(self, f: F) -> Out<Self, bool> {
        self.end(|w, chain, options| {
            let found = |item| (!f(item)).then_some(());
            Ok(ends::find_map_any(w, chain, options, found)?.is_none())
        })
    }

    /// A collection of all items, in order.
    #[inline]
    fn collect<C: FromParallelIterator<Self::Item> + Send>(self) -> Out<Self, C> {
        self.end(|w, chain, options| C::collect_from(w, chain, options))
    }

    /// All items, in order, in vectors of the sizes in which they were made.
    #[inline]
    fn collect_vec_list(self) -> Out<Self, LinkedList<Vec<Self::Item>>> {
        self.end(|w, chain, options| Ok(ends::lists(w, chain, options)?.into_iter().collect()))
    }

    /// Two collections of the halves of all items, in order.
    #[inline]
    fn unzip<X, Y, A, B>(self) -> Out<Self, (A, B)>
    where
        Self: ParIter<Item = (X, Y)>,
        X: Send,
        Y: Send,
        A: Default + Send + ParallelExtend<X>,
        B: Default + Send + ParallelExtend<Y>,
    {
        self.end(|w, chain, options| {
            let (left, right) = ends::halves(w, chain, options)?;
            Ok((ends::extended(left), ends::extended(right)))
        })
    }

    /// Two collections: of the items for which `f` returns true, and of the others.
    #[inline]
    fn partition<A, B, F>(self, f: F) -> Out<Self, (A, B)>
    where
        A: Default + Send + ParallelExtend<Self::Item>,
        B: Default + Send + ParallelExtend<Self::Item>,
        F: Fn(&Self::Item) -> bool + Sync + Send,
    {
        self.end(|w, chain, options| {
            let (left, right) = ends::two_lists(w, chain, options, |left, right, item| {
                let list: &mut Vec<_> = if f(&item) { left } else { right };
                list.push(item);
            })?;
            Ok((ends::extended(left), ends::extended(right)))
        })
    }

    /// Two collections: of what `f` returns as `Left`, and of what it returns as `Right`.
    #[inline]
    fn partition_map<X, Y, A, B, F>(self, f: F) -> Out<Self, (A, B)>
    where
        X: Send,
        Y: Send,
        A: Default + Send + ParallelExtend<X>,
        B: Default + Send + ParallelExtend<Y>,
        F: Fn(Self::Item) -> Either<X, Y> + Sync + Send,
    {
        self.map(f).end(|w, chain, options| {
            let (left, right) = ends::sides(w, chain, options)?;
            Ok((ends::extended(left), ends::extended(right)))
        })
    }
}

impl<P: Positions> ParIter for P {}

/// The items of `chain`, each after its key.
fn keyed<P: ParIter, K: Send>(
    chain: &P,
    key: &(impl Fn(&P::Item) -> K + Sync + Send),
) -> impl ParIter<Item = (K, P::Item)> {
    Map::new(ByRef::new(chain), move |item| (key(&item), item))
}
