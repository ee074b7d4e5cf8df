//! First in, first out on top of queues that are not: tasks wait in order here, and a *token* for
//! each lies in a worker's deque.
//!
//! Whoever takes a token, in whatever order, runs the task that has waited longest. There are as
//! many tokens as tasks, so no token finds nothing.

use std::ptr::NonNull;

use sinew_deque::{Injector, Queued, TaskRef};

use crate::state::queue::Header;
use crate::state::worker::Worker;

/// Tasks in order, and the token that stands for any one of them.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Fifo {
    header: Header,
    tasks: Injector,
}

impl Fifo {
    pub(crate) fn new() -> Self {
        Self { header: Header { run: Self::run }, tasks: Injector::new() }
    }

    /// Adds a task. Returns a token, to be queued where tasks are found.
    ///
    /// # Safety
    ///
    /// The queue outlives the task.
    pub(crate) unsafe fn push(&self, queued: Queued) -> TaskRef {
        self.tasks.push(queued);
        TaskRef::new(NonNull::from(self))
    }

    /// # Safety
    ///
    /// `header` is the first field of a `Fifo`; called once for each push.
    unsafe fn run(header: NonNull<Header>, worker: &Worker) {
        // SAFETY: the queue outlives its tasks, of which one more is here than tokens have been
        // run.
        let fifo = unsafe { header.cast::<Self>().as_ref() };
        if let Some(oldest) = fifo.tasks.pop(None) {
            worker.run_task(oldest);
        }
    }
}
