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
//! holds. What is more is in [`ext`]: the number of working threads can change while the program
//! runs, and so can their places and whom they steal from; and a pool can be told what its waiting
//! workers may run.
//!
//! | module | contents |
//! |---|---|
//! | `call` | the free functions: which pool a call goes to |
//! | `pool` | [`ThreadPool`] |
//! | `builder`, `configuration` | [`ThreadPoolBuilder`], and what came before it |
//! | `spawner` | who starts threads |
//! | `recipe` | what a pool is built from, and built again in a forked child |
//! | `error` | [`ThreadPoolBuildError`] |
//! | [`ext`] | what rayon-core does not have |
//!
//! Tasks, queues, stealing and sleeping are `sinew-core`'s; [`Scope`], [`ScopeFifo`] and
//! [`BroadcastContext`] are its types.
//!
//! # Settings
//!
//! | variable | meaning |
//! |---|---|
//! | `RAYON_NUM_THREADS`, else `RAYON_RS_NUM_CPUS` | threads of pools that are not told, as upstream: the first that is a number counts, and 0 is the machine's |
//! | `SINEW_THREADS` | the same, where neither is a number |
//! | `SINEW_WAIT` | what a waiting worker may run: `any` (as upstream, the default), `leapfrog`, `descendants`, `transitive` or `block` |
//! | `SINEW_COORDINATE` | `1`: pools share the machine with other programs by agreement |
//! | `SINEW_MAPPING` | where threads are pinned: `none`, `compact`, `scatter`, or processors such as `0,2,4-7` |
//! | `SINEW_PROFILE` | `1`: pools measure where their time goes, and `ext::profile` and `ThreadPoolExt::profile` return it; with the feature `profile` |
//! | `SINEW_VICTIMS`, `SINEW_FENCES`, `SINEW_SPIN_US`, `SINEW_STACK` | see `sinew_core::PoolBuilder::from_env` |
//!
//! # Differences
//!
//! - Pools whose number of threads nobody set follow affinity, cpuset and quota of the process
//!   while it runs: threads beyond them stand down. [`current_num_threads`] stays what it was at
//!   the start.
//! - A pool that came into a child process through a fork is built again there when it is first
//!   used, with threads of the standard library's.
//! - It needs Rust 1.95, as all of Sinew; upstream needs 1.80.
//! - On targets without threads the global pool runs on the thread that needs it first; no other
//!   does.

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
