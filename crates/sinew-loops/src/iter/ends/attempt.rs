//! Last calls whose functions may fail.

use std::ops::ControlFlow;

use sinew_core::{Cancelled, Worker};
use sinew_sync::lock::Mutex;

use crate::iter::{Attempt, Positions};
use crate::loops::{Options, drive, fold_ranges};

/// The first failure that any worker met.
pub(super) struct FirstFailure<F>(Mutex<Option<F>>);

impl<F> FirstFailure<F> {
    pub(super) fn none() -> Self {
        Self(Mutex::new(None))
    }

    #[cold]
    pub(super) fn keep(&self, failure: F) -> ControlFlow<()> {
        // A later failure is dropped after the lock is released: its drop is the user's code.
        let mut kept = self.0.lock();
        let _late = if kept.is_none() { kept.replace(failure) } else { Some(failure) };
        drop(kept);
        ControlFlow::Break(())
    }

    /// The result of a loop that returned `ended`. A failure has priority over a cancellation,
    /// which it may have caused.
    pub(super) fn or<T>(self, ended: Result<T, Cancelled>) -> Result<Result<T, F>, Cancelled> {
        match self.0.into_inner() {
            Some(failure) => Ok(Err(failure)),
            None => ended.map(Ok),
        }
    }
}

/// The success or failure as the user's type.
fn attempted<R: Attempt>(ended: Result<R::Output, R::Failure>) -> R {
    ended.map_or_else(R::from_failure, R::from_output)
}

#[inline]
pub(crate) fn try_for_each<P: Positions, R>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
    f: impl Fn(P::Item) -> R + Sync,
) -> Result<R, Cancelled>
where
    R: Attempt<Output = (), Failure: Send>,
{
    let first = FirstFailure::none();
    let each = |item| match f(item).branch() {
        ControlFlow::Continue(()) => ControlFlow::Continue(()),
        ControlFlow::Break(failure) => first.keep(failure),
    };
    let ended = drive(
        w,
        chain.num_positions(),
        options,
        || (),
        |(), range| {
            // SAFETY: ranges lie below the number of positions and are disjoint (D1); a last call
            // has its chain by value, so there are no other requests.
            unsafe { chain.run(range, &each) }
        },
    );
    first.or(ended).map(attempted)
}

/// Combines the successes of all items; `None` if there are none.
#[inline]
pub(crate) fn try_reduce<P: Positions<Item: Attempt<Output: Send, Failure: Send>>>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
    identity: impl Fn() -> Option<<P::Item as Attempt>::Output> + Sync,
    op: impl Fn(<P::Item as Attempt>::Output, <P::Item as Attempt>::Output) -> P::Item + Sync,
) -> Result<Option<P::Item>, Cancelled> {
    let first = FirstFailure::none();
    // `None` after a failure.
    let join = |a: Option<<P::Item as Attempt>::Output>, b| match (a, b) {
        (Some(a), Some(b)) => match op(a, b).branch() {
            ControlFlow::Continue(value) => Some(value),
            ControlFlow::Break(failure) => {
                let _ = first.keep(failure);
                None
            }
        },
        (a, b) => a.or(b),
    };
    let add = |partial: &mut Option<<P::Item as Attempt>::Output>, range| {
        let mut value = partial.take().or_else(&identity);
        let each = |item: P::Item| {
            let item = match item.branch() {
                ControlFlow::Continue(item) => item,
                ControlFlow::Break(failure) => return first.keep(failure),
            };
            value = join(value.take(), Some(item));
            if value.is_none() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        // SAFETY: as in `try_for_each`.
        let flow = unsafe { chain.run(range, each) };
        *partial = value;
        flow
    };
    let ended = fold_ranges(w, chain.num_positions(), options, || None, add, join);
    let ended = first.or(ended.map(Option::flatten))?;
    Ok(match ended {
        Ok(value) => value.map(P::Item::from_output),
        Err(failure) => Some(P::Item::from_failure(failure)),
    })
}
