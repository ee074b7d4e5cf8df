//! `scan`: for each item the fold of all items up to it.
//!
//! A first parallel pass folds each block of items. A serial pass combines the results, which gives
//! the first prefix of each block. A second parallel pass writes the prefixes of each block. A
//! single block needs only the last pass.
//!
//! Source: the usual two-pass scan (Blelloch's reduce-then-scan).

use super::collect::{block, map};
use super::driver::drive;
use super::options::Options;
use super::phases::Phases;
use crate::data::{Output, ReadItems, Writer};
use sinew_core::{Cancelled, Worker};
use std::ops::{ControlFlow, Range};

/// The items that a prefix includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The items up to and including its own.
    Inclusive,
    /// The items before its own.
    Exclusive,
}

/// Blocks for each worker: several, to balance unequal speeds.
const BLOCKS: usize = 4;
/// Blocks for each worker under a control, which takes effect between two blocks.
const CONTROLLED_BLOCKS: usize = 64;

/// The prefixes of all items, in order, each beginning with `init`.
///
/// `blocks` is the number of blocks; the default follows from the number of workers.
///
/// # Errors
///
/// [`Cancelled`] by the control, if there is one; prefixes that exist by then are dropped.
///
/// # Panics
///
/// If `op` or `take` does.
///
/// # Cost
///
/// Work 2n, span n/p + p; one allocation for the prefixes and a small one for the blocks.
pub fn scan<I: ReadItems, A: Clone + Send + Sync>(
    w: &Worker,
    items: I,
    options: &Options,
    (kind, blocks): (Kind, Option<usize>),
    init: A,
    take: impl Fn(I::Item) -> A + Sync,
    op: impl Fn(A, A) -> A + Sync,
) -> Result<Vec<A>, Cancelled> {
    // The chunks of the pool's schedule count items, not blocks.
    let options = &Options { open: false, ..*options };
    let (len, workers) = (items.length(), options.participants(w, items.length()));
    let blocks = blocks.unwrap_or_else(|| match options.control {
        Some(_) => CONTROLLED_BLOCKS * workers,
        None if workers == 1 => 1,
        None => BLOCKS * workers,
    });
    let blocks = blocks.clamp(1, len.max(1));
    let size = len.div_ceil(blocks).max(1);
    let blocks = len.div_ceil(size);
    Phases::run(options, 2 * blocks as u64, |phases| {
        phases.next(blocks as u64)?;
        let begins = begins(w, &items, size, blocks, options, init, &take, &op)?;
        let mut all = Vec::new();
        let output = Output::new(&mut all, len);
        let piece = |writer: &mut Writer<'_, '_, A>, range: Range<usize>| {
            for number in range {
                let range = block(number, size, len);
                // SAFETY: blocks are disjoint and lie below the length, and each number comes once
                // (D1); `ReadItems` may be asked again.
                unsafe {
                    let values = items.piece(range.clone()).map(&take);
                    writer.fill(range, prefixes(kind, begins[number].clone(), values, &op));
                }
            }
            ControlFlow::Continue(())
        };
        phases.next(blocks as u64)?;
        drive(w, blocks, options, || output.writer(), piece)?;
        output.complete();
        Ok(all)
    })
}

/// The first prefix of each block: `init` and all blocks before it.
#[expect(clippy::too_many_arguments, reason = "the first half of `scan`")]
fn begins<I: ReadItems, A: Clone + Send + Sync>(
    w: &Worker,
    items: &I,
    size: usize,
    blocks: usize,
    options: &Options,
    init: A,
    take: &(impl Fn(I::Item) -> A + Sync),
    op: &(impl Fn(A, A) -> A + Sync),
) -> Result<Vec<A>, Cancelled> {
    let sum = |number| {
        // SAFETY: a full block below the length, of items that may be asked again.
        unsafe { items.piece(block(number, size, items.length())) }.map(take).reduce(op)
    };
    // No block begins with the sum of the last one.
    let sums = map(w, 0..blocks.saturating_sub(1), options, sum)?;
    let mut begins = Vec::with_capacity(blocks);
    begins.push(init);
    for sum in sums.into_iter().flatten() {
        begins.push(op(begins[begins.len() - 1].clone(), sum));
    }
    Ok(begins)
}

/// The prefixes of `values`, begun with `begin`.
#[inline]
fn prefixes<A: Clone>(
    kind: Kind,
    begin: A,
    values: impl Iterator<Item = A>,
    op: &impl Fn(A, A) -> A,
) -> impl Iterator<Item = A> {
    // `None` only while `op` runs.
    let mut prefix = Some(begin);
    values.map(move |value| {
        let before = prefix.take().expect("put back by the step before");
        let exclusive = (kind == Kind::Exclusive).then(|| before.clone());
        let after = op(before, value);
        prefix = Some(after.clone());
        exclusive.unwrap_or(after)
    })
}
