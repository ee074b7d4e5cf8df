//! What a worker does between pieces of user code: `impl` blocks of a worker and its pool.
//!
//! | file | what lives there |
//! |---|---|
//! | `job` | work that was found, and how it runs |
//! | `search`, `injected` | looking for work; taking work from outside |
//! | `victim` | whom a thief asks |
//! | `timed_park` | the last looks before a sleep |
//! | `latch`, `wait`, `waiter` | what is waited for; how workers wait, and threads outside of pools |
//! | `yielding` | running another task in the middle of one |
//! | `surplus` | workers above the limit stand down |
//! | `remap` | threads move to other processors |
//! | `between`, `service` | between two pieces: limits are read, calls from outside served |

pub(crate) mod between;
pub(crate) mod injected;
pub(crate) mod job;
pub(crate) mod latch;
pub(crate) mod remap;
pub(crate) mod search;
pub(crate) mod service;
pub(crate) mod surplus;
pub(crate) mod timed_park;
pub(crate) mod victim;
pub(crate) mod wait;
pub(crate) mod waiter;
pub(crate) mod yielding;
