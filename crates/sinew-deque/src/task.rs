//! A task in a queue: a pointer, and the task's depth.

use std::ptr::NonNull;

/// A pointer to a queued task, which must run exactly once. Only the scheduler knows its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskRef(NonNull<()>);

// SAFETY: this crate reads nothing through the pointer. The scheduler guarantees that any thread
// may run the task.
unsafe impl Send for TaskRef {}

impl TaskRef {
    /// The task at `task`.
    #[inline]
    pub fn new<T>(task: NonNull<T>) -> Self {
        Self(task.cast())
    }

    /// The pointer from which it was made.
    #[inline]
    pub fn pointer<T>(self) -> NonNull<T> {
        self.0.cast()
    }
}

/// A task and its depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queued {
    /// The task.
    pub task: TaskRef,
    /// The distance of the task's spawner from the root of the task tree, plus one.
    pub depth: u32,
}
