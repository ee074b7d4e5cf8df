//! The units of one list, in its order: a stack, or buckets.
//!
//! A list with the order `Fifo` has one bucket. A list with priorities has a bucket for each number
//! that its metric returns. A bucket is a queue.
//!
//! Source: Lenharth, Nguyen and Pingali, "Priority queues are not good concurrent priority
//! schedulers" (Euro-Par 2015), and Galois' ordered-by-integer-metric. Differences: each worker has
//! its buckets under the lock of its list, without a log of all buckets. Workers find lower
//! buckets of others by a hint (`lists`), and steal half of one.
//!
//! # Invariants
//!
//! - B1: `first` is empty only if there is no unit.
//! - B2: every bucket in `others` has units, and a higher number than `first`.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use sinew_policy::worklist::{swap, units};

use super::order::{Metric, Order};

/// The number of no bucket.
pub(super) const NO_BUCKET: u64 = u64::MAX;

/// Units in an order.
#[derive(Debug)]
pub(super) enum Units<U> {
    /// The newest at the end: workers take it, thieves take from the other end.
    Stack(Vec<U>),
    /// Workers and thieves take from the lowest bucket.
    Buckets(Buckets<U>),
}

/// Units in numbered queues.
pub(super) struct Buckets<U> {
    /// Without it there is one bucket.
    metric: Option<Metric<U>>,
    /// The number of the bucket `first`.
    lowest: u64,
    first: VecDeque<U>,
    others: BTreeMap<u64, VecDeque<U>>,
    /// An empty queue whose memory the next bucket uses.
    spare: VecDeque<U>,
    len: usize,
}

impl<U> Units<U> {
    /// No units, in this order.
    pub(super) fn new(order: &Order<U>) -> Self {
        match order {
            Order::Lifo => Self::Stack(Vec::new()),
            Order::Fifo => Self::Buckets(Buckets::new(None)),
            Order::Priority(metric) => Self::Buckets(Buckets::new(Some(Metric::clone(metric)))),
        }
    }

    /// No units, in the same order.
    fn empty(&self) -> Self {
        match self {
            Self::Stack(_) => Self::Stack(Vec::new()),
            Self::Buckets(buckets) => Self::Buckets(Buckets::new(buckets.metric.clone())),
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Stack(stack) => stack.len(),
            Self::Buckets(buckets) => buckets.len,
        }
    }

    /// How many units lie in the lowest bucket.
    pub(super) fn first_len(&self) -> usize {
        match self {
            Self::Stack(stack) => stack.len(),
            Self::Buckets(buckets) => buckets.first.len(),
        }
    }

    /// The number of the lowest bucket, if there are several buckets; [`NO_BUCKET`] if they are
    /// empty.
    #[inline]
    pub(super) fn lowest(&self) -> Option<u64> {
        match self {
            Self::Buckets(Buckets { metric: Some(_), lowest, len, .. }) => {
                Some(if *len == 0 { NO_BUCKET } else { *lowest })
            }
            _ => None,
        }
    }

    /// Adds units.
    ///
    /// # Errors
    ///
    /// The payload of a panic of the metric. All units are here nevertheless: those without a
    /// number are in bucket 0.
    #[inline]
    pub(super) fn extend(&mut self, added: impl Iterator<Item = U>) -> std::thread::Result<()> {
        match self {
            Self::Stack(stack) => {
                stack.extend(added);
                Ok(())
            }
            Self::Buckets(buckets) => buckets.extend(added),
        }
    }

    /// Returns units that were taken, the one last that was taken first.
    pub(super) fn put_back(&mut self, taken: impl Iterator<Item = U>) {
        match self {
            Self::Stack(stack) => stack.extend(taken),
            Self::Buckets(buckets) => taken.for_each(|unit| {
                let number = buckets.number(&unit).unwrap_or(0);
                buckets.bucket(number).push_front(unit);
                buckets.len += 1;
            }),
        }
    }

    /// Removes all units.
    pub(super) fn take_all(&mut self) -> Self {
        let empty = self.empty();
        std::mem::replace(self, empty)
    }

