//! Queues of one scope: the interface for a crate above that chooses which task is next.
//!
//! A scope normally leaves its tasks in the deque of the worker that spawns them. A
//! [`ScopeBuilder`] can be given [`TaskQueues`] instead. A task that is spawned into one of them
//! waits there, and the spawner's deque gets a *token* for it. A worker that takes a token asks the
//! queues which task to run. So the scheduler treats tokens as any task when it waits, wakes and
//! steals.
//!
//! The queues are a type parameter of the scope. The code of a scope without queues contains no
//! test for them.
//!
//! # Invariants
//!
//! - C3: a scope is not over while one of its tasks waits in a queue (C1), and its frame holds a
//!   count of the queues until then.
//!
//! # Not handled
//!
//! Queues that lose a task: their scope then never ends.
//!
//! # Tests
//!
//! The crate `sinew-locality` uses these queues, and tests them with its models and planted bugs.
//!
//! [`ScopeBuilder`]: super::ScopeBuilder

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use sinew_deque::{Queued, TaskRef};

use crate::state::queue::Header;
use crate::state::worker::Worker;

/// A task that waits in a queue of its scope. The scope waits until it has run.
#[must_use = "its scope waits until the task has run"]
pub struct ScopeTask(pub(super) Queued);

impl ScopeTask {
    /// Distance of the task from the root of its task tree, in joins and spawns.
    pub fn depth(&self) -> u32 {
        self.0.depth
    }

    /// Runs the task on a worker of the pool of its scope.
    pub fn run(self, worker: &Worker) {
        worker.run_task(self.0);
    }
}

impl fmt::Debug for ScopeTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeTask").field("depth", &self.depth()).finish_non_exhaustive()
    }
}

/// The action of a worker that has taken a token.
#[derive(Debug)]
#[must_use = "a task that is dropped never runs"]
pub enum NextTask {
    /// It runs this task, and the token is spent.
    Run(ScopeTask),
    /// It queues the token again, for another task that waits, and then runs this one.
    RunAndRequeue(ScopeTask),
    /// It runs nothing, and the token is spent. The queues make another worker run the task.
    Leave,
}

/// The queues in which the tasks of a scope wait, and the choice of the next task.
///
/// No function but [`check`](Self::check) may unwind.
///
/// # Safety
///
/// - A [`ScopeTask`] that was [pushed](Self::push) runs on a worker of the same pool.
/// - As many tasks wait as there are tokens that are not spent, apart from tasks whose token was
///   spent by [`NextTask::Leave`].
/// - During a call of [`next`](Self::next) the token alone keeps the queues alive. An
///   implementation that lets another worker run the task for which the token stands clones
///   `queues` first.
pub unsafe trait TaskQueues: Send + Sync + Sized + 'static {
    /// The user's name for a queue, in the singular.
    const NAME: &'static str;

    /// Checks the worker on which the scope begins, unless its thread works
    /// [serially](crate::serially).
    ///
    /// # Panics
    ///
    /// If the queues do not suit the pool of the worker.
    #[track_caller]
    fn check(&self, worker: &Worker);

    /// The number of queues, at least 1.
    fn count(&self) -> usize;

    /// Adds a task to a queue, numbered from 0.
    fn push(&self, queue: usize, task: ScopeTask);

    /// The action of `worker`, which has taken a token.
    fn next(queues: &ScopeQueues<Self>, worker: &Worker) -> NextTask;
}

/// A counted reference to the queues of one scope.
pub struct ScopeQueues<Q>(Arc<Counted<Q>>);

#[repr(C)]
struct Counted<Q> {
    header: Header,
    queues: Q,
}

impl<Q: TaskQueues> ScopeQueues<Q> {
    pub(super) fn new(queues: Q) -> Self {
        Self(Arc::new(Counted { header: Header { run: Self::run }, queues }))
    }

    /// Adds a task. Returns its token, to be queued in a deque or in the injector.
    ///
    /// # Safety
    ///
    /// The queues outlive the task.
    pub(super) unsafe fn push(&self, queue: usize, task: Queued) -> TaskRef {
        self.0.queues.push(queue, ScopeTask(task));
        // The pointer is that of the `Arc`, so that it may be counted later.
        let token = Arc::as_ptr(&self.0).cast_mut();
        TaskRef::new(NonNull::new(token).expect("an `Arc` is never null"))
    }

    /// # Safety
    ///
    /// `header` is the first field of a `Counted<Q>` in an `Arc`; called once for each token, in
    /// the pool of the scope.
    unsafe fn run(header: NonNull<Header>, worker: &Worker) {
        let counted = header.cast::<Counted<Q>>().as_ptr().cast_const();
        // SAFETY: the token is not spent, so a task waits and its scope holds a count (C3). This
        // reference neither takes nor returns a count.
        let queues = ManuallyDrop::new(Self(unsafe { Arc::from_raw(counted) }));
        // After this call the queues may no longer exist: the task that is run may be the last one,
        // and another worker may run a task that was left to it.
        match Q::next(&queues, worker) {
            NextTask::Run(task) => task.run(worker),
            NextTask::RunAndRequeue(task) => {
                worker.queue(Queued { task: TaskRef::new(header), depth: task.depth() });
                task.run(worker);
            }
            NextTask::Leave => {}
        }
    }
}

impl<Q> Clone for ScopeQueues<Q> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<Q> Deref for ScopeQueues<Q> {
    type Target = Q;

    fn deref(&self) -> &Q {
        &self.0.queues
    }
}

impl<Q: fmt::Debug> fmt::Debug for ScopeQueues<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ScopeQueues").field(&**self).finish()
    }
}

/// The queues of a [`ScopeBuilder`](super::ScopeBuilder): none, or some [`TaskQueues`].
pub trait Queueing: Send {
    /// Checks the worker on which the scope begins.
    ///
    /// # Panics
    ///
    /// If the queues do not suit the pool of the worker.
    #[track_caller]
    fn check(&self, worker: &Worker);
}

impl Queueing for () {
    #[inline]
    fn check(&self, _: &Worker) {}
}

impl<Q: TaskQueues> Queueing for ScopeQueues<Q> {
    #[track_caller]
    fn check(&self, worker: &Worker) {
        if !worker.pool().is_serial() {
            (**self).check(worker);
        }
    }
}
