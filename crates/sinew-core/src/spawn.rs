//! Detached tasks: spawned, and run some time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use sinew_deque::blocks::{self, Class};
use sinew_deque::{Queued, TaskRef};

use crate::inner::Inner;
use crate::observer::{Activity, Event};
use crate::queue::Header;
use crate::tls;
use crate::worker::Worker;

/// A task on the heap, freed by running it. If it is small, it lies in a
/// [block](crate::queue::Blocks) that workers keep.
#[repr(C)]
pub(crate) struct HeapTask<F> {
    header: Header,
    work: F,
}

impl<F> HeapTask<F>
where
    F: for<'w> FnOnce(&'w Worker),
{
    const CLASS: Option<Class> = Class::of::<Self>();

    /// Puts `work`, which must not unwind, on the heap; `here` is the worker that this thread is,
    /// if it is one.
    ///
    /// # Safety
    ///
    /// The task is run once, on any thread, before what `work` borrows is gone.
    #[inline]
    pub(crate) unsafe fn on_heap(work: F, here: Option<&Worker>) -> TaskRef
    where
        F: Send,
    {
        let task = Self { header: Header { run: Self::run }, work };
        let Some(class) = Self::CLASS else {
            return TaskRef::new(NonNull::from(Box::leak(Box::new(task))));
        };
        let block =
            here.map_or_else(|| blocks::new(class), |worker| worker.own.blocks.take(class)).cast();
        // SAFETY: the block is of a class that this type fits in, and nobody else's.
        unsafe { block.write(task) };
        TaskRef::new(block)
    }

    /// # Safety
    ///
    /// `header` is the first field of a `HeapTask<F>` made by `on_heap`; called once.
    unsafe fn run(header: NonNull<Header>, worker: &Worker) {
        let task = header.cast::<Self>();
        let Some(class) = Self::CLASS else {
            // SAFETY: made by `Box::leak` in `on_heap`.
            let task = unsafe { Box::from_raw(task.as_ptr()) };
            return (task.work)(worker);
        };
        // Given back before the call: what the task spawns finds the block in the cache. SAFETY:
        // written by `on_heap`, and read once; the block is of that class, and nobody uses it any
        // more.
        let Self { work, .. } = unsafe {
            let task = task.read();
            worker.own.blocks.give(class, header.cast());
            task
        };
        work(worker);
    }
}

/// How many spawns that run tasks may lie one within the other on a thread's stack.
const NESTED_SPAWNS: u32 = 64;

impl Worker {
    /// Calls `f`, which runs tasks in the middle of a spawn and does not unwind. Returns false
    /// instead where this spawn lies within too many of the kind: a task that spawns the next one,
    /// and so on, would fill the stack. The caller then queues its task, and the scope runs it in
    /// the end.
    pub(crate) fn within_spawn(&self, f: impl FnOnce(&Self)) -> bool {
        let nested = self.own.nested_spawns.get();
        if nested == NESTED_SPAWNS {
            return false;
        }
        self.own.nested_spawns.set(nested + 1);
        tls::with_current(self, f);
        self.own.nested_spawns.set(nested);
        true
    }

    /// Queues a task on this worker's own queue.
    #[inline]
    pub(crate) fn queue(&self, queued: Queued) {
        // SAFETY: the caller is the owner (W1).
        unsafe { self.deque.push(queued) };
        sinew_sync::fence::light(); // M5: a sleeper that left a note after this look sees the task
        if self.stack.has_poll_reason() {
            self.look_up();
        }
    }

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

    /// Spawns a detached task that is begun after all that this worker has spawned so before; see
    /// [`spawn_fifo`].
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
        // SAFETY: the worker's own list is there as long as its pool, which runs all tasks before
        // it ends.
        let token = unsafe { self.fifo.push(Queued { task, depth }) };
        self.queue(Queued { task: token, depth });
    }
}

/// Spawns a detached task from a thread that works serially: into the pool around that.
#[cold]
fn spawn_around<F>(f: F)
where
    F: for<'w> FnOnce(&'w Worker) + Send + 'static,
{
    match tls::around_serial() {
        Some(worker) => worker.spawn(f),
        None => crate::global::pool().spawn(f),
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
        None => crate::global::pool().spawn(f),
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
pub(crate) fn spawn_in<F>(pool: &Inner, f: F)
where
    F: for<'w> FnOnce(&'w Worker) + Send + 'static,
{
    match tls::current_in(pool) {
        Some(worker) => worker.spawn(f),
        None => pool.inject(Queued { task: detached(f, None), depth: 0 }, true),
    }
}

impl Inner {
    /// Gives the payload of a detached task to the pool's handler, or aborts.
    #[cold]
    pub(crate) fn handle_panic(&self, payload: Box<dyn std::any::Any + Send>) {
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
pub(crate) fn discard(payload: Box<dyn std::any::Any + Send>) {
    if catch_unwind(AssertUnwindSafe(|| drop(payload))).is_err() {
        eprintln!("sinew: the payload of a panic panicked when it was dropped: aborting");
        std::process::abort();
    }
}

/// Runs `f` some time, in the pool of the current worker, or in the global pool.
///
/// # Panics
///
/// Not here. If `f` panics, the pool's panic handler gets the payload; without a handler the
/// process aborts.
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
        None => crate::global::pool().spawn(f),
    }
}

/// [`spawn`] in order: of the tasks that one worker spawns so, the oldest is run first.
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
        None => crate::global::pool().spawn(f),
    }
}
