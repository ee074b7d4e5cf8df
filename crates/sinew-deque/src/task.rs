//! A task in a queue, as the queues see it: a pointer, and how deep the task lies.

use std::ptr::NonNull;

/// A pointer to a queued task, which is to be run exactly once. The scheduler alone knows what lies
/// behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskRef(NonNull<()>);

// SAFETY: nothing is read through the pointer here. The scheduler that runs a task vouches that any
// thread may do so.
unsafe impl Send for TaskRef {}

impl TaskRef {
    /// The task at `task`.
    #[inline]
    pub fn new<T>(task: NonNull<T>) -> Self {
        Self(task.cast())
    }

    /// The pointer that the task was made of.
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
