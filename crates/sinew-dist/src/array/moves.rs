//! How elements of an array move between ranks.

use std::marker::PhantomData;
use std::ops::Range;

use super::Dist;
use super::pace::Pace;
use super::parts::Parts;
use crate::World;
use crate::wire::Way;
use crate::world::Purpose;

impl<'w, T: Send + Sync, W: Way<T>> Dist<'w, T, W> {
    /// The same array in even parts on the first `ranks` ranks: after [`World::grow`] on all, and
    /// before [`World::shrink`] on those that stay. Ranks that have no part of it, since they are
    /// new or come back, give `None`.
    ///
    /// ```
    /// # use sinew_dist::{Dist, World, threads::Ranks};
    /// let program = |world: &World| {
    ///     let mut squares = None;
    ///     if !world.joined() {
    ///         squares = Some(world.block(1_000).init(|i| (i * i) as u64));
    ///         world.grow(1).unwrap();
    ///     }
    ///     let squares = Dist::spread(world, squares, world.size());
    ///     squares.reduce(0, |a, b| a + b)
    /// };
    /// assert_eq!(Ranks::new(2).run(program).unwrap(), [332_833_500; 3]);
    /// ```
    ///
    /// # Panics
    ///
    /// If there are fewer than `ranks` ranks, or none is to have the array, or rank 0 gives `None`.
    ///
    /// # Cost
    ///
    /// As [`redistribute`](Self::redistribute), and a broadcast.
    #[track_caller]
    pub fn spread(world: &'w World, array: Option<Self>, ranks: u32) -> Self {
        let size = world.size();
        assert!((1..=size).contains(&ranks), "an array on {ranks} of {size} ranks");
        assert!(world.rank() > 0 || array.is_some(), "rank 0 has no part of the array");
        let parts: Option<Parts> =
            world.broadcast(&array.as_ref().map(|array| array.parts.clone()));
        let parts = parts.expect("rank 0 has a part");
        let even = Parts::even(parts.length, ranks);
        let own = array.map_or_else(Vec::new, |array| array.own);
        Self { world, parts, pace: Pace::new(), own, way: PhantomData }.moved(even)
    }

    /// The same array with as many elements on each rank as its part of the weights says, to whole
    /// blocks.
    ///
    /// # Panics
    ///
    /// If there is not one weight a rank, if one is negative or not finite, or if all are 0.
    ///
    /// # Cost
    ///
    /// One message to each rank that gets elements from this one. Elements that stay are not
    /// copied to bytes.
    #[track_caller]
    pub fn redistribute(self, weights: &[f64]) -> Self {
        let fit = |weight: &f64| weight.is_finite() && *weight >= 0.0;
        assert!(weights.len() == self.world.size() as usize, "one weight a rank: {weights:?}");
        assert!(weights.iter().all(fit), "weights are finite and not negative: {weights:?}");
        assert!(weights.iter().sum::<f64>() > 0.0, "all weights are 0");
        let parts = Parts::weighted(self.parts.length, weights);
        self.moved(parts)
    }

    /// Moves elements from slow ranks to fast ones, if that pays: if the slowest rank then needs at
    /// most 9/10 of its time.
    ///
    /// The time is what `map`, `reduce` and `scan` of this array, and of arrays made from it, took
    /// on each rank since the last call. Ranks may be slow, or elements costly:
    /// `sinew_policy::balance` considers both. Each rank keeps a block, if there are enough.
    ///
    /// ```
    /// let world = sinew_dist::init()?;
    /// let mut rows = world.block(100).init(|row| row as u64);
    /// for _ in 0..3 {
    ///     let costly = rows.map(|row| (0..row * row).sum::<u64>());
    ///     rows = rows.rebalance();
    /// }
    /// # Ok::<(), sinew_dist::InitError>(())
    /// ```
    ///
    /// # Cost
    ///
    /// Two messages a rank, and those of [`redistribute`](Self::redistribute) if elements move.
    #[must_use = "the array is lost"]
    pub fn rebalance(self) -> Self {
        let measured = self.pace.take();
        self.learn(measured)
    }

    /// As [`rebalance`](Self::rebalance), by what this rank's elements cost in any unit that is the
    /// same on all ranks, instead of by time.
    #[must_use = "the array is lost"]
    pub fn rebalance_by(self, cost: u64) -> Self {
        let items = self.own.len();
        self.learn((items, cost))
    }

    fn learn(self, own: (usize, u64)) -> Self {
        let all = self.world.all_gather(&own);
        match self.pace.learn(&all, &self.parts.bounds_of(self.world.size())) {
            Some(bounds) => {
                let parts = Parts { bounds, ..self.parts };
                self.moved(parts)
            }
            None => self,
        }
    }

    /// The same array in other parts.
    fn moved(mut self, parts: Parts) -> Self {
        self.check();
        let call = self.world.call("redistribute");
        let (rank, had) = (self.world.rank(), self.range());
        let others = || (0..self.world.size()).filter(move |other| *other != rank);
        for other in others() {
            let leaving = common(&had, &parts.range_of(other));
            if !leaving.is_empty() {
                let own = &self.own[leaving.start - had.start..leaving.end - had.start];
                call.send(other, Purpose::Move, W::pack(own));
            }
        }
        let wanted = parts.range_of(rank);
        let kept = common(&had, &wanted);
        let mut own = Vec::with_capacity(wanted.len());
        for other in 0..self.world.size() {
            let coming = common(&wanted, &self.parts.range_of(other));
            if other == rank && !kept.is_empty() {
                own.extend(self.own.drain(kept.start - had.start..kept.end - had.start));
            } else if other != rank && !coming.is_empty() {
                let bytes = call.receive(other, Purpose::Move);
                let got = W::unpack(&bytes).filter(|got| got.len() == coming.len());
                own.extend(got.unwrap_or_else(|| call.refuse()));
            }
        }
        Self { parts, own, ..self }
    }

    /// All elements, on all ranks.
    ///
    /// # Cost
    ///
    /// Rank 0 receives one message of each rank, and sends all to the ranks below it.
    pub fn gather(&self) -> Vec<T> {
        self.check();
        gather::<T, W>(self.world, &self.own)
    }
}

/// The elements that both have.
fn common(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    a.start.max(b.start)..a.end.min(b.end)
}

/// The values of all ranks in the order of the ranks, on all ranks.
pub(crate) fn gather<T, W: Way<T>>(world: &World, own: &[T]) -> Vec<T> {
    let call = world.call("gather");
    let unpack = |bytes: &[u8]| W::unpack(bytes).unwrap_or_else(|| call.refuse());
    if world.rank() > 0 {
        call.send(0, Purpose::Move, W::pack(own));
    }
    let all = || {
        if world.size() == 1 {
            return W::pack(own);
        }
        let mut all: Vec<T> = unpack(&W::pack(own));
        for rank in 1..world.size() {
            all.extend(unpack(&call.receive(rank, Purpose::Move)));
        }
        W::pack(&all)
    };
    unpack(&call.down(all))
}
