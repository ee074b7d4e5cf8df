//! The threads of a pool: start, hooks, and exit.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use sinew_sync::plant::{Bug, planted};
use sinew_sync::thread::{self, JoinHandle};

use crate::seams::observer::Event;
use crate::state::pool_state::PoolState;
use crate::state::tls;

/// A hook that gets the number of the worker's slot.
type Hook = Arc<dyn Fn(usize) + Send + Sync>;

/// The settings of the threads.
#[derive(Clone, Default)]
pub(crate) struct ThreadSettings {
    pub(crate) name: Option<Arc<dyn Fn(usize) -> String + Send + Sync>>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) on_start: Option<Hook>,
    pub(crate) on_exit: Option<Hook>,
}

impl ThreadSettings {
    /// Starts a thread for the slot `index`.
    pub(crate) fn start(
        &self,
        index: usize,
        body: impl FnOnce() + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        let name = self.name.as_ref().map_or_else(|| format!("sinew-{index}"), |name| name(index));
        let mut builder = thread::Builder::new().name(name);
        if let Some(bytes) = self.stack_size {
            builder = builder.stack_size(bytes);
        }
        spawn(builder, Box::new(body))
    }
}

/// Starts a thread. The body is boxed, so that the start of a thread is compiled once.
pub(crate) fn spawn(
    builder: thread::Builder,
    body: Box<dyn FnOnce() + Send>,
) -> io::Result<JoinHandle<()>> {
    builder.spawn(body)
}

/// The work of the thread of one slot. The function given to
/// [`PoolBuilder::build_with`](crate::PoolBuilder::build_with) starts a thread that calls
/// [`run`](Self::run).
///
/// If it is dropped, the slot stays empty. Calls and the shutdown of the pool work without it; a
/// broadcast, which needs every slot, waits for ever.
pub struct WorkerThread {
    pool: Arc<PoolState>,
    settings: Arc<ThreadSettings>,
    index: usize,
    has_run: bool,
}

impl WorkerThread {
    pub(crate) fn new(pool: &Arc<PoolState>, index: usize, settings: &Arc<ThreadSettings>) -> Self {
        let thread =
            Self { pool: Arc::clone(pool), settings: Arc::clone(settings), index, has_run: false };
        pool.enlist(thread.serves_at_once());
        thread
    }

    /// Whether the pool must not end before this thread has started, because a hook may start
    /// tasks. The other threads run all other work.
    fn serves_at_once(&self) -> bool {
        self.settings.on_start.is_some() && !planted(Bug::UncountedHook)
    }

    /// The number of the slot.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Works at the slot until the pool ends.
    ///
    /// # Blocking
    ///
    /// Until the pool ends.
    pub fn run(mut self) {
        self.has_run = true;
        let worker = &self.pool.slots[self.index];
        tls::within(worker, || self.serve());
    }

    fn serve(&self) {
        let (pool, index) = (&*self.pool, self.index);
        let worker = &pool.slots[index];
        worker.record_mask();
        if self.serves_at_once() || pool.serve() {
            worker.follow_mapping();
            pool.call_hook(self.settings.on_start.as_ref(), index);
            self.work();
        }
        pool.call_hook(self.settings.on_exit.as_ref(), index);
        worker.unpin();
    }

    fn work(&self) {
        let worker = &self.pool.slots[self.index];
        worker.placement.thread_begins();
        worker.tell(Event::Enter { calls: false });
        worker.activate();
        while let Some(job) = worker.next_job() {
            worker.follow_mapping();
            worker.execute(job);
        }
        worker.deactivate();
        worker.tell(Event::Leave);
        worker.placement.thread_ends();
    }
}

impl Drop for WorkerThread {
    fn drop(&mut self) {
        if !self.has_run && self.serves_at_once() {
            self.pool.retire();
        }
        self.pool.threads.leave();
    }
}

impl fmt::Debug for WorkerThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerThread").field("index", &self.index).finish_non_exhaustive()
    }
}

impl PoolState {
    fn call_hook(&self, hook: Option<&Hook>, index: usize) {
        let Some(hook) = hook else { return };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| hook(index))) {
            self.handle_panic(payload);
        }
    }
}
