//! The scheduler under Sinew: pools, workers, join and scope.
//!
//! Most programs use the crate `sinew`, which adds skeletons over data and re-exports what is here;
//! loops, sorts and streams are the crate `sinew-loops`, locality domains the crate
//! `sinew-locality`. This crate is the mechanism. [`Worker::join`] and [`join`] run two closures,
//! possibly in parallel; [`scope`] runs any number of tasks and waits for them; [`spawn`] starts a
//! detached task. All run in the current [`Pool`]. The crate `sinew-policy` makes the decisions
//! (victims, chunk sizes, spin windows).
//!
//! The folders form layers, listed from the top. A file imports files of its own folder and of
//! folders below it.
//!
//! | folder | contents |
//! |---|---|
//! | `tasks`, `scope` | the ways to make tasks: join, spawn, broadcast, scopes |
//! | `builder` | building pools: by hand, from the environment, the global one, serial ones |
//! | `sharing`, `coordinate`, `requested_share` | a pool that shares the machine with other programs (feature `coordinate`) |
//! | `pool` | the handle to a pool, its control, its threads, and calls from outside |
//! | `scheduler` | the scheduling loop of a worker: search, wait, stand down, serve calls |
//! | `state` | workers, the state that they share, queued tasks, the poll word |
//! | `stealing`, [`victims`] | state that thieves share; the parameters of victim policies |
//! | `idle` | the counts and lists of sleepers; measurements of sleeping and waking |
//! | `seams` | interfaces for the crates above: observers, hooks, limits, pins, cancellations |
//! | `host`, `fork`, `build_error` | the machine, survival of `fork(2)`, why a pool cannot be built |

mod build_error;
mod builder;
#[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
mod coordinate;
mod fork;
mod host;
mod idle;
mod pool;
#[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
mod requested_share;
mod scheduler;
mod scope;
mod seams;
#[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
mod sharing;
#[cfg(all(test, shuttle))]
mod shuttle;
mod state;
mod stealing;
mod tasks;
pub mod victims;

pub use build_error::{BuildError, MAX_THREADS};
pub use builder::global::{pool as global_pool, run, with_current};
pub use builder::serially::serially;
pub use builder::{Fences, PoolBuilder, Spin};
pub use host::machine_cached;
pub use pool::Pool;
pub use pool::call::CallBuilder;
pub use pool::cancel_registration::CancelRegistration;
pub use pool::control::{PoolControl, PoolSnapshot};
pub use pool::inject::CallError;
pub use pool::threads::WorkerThread;
pub use scope::{
    FirstPanic, NextTask, Queueing, Scope, ScopeBuilder, ScopeQueues, ScopeTask, TaskQueues, scope,
};
pub use seams::callers::Callers;
pub use seams::cancel::{Cancellable, Cancelled};
pub use seams::hook::PoolHook;
pub use seams::limit::Limit;
pub use seams::observer;
pub use seams::pins::Pin;
pub use seams::preset::Preset;
pub use seams::worker_local::WorkerLocal;
#[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
pub use sharing::Share;
pub use sinew_deque::Priority;
pub use sinew_policy::victim::Victims;
pub use sinew_policy::{StackKind, UnknownName, Wait};
pub use sinew_topology::{Mapping, MappingError};
pub use state::counters::{Counters, StealsAt};
pub use state::poll::PollReason;
pub use state::worker::Worker;
pub use state::worker_memory::OwnPages;
#[doc(hidden)]
pub use tasks::begun::BegunScope;
pub use tasks::broadcast::BroadcastContext;
pub use tasks::join::{Entering, join, join_context};
pub use tasks::open;
pub use tasks::spawn::{spawn, spawn_fifo};
