//! Arrays that are distributed over ranks in blocks.
//!
//! An array is cut into blocks by its length alone. Each rank has a run of blocks, in the order of
//! the ranks; by default all have the same number, or one more. Reductions and scans work block by
//! block, so their results have the same bits at any number of ranks, for any operation that is
//! associative but for rounding.
//!
//! A rank's part is a `Vec`, on which its pool works with all workers.

use std::fmt;
use std::ops::Range;

use bytemuck::Pod;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sinew::iter::ParIter;

use crate::World;
use crate::link::Rank;
use crate::tree::Forest;
use crate::wire::{Plain, Way};
use crate::world::{Call, Purpose};

/// The most blocks of an array.
const BLOCKS: usize = 1 << 12;

/// The elements of an array that each rank has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts {
    length: usize,
    /// Elements of a block; the last one may have fewer.
    block: usize,
    /// The first block of each rank, and the number of blocks.
    bounds: Vec<usize>,
}

impl Parts {
    fn even(length: usize, ranks: u32) -> Self {
        Self::weighted(length, &vec![1.0; ranks as usize])
    }

    /// As many blocks for a rank as its part of the weights.
    fn weighted(length: usize, weights: &[f64]) -> Self {
        let block = length.div_ceil(BLOCKS).max(1);
        let blocks = length.div_ceil(block);
        let sum: f64 = weights.iter().sum();
        let mut before = 0.0;
        let mut bounds = vec![0];
        for weight in weights {
            before += weight;
            let bound = (blocks as f64 * (before / sum)).round() as usize;
            bounds.push(bound.min(blocks));
        }
        bounds[weights.len()] = blocks;
        Self { length, block, bounds }
    }

    fn blocks_of(&self, rank: Rank) -> Range<usize> {
        self.bounds[rank as usize]..self.bounds[rank as usize + 1]
    }

    fn range_of(&self, rank: Rank) -> Range<usize> {
        let blocks = self.blocks_of(rank);
        let at = |block: usize| (block * self.block).min(self.length);
        at(blocks.start)..at(blocks.end)
    }
}

/// The size of an array before its elements are known.
#[derive(Debug, Clone, Copy)]
#[must_use = "an array needs `init`"]
pub struct Block<'w> {
    world: &'w World,
    length: usize,
}

/// This rank's part of an array that is distributed over all ranks.
///
/// All ranks call the same methods in the same order.
///
/// ```
/// let world = sinew_dist::init()?;
/// let squares = world.block(1_000).init(|i| (i * i) as u64);
/// assert_eq!(squares.reduce(0, |a, b| a + b), 332_833_500);
/// let prefix = squares.map(|x| x + 1).scan(|a, b| a + b);
/// assert_eq!(prefix.gather()[..3], [1, 3, 8]);
/// # Ok::<(), sinew_dist::InitError>(())
/// ```
pub struct Dist<'w, T> {
    world: &'w World,
    parts: Parts,
    own: Vec<T>,
}

impl<T> fmt::Debug for Dist<'_, T> {
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
        Dist { world: self.world, parts, own }
    }
}

impl<'w, T: Send + Sync> Dist<'w, T> {
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
    pub fn map<U: Send>(&self, f: impl Fn(&T) -> U + Sync) -> Dist<'w, U> {
        let own = &self.own;
        let own = self.world.pool().run(|_| sinew::over(own).map(&f).collect());
        Dist { world: self.world, parts: self.parts.clone(), own }
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
        let totals = self.world.all_gather(&self.totals(&op));
        let mut starts: Vec<Option<T>> = vec![None];
        for total in totals.into_iter().flatten() {
            let before = starts[starts.len() - 1].clone();
            starts.push(Some(before.map_or_else(|| total.clone(), |sum| op(sum, total.clone()))));
        }
        let starts = &starts[self.parts.blocks_of(self.world.rank())];
        let blocks: Vec<(&[T], &Option<T>)> = self.blocks().zip(starts).collect();
        let one = |(block, start): &(&[T], &Option<T>)| scan_block(block, start.as_ref(), &op);
        let parts: Vec<Vec<T>> = self.world.pool().run(|_| sinew::over(&blocks).map(one).collect());
        let own = parts.into_iter().flatten().collect();
        Self { world: self.world, parts: self.parts.clone(), own }
    }

    /// The same array with as many elements on each rank as its part of the weights says, to whole
    /// blocks; for example the speeds that ranks have measured.
    ///
    /// # Panics
    ///
    /// If there is not one weight a rank, if one is negative or not finite, or if all are 0.
    ///
    /// # Cost
    ///
    /// One message to each rank that gets elements from this one.
    #[track_caller]
    pub fn redistribute(self, weights: &[f64]) -> Self
    where
        T: Pod,
    {
        let fit = |weight: &f64| weight.is_finite() && *weight >= 0.0;
        assert!(weights.len() == self.world.size() as usize, "one weight a rank: {weights:?}");
        assert!(weights.iter().all(fit), "weights are finite and not negative: {weights:?}");
        assert!(weights.iter().sum::<f64>() > 0.0, "all weights are 0");
        let parts = Parts::weighted(self.parts.length, weights);
        let call = self.world.call("redistribute");
        let (rank, range) = (self.world.rank(), self.range());
        for other in 0..self.world.size() {
            let leaving = common(&range, &parts.range_of(other));
            if !leaving.is_empty() {
                let own = &self.own[leaving.start - range.start..leaving.end - range.start];
                call.send(other, Purpose::Move, Plain::pack(own));
            }
        }
        let wanted = parts.range_of(rank);
        let mut own = Vec::with_capacity(wanted.len());
        for other in 0..self.world.size() {
            let coming = common(&wanted, &self.parts.range_of(other));
            if !coming.is_empty() {
                own.extend(receive::<T>(&call, other, Purpose::Move, coming.len()));
            }
        }
        Self { world: self.world, parts, own }
    }

    /// All elements, on all ranks.
    ///
    /// # Cost
    ///
    /// Rank 0 receives one message of each rank, and sends all to the ranks below it.
    pub fn gather(&self) -> Vec<T>
    where
        T: Pod,
    {
        gather(self.world, &self.own)
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
        let blocks: Vec<&[T]> = self.blocks().collect();
        let total = |block: &&[T]| {
            let mut items = block.iter().cloned();
            let first = items.next().expect("a block has elements");
            items.fold(first, op)
        };
        self.world.pool().run(|_| sinew::over(&blocks).map(total).collect())
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

fn common(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    a.start.max(b.start)..a.end.min(b.end)
}

/// `count` plain values from one rank.
pub(crate) fn receive<T: Pod>(
    call: &Call<'_>,
    from: Rank,
    purpose: Purpose,
    count: usize,
) -> Vec<T> {
    let values: Option<Vec<T>> = Plain::unpack(&call.receive(from, purpose));
    values.filter(|values| values.len() == count).unwrap_or_else(|| call.refuse())
}

/// The values of all ranks in the order of the ranks, on all ranks.
pub(crate) fn gather<T: Pod>(world: &World, own: &[T]) -> Vec<T> {
    let call = world.call("gather");
    if world.rank() > 0 {
        call.send(0, Purpose::Move, Plain::pack(own));
    }
    let all = || {
        let others = (1..world.size()).map(|rank| call.receive(rank, Purpose::Move));
        others.fold(Plain::pack(own), |mut all, bytes| {
            all.extend(bytes);
            all
        })
    };
    Plain::unpack(&call.down(all)).unwrap_or_else(|| call.refuse())
}
