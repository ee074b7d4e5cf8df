//! The tasks of one scope in a list of their own, for pools whose waiting workers may run no other
//! tasks.
//!
//! The scope's list holds the tasks, and a worker's queue holds a *token* for each. A worker that
//! takes a token runs a task of the list, if one is left. While the scope's owner waits, it takes
//! tasks from the list directly. A token without a task has no effect, and keeps the list alive
//! until it is taken.

use std::ptr::NonNull;
use std::sync::Arc;

use sinew_deque::{Injector, Queued, TaskRef};

use crate::state::queue::Header;
use crate::state::worker::Worker;

/// The waiting tasks of a scope.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ScopeTasks {
    header: Header,
    tasks: Injector,
    oldest_first: bool,
}

impl ScopeTasks {
    pub(crate) fn new(oldest_first: bool) -> Arc<Self> {
        Arc::new(Self { header: Header { run: Self::run }, tasks: Injector::new(), oldest_first })
    }

    /// Adds a task. Returns its token, to be queued in a deque or in the injector.
    pub(crate) fn push(self: &Arc<Self>, queued: Queued) -> TaskRef {
        self.tasks.push(queued);
        let token = Arc::into_raw(Arc::clone(self)).cast_mut();
        TaskRef::new(NonNull::new(token).expect("an `Arc` is never null"))
    }

    /// Takes the next task.
    pub(crate) fn pop(&self) -> Option<Queued> {
        if self.oldest_first { self.tasks.pop(None) } else { self.tasks.pop_newest() }
    }

    fn is_named_by(&self, task: TaskRef) -> bool {
        std::ptr::eq(task.pointer::<Self>().as_ptr(), self)
    }

    /// # Safety
    ///
    /// `header` is the first field of a `ScopeTasks`, from a token; called once for each.
    unsafe fn run(header: NonNull<Header>, worker: &Worker) {
        // SAFETY: the token holds a count of the list.
        let tasks = unsafe { Arc::from_raw(header.cast::<Self>().as_ptr().cast_const()) };
        if let Some(next) = tasks.pop() {
            worker.run_task(next);
        }
    }
}

impl Worker {
    /// Takes the newest entry of this worker's own queue if it is a token for `tasks`.
    pub(crate) fn pop_token(&self, tasks: &ScopeTasks) -> Option<Queued> {
        // SAFETY: this is the owner.
        unsafe {
            let newest = self.deque.newest();
            if newest.is_some_and(|newest| tasks.is_named_by(newest.task)) {
                self.deque.pop()
            } else {
                None
            }
        }
    }
}
