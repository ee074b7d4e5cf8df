//! Last calls that make collections.

use std::ops::{ControlFlow, Range};

use sinew_core::{Cancelled, Worker};

use crate::data::{Output, Writer};
use crate::iter::{IntoParallelIterator, ParIter};
use crate::loops::{Options, drive, partials};

/// Collections that can be made of a chain's items, in their order.
pub trait FromParallelIterator<T: Send>: Sized {
    /// The collection of all items of `iter`.
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(iter: I) -> Self;

    /// The same for a chain that may be cancelled.
    #[doc(hidden)]
    fn collect_from<P: ParIter<Item = T>>(
        w: &Worker,
        chain: &P,
        options: &Options<'_>,
    ) -> Result<Self, Cancelled> {
        Ok(Self::from_par_iter(Vec::collect_from(w, chain, options)?))
    }
}

impl<T: Send> FromParallelIterator<T> for Vec<T> {
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(iter: I) -> Self {
        iter.into_par_iter().collect()
    }

    #[inline]
    fn collect_from<P: ParIter<Item = T>>(
        w: &Worker,
        chain: &P,
        options: &Options<'_>,
    ) -> Result<Self, Cancelled> {
        match chain.opt_len() {
            Some(len) => in_place(w, chain, options, len),
            None => concatenated(w, chain, options),
        }
    }
}

/// The items of a chain with one at each position.
#[inline]
fn in_place<P: ParIter>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
    len: usize,
) -> Result<Vec<P::Item>, Cancelled> {
    let output = Output::new(len);
    let piece = |writer: &mut Writer<'_, P::Item>, range: Range<usize>| {
        // SAFETY: ranges lie below the number of positions and are disjoint (D1); a last call has
        // its chain by value, so there are no other requests.
        unsafe { chain.run(range.clone(), writer.sink(range)) }
    };
    drive(w, len, options, || output.writer(), piece)?;
    Ok(output.finish().expect("a loop that ran to its end has written every element"))
}

/// The items of a chain with any number at each position.
#[inline]
fn concatenated<P: ParIter>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
) -> Result<Vec<P::Item>, Cancelled> {
    let piece = |list: &mut Vec<P::Item>, range| {
        let push = |item| {
            list.push(item);
            ControlFlow::Continue(())
        };
        // SAFETY: as in `in_place`.
        unsafe { chain.run(range, push) }
    };
    let mut lists = partials(w, chain.positions(), options, Vec::new, piece)?.into_iter();
    let Some(mut all) = lists.next() else { return Ok(Vec::new()) };
    all.reserve(lists.as_slice().iter().map(Vec::len).sum());
    lists.for_each(|mut list| all.append(&mut list));
    Ok(all)
}
