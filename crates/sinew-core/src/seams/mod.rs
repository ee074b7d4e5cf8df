//! Seams: what code above a pool sets or plugs in, without the scheduler knowing it.
//!
//! | file | contents |
//! |---|---|
//! | `observer` | watches a pool |
//! | `hook` | is told of a pool's calls, settings and end |
//! | `worker_local` | values that a worker keeps for modules above |
//! | `limit`, `preset` | how many workers may work, by source; the schedule of a pool's loops |
//! | `pins` | where threads are pinned |
//! | `cancel`, `callers` | what can be cancelled, and the callers that a cancellation wakes |
//!
//! The poll reasons, a seam as well, need the worker: `state::poll`.

pub(crate) mod callers;
pub(crate) mod cancel;
pub(crate) mod hook;
pub(crate) mod limit;
pub mod observer;
pub(crate) mod pins;
pub(crate) mod preset;
pub(crate) mod worker_local;
