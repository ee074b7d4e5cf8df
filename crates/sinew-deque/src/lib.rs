//! The queues of a worker and of a pool, which hold tasks until a worker runs them.
//!
//! This crate knows neither workers nor pools. A scheduler owns the queues, decides which worker
//! takes from which queue, and defines what a task is.
//!
//! | module | contents |
//! |---|---|
//! | [`stack`] | the split task stack of nested joins; with the feature `experiments` the two-field stack |
//! | [`deque`] | the Chase-Lev deque of a worker: tasks that are not strictly nested |
//! | [`injector`] | a locked queue by priority: tasks from outside of a pool |
//! | [`lookahead`] | the next items of a thread, which another one may read before |
//! | [`blocks`] | memory for small tasks, which a worker reuses |
//! | [`node`] | the NUMA node for a worker's memory |

pub mod blocks;
mod by_depth;
mod by_priority;
pub mod deque;
pub mod injector;
pub mod lookahead;
#[cfg(all(test, loom))]
mod loom;
pub mod node;
pub mod stack;
mod task;

pub use blocks::Blocks;
pub use by_priority::{Priority, Ticket};
pub use deque::Deque;
pub use injector::Injector;
pub use lookahead::Lookahead;
pub use node::PreferredNode;
pub use stack::TaskStack;
pub use task::{Queued, TaskRef};
