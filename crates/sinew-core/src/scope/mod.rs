//! Scopes: any number of tasks that may borrow from the frame that waits for them.

mod state;

use std::fmt;
use std::marker::PhantomData;

use sinew_deque::{Queued, TaskRef};

use crate::builder::global;
use crate::builder::pool::Pool;
use crate::scheduler::job::{Allowed, Job};
use crate::state::worker::Worker;

pub(crate) use state::{ScopeRef, ScopeState, Share, WHOLE};

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
    state: ScopeState,
    max_pending: u64,
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

    /// Bounds the number of spawned tasks that are not over. A spawn beyond it first runs tasks of
    /// the spawner's own queue, and, if that is not enough, the new task itself. 0 runs every task
    /// at its spawn.
    ///
    /// A thread outside the pool that borrows the scope cannot run tasks, so its spawns are counted
    /// and not held up. Nor is a spawn that lies within 64 others of its thread which are held up:
    /// the stack stays bounded.
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

fn run<'env, F, R>(worker: &Worker, max_pending: usize, body: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    let scope = Scope {
        state: ScopeState::new(worker.pool(), 1, false),
        max_pending: (max_pending as u64).saturating_add(1),
        scope: PhantomData,
        env: PhantomData,
    };
    scope.state.complete(|| body(&scope), || 1)
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

impl<'scope> Scope<'scope, '_> {
    /// Spawns a task that the scope waits for. From the body, from other tasks of the scope, or
    /// from any thread that borrows it.
    ///
    /// # Cost
    ///
    /// A block of memory, which the worker mostly has at hand, and two locked instructions.
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

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pending = self.state.pending().saturating_sub(1);
        f.debug_struct("Scope").field("pending", &pending).finish_non_exhaustive()
    }
}
