//! Last calls that make collections.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, Hash};
use std::ops::{ControlFlow, Range};
use std::rc::Rc;
use std::sync::Arc;

use sinew_core::{Cancelled, Worker};

use either::Either;

use super::attempt::FirstFailure;
use crate::data::{Output, Writer};
use crate::iter::adapt::Copied;
use crate::iter::by_ref::ByRef;
use crate::iter::{Attempt, IntoParallelIterator, Positions, Uncontrolled};
use crate::loops::{Options, drive, partials};

/// Collections that can be made of a chain's items, in their order.
pub trait FromParallelIterator<T: Send>: Sized {
    /// The collection of all items of `iter`.
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(iter: I) -> Self;

    /// The same for a chain that may be cancelled.
    #[doc(hidden)]
    fn collect_from<P: Positions<Item = T>>(
        w: &Worker,
        chain: &P,
        options: &Options<'_>,
    ) -> Result<Self, Cancelled> {
        Ok(Self::from_lists(all_lists(w, chain, options)?))
    }

    /// The collection of all elements of `lists`.
    #[doc(hidden)]
    fn from_lists(lists: Vec<Vec<T>>) -> Self {
        Self::from_par_iter(concatenated(lists))
    }
}

/// Collections that a chain's items can be added to, in their order.
pub trait ParallelExtend<T: Send> {
    /// Adds all items of `iter`.
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, iter: I);

    /// Adds all elements of `items`.
    #[doc(hidden)]
    fn extend_by_vec(&mut self, items: Vec<T>) {
        self.par_extend(items);
    }
}

impl<T: Send> FromParallelIterator<T> for Vec<T> {
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(iter: I) -> Self {
        collected(iter)
    }

    #[inline]
    fn collect_from<P: Positions<Item = T>>(
        w: &Worker,
        chain: &P,
        options: &Options<'_>,
    ) -> Result<Self, Cancelled> {
        let mut all = Self::new();
        append(w, chain, options, &mut all)?;
        Ok(all)
    }

    fn from_lists(lists: Vec<Self>) -> Self {
        concatenated(lists)
    }
}

impl<T: Send> FromParallelIterator<T> for LinkedList<T> {
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(iter: I) -> Self {
        collected(iter)
    }

    /// Participants make the nodes.
    fn collect_from<P: Positions<Item = T>>(
        w: &Worker,
        chain: &P,
        options: &Options<'_>,
    ) -> Result<Self, Cancelled> {
        let piece = |list: &mut Self, range| {
            let push = |item| {
                list.push_back(item);
                ControlFlow::Continue(())
            };
            // SAFETY: as in `append`.
            unsafe { chain.run(range, push) }
        };
        let parts = partials(w, chain.num_positions(), options, Self::new, piece)?;
        let mut all = Self::new();
        parts.for_each(|mut part| all.append(&mut part));
        Ok(all)
    }

    fn from_lists(lists: Vec<Vec<T>>) -> Self {
        lists.into_iter().flatten().collect()
    }
}

/// Appends the items of a chain to `all`: in place if there is one at each position.
#[inline]
fn append<P: Positions>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
    all: &mut Vec<P::Item>,
) -> Result<(), Cancelled> {
    let Some(len) = chain.opt_len() else {
        append_lists(all, lists(w, chain, options)?);
        return Ok(());
    };
    let output = Output::new(all, len);
    let piece = |writer: &mut Writer<'_, '_, P::Item>, range: Range<usize>| {
        // SAFETY: ranges are disjoint (D1), and a position has one item.
        let mut write = unsafe { writer.sink(range.clone()) };
        let write = |item| {
            write(item);
            ControlFlow::Continue(())
        };
        // SAFETY: ranges lie below the number of positions and are disjoint (D1); a last call has
        // its chain by value, so there are no other requests.
        unsafe { chain.run(range, write) }
    };
    drive(w, len, options, || output.writer(), piece)?;
    output.complete();
    Ok(())
}