    /// Adds the units of another list of this order. Replaces an empty list, because a copy of
    /// millions takes long.
    pub(super) fn append(&mut self, other: Self) {
        match (self, other) {
            (this, other) if this.len() == 0 => *this = other,
            (Self::Buckets(this), Self::Buckets(other)) => {
                for (number, mut bucket) in other.into_buckets() {
                    this.len += bucket.len();
                    this.bucket(number).append(&mut bucket);
                }
            }
            (Self::Stack(this), other) => this.extend(other.into_units()),
            (Self::Buckets(_), Self::Stack(_)) => unreachable!("one order in all lists of a run"),
        }
    }

    /// Removes units for a thief. Of a stack the oldest ones; it copies the smaller part, which the
    /// owner keeps. Of the lowest bucket the newest ones, which the owner would run last.
    pub(super) fn steal(&mut self) -> Self {
        let mut stolen = self.empty();
        match (&mut *self, &mut stolen) {
            (Self::Stack(stack), Self::Stack(stolen)) if !stack.is_empty() => {
                let kept = stack.split_off(units::stolen(stack.len()));
                *stolen = std::mem::replace(stack, kept);
            }
            (Self::Buckets(buckets), Self::Buckets(stolen)) => {
                let kept = buckets.first.len() - units::stolen(buckets.first.len());
                stolen.lowest = buckets.lowest;
                stolen.first = buckets.first.split_off(kept);
                stolen.len = stolen.first.len();
                buckets.removed(stolen.len);
            }
            _ => {}
        }
        stolen
    }

    /// Removes a portion of `count` units of a stack, those that are taken next. Other orders have
    /// no portions.
    pub(super) fn split_top(&mut self, count: usize) -> Self {
        match self {
            Self::Stack(stack) => Self::Stack(stack.split_off(stack.len().saturating_sub(count))),
            Self::Buckets(_) => self.take_all(),
        }
    }

    /// Swaps `unit` for a random one of those that are taken next. False if there is none.
    pub(super) fn swap(&mut self, unit: &mut U, random: u64) -> bool {
        let Some(at) = swap::partner(self.first_len(), random) else { return false };
        match self {
            Self::Stack(stack) => std::mem::swap(unit, &mut stack[at]),
            Self::Buckets(buckets) => {
                let Some(partner) = buckets.first.swap_remove_back(at) else { return false };
                buckets.removed(1);
                let before = std::mem::replace(unit, partner);
                let number = buckets.number(&before).unwrap_or(0);
                buckets.push_back(number, before);
            }
        }
        true
    }

    /// The units of each of `threads` workers.
    pub(super) fn deal(self, threads: usize) -> Vec<Self> {
        if threads <= 1 {
            return vec![self];
        }
        match self {
            Self::Stack(stack) => deal_stack(stack, threads).into_iter().map(Self::Stack).collect(),
            Self::Buckets(buckets) => {
                let mut shares: Vec<_> =
                    (0..threads).map(|_| Buckets::new(buckets.metric.clone())).collect();
                for (number, bucket) in buckets.into_buckets() {
                    let block = units::block(bucket.len(), threads);
                    for (place, unit) in bucket.into_iter().enumerate() {
                        shares[units::dealt_to(place, block, threads)].push_back(number, unit);
                    }
                }
                shares.into_iter().map(Self::Buckets).collect()
            }
        }
    }

    /// All units, those of a stack from the oldest, those of buckets from the first.
    pub(super) fn into_units(self) -> Vec<U> {
        match self {
            Self::Stack(stack) => stack,
            Self::Buckets(buckets) => {
                buckets.into_buckets().flat_map(|(_, bucket)| bucket).collect()
            }
        }
    }
}

impl<U> Buckets<U> {
    fn new(metric: Option<Metric<U>>) -> Self {
        let (first, others, spare) = (VecDeque::new(), BTreeMap::new(), VecDeque::new());
        Self { metric, lowest: 0, first, others, spare, len: 0 }
    }

    /// The number of a unit's bucket, or the payload of the metric's panic.
    #[inline]
    fn number(&self, unit: &U) -> std::thread::Result<u64> {
        number(self.metric.as_ref(), unit)
    }

    /// Adds units; see [`Units::extend`].
    fn extend(&mut self, added: impl Iterator<Item = U>) -> std::thread::Result<()> {
        let Some(metric) = self.metric.take() else {
            self.first.extend(added);
            self.len = self.first.len();
            return Ok(());
        };
        let (mut count, mut unnumbered, mut result) = (0, None, Ok(()));
        let mut added = added.inspect(|_| count += 1);
        // Panics are caught around all units, since to do so for each takes longer than the metric.
        while let Err(payload) = catch_unwind(AssertUnwindSafe(|| {
            self.extend_by(&metric, &mut added, &mut unnumbered);
        })) {
            result = result.and(Err(payload));
            if let Some(unit) = unnumbered.take() {
                self.bucket(0).push_back(unit);
            }
        }
        drop(added);
        self.len += count;
        self.metric = Some(metric);
        result
    }

