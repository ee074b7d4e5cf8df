//! Arrays that are distributed over ranks in blocks.
//!
//! An array is cut into blocks by its length alone. Each rank has a run of blocks, in the order of
//! the ranks; by default all have the same number, or one more. Reductions and scans work block by
//! block, so their results have the same bits at any number of ranks, for any operation that is
//! associative but for rounding.
//!
//! A rank's part is a `Vec`, on which its pool works with all workers.
//!
//! | file | contents |
//! |---|---|
//! | `parts` | which elements each rank has |
//! | `pace` | how fast each rank computes them |
//! | `moves` | gathering, and redistribution: by weights, by measured speeds, over more or fewer ranks |

mod moves;
mod pace;
mod parts;

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sinew::iter::ParIter;

use crate::World;
use crate::tree::Forest;
use crate::wire::{Plain, Serde};
pub(crate) use moves::gather;
use pace::Pace;
use parts::Parts;

/// The size of an array before its elements are known.
#[derive(Debug, Clone, Copy)]
#[must_use = "an array needs `init`"]
pub struct Block<'w> {
    world: &'w World,
    length: usize,
}

/// This rank's part of an array that is distributed over all ranks.
///
/// All ranks call the same methods in the same order. `W` is the way in which elements travel:
/// [`Plain`] data as its bytes, or by [`Serde`] after a call of [`serde`](Self::serde).
///
/// ```
/// let world = sinew_dist::init()?;
/// let squares = world.block(1_000).init(|i| (i * i) as u64);
/// assert_eq!(squares.reduce(0, |a, b| a + b), 332_833_500);
/// let prefix = squares.map(|x| x + 1).scan(|a, b| a + b);
/// assert_eq!(prefix.gather()[..3], [1, 3, 8]);
/// # Ok::<(), sinew_dist::InitError>(())
/// ```
pub struct Dist<'w, T, W = Plain> {
    world: &'w World,
    parts: Parts,
    pace: Pace,
    own: Vec<T>,
    way: PhantomData<W>,
}

impl<T, W> fmt::Debug for Dist<'_, T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = self.parts.range_of(self.world.rank());
        let length = self.parts.length;
        f.debug_struct("Dist").field("length", &length).field("range", &range).finish()
    }
}

impl World {
    /// Begins an array of `length` elements that is distributed over all ranks.
    pub fn block(&self, length: usize) -> Block<'_> {
        Block { world: self, length }
    }
}

impl<'w> Block<'w> {
    /// The array whose element `i` is `f(i)`. Each rank computes its own.
    pub fn init<T: Send>(self, f: impl Fn(usize) -> T + Sync) -> Dist<'w, T> {
        let parts = Parts::even(self.length, self.world.size());
        let range = parts.range_of(self.world.rank());
        let own = self.world.pool().run(|_| sinew::over(range).map(&f).collect());
        let pace = Pace::new();
        Dist { world: self.world, parts, pace, own, way: PhantomData }
    }
}

impl<'w, T> Dist<'w, T> {
    /// The same array, whose elements travel by serde: for elements that are not plain data.
    ///
    /// ```
    /// let world = sinew_dist::init()?;
    /// let words = world.block(3).init(|i| format!("word {i}")).serde();
    /// assert_eq!(words.gather()[2], "word 2");
    /// # Ok::<(), sinew_dist::InitError>(())
    /// ```
    pub fn serde(self) -> Dist<'w, T, Serde> {
        let Self { world, parts, pace, own, .. } = self;
        Dist { world, parts, pace, own, way: PhantomData }
    }
}

impl<'w, T: Send + Sync, W> Dist<'w, T, W> {
    /// The number of elements on all ranks.
    pub fn len(&self) -> usize {
        self.parts.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// This rank's elements.
    pub fn own(&self) -> &[T] {
        &self.own
    }

    /// This rank's elements, to change them.
    pub fn own_mut(&mut self) -> &mut [T] {
        &mut self.own
    }

    /// The array whose elements are `f` of this one's, on the same ranks. No messages.
    pub fn map<U: Send>(&self, f: impl Fn(&T) -> U + Sync) -> Dist<'w, U, W> {
        let (pool, own) = (self.world.pool(), &self.own);
        let map = || pool.run(|_| sinew::over(own).map(&f).collect());
        self.with(self.pace.measure(own.len(), map))
    }

