//! Scopes: any number of tasks that may borrow from the frame that waits for them.
//!
//! # Invariants
//!
//! - C1: `pending` counts the body and every task that is not over. It falls to zero once.
//! - C2: the scope's frame is valid until `pending` is zero; a task's last access to it is the subtraction.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

use sinew_sync::atomic::{AtomicUsize, Ordering};
use sinew_sync::lock::Mutex;

use crate::global;
use crate::pool::Inner;
use crate::queue::Queued;
use crate::search::{Allowed, Job};
use crate::spawn::{HeapTask, discard, queue};
use crate::tls;
use crate::wait::Awaited;
use crate::worker::Worker;

/// A scope: spawn tasks with [`spawn`](Self::spawn). Made by [`scope`] and [`ScopeBuilder`].
///
/// Borrows cannot escape it, in either direction:
///
/// ```compile_fail
/// let mut escaped = None;
/// sinew_core::scope(|s| {
///     let local = 1;
///     s.spawn(|_| println!("{local}")); // `local` dies before the task
/// });
/// ```
/// ```compile_fail
/// let mut kept = None;
/// sinew_core::scope(|s| kept = Some(s)); // the scope cannot be kept
/// ```
pub struct Scope<'scope, 'env: 'scope> {
    pool: NonNull<Inner>,
    owner: usize,
    depth: u32,
    max_pending: usize,
    pending: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

// SAFETY: the fields are atomics, a mutex and constants; the pool outlives the scope, whose owner is one of its workers.
unsafe impl Sync for Scope<'_, '_> {}
// SAFETY: as above; only references to a scope are ever handed out.
unsafe impl Send for Scope<'_, '_> {}

/// The options of a scope.
///
/// ```
/// let done = std::sync::atomic::AtomicUsize::new(0);
/// sinew_core::ScopeBuilder::new().max_pending(8).run(|s| {
///     for _ in 0..100 {
///         s.spawn(|_| { done.fetch_add(1, std::sync::atomic::Ordering::Relaxed); });
///     }
/// });
/// assert_eq!(done.into_inner(), 100);
/// ```
#[derive(Debug, Clone)]
pub struct ScopeBuilder {
    max_pending: usize,
}

impl Default for ScopeBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl ScopeBuilder {
    /// A scope without a bound.
    pub fn new() -> Self {
        Self { max_pending: usize::MAX }
    }

    /// Bounds the number of spawned tasks that are not over. A spawn beyond it first runs tasks of the spawner's own queue, and, if that is not
    /// enough, the new task itself. 0 runs every task at its spawn. A thread outside the pool that borrows the scope cannot run tasks, so its spawns
    /// are counted and not held up.
    pub fn max_pending(mut self, tasks: usize) -> Self {
        self.max_pending = tasks;
        self
    }

    /// Runs `body` with the scope, and waits for the tasks; see [`scope`].
    ///
    /// # Panics
    ///
    /// If the body or a task panics, after all have ended, with the payload of the first.
    pub fn run<'env, F, R>(self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R + Send,
        R: Send,
    {
        global::run(|worker| run(worker, self.max_pending, body))
    }
}

/// Runs `body`, which may spawn tasks into the scope, and returns when they are over, too.
///
/// Tasks may borrow what outlives the call of `scope`. While it waits, the worker runs tasks, the scope's first.
///
/// # Panics
///
/// If the body or a task panics, after all have ended, with the payload of the first.
///
/// # Cost
///
/// An allocation and two locked instructions a task.
///
/// ```
/// let (mut a, mut b) = (0, 0);
/// sinew_core::scope(|s| {
///     s.spawn(|_| a = 1);
///     s.spawn(|_| b = 2);
/// });
/// assert_eq!(a + b, 3);
/// ```
pub fn scope<'env, F, R>(body: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R + Send,
    R: Send,
{
    ScopeBuilder::new().run(body)
}

fn run<'env, F, R>(worker: &Worker, max_pending: usize, body: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    let scope = Scope {
        pool: NonNull::from(worker.pool()),
        owner: worker.index(),
        depth: worker.depth(),
        max_pending: max_pending.saturating_add(1),
        pending: AtomicUsize::new(1),
        panic: Mutex::new(None),
        scope: PhantomData,
        env: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    let result = result.map_err(|payload| scope.keep(payload));
    let depth = worker.depth();
    worker.stack.set_depth(scope.depth);
    // AcqRel: as in `finish`.
    if scope.pending.fetch_sub(1, Ordering::AcqRel) > 1 {
        worker.wait(&scope, Some(Allowed::Deeper(scope.depth)));
    }
    worker.stack.set_depth(depth);
    let panic = scope.panic.lock().take();
    match (result, panic) {
        (_, Some(payload)) => resume_unwind(payload),
        (Ok(result), None) => result,
        (Err(()), None) => unreachable!("the body's panic was kept"),
    }
}

