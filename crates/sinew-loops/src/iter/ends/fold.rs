//! Last calls that combine items in order.

use std::iter::{Product, Sum};

use std::ops::ControlFlow;

use sinew_core::{Cancelled, Worker};

use crate::iter::Positions;
use crate::loops::{Options, fold_ranges};

/// Folds all items with `fold`. A partial result begins as `identity()`; `combine` joins two. The
/// result is `None` if all partial results are. An identity that is `Some` saves a branch for each
/// item.
#[inline]
pub(super) fn fold<P: Positions, A: Send>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
    identity: impl Fn() -> Option<A> + Sync,
    fold: impl Fn(Option<A>, P::Item) -> A + Sync,
    combine: impl Fn(A, A) -> A,
) -> Result<Option<A>, Cancelled> {
    let add = |partial: &mut Option<A>, range| {
        // In a variable of its own, which can live in registers.
        let mut value = partial.take().or_else(&identity);
        // SAFETY: ranges lie below the number of positions and are disjoint (D1); a last call has
        // its chain by value, so there are no other requests.
        let flow = unsafe {
            chain.run(range, |item| {
                value = Some(fold(value.take(), item));
                ControlFlow::Continue(())
            })
        };
        *partial = value;
        flow
    };
    let join = |a: Option<A>, b: Option<A>| match (a, b) {
        (Some(a), Some(b)) => Some(combine(a, b)),
        (a, b) => a.or(b),
    };
    Ok(fold_ranges(w, chain.num_positions(), options, || None, add, join)?.flatten())
}

#[inline]
pub(crate) fn reduce<P: Positions>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
    identity: impl Fn() -> P::Item + Sync,
    op: impl Fn(P::Item, P::Item) -> P::Item + Sync,
) -> Result<P::Item, Cancelled> {
    let add = |value: Option<P::Item>, item| op(value.unwrap_or_else(&identity), item);
    Ok(fold(w, chain, options, || Some(identity()), add, &op)?.unwrap_or_else(&identity))
}

#[inline]
pub(crate) fn reduce_with<P: Positions>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
    op: impl Fn(P::Item, P::Item) -> P::Item + Sync,
) -> Result<Option<P::Item>, Cancelled> {
    let add = |value: Option<P::Item>, item| match value {
        Some(value) => op(value, item),
        None => item,
    };
    fold(w, chain, options, || None, add, &op)
}

#[inline]
pub(crate) fn count<P: Positions>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
) -> Result<usize, Cancelled> {
    let add = |count: Option<usize>, _| count.unwrap_or(0) + 1;
    Ok(fold(w, chain, options, || Some(0), add, |a, b| a + b)?.unwrap_or(0))
}

#[inline]
pub(crate) fn sum<P: Positions, S: Send + Sum<P::Item> + Sum<S>>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
) -> Result<S, Cancelled> {
    let zero = || std::iter::empty::<S>().sum();
    let join = |a: S, b: S| [a, b].into_iter().sum();
    let add = |sum: Option<S>, item| join(sum.unwrap_or_else(zero), std::iter::once(item).sum());
    Ok(fold(w, chain, options, || Some(zero()), add, join)?.unwrap_or_else(zero))
}

#[inline]
pub(crate) fn product<P: Positions, S: Send + Product<P::Item> + Product<S>>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
) -> Result<S, Cancelled> {
    let one = || std::iter::empty::<S>().product();
    let join = |a: S, b: S| [a, b].into_iter().product();
    let add = |product: Option<S>, item| {
        join(product.unwrap_or_else(one), std::iter::once(item).product())
    };
    Ok(fold(w, chain, options, || Some(one()), add, join)?.unwrap_or_else(one))
}
