//! What every scope is made of: a count of what is not over, the first panic, and who waits.
//!
//! # Invariants
//!
//! - C1: `pending` counts the body and every task that is not over. It falls to zero once.
//! - C2: the scope's frame is valid until `pending` is zero; a task's last access to it is the subtraction.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicUsize, Ordering};
use sinew_sync::lock::Mutex;

use crate::inner::Inner;
use crate::latch::Owner;
use crate::queue::{Queued, ScopeTasks, TaskRef};
use crate::spawn::discard;
use crate::tls;
use crate::wait::{Awaited, Wait};
use crate::waiter::{Waiter, wait_elsewhere};
use crate::worker::Worker;

/// A scope as its tasks see it.
pub(crate) struct ScopeState {
    pool: NonNull<Inner>,
    owner: Owner,
    depth: u32,
    /// Apart from the rest, which every task reads and nobody writes.
    pending: CachePadded<AtomicUsize>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// The tasks, where waiting workers run no others.
    tasks: Option<Arc<ScopeTasks>>,
}

// SAFETY: the fields are atomics, locks, constants, and counted pointers to the like; the pool outlives the scope.
unsafe impl Sync for ScopeState {}
// SAFETY: as above; only references to a scope are ever handed out.
unsafe impl Send for ScopeState {}

impl ScopeState {
    /// A scope in `pool`, owned by the calling thread; counted is its body. `oldest_first` if its tasks are to be run in order.
    pub(crate) fn new(pool: &Inner, oldest_first: bool) -> Self {
        let inside = tls::current_in(pool);
        let owner = inside.map_or_else(
            || Owner::Elsewhere(Arc::clone(Waiter::here().parker())),
            |worker| Owner::Seat(worker.index()),
        );
        Self {
            pool: NonNull::from(pool),
            owner,
            depth: inside.map_or(0, Worker::depth),
            pending: CachePadded::new(AtomicUsize::new(1)),
            panic: Mutex::new(None),
            tasks: (pool.wait == Wait::Descendants).then(|| ScopeTasks::new(oldest_first)),
        }
    }

    pub(crate) fn pool(&self) -> &Inner {
        // SAFETY: the pool outlives the scope.
        unsafe { self.pool.as_ref() }
    }

    /// The depth of the scope's frame; its tasks lie deeper.
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// Whether the tasks lie in a list of the scope's own.
    pub(crate) fn keeps_its_tasks(&self) -> bool {
        self.tasks.is_some()
    }

    /// Tasks that are not over, and the body.
    pub(crate) fn pending(&self) -> usize {
        // Relaxed: a hint.
        self.pending.load(Ordering::Relaxed)
    }

    /// Counts one more task. Answers how many there were, the body included.
    #[inline]
    pub(crate) fn count_in(&self) -> usize {
        // Relaxed: the spawner is counted itself, so the count is above zero and publishes nothing.
        self.pending.fetch_add(1, Ordering::Relaxed)
    }

    /// Queues a counted task: with this thread's worker, or from outside.
    ///
    /// # Safety
    ///
    /// The task is run once, and ends with [`finish`](Self::finish).
    #[inline]
    pub(crate) unsafe fn queue(&self, task: TaskRef) {
        let inside = tls::current_in(self.pool());
        let depth = inside.map_or(self.depth, Worker::depth) + 1;
        let queued = Queued { task, depth };
        let Some(tasks) = &self.tasks else { return self.enqueue(inside, queued) };
        let token = tasks.push(queued);
        self.enqueue(inside, Queued { task: token, depth });
        self.wake_owner();
    }

    #[inline]
    fn enqueue(&self, inside: Option<&Worker>, queued: Queued) {
        match inside {
            Some(worker) => worker.queue(queued),
            None => self.pool().inject(queued, true),
        }
    }

    /// The owner may be asleep beside a task that it could run.
    #[cold]
    fn wake_owner(&self) {
        match &self.owner {
            Owner::Seat(seat) => self.pool().seats[*seat].parker.unpark(),
            Owner::Elsewhere(parker) => parker.unpark(),
        };
    }

    /// Keeps the first panic.
    #[cold]
    pub(crate) fn keep(&self, payload: Box<dyn Any + Send>) {
        let mut first = self.panic.lock();
        if first.is_none() {
            *first = Some(payload);
        } else {
            drop(first);
            discard(payload);
        }
    }

    /// Calls a task's closure; its panic is kept.
    #[inline]
    pub(crate) fn guard(&self, f: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
            self.keep(payload);
        }
    }

    /// Counts a task out.
    ///
    /// # Safety
    ///
    /// The task is counted, runs on a worker of the scope's pool, and does not access the scope afterwards.
    #[inline]
    pub(crate) unsafe fn finish(scope: *const Self, worker: &Worker) {
        // SAFETY: counted, so the scope is valid until the subtraction, which is the last access (C2). AcqRel: what the task did is visible to the owner
        // (Acquire in `is_done`), through the tasks that end later.
        unsafe {
            Owner::wake_after(&raw const (*scope).owner, worker, || {
                (*scope).pending.fetch_sub(1, Ordering::AcqRel) == 1
            });
        }
    }

    /// Runs the body, waits for the tasks, and hands on the result or the first panic.
    pub(crate) fn complete<R>(&self, body: impl FnOnce() -> R) -> R {
        let result = catch_unwind(AssertUnwindSafe(body)).map_err(|payload| self.keep(payload));
        // AcqRel: as in `finish`.
        if self.pending.fetch_sub(1, Ordering::AcqRel) > 1 {
            self.wait();
        }
        let panic = self.panic.lock().take();
        match (result, panic) {
            (_, Some(payload)) => resume_unwind(payload),
            (Ok(result), None) => result,
            (Err(()), None) => unreachable!("the body's panic was kept"),
        }
    }

    fn wait(&self) {
        match &self.owner {
            Owner::Elsewhere(parker) => wait_elsewhere(parker, self),
            Owner::Seat(_) => {
                let worker = tls::current_in(self.pool()).expect("a scope ends on the thread it began on");
                tls::with_current(worker, |worker| self.wait_inside(worker));
            }
        }
    }

    fn wait_inside(&self, worker: &Worker) {
        let depth = worker.depth();
        worker.stack.set_depth(self.depth);
        worker.wait_for_own(self, worker.help_for_scope(self.depth, self.tasks.as_ref()));
        worker.stack.set_depth(depth);
    }
}

impl Awaited for ScopeState {
    fn is_done(&self) -> bool {
        // Acquire: pairs with the subtraction in `finish`.
        self.pending.load(Ordering::Acquire) == 0
    }
}

/// A pointer to a scope that may go to another thread.
pub(crate) struct ScopeRef<S>(pub(crate) NonNull<S>);

// SAFETY: a reference to what is `Sync` may be sent; the pointer stands for one.
unsafe impl<S: Sync> Send for ScopeRef<S> {}
