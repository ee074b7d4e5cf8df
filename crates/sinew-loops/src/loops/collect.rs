//! `map`: a vector of results, in the order of the items.

use super::driver::drive;
use super::options::Options;
use crate::data::{Items, Output};
use sinew_core::{Cancelled, Worker};
use std::ops::{ControlFlow, Range};

/// `f` of every item, in order.
///
/// # Errors
///
/// [`Cancelled`] by the control, if there is one; results that exist by then are dropped.
///
/// # Panics
///
/// If `f` does; results that exist by then are dropped.
///
/// # Cost
///
/// One allocation for the vector; if results have drop glue, also a record for each run of adjacent
/// chunks.
#[inline]
pub fn map<I: Items, R: Send>(
    w: &Worker,
    items: I,
    options: &Options,
    f: impl Fn(I::Item) -> R + Sync,
) -> Result<Vec<R>, Cancelled> {
    let mut results = Vec::new();
    let output = Output::new(&mut results, items.length());
    let piece = |writer: &mut crate::data::Writer<'_, '_, R>, range: Range<usize>| {
        // SAFETY: ranges lie below the length and are disjoint (D1); `items` was given by value, so
        // there are no other requests.
        unsafe { writer.fill(range.clone(), items.piece(range).map(&f)) };
        ControlFlow::Continue(())
    };
    drive(w, items.length(), options, || output.writer(), piece)?;
    output.complete();
    Ok(results)
}

/// The items of block `number`.
#[inline]
pub(super) fn block(number: usize, size: usize, len: usize) -> Range<usize> {
    let start = number * size;
    start..start.saturating_add(size).min(len)
}
