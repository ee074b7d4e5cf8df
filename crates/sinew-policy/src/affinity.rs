//! The owner of each part of a repeated loop, so that a run finds its data in the caches of the
//! last run.
//!
//! A loop that runs repeatedly over the same data is fastest if every worker gets the same part
//! again. Equal shares do that, but leave uneven loops unbalanced. Stealing balances them, but a
//! chance delay then moves data to another cache. This module combines both: every worker begins
//! with its own part, thieves take iterations that the owners have not reached, and the steals
//! update the owners for the next run. The chunk source is in `sinew-loops/src/source`.
//!
//! Source: affinity scheduling (Markatos and LeBlanc, "Using Processor Affinity in Loop Scheduling
//! on Shared-Memory Multiprocessors"), and the affinity partitioner of Robison, Voss and Kukanov
//! ("Optimization via Reflection on Work Stealing in TBB"). Differences: ranges of any length
//! replace an array of fixed pieces. A range stolen in the first run stays with the thief. Later a
//! range moves only if the same worker stole it in two consecutive runs, so that one chance delay
//! does not cost a worker its data.
//!
//! # Invariants
//!
//! - F1: parts are adjacent, in order, never empty, and cover `0..n`; neighbours have different
//!   owners.
//! - F2: an owner order is a permutation of `0..n`: segments and shares are adjacent and cover all
//!   positions.
//!
//! # Cost
//!
//! A look-up is a binary search among the segments of the order, at most [`PARTS_PER_WORKER`] per
//! worker. It costs nothing if every worker owns one part and the parts are in order.
//!
//! # Tests
//!
//! Property tests against a vector with the owner of each index.

use std::ops::Range;

/// The most parts per worker; more are merged. Smaller pieces gain nothing by staying with their
/// owner.
pub const PARTS_PER_WORKER: usize = 8;

/// A stolen range shorter than this fraction of an even share changes no owner: every run ends with
/// steals of small rests.
const LEAST_FRACTION: usize = 32;

/// The shortest stolen range that changes an owner, in a loop of `n` iterations for `workers`
/// workers.
#[inline]
pub fn worth_keeping(n: usize, workers: usize) -> usize {
    (n / workers.max(1) / LEAST_FRACTION).max(1)
}

/// A range that a worker stole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stolen {
    /// The range, in iterations of the loop.
    pub range: Range<usize>,
    /// The thief's number.
    pub by: usize,
}

/// One owner's iterations, from `start` to the start of the next part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    start: usize,
    owner: usize,
}

/// The owners of a loop's iterations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owners {
    n: usize,
    workers: usize,
    parts: Vec<Part>,
    /// The ranges stolen in the last run; `None` before the first run.
    before: Option<Vec<Stolen>>,
}

impl Owners {
    /// `n` iterations in equal shares for `workers` workers (0 counts as 1).
    pub fn equal(n: usize, workers: usize) -> Self {
        let workers = workers.max(1);
        let shares = crate::chunk::Shares::new(n, workers);
        let part = |owner| Part { start: shares.get(owner).start, owner };
        // Shares beyond the first `n` are empty.
        Self { n, workers, parts: (0..workers.min(n)).map(part).collect(), before: None }
    }

    /// Whether this is for loops of `n` iterations and `workers` workers.
    pub fn fits(&self, n: usize, workers: usize) -> bool {
        self.n == n && self.workers == workers.max(1)
    }

    /// Updates the owners after a run. `stolen` is in the order of the steals. Returns whether an
    /// owner changed.
    pub fn learn(&mut self, stolen: Vec<Stolen>) -> bool {
        let parts = self.parts.clone();
        match self.before.take() {
            None => stolen.iter().for_each(|now| self.assign(now.range.clone(), now.by)),
            Some(before) => self.assign_repeated(&before, &stolen),
        }
        self.before = Some(stolen);
        self.merge_shortest(PARTS_PER_WORKER * self.workers);
        self.parts != parts
    }

    /// Gives a worker the ranges that it stole in both runs.
    fn assign_repeated(&mut self, before: &[Stolen], now: &[Stolen]) {
        for now in now {
            for before in before.iter().filter(|before| before.by == now.by) {
                let start = now.range.start.max(before.range.start);
                self.assign(start..now.range.end.min(before.range.end), now.by);
            }
        }
    }

    /// Makes `owner` the owner of `range`, which ends at or below `n`.
    fn assign(&mut self, range: Range<usize>, owner: usize) {
        if range.is_empty() {
            return;
        }
        let after = self.owner(range.end);
        let first = self.parts.partition_point(|part| part.start < range.start);
        let last = self.parts.partition_point(|part| part.start <= range.end);
        let ending = after.map(|owner| Part { start: range.end, owner });
        self.parts
            .splice(first..last, std::iter::once(Part { start: range.start, owner }).chain(ending));
        self.parts.dedup_by_key(|part| part.owner);
    }

