//! The standby thread of a pool of one, which has no other thread: for tasks that no call runs.

use std::sync::Arc;

use crate::pool::Pool;
use crate::state::pool_state::PoolState;

impl PoolState {
    /// The life of the thread that serves a pool of one while nobody is at its slot.
    fn stand_by(&self) {
        while !self.is_ending() {
            if self.injector.is_empty() {
                self.standby.park();
                continue;
            }
            self.external_slot.enter();
            self.run_what_waits();
        }
    }
}

impl Pool {
    /// The end of a pool of one: no other thread is left to run its detached tasks. A thread that
    /// unwinds gives them to one that does not.
    pub(crate) fn run_what_is_left(&self) {
        let run = |state: &PoolState| {
            state.external_slot.enter();
            state.run_what_waits();
        };
        if std::thread::panicking() {
            let state = Arc::clone(&self.state);
            if let Ok(thread) = self.settings.start(0, move || run(&state)) {
                let _ = thread.join();
                return;
            }
        }
        run(&self.state);
    }

    /// A pool of one has no threads; detached tasks, and calls by workers of other pools, get one
    /// that sits down at the external slot whenever there is work and nobody else does it. False if
    /// it cannot be started.
    #[cold]
    pub(crate) fn start_standby(&self) -> bool {
        let mut started = self.standby.lock();
        if *started {
            self.state.standby.unpark();
            return true;
        }
        let state = Arc::clone(&self.state);
        match self.settings.start(0, move || state.stand_by()) {
            Ok(handle) => {
                self.threads.lock().push(handle);
                *started = true;
            }
            // The next external thread runs the task, or the end of the pool does.
            Err(error) => eprintln!(
                "sinew: no thread for detached tasks: {error}; they run at the next call into the pool"
            ),
        }
        *started
    }
}
