//! The standby thread of a pool of one worker, which has no other thread: it runs tasks that no
//! call runs.

use std::sync::Arc;

use crate::pool::Pool;
use crate::state::pool_state::PoolState;

impl PoolState {
    /// The standby thread's function: it serves a pool of one worker while its slot is free.
    fn stand_by(&self) {
        loop {
            self.standby.park_until(|| self.is_ending() || !self.injector.is_empty());
            if self.is_ending() {
                return;
            }
            self.external_slot.enter();
            self.run_what_waits();
        }
    }
}

impl Pool {
    /// The shutdown of a pool of one worker: no other thread is left to run its detached tasks. A
    /// thread that unwinds passes them to another thread.
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

    /// A pool of one worker has no threads. For detached tasks, and for calls by workers of other
    /// pools, it starts a thread that takes the external slot whenever there is work and the slot
    /// is free. False if the thread cannot be started.
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
                "sinew: no thread for detached tasks: {error}; they run at the next call into the \
                 pool"
            ),
        }
        *started
    }
}
