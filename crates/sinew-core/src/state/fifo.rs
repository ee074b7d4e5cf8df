//! First in, first out order on top of other queues: tasks wait here in order, and a worker's deque
//! holds a *token* for each.
//!
//! A worker that takes any token runs the task that has waited longest. There are as many tokens as
//! tasks, so every token finds a task.

use std::ptr::NonNull;

use sinew_deque::{Injector, Queued, TaskRef};

use crate::state::queue::Header;
use crate::state::worker::Worker;

/// Tasks in order, and the header that their tokens point to.
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

    /// Adds a task. Returns its token, to be queued in a deque or in the injector.
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
