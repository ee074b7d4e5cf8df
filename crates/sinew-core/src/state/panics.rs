//! Panics that no caller waits for: of detached tasks, of hooks, and of payloads that are dropped.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::state::pool_state::PoolState;

impl PoolState {
    /// Gives the payload of a detached task to the pool's handler, or aborts.
    #[cold]
    pub(crate) fn handle_panic(&self, payload: Box<dyn Any + Send>) {
        let Some(handler) = &self.panic_handler else {
            eprintln!(
                "sinew: a detached task or a hook panicked and the pool has no panic handler: aborting"
            );
            std::process::abort();
        };
        if catch_unwind(AssertUnwindSafe(|| handler(payload))).is_err() {
            eprintln!("sinew: the panic handler panicked: aborting");
            std::process::abort();
        }
    }
}

/// Drops the payload of a panic that gives way to an earlier one. Nobody is left to tell if that
/// panics in turn.
#[cold]
pub(crate) fn discard(payload: Box<dyn Any + Send>) {
    if catch_unwind(AssertUnwindSafe(|| drop(payload))).is_err() {
        eprintln!("sinew: the payload of a panic panicked when it was dropped: aborting");
        std::process::abort();
    }
}
