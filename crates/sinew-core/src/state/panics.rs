//! Panics that no caller waits for: of detached tasks and of hooks.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::state::pool_state::PoolState;

impl PoolState {
    /// Gives the payload of a detached task to the pool's handler, or aborts.
    #[cold]
    pub(crate) fn handle_panic(&self, payload: Box<dyn Any + Send>) {
        let Some(handler) = &self.panic_handler else {
            eprintln!(
                "sinew: a detached task or a hook panicked and the pool has no panic handler: \
                 aborting"
            );
            std::process::abort();
        };
        if catch_unwind(AssertUnwindSafe(|| handler(payload))).is_err() {
            eprintln!("sinew: the panic handler panicked: aborting");
            std::process::abort();
        }
    }
}
