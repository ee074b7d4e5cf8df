//! Containers whose operations are parts of transactions.
//!
//! They are built from [`TVar`](crate::TVar)s, without `unsafe`, and hold values that are `Copy`. A
//! transaction can combine lookups, updates and walks of several containers.

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
