//! Last calls: what a chain is run for.

mod attempt;
mod collect;
mod find;
mod fold;

pub(super) use attempt::{try_for_each, try_reduce};
pub use collect::{FromParallelIterator, ParallelExtend};
pub(super) use collect::{extended, halves, lists, sides, two_lists};
pub(super) use find::{find_map_any, find_map_first, find_map_last};
pub(super) use fold::{count, product, reduce, reduce_with, sum};

use std::ops::ControlFlow;

use sinew_core::{Cancelled, Worker};

use super::Positions;
use crate::loops::{Options, drive};

/// Calls `f` with every item.
#[inline]
pub(super) fn for_each<P: Positions>(
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
        chain.num_positions(),
        options,
        || (),
        |(), range| {
            // SAFETY: ranges lie below the number of positions and are disjoint (D1); a last call
            // has its chain by value, so there are no other requests.
            unsafe { chain.run(range, &each) }
        },
    )
}
