//! The scheduling loop, which a worker executes between pieces of user code: `impl` blocks of the
//! worker and its pool.
//!
//! | file | contents |
//! |---|---|
//! | `job` | work that was found, and how it runs |
//! | `search`, `injected` | looking for work; taking work from outside |
//! | `victim` | the choice of a thief's victim |
//! | `park` | how a worker parks, and its last checks for work |
//! | `latch`, `wait`, `waiter` | latches; how workers wait, and threads outside of pools |
//! | `yielding` | running another task in the middle of one |
//! | `surplus` | workers above the limit stand down |
//! | `remap` | threads move to other processors |
//! | `between`, `service` | between two pieces of work: read limits, serve calls from outside |

pub(crate) mod between;
pub(crate) mod injected;
pub(crate) mod job;
pub(crate) mod latch;
pub(crate) mod park;
pub(crate) mod remap;
pub(crate) mod search;
pub(crate) mod service;
pub(crate) mod surplus;
pub(crate) mod victim;
pub(crate) mod wait;
pub(crate) mod waiter;
pub(crate) mod yielding;
