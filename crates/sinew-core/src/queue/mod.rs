//! Tasks that are not strictly nested: how they are run, and how they keep an order.
//!
//! Scope tasks, detached tasks and calls from outside cannot lie on the task stack: a task spawned
//! inside an arm of a join would stand above the join's own slot and be taken for it. They are heap
//! tasks, or live in the frame of a caller who waits. A [`Header`] at their start says how to run
//! them. They queue in the worker's own deque or, from outside, in the pool's injector (both in
//! `sinew-deque`).

mod fifo;
mod scope_tasks;

use std::ptr::NonNull;

use sinew_deque::TaskRef;

pub(crate) use fifo::Fifo;
pub(crate) use scope_tasks::ScopeTasks;

use crate::worker::Worker;

/// The first field of every queued task: how to run it. Running consumes the task.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Header {
    pub(crate) run: unsafe fn(NonNull<Header>, &Worker),
}

impl Header {
    /// Runs a task.
    ///
    /// # Safety
    ///
    /// A `Header` is the first field of the task, any thread may run it, and this is its only run.
    #[inline]
    pub(crate) unsafe fn run(task: TaskRef, worker: &Worker) {
        let header = task.pointer::<Self>();
        // SAFETY: as the caller says.
        unsafe { (header.as_ref().run)(header, worker) }
    }
}
