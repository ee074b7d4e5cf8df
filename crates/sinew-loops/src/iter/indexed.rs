//! The trait of chains that have one item at each position.

use crate::iter::Positions;
use std::cmp::Ordering;

use sinew_policy::chunk::Schedule;

use super::adapt::clones;
use super::positions::IndexedPositions;
use super::{
    Chunks, Collected, Enumerate, Folded, FromParallelIterator, Interleave, IntoParallelIterator,
    LoopOptions, Numbers, Out, ParIter, Rev, Skip, StepBy, Take, Zip, ends,
};
use crate::loops::Rounds;

/// A chain that has exactly one item at each position, so that its items can be numbered, paired
/// and reversed. [`IndexedParallelIterator`](super::IndexedParallelIterator) is the same without a
/// control.
#[expect(clippy::len_without_is_empty, reason = "rayon's chains have none")]
pub trait IndexedParIter: IndexedPositions {
    /// The number of items.
    #[inline]
    fn len(&self) -> usize {
        self.num_positions()
    }

    /// Pairs of each item's number, from 0, and the item.
    #[inline]
    fn enumerate(self) -> Enumerate<Self> {
        Enumerate::new(self)
    }

    /// Pairs with the items of `other`, as many as the shorter has.
    #[inline]
    fn zip<C: IntoParallelIterator<Iter: IndexedParIter>>(self, other: C) -> Zip<Self, C::Iter> {
        Zip::new(self, other.into_par_iter())
    }

    /// As [`zip`](Self::zip), of chains of the same length.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    #[inline]
    fn zip_eq<C: IntoParallelIterator<Iter: IndexedParIter>>(self, other: C) -> Zip<Self, C::Iter> {
        let other = other.into_par_iter();
        let (a, b) = (self.len(), other.len());
        assert!(a == b, "`zip_eq` of {a} and {b} items: use `zip` for chains of different lengths");
        Zip::new(self, other)
    }

    /// Items of this chain and of `other` in turn, and then the rest of the longer.
    #[inline]
    fn interleave<C>(self, other: C) -> Interleave<Self, C::Iter>
    where
        C: IntoParallelIterator<Item = Self::Item, Iter: IndexedParIter>,
    {
        Interleave::new(self, other.into_par_iter())
    }

    /// Items of this chain and of `other` in turn, until one has no more.
    #[inline]
    fn interleave_shortest<C>(self, other: C) -> Interleave<Take<Self>, Take<C::Iter>>
    where
        C: IntoParallelIterator<Item = Self::Item, Iter: IndexedParIter>,
    {
        let other = other.into_par_iter();
        let (a, b) = (self.len(), other.len());
        Interleave::new(self.take(a.min(b.saturating_add(1))), Take::new(other, a.min(b)))
    }

    /// The items in the reverse order.
    #[inline]
    fn rev(self) -> Rev<Self> {
        Rev::new(self)
    }

    /// All but the first `n` items.
    #[inline]
    fn skip(self, n: usize) -> Skip<Self> {
        Skip::new(self, n)
    }

    /// The first `n` items.
    #[inline]
    fn take(self, n: usize) -> Take<Self> {
        Take::new(self, n)
    }

    /// The first item, and then every `step`-th.
    ///
    /// # Panics
    ///
    /// If `step` is 0.
    #[inline]
    fn step_by(self, step: usize) -> StepBy<Self> {
        assert!(step > 0, "steps of 0 items never end: use at least 1");
        StepBy::new(self, step)
    }

    /// Vectors of `size` items; the last may be shorter.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    #[inline]
    #[track_caller]
    fn chunks(self, size: usize) -> Chunks<Self, Collected> {
        Chunks::of(self, size, Collected)
    }

    /// Chunks of `size` items, each folded into `identity()`.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    #[inline]
    #[track_caller]
    fn fold_chunks<T, Z, F>(self, size: usize, identity: Z, fold: F) -> Chunks<Self, Folded<Z, F>>
    where
        T: Send,
        Z: Fn() -> T + Sync + Send,
        F: Fn(T, Self::Item) -> T + Sync + Send,
    {
        Chunks::of(self, size, Folded { identity, fold })
    }

