//! Scopes: any number of tasks, which may borrow from the stack frame that waits for them.

mod first_panic;
mod queues;
mod state;

use std::fmt;
use std::marker::PhantomData;

use sinew_deque::{Queued, TaskRef};

use crate::builder::global;
use crate::pool::Pool;
use crate::scheduler::job::{Allowed, Job};
use crate::state::worker::Worker;

pub use first_panic::FirstPanic;
pub use queues::{NextTask, Queueing, ScopeQueues, ScopeTask, TaskQueues};
pub(crate) use state::{ScopeRef, ScopeState, Share, WHOLE};

/// A scope: spawn tasks with [`spawn`](Self::spawn). Made by [`scope`] and [`ScopeBuilder`].
///
/// `Q` is the type of the scope's own queues, if it has any, for [`spawn_into`](Self::spawn_into);
/// see [`ScopeBuilder::queues`].
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
pub struct Scope<'scope, 'env: 'scope, Q = ()> {
    state: ScopeState,
    max_pending: u64,
    queues: Q,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

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
#[must_use = "nothing runs before `run`"]
pub struct ScopeBuilder<Q = ()> {
    max_pending: usize,
    queues: Q,
}

impl Default for ScopeBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl ScopeBuilder {
    /// A scope without a bound, and without queues of its own.
    pub fn new() -> Self {
        Self { max_pending: usize::MAX, queues: () }
    }

    /// Gives the scope queues of its own, for [`Scope::spawn_into`]: those of locality domains,
    /// from the crate `sinew-locality`.
    pub fn queues<Q: TaskQueues>(self, queues: Q) -> ScopeBuilder<ScopeQueues<Q>> {
        ScopeBuilder { max_pending: self.max_pending, queues: ScopeQueues::new(queues) }
    }
}

impl<Q: Queueing> ScopeBuilder<Q> {
    /// Bounds the number of spawned tasks that have not ended, counted over all queues. A spawn
    /// above the bound first runs tasks of the spawner's own queue, and, if that is not enough, the
    /// new task itself. A spawn into a queue runs the next task of that queue for its worker. With
    /// 0 every spawn runs a task.
    ///
    /// The bound does not delay a thread outside the pool that borrows the scope, since it cannot
    /// run tasks; its spawns are counted. Nor does it delay a spawn that is nested in 64 delayed
    /// spawns of its thread, so that the stack stays bounded.
    pub fn max_pending(mut self, tasks: usize) -> Self {
        self.max_pending = tasks;
        self
    }

    /// Runs `body` with the scope, and waits for the tasks; see [`scope`].
    ///
    /// # Panics
    ///
    /// If the body or a task panics, after all have ended, with the payload of the first. At once,
    /// if the scope has queues that do not fit the current pool.
    pub fn run<'env, F, R>(self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, Q>) -> R + Send,
        R: Send,
    {
        global::run(|worker| self.run_on(worker, body))
    }

    /// [`run`](Self::run) on a worker. The body stays here, so it need not be `Send` and may go on
    /// using the worker.
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run).
    #[track_caller]
    pub fn run_on<'env, F, R>(self, worker: &Worker, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, Q>) -> R,
    {
        self.queues.check(worker);
        let scope = Scope {
            state: ScopeState::new(worker.pool(), 1, false),
            max_pending: (self.max_pending as u64).saturating_add(1),
            queues: self.queues,
            scope: PhantomData,
            env: PhantomData,
        };
        scope.state.complete(|| body(&scope), || 1)
    }
}

/// Runs `body`, which may spawn tasks into the scope, and returns when they are over, too.
///
/// Tasks may borrow what outlives the call of `scope`. While it waits, the worker runs tasks, the
/// scope's first.
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

impl Worker {
    /// [`scope`] on this worker. The body stays here, so it need not be `Send` and may go on using
    /// the worker.
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
    ///         let sum = |from: u32| (from..from + 50).step_by(2).sum::<u32>();
    ///         odd = w.join(|_| sum(1), |_| sum(51)).1;
    ///     });
    ///     (even, odd)
    /// });
    /// assert_eq!(sums, (2450, 1875));
    /// ```
    pub fn scope<'env, F, R>(&self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    {
        ScopeBuilder::new().run_on(self, body)
    }
}

