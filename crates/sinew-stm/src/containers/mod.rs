//! Containers whose operations are parts of transactions.
//!
//! They are written in terms of [`TVar`](crate::TVar)s, without `unsafe`, and hold values that are
//! `Copy`. Lookups, updates and walks of several containers can be put together in one transaction.

mod arena;
mod grid;
mod hash;
mod heap;
mod list;
mod map;
mod queue;

pub use grid::TGrid;
pub use hash::THashMap;
pub use heap::THeap;
pub use list::TList;
pub use map::TMap;
pub use queue::TQueue;
