//! Detached tasks.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sinew_deque::{Queued, TaskRef};

use crate::builder::global;
use crate::fork;
use crate::pool::Pool;
use crate::seams::observer::{Activity, Event};
use crate::state::heap_task::HeapTask;
use crate::state::pool_state::PoolState;
use crate::state::tls;
use crate::state::worker::Worker;

impl Worker {
    /// Spawns a detached task into the pool of this worker; see [`spawn`].
    ///
    /// # Panics
    ///
    /// As [`spawn`].
    pub fn spawn<F>(&self, f: F)
    where
        F: for<'w> FnOnce(&'w Self) + Send + 'static,
    {
        if self.pool().is_serial() {
            return spawn_around(f);
        }
        let _spawn = self.begin(Activity::Spawn);
        self.queue(Queued { task: self.noted(detached(f, Some(self))), depth: self.depth() + 1 });
    }

    /// Spawns a detached task that begins after all tasks that this worker spawned with this
    /// function before; see [`spawn_fifo`].
    ///
    /// # Panics
    ///
    /// As [`spawn`].
    pub fn spawn_fifo<F>(&self, f: F)
    where
        F: for<'w> FnOnce(&'w Self) + Send + 'static,
    {
        if self.pool().is_serial() {
            return spawn_fifo_around(f);
        }
        let _spawn = self.begin(Activity::Spawn);
        let depth = self.depth() + 1;
        let task = self.noted(detached(f, Some(self)));
        // SAFETY: the worker's own list exists as long as its pool, which runs all tasks before it
        // ends.
        let token = unsafe { self.fifo.push(Queued { task, depth }) };
        self.queue(Queued { task: token, depth });
    }
}

impl Pool {
    /// Spawns `f` as a detached task, which runs on any worker. Only dropping the pool waits for
    /// it.
    ///
    /// # Panics
    ///
    /// The caller does not panic. If `f` panics, the pool's panic handler gets the payload; without
    /// a handler the process aborts.
    pub fn spawn<F>(&self, f: F)
    where
        F: for<'w> FnOnce(&'w Worker) + Send + 'static,
    {
        if self.is_of_another_process() {
            fork::die_of_lost_workers();
        }
        spawn_in(&self.state, f);
        if self.state.takes_external_threads() && !self.state.has_threads() {
            self.start_standby();
        }
    }

    /// As [`spawn`](Self::spawn), in order: of the tasks that one worker spawns with this function,
    /// the oldest runs first. Tasks from outside the pool always begin in order.
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_fifo<F>(&self, f: F)
    where
        F: for<'w> FnOnce(&'w Worker) + Send + 'static,
    {
        match tls::current_in(&self.state) {
            Some(worker) => worker.spawn_fifo(f),
            None => self.spawn(f),
        }
    }
}

/// Spawns a detached task from a thread that works serially: into the enclosing pool.
#[cold]
fn spawn_around<F>(f: F)
where
    F: for<'w> FnOnce(&'w Worker) + Send + 'static,
{
    match tls::around_serial() {
        Some(worker) => worker.spawn(f),
        None => global::pool().spawn(f),
    }
}

/// [`spawn_around`] in order.
#[cold]
fn spawn_fifo_around<F>(f: F)
where
    F: for<'w> FnOnce(&'w Worker) + Send + 'static,
{
    match tls::around_serial() {
        Some(worker) => worker.spawn_fifo(f),
        None => global::pool().spawn(f),
    }
}

/// A detached task: its panic goes to the handler of the pool that runs it.
fn detached<F>(f: F, here: Option<&Worker>) -> TaskRef
where
    F: for<'w> FnOnce(&'w Worker) + Send + 'static,
{
    let work = move |worker: &Worker| {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| f(worker))) {
            worker.pool().handle_panic(payload);
        }
        worker.tell(Event::DetachedTaskEnd);
    };
    // SAFETY: run once; it borrows nothing. It does not unwind, as `handle_panic` does not.
    unsafe { HeapTask::on_heap(work, here) }
}

/// Spawns a detached task into `pool`.
fn spawn_in<F>(pool: &PoolState, f: F)
where
    F: for<'w> FnOnce(&'w Worker) + Send + 'static,
{
    match tls::current_in(pool) {
        Some(worker) => worker.spawn(f),
        None => pool.inject(Queued { task: detached(f, None), depth: 0 }, true),
    }
}

/// Spawns `f` as a detached task in the pool of the current worker, or in the global pool.
///
/// # Panics
///
/// The caller does not panic. If `f` panics, the pool's panic handler gets the payload; without a
/// handler the process aborts.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// sinew_core::spawn(move |_| sender.send(7).unwrap());
/// assert_eq!(receiver.recv(), Ok(7));
/// ```
pub fn spawn<F>(f: F)
where
    F: for<'w> FnOnce(&'w Worker) + Send + 'static,
{
    match tls::current() {
        Some(worker) => spawn_in(worker.pool(), f),
        None => global::pool().spawn(f),
    }
}

/// As [`spawn`], in order: of the tasks that one worker spawns with this function, the oldest runs
/// first.
///
/// # Panics
///
/// As [`spawn`].
pub fn spawn_fifo<F>(f: F)
where
    F: for<'w> FnOnce(&'w Worker) + Send + 'static,
{
    match tls::current() {
        Some(worker) => worker.spawn_fifo(f),
        None => global::pool().spawn(f),
    }
}
