//! Streams: items of an iterator that go through stages, several at a time.
//!
//! Stages are no threads. A *carrier* is a task that takes an item and carries it through all
//! stages. So a stream runs with any number of workers, and an item remains in the caches of one
//! worker unless it has to wait. A *serial* stage takes one item at a time. An item that comes too
//! early is *parked* there. When its turn has come, the next free carrier carries it on. No worker
//! ever waits for an item.
//!
//! Source: MacDonald, Szafron and Schaeffer, "Rethinking the Pipeline as Object-Oriented States
//! with Transformations", and Reed, Chen and Johnson, "Expressing Pipeline Parallelism using TBB
//! Constructs", for workers that go along with items and for the bound on items under way.
//! Differences: a carrier that ends a serial stage goes on with its own item and leaves the parked
//! one to others; the number of carriers may change while they run.
//!
//! # Invariants
//!
//! - L1: at most `bound` items are under way: taken from the iterator and not through the last
//!   stage.
//! - L2: a serial stage calls its function for one item at a time, and if it is ordered, for items
//!   0, 1, 2 and so on, in that order. The function is in its place, or with the carrier that calls
//!   it.
//! - L3: an item that is parked at a stage whose function is in its place is the next carrier's to
//!   take. A carrier that parks an item or brings the function back checks for one, under the
//!   stage's lock, and takes the item or posts the stage.
//! - L4: there is a carrier as long as there is something to do. One leaves, under the lock, when
//!   there is nothing for it, or when there are more than requested, which is at least one.
//!
//! # Cost
//!
//! Three uncontended locks for an item, and one for each serial stage. No allocation, after the
//! first items have come to the serial stages.
//!
//! # Tests
//!
//! `shuttle`: L1 to L4 on a whole pool under random schedules. The crate `sinew` has property
//! tests and stress.

mod exit;
mod pipeline;
#[cfg(all(test, shuttle))]
mod shuttle;
mod stages;

pub use exit::{Exit, TryExit};
pub use stages::{
    End, Identity, Parallel, ParallelEnd, Serial, SerialEnd, SerialStage, StageContext, Stages,
};

use crate::Control;
use pipeline::Pipeline;
use sinew_core::{Cancelled, Worker};

/// The default number of items under way for each worker: enough that unequal ones even out.
const BOUND: usize = 4;

/// How a stream is to be run.
#[derive(Debug, Clone, Copy)]
pub struct Options<'c> {
    /// At most so many items are under way; four for each worker if `None` (0 counts as 1).
    pub bound: Option<usize>,
    /// At most so many workers take part (0 counts as 1).
    pub threads: usize,
    /// A handle that may change this while the stream runs.
    pub control: Option<&'c Control>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { bound: None, threads: usize::MAX, control: None }
    }
}

/// Carries all `items` through the stages that `end` holds.
///
/// # Errors
///
/// [`Cancelled`] by the control, if there is one, or if a stage has failed. Items under way have
/// been dropped after the stage that they were at.
///
/// # Panics
///
/// With the payload of the first panic of the iterator or a stage, when no stage runs any more.
pub fn run<I, E>(w: &Worker, items: I, end: &E, options: &Options<'_>) -> Result<(), Cancelled>
where
    I: Iterator<Item: Send> + Send,
    E: End<I::Item>,
{
    Pipeline::new(w, items, end, options)?.run(w)
}
