//! `fold`: combines the values of all ranges, in their order.
//!
//! A participant folds a run of adjacent chunks into one partial result. At the end the partial
//! results are combined in the order of the ranges, so `combine` needs to be associative but not
//! commutative.
//!
//! A reproducible fold has one partial result for each block of a number that follows from the
//! length alone, and combines them as a tree whose shape does, too.

use sinew_sync::lock::Mutex;

use super::collect::block;
use super::driver::drive;
use super::options::Options;
use crate::data::Items;
use sinew_core::{Cancelled, Worker};
use std::ops::{ControlFlow, Range};

/// The maximum number of blocks of a reproducible fold: enough to balance any machine, and few
/// enough to combine serially.
pub(crate) const BLOCKS: usize = 1024;

/// Folds disjoint ranges that cover `0..n` into one value.
///
/// `identity()` begins each partial result, `add` adds a range to one, `combine` joins two
/// adjacent ones. The ranges depend on the schedule and on the helpers, unless the fold is
/// [reproducible](Options::reproducible). `None` if `n` is 0. If a call of `add` breaks, ranges
/// are missing.
///
/// # Errors
///
/// [`Cancelled`] by the control, if there is one; partial results are dropped.
///
/// # Panics
///
/// If one of the functions does.
///
/// # Cost
///
/// An entry of a vector for each run of adjacent chunks of a participant beyond the first: few with
/// `static` and `stealing`, up to one for each chunk with the others.
#[inline]
pub fn fold_ranges<A: Send>(
    w: &Worker,
    n: usize,
    options: &Options<'_>,
    identity: impl Fn() -> A + Sync,
    add: impl Fn(&mut A, Range<usize>) -> ControlFlow<()> + Sync,
    combine: impl Fn(A, A) -> A,
) -> Result<Option<A>, Cancelled> {
    let partials = partials(w, n, options, identity, add)?;
    Ok(match options.reproducible {
        true => combine_pairs(partials.collect(), &combine),
        false => partials.reduce(combine),
    })
}

/// Folds all items into one value; `identity()` if there are none. See [`fold_ranges`].
///
/// # Errors
///
/// As [`fold_ranges`].
#[inline]
pub fn fold<I: Items, A: Send>(
    w: &Worker,
    items: I,
    options: &Options<'_>,
    identity: impl Fn() -> A + Sync,
    fold: impl Fn(A, I::Item) -> A + Sync,
    combine: impl Fn(A, A) -> A,
) -> Result<A, Cancelled> {
    let add = |value: &mut Option<A>, range| {
        // SAFETY: ranges lie below the length and are disjoint (D1); `items` was given by value, so
        // there are no other requests.
        let piece = unsafe { items.piece(range) };
        *value = Some(piece.fold(value.take().unwrap_or_else(&identity), &fold));
        ControlFlow::Continue(())
    };
    let join = |a: Option<A>, b: Option<A>| match (a, b) {
        (Some(a), Some(b)) => Some(combine(a, b)),
        (a, b) => a.or(b),
    };
    let folded = fold_ranges(w, items.length(), options, || None, add, join)?;
    Ok(folded.flatten().unwrap_or_else(identity))
}

/// The partial results of [`fold_ranges`], in the order of their ranges.
///
/// # Errors
///
/// As [`fold_ranges`].
#[inline]
pub(crate) fn partials<A: Send>(
    w: &Worker,
    n: usize,
    options: &Options<'_>,
    identity: impl Fn() -> A + Sync,
    add: impl Fn(&mut A, Range<usize>) -> ControlFlow<()> + Sync,
) -> Result<impl Iterator<Item = A>, Cancelled> {
    let partials = Mutex::new(Runs { first: None, others: Vec::new() });
    let enter = || Partial { current: None, end: 0, earlier: Vec::new(), all: &partials };
    // The size of the blocks that a reproducible fold counts.
    let size = options.reproducible.then(|| n.div_ceil(BLOCKS).max(1));
    let piece = |partial: &mut Partial<'_, A>, mut numbers: Range<usize>| {
        while !numbers.is_empty() {
            let begun = numbers.start;
            let range = match size {
                Some(size) => {
                    numbers.start += 1;
                    block(begun, size, n)
                }
                None => std::mem::take(&mut numbers),
            };
            if size.is_some() || !partial.is_continued_by(begun) {
                let began = Run { start: begun, value: identity() };
                partial.earlier.extend(partial.current.replace(began));
            }
            partial.end = range.end;
            match &mut partial.current {
                Some(run) => add(&mut run.value, range)?,
                None => unreachable!("a run was begun"),
            }
        }
        ControlFlow::Continue(())
    };
    let counted;
    let (n, options) = match size {
        None => (n, options),
        Some(size) => {
            // Rounds, and the chunks of the pool's schedule, count items, not blocks.
            counted = Options { open: false, rounds: None, ..*options };
            (n.div_ceil(size), &counted)
        }
    };
    drive(w, n, options, enter, piece)?;
    Ok(partials.into_inner().in_order())
}

/// Combines neighbours until one value is left: a tree whose shape follows from the number of
/// values.
fn combine_pairs<A>(mut values: Vec<A>, op: &impl Fn(A, A) -> A) -> Option<A> {
    while values.len() > 1 {
        let mut singles = values.into_iter();
        let pair = || {
            let left = singles.next()?;
            Some(match singles.next() {
                Some(right) => op(left, right),
                None => left,
            })
        };
        values = std::iter::from_fn(pair).collect();
    }
    values.pop()
}

/// A partial result and where its ranges begin.
struct Run<A> {
    start: usize,
    value: A,
}

/// Runs of all participants, in any order. A loop with one run allocates nothing.
struct Runs<A> {
    first: Option<Run<A>>,
    others: Vec<Run<A>>,
}

impl<A> Runs<A> {
    /// The values, in the order of their ranges.
    #[inline]
    fn in_order(mut self) -> impl Iterator<Item = A> {
        if !self.others.is_empty() {
            self.others.extend(self.first.take());
            self.others.sort_unstable_by_key(|run| run.start);
        }
        self.first.into_iter().chain(self.others).map(|run| run.value)
    }
}

/// A participant's partial results.
struct Partial<'p, A> {
    /// The run that the next chunk may continue, if it begins at `end`.
    current: Option<Run<A>>,
    end: usize,
    earlier: Vec<Run<A>>,
    all: &'p Mutex<Runs<A>>,
}

impl<A> Partial<'_, A> {
    /// Whether a chunk from `start` on continues the current run.
    #[inline]
    fn is_continued_by(&self, start: usize) -> bool {
        self.current.is_some() && self.end == start
    }
}

impl<A> Drop for Partial<'_, A> {
    fn drop(&mut self) {
        let current = self.current.take();
        let mut all = self.all.lock();
        if all.first.is_none() {
            all.first = current;
        } else {
            all.others.extend(current);
        }
        all.others.append(&mut self.earlier);
    }
}
