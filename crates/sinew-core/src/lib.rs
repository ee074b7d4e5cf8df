//! The scheduler under Sinew: pools, workers at their seats, join, scope, and what they need.
//!
//! Most programs use the crate `sinew`, which adds skeletons over data and re-exports what is here;
//! loops, sorts and streams are the crate `sinew-loops`.
//! This crate is the mechanism: [`Worker::join`] and [`join`] run two closures that may become two
//! threads' work, [`scope`] any number of them, [`spawn`] one that nobody waits for, all in the
//! current [`Pool`]. Decisions (victims, chunk sizes, spin windows) are taken by `sinew-policy`.
//!
//! | module | what lives there |
//! |---|---|
//! | `queue` | how tasks that are not strictly nested run, and keep an order |
//! | `join`, `scope`, `spawn`, `inject` | the ways to make tasks |
//! | `stealing`, [`victims`] | whom thieves ask |
//! | `search`, `wait`, `sleep` | what a worker does without work, while blocked, and before it parks |
//! | `serially` | code whose joins, scopes and loops stay on one thread |
//! | `pool`, `builder`, `build_error`, `guest`, `global`, `tls`, `environment` | seats, threads, and the ways in |
//! | `pool_control`, `cancel`, `enrolled` | the handle by which a pool is changed; what it can cancel |
//! | `limit`, `surplus`, `preset` | how many of a pool's workers may work, and by which schedule its loops run |
//! | [`locality`] | domains, their queues, and arrays whose blocks know theirs |
//! | [`observer`] | the seam by which a floor above watches a pool |
//! | `poll`, `between` | what other threads ask a worker for, and when it looks |
//! | `pins`, `remap` | pinning the threads anew while they run |
//! | `host` | the machine, and what the process may use of it |
//! | `worker_local` | values that workers keep for modules above |
//! | `worker_memory`, `seats` | where the memory of the workers themselves lies |
//! | `hook` | what modules above a pool are told of it |
//! | `sharing`, `coordinate`, `requested_share` | a pool among other programs on the machine (feature `coordinate`) |
//! | `steer` | waking a worker on another core than its waker's |
//! | `fork`, `latch`, `counters` | what their names say |

mod between;
mod broadcast;
mod build_error;
mod builder;
mod callers;
mod cancel;
#[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
mod coordinate;
mod counters;
mod doze;
mod enrolled;
mod environment;
mod fork;
mod glance;
mod global;
mod guest;
mod heap_task;
mod hook;
mod host;
mod inject;
mod injected;
mod inner;
mod job;
mod join;
mod latch;
mod limit;
pub mod locality;
mod observed;
pub mod observer;
pub mod open;
mod panics;
mod patience;
mod payoff;
mod pins;
mod poll;
mod pool;
mod pool_control;
mod preset;
mod queue;
mod remap;
#[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
mod requested_share;
mod scope;
mod search;
mod seats;
mod serially;
mod service;
#[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
mod sharing;
#[cfg(all(test, shuttle))]
mod shuttle_tests;
mod sleep;
mod spawn;
mod standby;
mod stealing;
mod steer;
mod surplus;
mod threads;
mod tls;
mod victim;
pub mod victims;
mod visit;
mod wait;
mod waiter;
mod worker;
mod worker_local;
mod worker_memory;
mod yielding;

pub use broadcast::BroadcastContext;
pub use build_error::{BuildError, MAX_WORKERS};
pub use builder::{Builder, Fences};
pub use callers::Callers;
pub use cancel::{Cancellable, Cancelled};
pub use counters::{Counters, StealsAt};
pub use enrolled::Enrolled;
pub use global::{pool as global_pool, run, with_current};
pub use hook::PoolHook;
pub use host::machine_lately;
pub use join::{Entering, join, join_context};
pub use limit::Limit;
pub use pins::Pin;
pub use poll::PollReason;
pub use pool::Pool;
pub use pool_control::{PoolControl, PoolSnapshot};
pub use preset::Preset;
pub use scope::{Scope, ScopeBuilder, scope};
pub use serially::serially;
#[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
pub use sharing::Share;
pub use sinew_policy::victim::Victims;
pub use sinew_policy::{StackKind, UnknownName, Wait};
pub use sinew_topology::{Mapping, MappingError};
pub use spawn::{spawn, spawn_fifo};
pub use threads::SeatThread;
pub use worker::Worker;
pub use worker_local::WorkerLocal;
pub use worker_memory::OwnPages;
