//! Containers whose operations are parts of transactions.
//!
//! They are built from [`TVar`](crate::TVar)s, without `unsafe`, and hold values that are `Copy`. A
//! transaction can combine lookups, updates and walks of several containers.
//!
//! To add one: a file here, on `arena` if it has nodes (I16: a removal writes every link to the
//! node), and its export here and in `lib.rs`. In `container_model`, a `Kind` and its arms in
//! `World` and `Model`; the new kind comes after `Map`, because the first three index
//! `Model::maps`. `container_history` and `shuttle` follow `KINDS`. Then
//! `tests/{containers,stale_nodes,fork}.rs`.

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
