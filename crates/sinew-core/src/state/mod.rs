//! The state of pools: workers, the state that the workers of a pool share, and queued tasks.
//!
//! Workers and their pool refer to each other, so both are in this folder. It has the queues of
//! tasks, and finds the worker of a thread. The folders above add joins, scopes, searches and waits
//! as `impl` blocks.
//!
//! | file | contents |
//! |---|---|
//! | `worker` | a worker: its stack, queues, parker, counters, and its owner's private state |
//! | `pool_state` | the state that a pool's workers share, and the shutdown protocol |
//! | `worker_slots`, `worker_memory` | the memory of the workers |
//! | `external_slot` | the lock of the slot that threads from outside use |
//! | `tls` | the worker of the current thread |
//! | `queue`, `fifo`, `scope_tasks`, `heap_task` | queued tasks, their orders, and their memory |
//! | `poll` | poll reasons: how a module declares one, and the function that a worker calls for it |
//! | `observed` | events that a worker reports to its observer |
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
pub(crate) mod work;
pub(crate) mod worker;
pub(crate) mod worker_memory;
pub(crate) mod worker_slots;
