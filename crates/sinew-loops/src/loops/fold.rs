//! `fold`: combines all items, in their order.
//!
//! A participant folds a run of adjacent chunks into one partial result. At the end the partial
//! results are combined in the order of the items, so `combine` needs to be associative but not
//! commutative.

use sinew_sync::lock::Mutex;

use super::driver::drive;
use super::options::Options;
use crate::data::Items;
use sinew_core::{Cancelled, Worker};
use std::ops::{ControlFlow, Range};

/// Folds all items into one value.
///
/// `identity()` begins each partial result, `fold` adds an item to one, `combine` joins two
/// adjacent ones. The division of the items depends on the schedule and on the helpers.
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
/// An entry of a vector for each run of adjacent chunks of a participant: few with `static` and
/// `stealing`, up to one for each chunk with the others.
#[inline]
pub fn fold<I: Items, A: Send>(
    w: &Worker,
    items: I,
    options: &Options,
    identity: impl Fn() -> A + Sync,
    fold: impl Fn(A, I::Item) -> A + Sync,
    combine: impl Fn(A, A) -> A,
) -> Result<A, Cancelled> {
    let partials = Mutex::new(Vec::<Run<A>>::new());
    let enter = || Partial { current: None, end: 0, earlier: Vec::new(), all: &partials };
    let piece = |partial: &mut Partial<'_, A>, range: Range<usize>| {
        let Run { start, value } = partial
            .continued_by(range.start)
            .unwrap_or_else(|| Run { start: range.start, value: identity() });
        partial.end = range.end;
        // SAFETY: ranges lie below the length and are disjoint (D1); `items` was given by value, so
        // there are no other requests.
        let value = unsafe { items.piece(range) }.fold(value, &fold);
        partial.current = Some(Run { start, value });
        ControlFlow::Continue(())
    };
    drive(w, items.length(), options, enter, piece)?;
    let mut partials = std::mem::take(&mut *partials.lock());
    partials.sort_unstable_by_key(|run| run.start);
    Ok(partials.into_iter().map(|run| run.value).reduce(combine).unwrap_or_else(identity))
}

/// A partial result and where its items begin.
struct Run<A> {
    start: usize,
    value: A,
}

/// A participant's partial results.
struct Partial<'p, A> {
    /// The run that the next chunk may continue, if it begins at `end`.
    current: Option<Run<A>>,
    end: usize,
    earlier: Vec<Run<A>>,
    all: &'p Mutex<Vec<Run<A>>>,
}

impl<A> Partial<'_, A> {
    /// The current run, if a chunk from `start` on continues it; otherwise the run is complete.
    #[inline]
    fn continued_by(&mut self, start: usize) -> Option<Run<A>> {
        let current = self.current.take()?;
        if self.end == start {
            return Some(current);
        }
        self.earlier.push(current);
        None
    }
}

impl<A> Drop for Partial<'_, A> {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        all.append(&mut self.earlier);
        all.extend(self.current.take());
    }
}
