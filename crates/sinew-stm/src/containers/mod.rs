//! Containers whose operations are parts of transactions.
//!
//! They are built from [`TVar`](crate::TVar)s. Only `store` and `slots`, which let several values
//! share a record, and `lines`, which prefetches, have `unsafe`. A transaction can combine lookups,
//! updates and walks of several containers.
//!
//! Keys and values that are `Copy` lie in the nodes ([`Inline`], the default). With the storage
//! [`Boxed`] they can be anything that is `Clone`. The containers are the same: `store` has the
//! variables of both.
//!
//! To add one: a file here, on `arena` if it has nodes (I16: a removal writes every link to the
//! node), with variables from `store`, and its export here and in `lib.rs`. A map gets the methods
//! of all maps from the macros in `entry`. In `container_model`, a `Kind` and its arms in `World`
//! and `Model`; the new kind comes after `BoxedMap`, because the first four index `Model::maps`.
//! `container_history` and `shuttle` follow `KINDS`. Then `tests/{containers,stores,fork}.rs`, and
//! `stale_nodes.rs` if it has nodes.

mod arena;
#[macro_use]
mod entry;
mod bounded;
mod grid;
mod hash;
mod heap;
mod lines;
mod list;
mod map;
mod order;
mod queue;
mod slots;
mod store;

pub use bounded::TBoundedQueue;
pub use entry::Entry;
pub use grid::TGrid;
pub use hash::THashMap;
pub use heap::THeap;
pub use list::TList;
pub use map::TMap;
pub use queue::TQueue;
pub use store::{Boxed, Inline, Store};