/// The items of a chain with any number at each position, in several lists.
#[inline]
pub(crate) fn lists<P: Positions>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
) -> Result<Vec<Vec<P::Item>>, Cancelled> {
    let piece = |list: &mut Vec<P::Item>, range| {
        let push = |item| {
            list.push(item);
            ControlFlow::Continue(())
        };
        // SAFETY: as in `append`.
        unsafe { chain.run(range, push) }
    };
    Ok(partials(w, chain.num_positions(), options, Vec::new, piece)?.collect())
}

/// The items of a chain, in one list if there is one at each position.
#[inline]
fn all_lists<P: Positions>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
) -> Result<Vec<Vec<P::Item>>, Cancelled> {
    match chain.opt_len() {
        Some(_) => Ok(vec![Vec::collect_from(w, chain, options)?]),
        None => lists(w, chain, options),
    }
}

/// Appends all lists to `all`; takes the first as it is if `all` has no memory yet.
fn append_lists<T>(all: &mut Vec<T>, lists: Vec<Vec<T>>) {
    let mut lists = lists.into_iter();
    if all.capacity() == 0 {
        *all = lists.next().unwrap_or_default();
    }
    all.reserve(lists.as_slice().iter().map(Vec::len).sum());
    lists.for_each(|mut list| all.append(&mut list));
}

fn concatenated<T>(lists: Vec<Vec<T>>) -> Vec<T> {
    let mut all = Vec::new();
    append_lists(&mut all, lists);
    all
}

/// The items of a chain, those that `splits` puts left, and those that it puts right.
#[inline]
pub(crate) fn two_lists<P: Positions, A: Send, B: Send>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
    add: impl Fn(&mut Vec<A>, &mut Vec<B>, P::Item) + Sync,
) -> Result<(Vec<A>, Vec<B>), Cancelled> {
    let piece = |(left, right): &mut (Vec<A>, Vec<B>), range| {
        let push = |item| {
            add(left, right, item);
            ControlFlow::Continue(())
        };
        // SAFETY: as in `append`.
        unsafe { chain.run(range, push) }
    };
    let pairs = partials(w, chain.num_positions(), options, Default::default, piece)?;
    let (left, right) = pairs.unzip();
    Ok((concatenated(left), concatenated(right)))
}

/// The values of a chain that are `Left`, and those that are `Right`.
#[inline]
pub(crate) fn sides<P: Positions<Item = Either<X, Y>>, X: Send, Y: Send>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
) -> Result<(Vec<X>, Vec<Y>), Cancelled> {
    two_lists(w, chain, options, |left, right, item| match item {
        Either::Left(item) => left.push(item),
        Either::Right(item) => right.push(item),
    })
}

/// The halves of a chain's pairs.
#[inline]
pub(crate) fn halves<P: Positions<Item = (X, Y)>, X: Send, Y: Send>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
) -> Result<(Vec<X>, Vec<Y>), Cancelled> {
    let Some(len) = chain.opt_len() else {
        return two_lists(w, chain, options, |left, right, (x, y)| {
            left.push(x);
            right.push(y);
        });
    };
    let mut halves = (Vec::new(), Vec::new());
    let (left, right) = (Output::new(&mut halves.0, len), Output::new(&mut halves.1, len));
    let piece = |writers: &mut (Writer<'_, '_, X>, Writer<'_, '_, Y>), range: Range<usize>| {
        // SAFETY: as in `append`, for both.
        let (mut left, mut right) =
            unsafe { (writers.0.sink(range.clone()), writers.1.sink(range.clone())) };
        let write = |(x, y)| {
            left(x);
            right(y);
            ControlFlow::Continue(())
        };
        // SAFETY: as in `append`.
        unsafe { chain.run(range, write) }
    };
    drive(w, len, options, || (left.writer(), right.writer()), piece)?;
    left.complete();
    right.complete();
    Ok(halves)
}

