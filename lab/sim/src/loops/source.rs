//! The unclaimed iterations of a loop.

use std::ops::Range;

use sinew_policy::affinity::OwnerOrder;
use sinew_policy::chunk::{Halving, Shares, next_chunk, share, slices};
use sinew_policy::schedule::{ChunkRule, Mechanism};

use super::Loop;
use super::memory::Lesson;

/// Number of ranges that a thief compares.
const COMPARED: usize = 4;

/// The unclaimed iterations of a loop.
pub(super) enum Source {
    /// Shares, with the number of slices taken from each.
    Static { shares: Shares, taken: Vec<usize> },
    /// One counter.
    Counter { rule: ChunkRule, next: usize },
    /// One range per worker; of positions in the deal, if there is one.
    Ranges { ranges: Vec<Range<usize>>, sizes: Halving, deal: Option<OwnerOrder> },
}

/// A successful claim.
pub(super) struct Claim {
    /// The chunk to run; positions, if iterations are dealt.
    pub(super) chunk: Range<usize>,
    /// The whole stolen range, if the chunk was stolen.
    pub(super) theft: Option<Range<usize>>,
}

impl Source {
    /// A source of `n` iterations.
    pub(super) fn new(setup: &Loop, n: usize, lesson: &Lesson) -> Self {
        let workers = setup.workers;
        let sizes = Halving::new(n, workers);
        let shares = |deal: &OwnerOrder| (0..workers).map(|worker| deal.share(worker)).collect();
        match Mechanism::of(setup.schedule) {
            Mechanism::Shares => {
                Self::Static { shares: Shares::new(n, workers), taken: vec![0; workers] }
            }
            Mechanism::Counter(rule) => Self::Counter { rule, next: 0 },
            // Joins run as a tree, and the tuner has chosen a schedule before.
            Mechanism::Ranges | Mechanism::Joins { .. } | Mechanism::Tuned => {
                let mut ranges = vec![0..0; workers];
                ranges[0] = 0..n;
                Self::Ranges { ranges, sizes, deal: None }
            }
            Mechanism::Partition(_) => {
                let deal = lesson.deal(n, workers);
                let ranges = shares(&deal);
                Self::Ranges { ranges, sizes, deal: Some(deal).filter(|deal| !deal.is_in_order()) }
            }
        }
    }

    /// Claims the worker's next chunk.
    pub(super) fn claim(
        &mut self,
        setup: &Loop,
        n: usize,
        worker: usize,
        chance: &mut fastrand::Rng,
    ) -> Option<Claim> {
        match self {
            Self::Static { shares, taken } => slice(shares, taken, worker),
            Self::Counter { rule, next } => {
                let length = next_chunk(*rule, n, n - *next, setup.workers);
                let first = *next;
                *next += length;
                (length > 0).then_some(Claim { chunk: first..*next, theft: None })
            }
            Self::Ranges { ranges, sizes, deal } => {
                let mut theft = None;
                if ranges[worker].is_empty() {
                    let stolen = back_half(ranges, sizes, deal.as_ref(), chance)?;
                    theft = Some(stolen.clone());
                    ranges[worker] = stolen;
                }
                let range = &mut ranges[worker];
                let end = range.start + sizes.piece(range.len());
                let within =
                    deal.as_ref().map_or(end, |deal| deal.segment(range.start).positions.end);
                let chunk = range.start..end.min(within);
                range.start = chunk.end;
                Some(Claim { chunk, theft })
            }
        }
    }

    /// The iterations of a range of positions in one segment.
    pub(super) fn iterations(&self, range: &Range<usize>) -> Range<usize> {
        match self {
            Self::Ranges { deal: Some(deal), .. } => {
                let first = deal.segment(range.start).index(range.start);
                first..first + range.len()
            }
            _ => range.clone(),
        }
    }
}

/// The next slice of the worker's share, or the first slice of a share that no worker has begun.
fn slice(shares: &Shares, taken: &mut [usize], worker: usize) -> Option<Claim> {
    let is_left = |part: usize, taken: usize| taken < slices(shares.get(part).len());
    let part = match is_left(worker, taken[worker]) {
        true => worker,
        // A worker that has begun one of these shares continues with it.
        false => (0..taken.len()).find(|&part| taken[part] == 0 && is_left(part, 0))?,
    };
    let range = shares.get(part);
    // A share taken from its owner is taken as a whole.
    let (many, at) = if part == worker { (slices(range.len()), taken[part]) } else { (1, 0) };
    taken[part] = if part == worker { at + 1 } else { usize::MAX };
    let slice = share(range.len(), many, at);
    let chunk = range.start + slice.start..range.start + slice.end;
    Some(Claim { theft: (part != worker).then(|| chunk.clone()), chunk })
}

/// The back half of the longest of some ranges or, if those are empty, of the longest of all; of a
/// deal at most the last segment.
fn back_half(
    ranges: &mut [Range<usize>],
    sizes: &Halving,
    deal: Option<&OwnerOrder>,
    chance: &mut fastrand::Rng,
) -> Option<Range<usize>> {
    let length = |at: &usize| ranges[*at].len();
    let looked =
        (0..COMPARED).map(|_| ((u128::from(chance.u64(..)) * ranges.len() as u128) >> 64) as usize);
    let longest = looked.max_by_key(length).filter(|at| length(at) > 0);
    let victim =
        longest.or_else(|| (0..ranges.len()).max_by_key(length).filter(|at| length(at) > 0))?;
    let range = &mut ranges[victim];
    let middle = range.end - sizes.stolen(range.len());
    let middle =
        deal.map_or(middle, |deal| middle.max(deal.segment(range.end - 1).positions.start));
    let back = middle..range.end;
    range.end = middle;
    Some(back)
}
