//! [`ThreadPool`].

use std::fmt;
use std::sync::OnceLock;

use sinew_core::{BroadcastContext, Pool, Worker};

use crate::recipe::Recipe;
use crate::yielding::Yield;
use sinew_core::open::{OpenScope as Scope, OpenScopeFifo as ScopeFifo};

/// A pool of threads.
///
/// Dropping it does not wait: its threads run all spawned tasks, and then end.
pub struct ThreadPool {
    pool: Pool,
    recipe: Recipe,
    names: Vec<Option<String>>,
    /// The pool of a forked child, which has none of the threads.
    in_child: OnceLock<Box<Self>>,
}

impl ThreadPool {
    pub(crate) fn of(pool: Pool, recipe: Recipe, names: Vec<Option<String>>) -> Self {
        Self { pool, recipe, names, in_child: OnceLock::new() }
    }

    /// The pool with threads in this process.
    #[inline]
    pub(crate) fn pool(&self) -> &Pool {
        if self.pool.is_of_another_process() { self.rebuilt_cold() } else { &self.pool }
    }

    #[cold]
    fn rebuilt_cold(&self) -> &Pool {
        let build = || match self.recipe.build_again(&self.names) {
            Ok(pool) => Box::new(Self::of(pool, self.recipe.clone(), self.names.clone())),
            Err(error) => {
                panic!("the thread pool could not be built again in a forked process: {error}")
            }
        };
        self.in_child.get_or_init(build).pool()
    }

    /// Ends the pool and waits for its threads.
    pub(crate) fn shutdown(self) {
        let Self { pool, in_child, .. } = self;
        if pool.is_of_another_process() {
            drop(pool);
            if let Some(child) = in_child.into_inner() {
                child.shutdown();
            }
        } else {
            pool.shutdown();
        }
    }

    /// Runs `op` in the pool and waits for it; on this thread, if it is one of the pool's. A thread
    /// of another pool runs tasks of that pool meanwhile.
    ///
    /// # Panics
    ///
    /// If `op` panics.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.pool().install(|_| op())
    }

    /// [`join`](crate::join) in this pool.
    ///
    /// # Panics
    ///
    /// As that.
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.pool().install(|worker| worker.join(|_| oper_a(), |_| oper_b()))
    }

    /// [`scope`](crate::scope) in this pool.
    ///
    /// # Panics
    ///
    /// As that.
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.pool().install(|worker| worker.open_scope(op))
    }

    /// [`scope_fifo`](crate::scope_fifo) in this pool.
    ///
    /// # Panics
    ///
    /// As [`scope`](Self::scope).
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.pool().install(|worker| worker.open_scope_fifo(op))
    }

    /// [`scope`](Self::scope) whose `op` runs on the calling thread.
    ///
    /// # Panics
    ///
    /// As [`scope`](Self::scope).
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        self.pool().in_place_scope(op)
    }

    /// [`scope_fifo`](Self::scope_fifo) whose `op` runs on the calling thread.
    ///
    /// # Panics
    ///
    /// As [`scope`](Self::scope).
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        self.pool().in_place_scope_fifo(op)
    }

    /// [`spawn`](crate::spawn) in this pool.
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.pool().spawn(|_| op());
    }

    /// [`spawn_fifo`](crate::spawn_fifo) in this pool.
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.pool().spawn_fifo(|_| op());
    }

    /// [`broadcast`](crate::broadcast) in this pool.
    ///
    /// # Panics
    ///
    /// As that.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        self.pool().broadcast(op)
    }

    /// [`spawn_broadcast`](crate::spawn_broadcast) in this pool.
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        self.pool().spawn_broadcast(op);
    }

    /// The number of threads; never changes.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.pool().max_threads()
    }

    /// The number of the calling thread, if it is one of this pool's.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.pool().with_current(|worker| worker.map(Worker::index))
    }

    /// Whether tasks wait that the calling thread, if it is one of this pool's, would run first.
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.pool().with_current(|worker| worker.map(Worker::has_own_tasks))
    }

    /// [`yield_now`](crate::yield_now), where the calling thread is one of this pool's.
    pub fn yield_now(&self) -> Option<Yield> {
        self.pool().with_current(|worker| worker.map(|worker| Yield::of(worker.yield_now())))
    }

    /// [`yield_local`](crate::yield_local), where the calling thread is one of this pool's.
    pub fn yield_local(&self) -> Option<Yield> {
        self.pool().with_current(|worker| worker.map(|worker| Yield::of(worker.yield_local())))
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.pool.max_threads())
            .finish_non_exhaustive()
    }
}
