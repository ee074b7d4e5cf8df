//! The second queues: tasks that are not strictly nested.
//!
//! Scope tasks, detached tasks and work from outside cannot lie on the task stack: a task spawned inside an arm of a join would
//! stand above the join's own slot and be taken for it. They are heap tasks (or live in the frame of a caller who waits), known
//! by a [`TaskRef`], and queue here: in the worker's own [`deque`](Deque), or, from outside, in the pool's [`Injector`].

mod blocks;
mod by_depth;
mod deque;
mod fifo;
mod injector;
#[cfg(all(test, loom))]
mod models;
mod scope_tasks;

use std::ptr::NonNull;

pub(crate) use blocks::{Blocks, Class, new as new_block};
pub(crate) use by_depth::Ticket;
pub(crate) use deque::{Deque, Taken};
pub(crate) use fifo::Fifo;
pub(crate) use injector::Injector;
pub(crate) use scope_tasks::ScopeTasks;

use crate::worker::Worker;

/// The first field of every queued task: how to run it. Running consumes the task.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Header {
    pub(crate) run: unsafe fn(NonNull<Header>, &Worker),
}

/// A task in a queue: to be run exactly once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskRef(pub(crate) NonNull<Header>);

// SAFETY: whoever makes a `TaskRef` vouches that the task behind it may run on any thread (`TaskRef` is only made from `Send` closures).
unsafe impl Send for TaskRef {}

/// A task with the distance of its spawner from the root, one added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Queued {
    pub(crate) task: TaskRef,
    pub(crate) depth: u32,
}
