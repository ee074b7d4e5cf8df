//! Pipelines: the items of an iterator go through stages, several items at a time.
//!
//! Stages are not threads. A *pipeline task* takes an item and runs it through all stages. So a
//! pipeline runs with any number of workers, and an item remains in the caches of one worker unless
//! it has to wait. A *serial* stage takes one item at a time. An item that comes too early is
//! *parked* there, and its task takes another item. No worker ever waits for an item: when the
//! parked item's turn comes, the stage is *posted*, and the next free task continues there.
//!
//! | file | contents |
//! |---|---|
//! | `pipeline` | the state that the tasks share, and the tasks |
//! | `stages` | stages, and how an item is pushed through them |
//! | `exit` | the sinks behind the last stage |
//!
//! The builder for users is the crate `sinew`'s `pipeline`.
//!
//! Source: MacDonald, Szafron and Schaeffer, "Rethinking the Pipeline as Object-Oriented States
//! with Transformations", and Reed, Chen and Johnson, "Expressing Pipeline Parallelism using TBB
//! Constructs", for tasks that follow an item and for the bound on items in flight. Differences: a
//! task that has run a serial stage goes on with its own item, and another task takes the parked
//! one; the number of tasks may change while they run.
//!
//! # Invariants
//!
//! - L1: at most `bound` items are in flight: taken from the iterator and not through the last
//!   stage.
//! - L2: a serial stage calls its function for one item at a time; an ordered one for items 0, 1, 2
//!   and so on, in that order. The function is in the stage's state, or with the task that calls
//!   it.
//! - L3: an item that is parked at a stage whose function is in the state belongs to the next task.
//!   A task that parks an item or returns the function checks for such an item under the stage's
//!   lock, and takes the item or posts the stage.
//! - L4: there is a task as long as there is work. A task leaves, under the lock, if it finds
//!   nothing, or if there are more tasks than requested; at least one is requested.
//!
//! # Cost
//!
//! Three uncontended locks for an item, and one for each serial stage. No allocation, once the
//! first items have reached the serial stages.
//!
//! # Tests
//!
//! `shuttle`: L1 to L4 on a whole pool under random schedules. The crate `sinew` has property and
//! stress tests (`tests/pipeline.rs`).

mod exit;
mod pipeline;
#[cfg(all(test, shuttle))]
mod shuttle;
mod stages;

pub use exit::{Exit, TryExit};
pub use stages::{
    Identity, Parallel, ParallelSink, Serial, SerialSink, SerialStage, Sink, StageContext, Stages,
};

use crate::Control;
use pipeline::Pipeline;
use sinew_core::{Cancelled, Worker};

/// The default number of items in flight for each worker: enough to balance unequal ones.
const BOUND: usize = 4;

/// The options of a pipeline.
#[derive(Debug, Clone, Copy)]
pub struct Options<'c> {
    /// The maximum number of items in flight; four for each worker if `None` (0 counts as 1).
    pub bound: Option<usize>,
    /// The maximum number of workers (0 counts as 1).
    pub threads: usize,
    /// A handle that may change the number of workers, and cancel, while the pipeline runs.
    pub control: Option<&'c Control>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { bound: None, threads: usize::MAX, control: None }
    }
}

/// Runs all `items` through the stages that `sink` holds.
///
/// # Errors
///
/// [`Cancelled`] by the control, if there is one, or if a stage has failed. Items in flight were
/// dropped after their present stage.
///
/// # Panics
///
/// With the payload of the first panic of the iterator or a stage, when no stage runs any more.
pub fn run<I, E>(w: &Worker, items: I, sink: &E, options: &Options<'_>) -> Result<(), Cancelled>
where
    I: Iterator<Item: Send> + Send,
    E: Sink<I::Item>,
{
    Pipeline::new(w, items, sink, options)?.run(w)
}
