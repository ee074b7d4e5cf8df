//! The events of a pool for a module above it.

use std::any::Any;
use std::sync::Arc;

/// Functions that a pool calls from its start to its end. A builder takes any number of hooks.
///
/// Callers and workers of the pool call these functions, so they must be short and must not block.
pub trait PoolHook: Any + Send + Sync {
    /// A caller from outside has taken the external slot, on its own thread.
    fn external_thread_came(&self) {}

    /// Work was queued from outside. A sequentially consistent fence lies between both.
    fn work_arrived(&self) {}

    /// The program has chosen a schedule or a mapping for the pool.
    fn settings_changed(&self) {}

    /// The pool ends: its threads leave when no work is left. `may_wait`: the caller is none of its
    /// workers, and may wait for other threads here.
    fn ended(&self, may_wait: bool) {
        let _ = may_wait;
    }
}

/// A hook that the program keeps as well.
impl<H: PoolHook> PoolHook for Arc<H> {
    fn external_thread_came(&self) {
        (**self).external_thread_came();
    }

    fn work_arrived(&self) {
        (**self).work_arrived();
    }

    fn settings_changed(&self) {
        (**self).settings_changed();
    }

    fn ended(&self, may_wait: bool) {
        (**self).ended(may_wait);
    }
}
