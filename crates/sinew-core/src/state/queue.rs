//! Queued tasks, which are not strictly nested.
//!
//! Scope tasks, detached tasks and calls from outside cannot be on the task stack: a task spawned
//! inside an arm of a join would be above the join's own slot, and the join would pop it. They are
//! heap tasks, or are in the frame of a waiting caller. A [`Header`] at their start contains the
//! function that runs them. They queue in the worker's own deque or, from outside, in the pool's
//! injector (both in `sinew-deque`).

use std::ptr::NonNull;

use sinew_deque::{Queued, TaskRef};

use crate::seams::observer::Source;
use crate::state::worker::Worker;

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

impl Worker {
    /// Queues a task on this worker's own queue.
    #[inline]
    pub(crate) fn queue(&self, queued: Queued) {
        // SAFETY: the caller is the owner (W1).
        unsafe { self.deque.push(queued) };
        sinew_sync::fence::light(); // M5: a sleeper that left a note after this look sees the task
        if self.stack.has_poll_reason() {
            self.look_up();
        }
    }

    /// Runs a task that this worker or another one has queued.
    #[inline]
    pub(crate) fn run_queued(&self, queued: Queued) {
        self.counters.queued_tasks.add(1);
        let depth = self.stack.depth();
        self.run_task(queued);
        self.stack.set_depth(depth);
    }

    /// A task gets at least the depth of the task that it interrupts. A token may bring an older
    /// task, and a scope's bound may run a task of lower depth. The depth must not fall: the worker
    /// that waits for the interrupted task runs only deeper tasks, and the new task may wait for
    /// such a task, for example that worker's part of a broadcast.
    #[inline]
    pub(crate) fn run_task(&self, queued: Queued) {
        self.run_task_from(queued, Source::Queue);
    }

    /// The same for a task from any source.
    #[inline]
    pub(crate) fn run_task_from(&self, queued: Queued, source: Source) {
        self.stack.set_depth(self.stack.depth().max(queued.depth));
        // SAFETY: the worker that takes a task out of a queue runs it, once. Tasks catch their own
        // panics.
        self.run_observed(source, || unsafe { Header::run(queued.task, self) });
    }
}
