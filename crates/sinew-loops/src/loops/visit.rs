//! `for_each` and `try_for_each`: a function for each item; `for_each_range`: one for each range.

use sinew_sync::lock::Mutex;

use super::driver::drive;
use super::options::Options;
use crate::Stopped;
use crate::data::Items;
use sinew_core::{Cancelled, Worker};
use std::ops::{ControlFlow, Range};

/// Calls `f` with every item, in no particular order.
///
/// # Errors
///
/// [`Cancelled`] by the control, if there is one; not every item has been visited then.
///
/// # Panics
///
/// If `f` does, after every participant has left; not every item has been visited then.
///
/// # Cost
///
/// No allocation. One join for the loop; a claim, two loads and two counters for a chunk.
#[inline]
pub fn for_each<I: Items>(
    w: &Worker,
    items: I,
    options: &Options,
    f: impl Fn(I::Item) + Sync,
) -> Result<(), Cancelled> {
    let piece = |(): &mut (), range| {
        // SAFETY: ranges lie below the length and are disjoint (D1); `items` was given by value, so
        // there are no other requests.
        unsafe { items.piece(range) }.for_each(&f);
        ControlFlow::Continue(())
    };
    drive(w, items.length(), options, || (), piece)
}

/// Calls `f` with disjoint ranges that cover `0..n`, until one call breaks.
///
/// Each participant makes a state with `enter`, which its calls get, and drops it when it leaves.
///
/// # Errors
///
/// As [`for_each`].
///
/// # Panics
///
/// If `f` does, after every participant has left.
///
/// # Cost
///
/// As [`for_each`].
#[inline]
pub fn for_each_range<L>(
    w: &Worker,
    n: usize,
    options: &Options,
    enter: impl Fn() -> L + Sync,
    f: impl Fn(&mut L, Range<usize>) -> ControlFlow<()> + Sync,
) -> Result<(), Cancelled> {
    drive(w, n, options, enter, f)
}

/// Calls `f` with items until one call fails, and returns the first error that was met.
///
/// # Errors
///
/// The error of `f`, or [`Stopped::Cancelled`] by the control, if there is one. Items that were not
/// visited by then are skipped.
///
/// # Panics
///
/// If `f` does.
#[inline]
pub fn try_for_each<I: Items, E: Send>(
    w: &Worker,
    items: I,
    options: &Options,
    f: impl Fn(I::Item) -> Result<(), E> + Sync,
) -> Result<(), Stopped<E>> {
    let first = FirstError::default();
    let piece = |(): &mut (), range| {
        // SAFETY: as in `for_each`.
        match unsafe { items.piece(range) }.try_for_each(&f) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => first.keep(error),
        }
    };
    let driven = drive(w, items.length(), options, || (), piece);
    first.into_result(driven)
}

/// The first error that any participant met.
#[derive(Debug)]
pub(crate) struct FirstError<E>(Mutex<Option<E>>);

impl<E> Default for FirstError<E> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<E> FirstError<E> {
    #[cold]
    pub(crate) fn keep(&self, error: E) -> ControlFlow<()> {
        // A later error is dropped after the lock is released: its drop is the user's code.
        let mut kept = self.0.lock();
        let _late = if kept.is_none() { kept.replace(error) } else { Some(error) };
        drop(kept);
        ControlFlow::Break(())
    }

    /// The result of a loop, from what the driver returned. An error has priority over a
    /// cancellation, which it may have caused.
    pub(crate) fn into_result(self, driven: Result<(), Cancelled>) -> Result<(), Stopped<E>> {
        match self.0.into_inner() {
            Some(error) => Err(Stopped::Failed(error)),
            None => Ok(driven?),
        }
    }
}