    /// The owner of iteration `index`; `None` beyond the end.
    fn owner(&self, index: usize) -> Option<usize> {
        let part = self.parts.partition_point(|part| part.start <= index).checked_sub(1)?;
        (index < self.n).then(|| self.parts[part].owner)
    }

    fn merge_shortest(&mut self, limit: usize) {
        while self.parts.len() > limit {
            let length = |number: usize| self.range(number).len();
            let shortest = (0..self.parts.len()).min_by_key(|&number| length(number)).unwrap_or(0);
            // The part before it takes it over; the first part goes to the one after it.
            let start = self.parts[shortest].start;
            self.parts.remove(shortest);
            if shortest == 0 {
                self.parts[0].start = start;
            }
            self.parts.dedup_by_key(|part| part.owner);
        }
    }

    fn range(&self, number: usize) -> Range<usize> {
        self.parts[number].start..self.parts.get(number + 1).map_or(self.n, |next| next.start)
    }

    /// The owners' parts, in the order of the iterations.
    pub fn parts(&self) -> impl Iterator<Item = (Range<usize>, usize)> {
        (0..self.parts.len()).map(|number| (self.range(number), self.parts[number].owner))
    }

    /// The iterations in the order of their owners.
    pub fn order(&self) -> OwnerOrder {
        let (mut segments, mut begins) = (Vec::<Segment>::new(), vec![0]);
        let mut position = 0;
        for worker in 0..self.workers {
            for (range, _) in self.parts().filter(|&(_, owner)| owner == worker) {
                let end = position + range.len();
                match segments.last_mut() {
                    // A range that continues the segment before it needs no segment of its own.
                    Some(last) if last.index(last.positions.end) == range.start => {
                        last.positions.end = end;
                    }
                    _ => segments.push(Segment { positions: position..end, start: range.start }),
                }
                position = end;
            }
            begins.extend([position]);
        }
        OwnerOrder { segments, begins }
    }
}

/// Positions of an [`OwnerOrder`] that represent as many adjacent iterations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The positions.
    pub positions: Range<usize>,
    /// The iteration at the first position.
    start: usize,
}

impl Segment {
    /// The iteration at `position`.
    #[inline]
    pub fn index(&self, position: usize) -> usize {
        self.start + (position - self.positions.start)
    }
}

/// The iterations of a loop in the order of their owners: worker by worker, each one's parts in a
/// row. A *position* is an index into this order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnerOrder {
    segments: Vec<Segment>,
    /// The begin of each worker's share, and the end of the last one.
    begins: Vec<usize>,
}

impl OwnerOrder {
    /// The iterations in their own order, with one share per worker. `begins` starts with 0,
    /// ascends and ends with the number of iterations.
    pub fn in_order(begins: Vec<usize>) -> Self {
        Self { segments: Vec::new(), begins }
    }

    /// The positions of `worker`; empty if there is no such worker.
    pub fn share(&self, worker: usize) -> Range<usize> {
        match self.begins.get(worker..worker + 2) {
            Some(&[begin, end]) => begin..end,
            _ => 0..0,
        }
    }

    /// Whether each position is the iteration of the same number.
    #[inline]
    pub fn is_in_order(&self) -> bool {
        self.segments.len() <= 1
    }

