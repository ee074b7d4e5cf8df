//! Adaptors with one value for each range of positions.

use std::marker::PhantomData;
use std::ops::{ControlFlow, Range};

use crate::iter::{Attempt, Positions};

adaptors! {
    /// The chain of [`fold`](crate::iter::ParIter::fold).
    Fold<B, Z, F> { identity: Z, fold: F }
    /// The chain of [`try_fold`](crate::iter::ParIter::try_fold).
    TryFold<B, R, Z, F> { identity: Z, fold: F, result: PhantomData<fn() -> R> }
}

// SAFETY: the items of the chain within, folded.
unsafe impl<B, A, Z, F> Positions for Fold<B, Z, F>
where
    B: Positions,
    A: Send,
    Z: Fn() -> A + Sync + Send,
    F: Fn(A, B::Item) -> A + Sync + Send,
{
    type Item = A;
    forward_to_base!(positions);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(A) -> ControlFlow<()>,
    {
        let mut value = Some((self.identity)());
        let add = |item| {
            value = value.take().map(|value| (self.fold)(value, item));
            ControlFlow::Continue(())
        };
        // SAFETY: the caller's promise is the same.
        let flow = unsafe { self.base.run(positions, add) };
        value.map_or(ControlFlow::Continue(()), &mut sink)?;
        flow
    }
}

// SAFETY: as above.
unsafe impl<B, R, Z, F> Positions for TryFold<B, R, Z, F>
where
    B: Positions,
    R: Attempt + Send,
    Z: Fn() -> R::Output + Sync + Send,
    F: Fn(R::Output, B::Item) -> R + Sync + Send,
{
    type Item = R;
    forward_to_base!(positions);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(R) -> ControlFlow<()>,
    {
        let mut folded = Some(ControlFlow::Continue((self.identity)()));
        let add = |item| match folded.take() {
            Some(ControlFlow::Continue(value)) => {
                let next = (self.fold)(value, item).branch();
                let is_failure = next.is_break();
                folded = Some(next);
                if is_failure { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
            failure => {
                folded = failure;
                ControlFlow::Break(())
            }
        };
        // SAFETY: the caller's promise is the same.
        let flow = unsafe { self.base.run(positions, add) };
        match folded {
            Some(ControlFlow::Continue(value)) => {
                sink(R::from_output(value))?;
                flow
            }
            Some(ControlFlow::Break(failure)) => sink(R::from_failure(failure)),
            None => flow,
        }
    }
}
