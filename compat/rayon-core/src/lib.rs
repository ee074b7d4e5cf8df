#![forbid(unsafe_code)]
//! A drop-in replacement for `rayon-core` 1.13 that runs on Sinew.
//!
//! One line puts a program, and every crate below it that uses rayon, on Sinew's workers:
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "…/sinew/compat/rayon-core" }
//! ```
//!
//! Names, signatures, orders, panics and errors are those of rayon-core 1.13, whose documentation
//! holds. [`ext`] has extensions: the number of working threads, their pins and their victim policy
//! can change while the program runs, and a pool has a policy for its waiting workers.
//!
//! | module | contents |
//! |---|---|
//! | `call` | the free functions, and the choice of their pool |
//! | `pool` | [`ThreadPool`] |
//! | `builder`, `configuration` | [`ThreadPoolBuilder`], and its deprecated predecessor |
//! | `spawner` | the start of threads |
//! | `recipe` | the settings of a pool, from which a forked child builds it again |
//! | `error` | [`ThreadPoolBuildError`] |
//! | [`ext`] | extensions to rayon-core |
//!
//! The crate `sinew-core` implements tasks, queues, stealing and sleeping; [`Scope`], [`ScopeFifo`]
//! and [`BroadcastContext`] are its types.
//!
//! # Settings
//!
//! | variable | meaning |
//! |---|---|
//! | `RAYON_NUM_THREADS`, else `RAYON_RS_NUM_CPUS` | threads of pools that are not told, as upstream: the first that is a number counts, and 0 is the machine's |
//! | `SINEW_THREADS` | the same, if neither is a number |
//! | `SINEW_WAIT` | the tasks that a waiting worker may run: `any` (as upstream, the default), `leapfrog`, `descendants`, `transitive` or `block` |
//! | `SINEW_COORDINATE` | `1`: pools share the machine cooperatively with other programs |
//! | `SINEW_MAPPING` | the pins of threads: `none`, `compact`, `scatter`, or processors such as `0,2,4-7` |
//! | `SINEW_PROFILE` | `1`: pools measure a breakdown of their time, which `ext::profile` and `ThreadPoolExt::profile` return; with the feature `profile` |
//! | `SINEW_VICTIMS`, `SINEW_FENCES`, `SINEW_SPIN_US`, `SINEW_STACK` | see `sinew_core::PoolBuilder::from_env` |
//!
//! # Differences
//!
//! - Pools without an explicit number of threads follow affinity, cpuset and quota of the process
//!   while it runs: surplus threads stand down. [`current_num_threads`] stays the same.
//! - A forked child builds an inherited pool again when it first uses it, with threads of the
//!   standard library.
//! - It needs Rust 1.95, as all of Sinew; upstream needs 1.80.
//! - On targets without threads the global pool runs on the first thread that uses it; other pools
//!   cannot be built.

mod builder;
mod call;
mod configuration;
mod error;
pub mod ext;
mod global;
mod pool;
mod recipe;
mod spawner;
mod yielding;

pub use builder::ThreadPoolBuilder;
pub use call::{
    FnContext, broadcast, current_num_threads, current_thread_has_pending_tasks,
    current_thread_index, in_place_scope, in_place_scope_fifo, join, join_context, scope,
    scope_fifo, spawn, spawn_broadcast, spawn_fifo, yield_local, yield_now,
};
#[expect(deprecated, reason = "upstream still has them")]
pub use configuration::{Configuration, initialize};
pub use error::ThreadPoolBuildError;
pub use pool::ThreadPool;
pub use recipe::max_num_threads;
pub use sinew_core::BroadcastContext;
pub use sinew_core::open::{OpenScope as Scope, OpenScopeFifo as ScopeFifo};
pub use spawner::ThreadBuilder;
pub use yielding::Yield;