    /// Adds units by their numbers. While `metric` has a unit, it is in `unnumbered`.
    #[inline]
    fn extend_by(
        &mut self,
        metric: &Metric<U>,
        added: &mut impl Iterator<Item = U>,
        unnumbered: &mut Option<U>,
    ) {
        // Units with the same number are added without another search.
        let (mut last, mut bucket) = (None, &mut VecDeque::new());
        for unit in added {
            let number = metric(unnumbered.insert(unit)).min(NO_BUCKET - 1);
            if last != Some(number) {
                last = Some(number);
                bucket = self.bucket(number);
            }
            bucket.extend(unnumbered.take());
        }
    }

    #[inline]
    fn push_back(&mut self, number: u64, unit: U) {
        self.bucket(number).push_back(unit);
        self.len += 1;
    }

    /// The bucket `number`, to which the caller adds a unit.
    #[inline]
    fn bucket(&mut self, number: u64) -> &mut VecDeque<U> {
        if self.first.is_empty() {
            self.lowest = number; // By B1 all are empty.
        }
        match number.cmp(&self.lowest) {
            Ordering::Equal => &mut self.first,
            Ordering::Greater => {
                let spare = &mut self.spare;
                self.others.entry(number).or_insert_with(|| std::mem::take(spare))
            }
            Ordering::Less => {
                let spare = std::mem::take(&mut self.spare);
                self.others.insert(self.lowest, std::mem::replace(&mut self.first, spare));
                self.lowest = number;
                &mut self.first
            }
        }
    }

    /// Removes the first `count` units of the lowest bucket, of which they are the oldest.
    pub(super) fn take_first(&mut self, count: usize, take: impl FnOnce(Taken<'_, U>)) {
        let count = count.min(self.first.len());
        take(self.first.drain(..count));
        self.removed(count);
    }

    /// `count` units were removed from the lowest bucket: if it is empty, the next one follows
    /// (B1).
    #[inline]
    fn removed(&mut self, count: usize) {
        self.len -= count;
        if self.first.is_empty()
            && let Some((number, next)) = self.others.pop_first()
        {
            self.lowest = number;
            self.spare = std::mem::replace(&mut self.first, next);
        }
    }

    fn into_buckets(self) -> impl Iterator<Item = (u64, VecDeque<U>)> {
        std::iter::once((self.lowest, self.first))
            .filter(|(_, bucket)| !bucket.is_empty())
            .chain(self.others)
    }
}

/// The number of a unit's bucket, or the payload of the metric's panic.
#[inline]
fn number<U>(metric: Option<&Metric<U>>, unit: &U) -> std::thread::Result<u64> {
    let Some(metric) = metric else { return Ok(0) };
    // The unit is only read, so it is as whole as the metric leaves it.
    let number = catch_unwind(AssertUnwindSafe(|| metric(unit)));
    number.map(|number| number.min(NO_BUCKET - 1))
}

/// Units that are taken from a bucket, the oldest first.
pub(super) type Taken<'a, U> = std::collections::vec_deque::Drain<'a, U>;

impl<U: std::fmt::Debug> std::fmt::Debug for Buckets<U> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entry(&self.lowest, &self.first).entries(&self.others).finish()
    }
}

