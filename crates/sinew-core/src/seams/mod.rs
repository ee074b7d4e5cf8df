//! Interfaces by which code above a pool extends it; the scheduler does not depend on that code.
//!
//! | file | contents |
//! |---|---|
//! | `observer` | watches a pool |
//! | `hook` | functions called for a pool's calls, settings and end |
//! | `worker_local` | values of modules above, one for each worker |
//! | `limit`, `preset` | how many workers may work, by source; the schedule of a pool's loops |
//! | `pins` | where threads are pinned |
//! | `cancel`, `callers` | work that can be cancelled, and the callers that a cancellation wakes |
//!
//! Poll reasons are such an interface too, but need the worker: `state::poll`.

pub(crate) mod callers;
pub(crate) mod cancel;
pub(crate) mod hook;
pub(crate) mod limit;
pub mod observer;
pub(crate) mod pins;
pub(crate) mod preset;
pub(crate) mod worker_local;