impl Pool {
    /// [`scope`] on a worker of this pool.
    ///
    /// # Panics
    ///
    /// If the body or a task panics, after all have ended, with the payload of the first.
    ///
    /// ```
    /// let pool = sinew_core::Pool::builder().threads(2).build()?;
    /// let mut sums = [0; 2];
    /// pool.scope(|s| {
    ///     for (i, sum) in sums.iter_mut().enumerate() {
    ///         s.spawn(move |_| *sum = (0..=i).sum());
    ///     }
    /// });
    /// assert_eq!(sums, [0, 1]);
    /// # Ok::<(), sinew_core::BuildError>(())
    /// ```
    pub fn scope<'env, F, R>(&self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R + Send,
        R: Send,
    {
        self.run(|worker| worker.scope(body))
    }
}

impl<'scope, Q: Sync> Scope<'scope, '_, Q> {
    /// Spawns a task that the scope waits for. From the body, from other tasks of the scope, or
    /// from any thread that borrows it.
    ///
    /// # Cost
    ///
    /// A block of memory, usually from the worker's free list, and two locked instructions.
    pub fn spawn<F>(&'scope self, f: F)
    where
        F: for<'w> FnOnce(&'w Worker) + Send + 'scope,
    {
        if self.state.count_in(1) >= self.max_pending {
            return self.spawn_beyond_bound(f);
        }
        let inside = self.state.inside();
        // SAFETY: the task counts itself out, and what it borrows outlives the scope.
        unsafe { self.state.queue(self.state.task(f, inside), inside) };
    }

    #[cold]
    fn spawn_beyond_bound<F>(&'scope self, f: F)
    where
        F: for<'w> FnOnce(&'w Worker) + Send + 'scope,
    {
        let inside = self.state.inside();
        // SAFETY: run once, below; what it borrows outlives the scope.
        let task = unsafe { self.state.task(f, inside) };
        let Some(worker) = inside else {
            // SAFETY: the task counts itself out.
            return unsafe { self.state.queue(task, None) };
        };
        let is_run = worker.within_spawn(|worker| self.keep_to_bound(worker, task));
        if !is_run {
            // SAFETY: the task counts itself out.
            unsafe { self.state.queue(task, Some(worker)) };
        }
    }

    /// Runs queued tasks of the worker, and the counted `task` itself if that is not enough.
    fn keep_to_bound(&self, worker: &Worker, task: TaskRef) {
        while self.state.pending() > self.max_pending
            && let Some(queued) = worker.pop_own(Allowed::Deeper(self.state.depth()))
        {
            worker.execute(Job::Queued(queued));
        }
        if self.state.pending() > self.max_pending {
            let queued = Queued { task: worker.noted(task), depth: worker.depth() + 1 };
            worker.execute(Job::Queued(queued));
        } else {
            // SAFETY: the task counts itself out.
            unsafe { self.state.queue(task, Some(worker)) };
        }
    }
}

impl<'scope, Q: TaskQueues> Scope<'scope, '_, ScopeQueues<Q>> {
    /// Spawns a task that the scope waits for into one of its queues, numbered from 0. From the
    /// body, from other tasks of the scope, or from any thread that borrows it.
    ///
    /// # Panics
    ///
    /// If there is no such queue.
    ///
    /// # Cost
    ///
    /// As [`spawn`](Self::spawn), and what the queue costs.
    #[track_caller]
    pub fn spawn_into<F>(&'scope self, queue: usize, f: F)
    where
        F: for<'w> FnOnce(&'w Worker) + Send + 'scope,
    {
        let count = self.queues.count();
        assert!(
            queue < count,
            "there is no {} {queue}: they are numbered from 0 to {}",
            Q::NAME,
            count - 1
        );
        let before = self.state.count_in(1);
        let inside = self.state.inside();
        // SAFETY: the task is run once, here or by the holder of its token; the scope, with the
        // queues and what `f` borrows, ends after it.
        let task = unsafe { self.state.task(f, inside) };
        if self.state.pool().is_serial() {
            // SAFETY: the task counts itself out.
            return unsafe { self.state.queue(task, inside) };
        }
        let depth = inside.map_or(self.state.depth(), Worker::depth) + 1;
        // SAFETY: as above.
        let token = unsafe { self.queues.push(queue, Queued { task, depth }) };
        let next_runs_here = before >= self.max_pending
            && inside.is_some_and(|worker| {
                let token_here = Job::Queued(Queued { task: token, depth });
                worker.within_spawn(|worker| worker.execute(token_here))
            });
        if !next_runs_here {
            // SAFETY: the task counts itself out; the token is run once.
            unsafe { self.state.queue(token, inside) };
        }
    }

    /// The scope's queues.
    pub fn queues(&self) -> &Q {
        &self.queues
    }
}

impl<Q> fmt::Debug for Scope<'_, '_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pending = self.state.pending().saturating_sub(1);
        f.debug_struct("Scope").field("pending", &pending).finish_non_exhaustive()
    }
}