/// The units of each of `threads` workers. Those of the first keep their memory, because new pages
/// take most of the time.
fn deal_stack<U>(mut stack: Vec<U>, threads: usize) -> Vec<Vec<U>> {
    let block = units::block(stack.len(), threads);
    let share = stack.len() / threads + block;
    let mut others: Vec<Vec<_>> = (1..threads).map(|_| Vec::with_capacity(share)).collect();
    let (mut places, to) = (0.., std::cell::Cell::new(0));
    let is_anothers = |_: &mut U| {
        to.set(places.next().map_or(0, |place| units::dealt_to(place, block, threads)));
        to.get() > 0
    };
    stack.extract_if(.., is_anothers).for_each(|unit| others[to.get() - 1].push(unit));
    std::iter::once(stack).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LEVELS: u64 = 4;

    fn orders() -> [Order<(u64, u32)>; 3] {
        [Order::Lifo, Order::Fifo, Order::priority(|unit: &(u64, u32)| unit.0)]
    }

    /// All units, in the order in which a worker takes them `count` at a time.
    fn drained(units: &mut Units<(u64, u32)>, count: usize) -> Vec<(u64, u32)> {
        let mut local = crate::worklist::local_units::LocalUnits::new();
        let mut taken = Vec::new();
        while units.len() > 0 {
            local.take(units, count);
            while let Some(unit) = local.take_first() {
                taken.push(unit);
            }
        }
        taken
    }

    /// A list of this order with units of these buckets, numbered.
    fn filled(order: &Order<(u64, u32)>, buckets: &[u64]) -> Units<(u64, u32)> {
        let mut units = Units::new(order);
        units.extend(buckets.iter().copied().zip(0..)).unwrap();
        units
    }

    fn sorted(mut units: Vec<(u64, u32)>) -> Vec<(u64, u32)> {
        units.sort_unstable();
        units
    }

    proptest! {
        /// Catches: another order than the one that was set, and a bucket that is forgotten when
        /// a lower one appears or the lowest one becomes empty (B1, B2).
        #[test]
        fn a_list_has_its_order(
            buckets in proptest::collection::vec(0..LEVELS, 0..40),
            count in 1..6_usize,
        ) {
            let [mut lifo, mut fifo, mut first] = orders().map(|order| filled(&order, &buckets));
            let mut expected: Vec<_> = buckets.iter().copied().zip(0..).collect();
            prop_assert_eq!(drained(&mut fifo, count), expected.clone());
            expected.sort_by_key(|unit| unit.0);
            prop_assert_eq!(drained(&mut first, count), expected.clone());
            prop_assert_eq!(first.lowest(), Some(NO_BUCKET));
            expected.sort_by_key(|unit| std::cmp::Reverse(unit.1));
            prop_assert_eq!(drained(&mut lifo, count), expected);
        }

        /// Catches: a unit that is lost or doubled by a thief, by a swap, when units are dealt,
        /// put back or appended; and one in the wrong bucket.
        #[test]
        fn no_unit_is_lost_whatever_happens(
            buckets in proptest::collection::vec(0..LEVELS, 0..40),
            threads in 1..4_usize,
            random: u64,
        ) {
            for order in orders() {
                let mut units = filled(&order, &buckets);
                let all = sorted(drained(&mut filled(&order, &buckets), 1));
                let stolen = units.steal();
                prop_assert_eq!(stolen.len() == 0, buckets.is_empty());
                let mut shares = units.take_all().deal(threads);
                prop_assert_eq!((units.len(), shares.len()), (0, threads));
                let mut local = crate::worklist::local_units::LocalUnits::new();
                local.take(&mut shares[0], 3);
                local.swap_first(|first| shares[0].swap(first, random));
                shares[0].put_back(local.drain());
                units.append(stolen);
                shares.into_iter().for_each(|share| units.append(share));
                prop_assert_eq!(units.len(), all.len());
                let taken = drained(&mut units, 2);
                if matches!(order, Order::Priority(_)) {
                    prop_assert!(taken.is_sorted_by_key(|unit| unit.0));
                }
                prop_assert_eq!(sorted(taken), all);
            }
        }
    }

    /// Catches: a thief that takes what its victim takes next, or from a higher bucket.
    #[test]
    fn a_thief_takes_the_newer_half_of_the_lowest_bucket() {
        let mut units = filled(&orders()[2], &[5, 1, 1, 1, 5]);
        let mut stolen = units.steal();
        assert_eq!(stolen.lowest(), Some(1));
        assert_eq!(drained(&mut stolen, 9), [(1, 2), (1, 3)]);
        assert_eq!(drained(&mut units, 9), [(1, 1), (5, 0), (5, 4)]);
    }

    /// Catches: units that are run again in another order after they were put back.
    #[test]
    fn units_that_are_put_back_come_first() {
        for order in orders() {
            let buckets = [2, 1, 1, 2, 1];
            let expected = drained(&mut filled(&order, &buckets), 1);
            let mut units = filled(&order, &buckets);
            let mut local = crate::worklist::local_units::LocalUnits::new();
            local.take(&mut units, 2);
            units.put_back(local.drain());
            assert_eq!(drained(&mut units, 1), expected, "{order:?}");
        }
    }
}