    /// As [`fold_chunks`](Self::fold_chunks), with clones of `init`.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    #[inline]
    #[track_caller]
    fn fold_chunks_with<T, F>(
        self,
        size: usize,
        init: T,
        fold: F,
    ) -> Chunks<Self, Folded<impl Fn() -> T + Sync + Send + Clone, F>>
    where
        T: Send + Clone,
        F: Fn(T, Self::Item) -> T + Sync + Send,
    {
        self.fold_chunks(size, clones(init), fold)
    }

    /// The numbers of the items for which `f` returns true.
    #[inline]
    fn positions<F: Fn(Self::Item) -> bool + Sync + Send>(self, f: F) -> Numbers<Self, F> {
        Numbers::new(self, f)
    }

    /// The number of any item for which `f` returns true.
    #[inline]
    fn position_any<F: Fn(Self::Item) -> bool + Sync + Send>(
        self,
        f: F,
    ) -> Out<Self, Option<usize>> {
        self.enumerate().find_map_any(move |(number, item)| f(item).then_some(number))
    }

    /// The number of the first item for which `f` returns true.
    #[inline]
    fn position_first<F: Fn(Self::Item) -> bool + Sync + Send>(
        self,
        f: F,
    ) -> Out<Self, Option<usize>> {
        self.enumerate().find_map_first(move |(number, item)| f(item).then_some(number))
    }

    /// The number of the last item for which `f` returns true.
    #[inline]
    fn position_last<F: Fn(Self::Item) -> bool + Sync + Send>(
        self,
        f: F,
    ) -> Out<Self, Option<usize>> {
        self.enumerate().find_map_last(move |(number, item)| f(item).then_some(number))
    }

    /// Claims of at least `min` items, unless the loop has fewer: [`Schedule::Adaptive`], which
    /// cuts nothing that is shorter than twice that. A loop with a [control](super::Over::control)
    /// may make shorter claims.
    #[inline]
    fn with_min_len(self, min: usize) -> Self {
        // A range that is one longer than the grain has halves of `min` items.
        let grain = min.max(1).saturating_mul(2) - 1;
        self.default_schedule(Schedule::Adaptive { grain })
    }

    /// Claims of at most `max` items: [`Schedule::Simple`] with this grain.
    #[inline]
    fn with_max_len(self, max: usize) -> Self {
        self.default_schedule(Schedule::Simple { grain: max.max(1) })
    }

    /// Rounds of `size` positions: each runs in parallel, and ends before the next one begins. The
    /// last call counts the positions; of two such hints the last one counts.
    ///
    /// A [reproducible](LoopOptions::reproducible) `reduce`, `sum` and the like has no rounds.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    ///
    /// # Cost
    ///
    /// That of a loop with a [control](super::Over::control) for each round.
    #[inline]
    #[track_caller]
    fn by_uniform_blocks(mut self, size: usize) -> Self {
        assert!(size > 0, "rounds of 0 items never end: use at least 1");
        self.change_options(|options| options.rounds = Some(Rounds::Uniform(size)));
        self
    }

    /// Rounds as of [`by_uniform_blocks`](Self::by_uniform_blocks), of which each is twice as long
    /// as the one before, for searches that often end early. The first has as many positions as the
    /// pool has workers.
    #[inline]
    fn by_exponential_blocks(mut self) -> Self {
        self.change_options(|options| options.rounds = Some(Rounds::Doubling));
        self
    }

    /// Replaces the contents of `target` with all items, in order.
    #[inline]
    fn collect_into_vec(self, target: &mut Vec<Self::Item>) -> Out<Self, ()> {
        self.end(|w, chain, options| {
            *target = Vec::collect_from(w, chain, options)?;
            Ok(())
        })
    }

    /// Replaces the contents of two vectors with the halves of all items, in order.
    #[inline]
    fn unzip_into_vecs<X: Send, Y: Send>(
        self,
        left: &mut Vec<X>,
        right: &mut Vec<Y>,
    ) -> Out<Self, ()>
    where
        Self: ParIter<Item = (X, Y)>,
    {
        self.end(|w, chain, options| {
            (*left, *right) = <(Vec<X>, Vec<Y>)>::collect_from(w, chain, options)?;
            Ok(())
        })
    }

    /// Compares the items with those of `other` one by one, and then the lengths.
    #[inline]
    fn cmp<C>(self, other: C) -> Out<Self, Ordering>
    where
        C: IntoParallelIterator<Item = Self::Item, Iter: IndexedParIter>,
        Self::Item: Ord,
    {
        let other = other.into_par_iter();
        let lengths = self.len().cmp(&other.len());
        let differs =
            |(a, b): (Self::Item, Self::Item)| Some(a.cmp(&b)).filter(|order| order.is_ne());
        self.zip(other).end(move |w, chain, options| {
            Ok(ends::find_map_first(w, chain, options, differs)?.unwrap_or(lengths))
        })
    }