/// A collection of the elements of a vector.
pub(crate) fn extended<C: Default + ParallelExtend<T>, T: Send>(items: Vec<T>) -> C {
    let mut all = C::default();
    all.extend_by_vec(items);
    all
}

/// The collection of all items of `iter`.
#[inline]
fn collected<I: IntoParallelIterator, C: FromParallelIterator<I::Item> + Send>(iter: I) -> C {
    iter.into_par_iter().end(|w, chain, options| C::collect_from(w, chain, options))
}

/// The elements of `iter` in a vector, in whose order collections get them.
fn listed<I: IntoParallelIterator>(iter: I) -> Vec<I::Item> {
    collected(iter)
}

/// Collections made of lists.
macro_rules! from_lists {
    ($lists:ident => $made:expr; $([$($generics:tt)*] $item:ty => $type:ty;)*) => {$(
        impl<$($generics)*> FromParallelIterator<$item> for $type {
            fn from_par_iter<I: IntoParallelIterator<Item = $item>>(iter: I) -> Self {
                Self::from_lists(iter.into_par_iter().end(all_lists))
            }

            fn from_lists($lists: Vec<Vec<$item>>) -> Self {
                $made
            }
        }
    )*};
}

from_lists! {
    lists => concatenated(lists).into_iter().collect();
    [T: Send] T => VecDeque<T>;
    [T: Send] T => Box<[T]>;
    [T: Send] T => Rc<[T]>;
    [T: Send] T => Arc<[T]>;
    [T: Send + Ord] T => BinaryHeap<T>;
    [T: Send + Ord] T => BTreeSet<T>;
    [K: Send + Ord, V: Send] (K, V) => BTreeMap<K, V>;
    [] char => String;
    ['a] &'a char => String;
    ['a] &'a str => String;
    [] String => String;
    [] Box<str> => String;
    ['a] Cow<'a, str> => String;
    ['a] &'a OsStr => OsString;
    [] OsString => OsString;
    ['a] Cow<'a, OsStr> => OsString;
    [] () => ();
}

// One allocation, and no copy of the lists.
from_lists! {
    lists => {
        let mut all = Self::default();
        all.reserve(lists.iter().map(Vec::len).sum());
        lists.into_iter().for_each(|list| all.extend(list));
        all
    };
    [T: Send + Eq + Hash, S: BuildHasher + Default] T => HashSet<T, S>;
    [K: Send + Eq + Hash, V: Send, S: BuildHasher + Default] (K, V) => HashMap<K, V, S>;
}

impl<'a, T: Clone + Send> FromParallelIterator<T> for Cow<'a, [T]> {
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(iter: I) -> Self {
        Cow::Owned(listed(iter))
    }
}

impl<'a, T: Send> FromParallelIterator<T> for Cow<'a, str>
where
    String: FromParallelIterator<T>,
{
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(iter: I) -> Self {
        Cow::Owned(String::from_par_iter(iter))
    }
}

impl<'a, T: Send> FromParallelIterator<T> for Cow<'a, OsStr>
where
    OsString: FromParallelIterator<T>,
{
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(iter: I) -> Self {
        Cow::Owned(OsString::from_par_iter(iter))
    }
}

/// Collections with `Extend`, and `Vec`.
macro_rules! extended_by_vector {
    ($([$($generics:tt)*] $item:ty => $type:ty;)*) => {$(
        impl<$($generics)*> ParallelExtend<$item> for $type {
            fn par_extend<I: IntoParallelIterator<Item = $item>>(&mut self, iter: I) {
                self.extend(listed(iter));
            }

            fn extend_by_vec(&mut self, items: Vec<$item>) {
                self.extend(items);
            }
        }
    )*};
}

impl<T: Send> ParallelExtend<T> for Vec<T> {
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, iter: I) {
        iter.into_par_iter().end(|w, chain, options| append(w, chain, options, self));
    }

    fn extend_by_vec(&mut self, items: Self) {
        append_lists(self, vec![items]);
    }
}

/// Copies take less room on their way than references.
impl<'a, T: Copy + Send + Sync> ParallelExtend<&'a T> for Vec<T> {
    fn par_extend<I: IntoParallelIterator<Item = &'a T>>(&mut self, iter: I) {
        Copied::new(iter.into_par_iter()).end(|w, chain, options| append(w, chain, options, self));
    }

    fn extend_by_vec(&mut self, items: Vec<&'a T>) {
        self.extend(items);
    }
}

extended_by_vector! {
    [T: Send] T => VecDeque<T>;
    ['a, T: Copy + Send + Sync] &'a T => VecDeque<T>;
    [T: Send] T => LinkedList<T>;
    ['a, T: Copy + Send + Sync] &'a T => LinkedList<T>;
    [T: Send + Ord] T => BinaryHeap<T>;
    ['a, T: Copy + Send + Sync + Ord] &'a T => BinaryHeap<T>;
    [T: Send + Ord] T => BTreeSet<T>;
    ['a, T: Copy + Send + Sync + Ord] &'a T => BTreeSet<T>;
    [T: Send + Eq + Hash, S: BuildHasher] T => HashSet<T, S>;
    ['a, T: Copy + Send + Sync + Eq + Hash, S: BuildHasher] &'a T => HashSet<T, S>;
    [K: Send + Ord, V: Send] (K, V) => BTreeMap<K, V>;
    ['a, K: Copy + Send + Sync + Ord, V: Copy + Send + Sync] (&'a K, &'a V) => BTreeMap<K, V>;
    [K: Send + Eq + Hash, V: Send, S: BuildHasher] (K, V) => HashMap<K, V, S>;
    ['a, K: Copy + Send + Sync + Eq + Hash, V: Copy + Send + Sync, S: BuildHasher]
    (&'a K, &'a V) => HashMap<K, V, S>;
    [] char => String;
    ['a] &'a char => String;
    ['a] &'a str => String;
    [] String => String;
    [] Box<str> => String;
    ['a] Cow<'a, str> => String;
    ['a] &'a OsStr => OsString;
    [] OsString => OsString;
    ['a] Cow<'a, OsStr> => OsString;
    [] () => ();
}

impl<X: Send, Y: Send, A, B> ParallelExtend<(X, Y)> for (A, B)
where
    A: ParallelExtend<X>,
    B: ParallelExtend<Y>,
{
    fn par_extend<I: IntoParallelIterator<Item = (X, Y)>>(&mut self, iter: I) {
        self.extend_by_vec(listed(iter));
    }

    fn extend_by_vec(&mut self, items: Vec<(X, Y)>) {
        let (left, right) = items.into_iter().unzip();
        self.0.extend_by_vec(left);
        self.1.extend_by_vec(right);
    }
}

impl<X: Send, Y: Send, A, B> ParallelExtend<Either<X, Y>> for (A, B)
where
    A: ParallelExtend<X>,
    B: ParallelExtend<Y>,
{
    fn par_extend<I: IntoParallelIterator<Item = Either<X, Y>>>(&mut self, iter: I) {
        let (left, right) = iter.into_par_iter().end(sides);
        self.0.extend_by_vec(left);
        self.1.extend_by_vec(right);
    }
}

impl<T: Send, L: ParallelExtend<T>, R: ParallelExtend<T>> ParallelExtend<T> for Either<L, R> {
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, iter: I) {
        either::for_both!(self, collection => collection.par_extend(iter));
    }
}

/// The successes of a chain; the first failure ends it.
struct Successes<'p, B, F> {
    base: ByRef<'p, B>,
    first: &'p FirstFailure<F>,
}

// SAFETY: some items of the chain.
unsafe impl<R, P> Positions for Successes<'_, P, R::Failure>
where
    R: Attempt<Output: Send, Failure: Send>,
    P: Positions<Item = R>,
{
    type Item = R::Output;
    type Mode = Uncontrolled;

    #[inline]
    fn num_positions(&self) -> usize {
        self.base.num_positions()
    }

    #[inline]
    fn options(&self) -> Options<'_> {
        self.base.options()
    }

    #[inline]
    fn change_options(&mut self, _: impl FnOnce(&mut Options<'_>)) {}

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(R::Output) -> ControlFlow<()>,
    {
        let each = |item: R| match item.branch() {
            ControlFlow::Continue(item) => sink(item),
            ControlFlow::Break(failure) => self.first.keep(failure),
        };
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, each) }
    }
}

/// The collection of all successes, or the first failure that a worker met.
fn collect_successes<C, R, P>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
) -> Result<Result<C, R::Failure>, Cancelled>
where
    C: FromParallelIterator<R::Output>,
    R: Attempt<Output: Send, Failure: Send>,
    P: Positions<Item = R>,
{
    let first = FirstFailure::none();
    let successes = Successes { base: ByRef::new(chain), first: &first };
    let collected = C::collect_from(w, &successes, options);
    first.or(collected)
}

/// A result with the collection of all successes, or the first failure that a worker met.
impl<C, T, E> FromParallelIterator<Result<T, E>> for Result<C, E>
where
    C: FromParallelIterator<T> + Send,
    T: Send,
    E: Send,
{
    fn from_par_iter<I: IntoParallelIterator<Item = Result<T, E>>>(iter: I) -> Self {
        collected(iter)
    }

    fn collect_from<P: Positions<Item = Result<T, E>>>(
        w: &Worker,
        chain: &P,
        options: &Options<'_>,
    ) -> Result<Self, Cancelled> {
        collect_successes(w, chain, options)
    }
}

/// A collection of all items; `None` if an item is.
impl<C, T> FromParallelIterator<Option<T>> for Option<C>
where
    C: FromParallelIterator<T> + Send,
    T: Send,
{
    fn from_par_iter<I: IntoParallelIterator<Item = Option<T>>>(iter: I) -> Self {
        collected(iter)
    }

    fn collect_from<P: Positions<Item = Option<T>>>(
        w: &Worker,
        chain: &P,
        options: &Options<'_>,
    ) -> Result<Self, Cancelled> {
        Ok(collect_successes(w, chain, options)?.ok())
    }
}

/// Two collections of the halves of pairs.
impl<A, B, X: Send, Y: Send> FromParallelIterator<(X, Y)> for (A, B)
where
    A: Send + FromParallelIterator<X>,
    B: Send + FromParallelIterator<Y>,
{
    fn from_par_iter<I: IntoParallelIterator<Item = (X, Y)>>(iter: I) -> Self {
        collected(iter)
    }

    fn collect_from<P: Positions<Item = (X, Y)>>(
        w: &Worker,
        chain: &P,
        options: &Options<'_>,
    ) -> Result<Self, Cancelled> {
        let (left, right) = halves(w, chain, options)?;
        Ok((A::from_lists(vec![left]), B::from_lists(vec![right])))
    }
}

/// Two collections: of what is `Left`, and of what is `Right`.
impl<A, B, X: Send, Y: Send> FromParallelIterator<Either<X, Y>> for (A, B)
where
    A: Send + FromParallelIterator<X>,
    B: Send + FromParallelIterator<Y>,
{
    fn from_par_iter<I: IntoParallelIterator<Item = Either<X, Y>>>(iter: I) -> Self {
        collected(iter)
    }

    fn collect_from<P: Positions<Item = Either<X, Y>>>(
        w: &Worker,
        chain: &P,
        options: &Options<'_>,
    ) -> Result<Self, Cancelled> {
        let (left, right) = sides(w, chain, options)?;
        Ok((A::from_lists(vec![left]), B::from_lists(vec![right])))
    }
}