    /// An array with these elements on this rank.
    fn with<U>(&self, own: Vec<U>) -> Dist<'w, U, W> {
        let (parts, pace) = (self.parts.clone(), self.pace.clone());
        Dist { world: self.world, parts, pace, own, way: PhantomData }
    }

    /// All elements reduced by `op`, on all ranks; `empty` if there are none.
    ///
    /// The result has the same bits at any number of ranks.
    ///
    /// # Cost
    ///
    /// Two messages a rank. Of each rank at most two values a level of the tree of blocks travel.
    pub fn reduce(&self, empty: T, op: impl Fn(T, T) -> T + Sync) -> T
    where
        T: Clone + Serialize + DeserializeOwned,
    {
        let _watch = self.world.watch("reduce");
        let totals = self.totals(&op);
        let first = self.parts.blocks_of(self.world.rank()).start;
        let forest = Forest::new(first, totals, &op);
        let mut all = self.world.all_gather(&forest).into_iter();
        let mut whole = all.next().unwrap_or(forest);
        all.for_each(|behind| whole.append(behind, &op));
        whole.finish(&op).unwrap_or(empty)
    }

    /// The array whose element `i` is elements 0 to `i` of this one, reduced by `op`.
    ///
    /// The result has the same bits at any number of ranks.
    ///
    /// # Cost
    ///
    /// Two passes over the elements, and the total of each block, at most 4096, to all ranks.
    pub fn scan(&self, op: impl Fn(T, T) -> T + Sync) -> Self
    where
        T: Clone + Serialize + DeserializeOwned,
    {
        let _watch = self.world.watch("scan");
        let totals = self.world.all_gather(&self.totals(&op));
        let mut starts: Vec<Option<T>> = vec![None];
        for total in totals.into_iter().flatten() {
            let before = starts[starts.len() - 1].clone();
            starts.push(Some(before.map_or_else(|| total.clone(), |sum| op(sum, total.clone()))));
        }
        let starts = &starts[self.parts.blocks_of(self.world.rank())];
        let blocks: Vec<(&[T], &Option<T>)> = self.blocks().zip(starts).collect();
        let one = |(block, start): &(&[T], &Option<T>)| scan_block(block, start.as_ref(), &op);
        let pass = || self.world.pool().run(|_| sinew::over(&blocks).map(one).collect());
        let parts: Vec<Vec<T>> = self.pace.measure(self.own.len(), pass);
        self.with(parts.into_iter().flatten().collect())
    }

    /// Panics if elements are on ranks that rest.
    #[track_caller]
    fn check(&self) {
        self.parts.bounds_of(self.world.size());
    }

    /// Which elements are on this rank.
    fn range(&self) -> Range<usize> {
        self.parts.range_of(self.world.rank())
    }

    fn blocks(&self) -> impl Iterator<Item = &[T]> {
        self.own.chunks(self.parts.block)
    }

    /// The elements of each block of this rank, reduced from left to right.
    fn totals(&self, op: &(impl Fn(T, T) -> T + Sync)) -> Vec<T>
    where
        T: Clone,
    {
        self.check();
        let blocks: Vec<&[T]> = self.blocks().collect();
        let total = |block: &&[T]| {
            let mut items = block.iter().cloned();
            let first = items.next().expect("a block has elements");
            items.fold(first, op)
        };
        let pass = || self.world.pool().run(|_| sinew::over(&blocks).map(total).collect());
        self.pace.measure(self.own.len(), pass)
    }
}

fn scan_block<T: Clone>(block: &[T], start: Option<&T>, op: &impl Fn(T, T) -> T) -> Vec<T> {
    let mut within: Option<T> = None;
    let next = |item: &T| {
        let sum = match within.take() {
            Some(sum) => op(sum, item.clone()),
            None => item.clone(),
        };
        within = Some(sum.clone());
        start.cloned().map_or_else(|| sum.clone(), |start| op(start, sum.clone()))
    };
    block.iter().map(next).collect()
}