impl Worker {
    /// [`scope`] on this worker. The body stays here, so it need not be `Send` and may go on using the worker.
    ///
    /// # Panics
    ///
    /// If the body or a task panics, after all have ended, with the payload of the first.
    ///
    /// ```
    /// let sums = sinew_core::run(|w| {
    ///     let (mut even, mut odd) = (0, 0);
    ///     w.scope(|s| {
    ///         s.spawn(|_| even = (0..100).step_by(2).sum());
    ///         odd = w.join(|_| (1..50).step_by(2).sum::<u32>(), |_| (51..100).step_by(2).sum::<u32>()).1;
    ///     });
    ///     (even, odd)
    /// });
    /// assert_eq!(sums, (2450, 1875));
    /// ```
    pub fn scope<'env, F, R>(&self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    {
        run(self, usize::MAX, body)
    }
}

impl Awaited for Scope<'_, '_> {
    fn is_done(&self) -> bool {
        // Acquire: pairs with the subtraction in `finish`.
        self.pending.load(Ordering::Acquire) == 0
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Spawns a task that the scope waits for. From the body, from other tasks of the scope, or from any thread that borrows it.
    ///
    /// # Cost
    ///
    /// An allocation and two locked instructions.
    pub fn spawn<F>(&'scope self, f: F)
    where
        F: for<'w> FnOnce(&'w Worker) + Send + 'scope,
    {
        // Relaxed: the spawner is counted itself, so the count is above zero and publishes nothing.
        let pending = self.pending.fetch_add(1, Ordering::Relaxed);
        if pending >= self.max_pending {
            return self.spawn_beyond_bound(f);
        }
        // SAFETY: queued and run once. Before it is over `pending` is above zero, so the scope and what outlives it are there (C2).
        queue(self.pool(), unsafe { HeapTask::on_heap(self.task(f)) }, self.depth + 1);
    }

    /// `f` as a task: without unwinding, and counted out at its end.
    fn task<F>(&'scope self, f: F) -> impl for<'w> FnOnce(&'w Worker) + Send + 'scope
    where
        F: for<'w> FnOnce(&'w Worker) + Send + 'scope,
    {
        let scope = ScopeRef(NonNull::from(self).cast());
        move |worker| {
            let scope = scope;
            // SAFETY: C2: this task is still counted.
            let scope = unsafe { scope.0.as_ref() };
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| f(worker))) {
                scope.keep(payload);
            }
            // SAFETY: this is the task's last access.
            unsafe { Scope::finish(scope, worker) };
        }
    }

    /// Keeps the first panic.
    #[cold]
    fn keep(&self, payload: Box<dyn Any + Send>) {
        let mut first = self.panic.lock();
        if first.is_none() {
            *first = Some(payload);
        } else {
            drop(first);
            discard(payload);
        }
    }

    /// Counts a task out.
    ///
    /// # Safety
    ///
    /// The task is counted, and does not access the scope afterwards.
    unsafe fn finish(scope: *const Self, worker: &Worker) {
        // SAFETY: counted, so the scope is valid.
        let owner = unsafe { (*scope).owner };
        // AcqRel: what the task did is visible to the owner (Acquire in `is_done`), through the tasks that end later.
        // SAFETY: as above; the last access.
        if unsafe { (*scope).pending.fetch_sub(1, Ordering::AcqRel) } == 1 {
            // The worker belongs to the scope's pool, whose seats are there as long as it works.
            worker.pool().seats[owner].parker.unpark();
        }
    }

    #[cold]
    fn spawn_beyond_bound<F>(&'scope self, f: F)
    where
        F: for<'w> FnOnce(&'w Worker) + Send + 'scope,
    {
        // SAFETY: as in `spawn`.
        let task = unsafe { HeapTask::on_heap(self.task(f)) };
        let Some(worker) = tls::current_in(self.pool()) else {
            return queue(self.pool(), task, self.depth + 1);
        };
        while self.pending.load(Ordering::Relaxed) > self.max_pending
            && let Some(queued) = worker.pop_own(Allowed::Deeper(self.depth))
        {
            tls::with_current(worker, |worker| worker.execute(Job::Queued(queued)));
        }
        if self.pending.load(Ordering::Relaxed) > self.max_pending {
            let queued = Queued { task, depth: worker.depth() + 1 };
            tls::with_current(worker, |worker| worker.execute(Job::Queued(queued)));
        } else {
            worker.queue(task);
        }
    }

    fn pool(&self) -> &Inner {
        // SAFETY: the pool outlives the scope.
        unsafe { self.pool.as_ref() }
    }
}

/// A pointer to a scope that may go to another thread.
struct ScopeRef<'scope, 'env>(NonNull<Scope<'scope, 'env>>);

// SAFETY: a scope is `Sync`.
unsafe impl Send for ScopeRef<'_, '_> {}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relaxed: for people.
        let pending = self.pending.load(Ordering::Relaxed).saturating_sub(1);
        f.debug_struct("Scope").field("pending", &pending).finish_non_exhaustive()
    }
}