    /// The segment that contains `position`.
    ///
    /// # Panics
    ///
    /// If there is none: an order with [`is_in_order`](Self::is_in_order) may have no segments.
    #[track_caller]
    pub fn segment(&self, position: usize) -> &Segment {
        &self.segments[self.segments.partition_point(|segment| segment.positions.end <= position)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WORKERS: usize = 4;

    fn any_stolen(n: usize) -> impl Strategy<Value = Vec<Stolen>> {
        let one = (0..=n, 0..=n, 0..WORKERS)
            .prop_map(|(a, b, by)| Stolen { range: a.min(b)..a.max(b), by });
        proptest::collection::vec(one, 0..12)
    }

    fn each_owner(owners: &Owners) -> Vec<usize> {
        owners.parts().flat_map(|(range, owner)| range.map(move |_| owner)).collect()
    }

    fn assert_in_form(owners: &Owners) {
        let parts: Vec<_> = owners.parts().collect();
        let mut next = 0;
        for (range, _) in &parts {
            assert!(range.start == next && !range.is_empty(), "{parts:?}");
            next = range.end;
        }
        assert_eq!(next, owners.n);
        assert!(parts.windows(2).all(|pair| pair[0].1 != pair[1].1), "{parts:?}");
    }

    proptest! {
        /// Catches: a part lost or widened by an assignment at its edge, and the wrong order of
        /// two assignments (F1).
        #[test]
        fn the_first_run_makes_the_last_thief_the_owner(stolen in any_stolen(60)) {
            let mut owners = Owners::equal(60, WORKERS);
            let mut model = each_owner(&owners);
            for stolen in &stolen {
                model[stolen.range.clone()].fill(stolen.by);
            }
            let same = model == each_owner(&owners);
            prop_assert_eq!(owners.learn(stolen), !same);
            assert_in_form(&owners);
            // Fewer parts than the limit, so none was merged.
            prop_assume!(owners.parts.len() < PARTS_PER_WORKER * WORKERS);
            prop_assert_eq!(each_owner(&owners), model);
        }

        /// Catches: a worker that was late once and loses its part, and one that is always late
        /// and keeps it.
        #[test]
        fn later_a_part_moves_if_it_is_stolen_twice(
            first in any_stolen(60),
            second in any_stolen(60),
        ) {
            let mut owners = Owners::equal(60, WORKERS);
            owners.learn(Vec::new());
            prop_assert!(!owners.learn(first.clone()));
            let mut model = each_owner(&owners);
            for now in &second {
                for index in now.range.clone() {
                    if first
                        .iter()
                        .any(|before| before.by == now.by && before.range.contains(&index))
                    {
                        model[index] = now.by;
                    }
                }
            }
            owners.learn(second);
            assert_in_form(&owners);
            prop_assume!(owners.parts.len() < PARTS_PER_WORKER * WORKERS);
            prop_assert_eq!(each_owner(&owners), model);
        }

        /// Catches: a position that comes twice or belongs to the wrong worker, and segments that
        /// do not follow each other (F2).
        #[test]
        fn an_order_is_a_permutation_sorted_by_owner(stolen in any_stolen(60), n in 0..61_usize) {
            let mut owners = Owners::equal(n, WORKERS);
            let within = |stolen: Stolen| Stolen {
                range: stolen.range.start.min(n)..stolen.range.end.min(n),
                ..stolen
            };
            owners.learn(stolen.into_iter().map(within).collect());
            let order = owners.order();
            let indices = |worker| order.share(worker).map(|position| {
                if order.is_in_order() { position } else { order.segment(position).index(position) }
            });
            let all: Vec<usize> = (0..WORKERS).flat_map(indices).collect();
            let by_owner = each_owner(&owners);
            let mut expected: Vec<usize> = (0..n).collect();
            expected.sort_by_key(|&index| by_owner[index]);
            prop_assert_eq!(all, expected);
            prop_assert!(
                order.segments
                    .windows(2)
                    .all(|pair| pair[0].positions.end == pair[1].positions.start)
            );
            prop_assert_eq!(order.share(WORKERS), 0..0);
        }

        /// Catches: a position or an end of a part that wraps in the longest loop.
        #[test]
        fn the_parts_of_a_huge_loop_follow_each_other(
            stolen in any_stolen(usize::MAX),
            n in usize::MAX - 9..=usize::MAX,
        ) {
            let mut owners = Owners::equal(n, WORKERS);
            let within = |stolen: Stolen| Stolen {
                range: stolen.range.start.min(n)..stolen.range.end.min(n),
                ..stolen
            };
            owners.learn(stolen.into_iter().map(within).collect());
            assert_in_form(&owners);
            let order = owners.order();
            prop_assert_eq!(order.share(WORKERS - 1).end, n);
            for segment in &order.segments {
                let last = segment.positions.end - 1;
                prop_assert_eq!(order.segment(last), segment);
                prop_assert!(segment.index(last) < n);
            }
        }

        /// Catches: a memory that grows with every run, and a merge that leaves a gap.
        #[test]
        fn parts_stay_few(seed in any::<u64>(), runs in 1..20_usize) {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut owners = Owners::equal(10_000, WORKERS);
            for _ in 0..runs {
                owners.before = None;
                let stolen = |_| {
                    let start = random.usize(..9_000);
                    Stolen {
                        range: start..start + random.usize(1..20),
                        by: random.usize(..WORKERS),
                    }
                };
                owners.learn((0..40).map(stolen).collect());
                assert_in_form(&owners);
                prop_assert!(owners.parts.len() <= PARTS_PER_WORKER * WORKERS);
            }
        }
    }

    /// Catches: a look-up where none is needed, in the usual state of a loop.
    #[test]
    fn equal_shares_are_in_order() {
        let owners = Owners::equal(10, 4);
        assert!(
            owners.order().is_in_order()
                && owners.fits(10, 4)
                && !owners.fits(10, 3)
                && !owners.fits(9, 4)
        );
        assert_eq!(
            (0..5).map(|worker| owners.order().share(worker)).collect::<Vec<_>>(),
            [0..3, 3..6, 6..8, 8..10, 0..0]
        );
        assert_eq!(Owners::equal(2, 4).parts().collect::<Vec<_>>(), [(0..1, 0), (1..2, 1)]);
    }

    /// Catches: small rests that change owners, large parts that do not, and a loop too short for
    /// either.
    #[test]
    fn a_thirty_second_of_a_share_is_worth_keeping() {
        assert_eq!(
            [worth_keeping(6_400, 2), worth_keeping(10, 2), worth_keeping(10, 0)],
            [100, 1, 1]
        );
    }
}
