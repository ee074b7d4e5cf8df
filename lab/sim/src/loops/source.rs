//! The unclaimed iterations of a loop.

use std::ops::Range;

use sinew_policy::affinity::OwnerOrder;
use sinew_policy::chunk::{Halving, Shares, next_chunk, slice, slices, victim};
use sinew_policy::schedule::{ChunkRule, Mechanism};

use super::Loop;
use super::memory::Lesson;

/// The unclaimed iterations of a loop.
pub(super) enum Source {
    /// Shares, with the number of slices taken from each, and whether its owner has begun it.
    Static { shares: Shares, taken: Vec<(usize, bool)> },
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
                Self::Static { shares: Shares::new(n, workers), taken: vec![(0, false); workers] }
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
    pub(super) fn claim(&mut self, setup: &Loop, n: usize, worker: usize) -> Option<Claim> {
        match self {
            Self::Static { shares, taken } => next_slice(shares, taken, worker),
            Self::Counter { rule, next } => {
                let length = next_chunk(*rule, n, n - *next, setup.workers);
                let first = *next;
                *next += length;
                (length > 0).then_some(Claim { chunk: first..*next, theft: None })
            }
            Self::Ranges { ranges, sizes, deal } => {
                let mut theft = None;
                if ranges[worker].is_empty() {
                    let stolen = back_half(ranges, sizes, deal.as_ref(), worker)?;
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

/// The workers after this one, and itself at the end.
fn after(worker: usize, workers: usize) -> impl Iterator<Item = usize> {
    (worker + 1..workers).chain(0..=worker)
}

/// The next slice of the worker's share, or of one that its owner has not begun.
fn next_slice(shares: &Shares, taken: &mut [(usize, bool)], worker: usize) -> Option<Claim> {
    let is_left = |part: usize| taken[part].0 < slices(shares.get(part).len());
    let part = match is_left(worker) {
        true => worker,
        false => after(worker, taken.len()).find(|&part| !taken[part].1 && is_left(part))?,
    };
    let (number, owned) = &mut taken[part];
    let chunk = slice(&shares.get(part), *number);
    *number += 1;
    *owned |= part == worker;
    Some(Claim { theft: (part != worker).then(|| chunk.clone()), chunk })
}

/// The back half of the range that the worker steals from; of a deal at most the last segment.
fn back_half(
    ranges: &mut [Range<usize>],
    sizes: &Halving,
    deal: Option<&OwnerOrder>,
    worker: usize,
) -> Option<Range<usize>> {
    let others = after(worker, ranges.len()).map(|other| (other, ranges[other].len()));
    let (victim, _) = victim(others)?;
    let range = &mut ranges[victim];
    let middle = range.end - sizes.stolen(range.len());
    let middle =
        deal.map_or(middle, |deal| middle.max(deal.segment(range.end - 1).positions.start));
    let back = middle..range.end;
    range.end = middle;
    Some(back)
}
