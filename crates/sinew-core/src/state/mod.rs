//! The state of pools: a worker, what the workers of a pool share, and queued tasks.
//!
//! Workers and their pool know each other, so both live here. This floor knows how tasks lie in
//! queues and how a thread finds its worker. It knows nothing of joins, scopes, searches and waits:
//! the floors above add those by `impl` blocks.
//!
//! | file | contents |
//! |---|---|
//! | `worker` | a worker: its stack, queues, parker, counters, and what only its owner touches |
//! | `pool_state` | what the workers of a pool share, and the protocol of the pool's end |
//! | `worker_slots`, `worker_memory` | where the workers lie in memory |
//! | `external_slot` | the lock of the slot that threads from outside use |
//! | `tls` | which worker the current thread is |
//! | `queue`, `fifo`, `scope_tasks`, `heap_task` | queued tasks, their orders, and their memory |
//! | `poll` | the poll word: what other threads ask a worker for |
//! | `observed` | what a worker tells its observer |
//! | `counters`, `limit_checks`, `panics` | counters; when limits are read; panics that no caller waits for |

pub(crate) mod counters;
pub(crate) mod external_slot;
pub(crate) mod fifo;
pub(crate) mod heap_task;
pub(crate) mod limit_checks;
pub(crate) mod observed;
pub(crate) mod panics;
pub(crate) mod poll;
pub(crate) mod pool_state;
pub(crate) mod queue;
pub(crate) mod scope_tasks;
pub(crate) mod tls;
pub(crate) mod worker;
pub(crate) mod worker_memory;
pub(crate) mod worker_slots;
