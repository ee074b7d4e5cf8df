//! The record that both stacks' models keep: the runs and results of their tasks.
//!
//! A task is a number. It must run exactly once, and its joiner must see the result; loom itself
//! reports a result that is not visible.

use sinew_sync::cell::Cell;
use sinew_sync::statics::{AtomicU32 as PlainU32, Ordering as PlainOrdering};

use super::Task;

const TASKS: usize = 5;

/// The runs and results of a model's tasks.
pub(super) struct Tally {
    results: [Cell<u32>; TASKS],
    runs: [PlainU32; TASKS],
}

// SAFETY: the worker that runs a task writes its result, and the joiner reads it after the task is
// done. loom checks that this is no race.
unsafe impl Sync for Tally {}
// SAFETY: as above.
unsafe impl Send for Tally {}

unsafe fn never(_: *const (), _: *const (), _: bool) {
    unreachable!("models run tasks by number")
}

impl Tally {
    pub(super) fn new() -> Self {
        Self {
            results: std::array::from_fn(|_| Cell::new(0)),
            runs: std::array::from_fn(|_| PlainU32::new(0)),
        }
    }

    /// The task with this number.
    pub(super) fn task(id: usize) -> Task {
        Task { run: never, data: id as *const () }
    }

    /// Runs a task.
    pub(super) fn run(&self, id: usize) {
        // SAFETY: a task runs once; loom reports it if not.
        self.results[id].with_mut(|result| unsafe { *result = id as u32 + 1 });
        let runs = self.runs[id].fetch_add(1, PlainOrdering::Relaxed) + 1;
        assert_eq!(runs, 1, "task {id} ran twice");
    }

    /// The joiner of a stolen task that is done reads its result.
    pub(super) fn see(&self, id: usize) {
        // SAFETY: the task is done; loom reports a result that is not visible.
        let result = self.results[id].with(|result| unsafe { *result });
        assert_eq!(result, id as u32 + 1);
    }

    /// Checks that the first `pushed` tasks have run.
    pub(super) fn check(&self, pushed: usize) {
        for id in 0..pushed {
            assert_eq!(self.runs[id].load(PlainOrdering::Relaxed), 1, "task {id} was lost");
        }
    }
}
