//! Last calls: what a chain is run for.

mod collect;
mod fold;

pub use collect::FromParallelIterator;
pub(super) use fold::{count, product, reduce, reduce_with, sum};

use std::ops::ControlFlow;

use sinew_core::{Cancelled, Worker};

use super::ParIter;
use crate::loops::{Options, drive};

/// Calls `f` with every item.
#[inline]
pub(super) fn for_each<P: ParIter>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
    f: impl Fn(P::Item) + Sync,
) -> Result<(), Cancelled> {
    let each = |item| {
        f(item);
        ControlFlow::Continue(())
    };
    drive(
        w,
        chain.positions(),
        options,
        || (),
        |(), range| {
            // SAFETY: ranges lie below the number of positions and are disjoint (D1); a last call has
            // its chain by value, so there are no other requests.
            unsafe { chain.run(range, &each) }
        },
    )
}