    /// As [`cmp`](Self::cmp); `None` if the first items that are not equal cannot be compared.
    #[inline]
    fn partial_cmp<C>(self, other: C) -> Out<Self, Option<Ordering>>
    where
        C: IntoParallelIterator<Iter: IndexedParIter>,
        Self::Item: PartialOrd<C::Item>,
    {
        let other = other.into_par_iter();
        let lengths = self.len().cmp(&other.len());
        let differs = |(a, b): (Self::Item, C::Item)| {
            Some(a.partial_cmp(&b)).filter(|order| *order != Some(Ordering::Equal))
        };
        self.zip(other).end(move |w, chain, options| {
            Ok(ends::find_map_first(w, chain, options, differs)?.unwrap_or(Some(lengths)))
        })
    }

    /// Whether the items and the lengths are equal.
    #[inline]
    fn eq<C>(self, other: C) -> Out<Self, bool>
    where
        C: IntoParallelIterator<Iter: IndexedParIter>,
        Self::Item: PartialEq<C::Item>,
    {
        let other = other.into_par_iter();
        let differs = self.len() != other.len();
        let unequal = |(a, b): (Self::Item, C::Item)| (a != b).then_some(());
        self.zip(other).end(move |w, chain, options| {
            Ok(!differs && ends::find_map_any(w, chain, options, unequal)?.is_none())
        })
    }

    /// Whether the items or the lengths differ.
    #[inline]
    fn ne<C>(self, other: C) -> Out<Self, bool>
    where
        C: IntoParallelIterator<Iter: IndexedParIter>,
        Self::Item: PartialEq<C::Item>,
    {
        let other = other.into_par_iter();
        let differs = self.len() != other.len();
        let unequal = |(a, b): (Self::Item, C::Item)| (a != b).then_some(());
        self.zip(other).end(move |w, chain, options| {
            Ok(differs || ends::find_map_any(w, chain, options, unequal)?.is_some())
        })
    }

    /// Whether this chain is less than `other`.
    #[inline]
    fn lt<C>(self, other: C) -> Out<Self, bool>
    where
        C: IntoParallelIterator<Iter: IndexedParIter>,
        Self::Item: PartialOrd<C::Item>,
    {
        is_ordered(self, other, Ordering::is_lt)
    }

    /// Whether this chain is less than `other` or equal.
    #[inline]
    fn le<C>(self, other: C) -> Out<Self, bool>
    where
        C: IntoParallelIterator<Iter: IndexedParIter>,
        Self::Item: PartialOrd<C::Item>,
    {
        is_ordered(self, other, Ordering::is_le)
    }

    /// Whether this chain is greater than `other`.
    #[inline]
    fn gt<C>(self, other: C) -> Out<Self, bool>
    where
        C: IntoParallelIterator<Iter: IndexedParIter>,
        Self::Item: PartialOrd<C::Item>,
    {
        is_ordered(self, other, Ordering::is_gt)
    }

    /// Whether this chain is greater than `other` or equal.
    #[inline]
    fn ge<C>(self, other: C) -> Out<Self, bool>
    where
        C: IntoParallelIterator<Iter: IndexedParIter>,
        Self::Item: PartialOrd<C::Item>,
    {
        is_ordered(self, other, Ordering::is_ge)
    }
}

impl<P: IndexedPositions> IndexedParIter for P {}

/// Whether the first difference of two chains, or of their lengths, is as `test` says.
fn is_ordered<P, C>(chain: P, other: C, test: fn(Ordering) -> bool) -> Out<P, bool>
where
    P: IndexedParIter<Item: PartialOrd<C::Item>>,
    C: IntoParallelIterator<Iter: IndexedParIter>,
{
    let other = other.into_par_iter();
    let lengths = chain.len().cmp(&other.len());
    chain.zip(other).end(move |w, chain, options| {
        let order = ends::find_map_first(w, chain, options, |(a, b): (P::Item, C::Item)| {
            Some(a.partial_cmp(&b)).filter(|order| *order != Some(Ordering::Equal))
        })?;
        Ok(order.unwrap_or(Some(lengths)).is_some_and(test))
    })
}
