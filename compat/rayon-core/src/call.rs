//! The free functions. Inside a pool they use that pool, else the global one, which is built at its
//! first use.

use std::fmt;
use std::marker::PhantomData;

use sinew_core::{BroadcastContext, Entering, Worker, with_current};

use crate::global::global;
use crate::yielding::Yield;
use sinew_core::open::{OpenScope as Scope, OpenScopeFifo as ScopeFifo};

/// Tells an arm of [`join_context`] whether it has moved to another thread. It cannot leave the
/// arm:
///
/// ```compile_fail
/// fn send<T: Send>(_: T) {}
/// rayon_core::join_context(|context| send(context), |_| ());
/// ```
pub struct FnContext {
    migrated: bool,
    not_shared: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline]
    fn new(migrated: bool) -> Self {
        Self { migrated, not_shared: PhantomData }
    }

    /// Whether the arm runs on another thread than the one that called the join.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

impl fmt::Debug for FnContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnContext").field("migrated", &self.migrated).finish()
    }
}

/// Runs two closures, possibly in parallel, and returns both results.
///
/// # Panics
///
/// If one panics, after both have ended; with the first one's payload if both did.
#[inline]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    sinew_core::join_context(enter_global, |_, _| oper_a(), |_, _| oper_b())
}

/// [`join`] whose arms learn whether they have moved to another thread: both have, where the call
/// came from outside the pool.
///
/// # Panics
///
/// As [`join`].
#[inline]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    sinew_core::join_context(
        enter_global,
        |_, migrated| oper_a(FnContext::new(migrated)),
        |_, migrated| oper_b(FnContext::new(migrated)),
    )
}

/// Runs `op` with a scope inside the pool, and returns when all its tasks have ended.
///
/// # Panics
///
/// If `op` or a task panics, after all have ended.
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    in_pool(|worker| worker.open_scope(op))
}

/// [`scope`] whose tasks are begun in the order in which a thread spawns them.
///
/// # Panics
///
/// As [`scope`].
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    in_pool(|worker| worker.open_scope_fifo(op))
}

/// [`scope`] whose `op` runs on the calling thread, wherever that is.
///
/// # Panics
///
/// As [`scope`].
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    with_current(|worker| match worker {
        Some(worker) => worker.open_scope(op),
        None => global().pool().in_place_scope(op),
    })
}

/// [`scope_fifo`] whose `op` runs on the calling thread, wherever that is.
///
/// # Panics
///
/// As [`scope`].
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    with_current(|worker| match worker {
        Some(worker) => worker.open_scope_fifo(op),
        None => global().pool().in_place_scope_fifo(op),
    })
}

/// Spawns `func` as a detached task. If it panics, the pool's panic handler gets the payload;
/// without a handler the process aborts.
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    with_current(|worker| match worker {
        Some(worker) => worker.spawn(|_| func()),
        None => global().pool().spawn(|_| func()),
    });
}

/// [`spawn`] in the order in which a thread calls it.
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    with_current(|worker| match worker {
        Some(worker) => worker.spawn_fifo(|_| func()),
        None => global().pool().spawn_fifo(|_| func()),
    });
}

/// Calls `op` once on every thread of the pool, and returns the results in the order of the
/// threads.
///
/// # Panics
///
/// If a call panics, after all have ended.
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    with_current(|worker| match worker {
        Some(worker) => worker.broadcast(op),
        None => global().pool().broadcast(op),
    })
}

/// Calls `op` once on every thread of the pool, asynchronously. Panics are handled as for
/// [`spawn`].
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    with_current(|worker| match worker {
        Some(worker) => worker.spawn_broadcast(op),
        None => global().pool().spawn_broadcast(op),
    });
}

/// The number of the calling thread in its pool, if it is in one.
#[inline]
pub fn current_thread_index() -> Option<usize> {
    with_current(|worker| worker.map(Worker::index))
}

/// Whether tasks wait that the calling thread, if it is in a pool, would run first.
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    with_current(|worker| worker.map(Worker::has_own_tasks))
}

/// The number of threads of the current pool, or of the global one, which this call builds if it
/// does not exist. It never changes for a pool.
pub fn current_num_threads() -> usize {
    with_current(|worker| match worker {
        Some(worker) => worker.max_threads(),
        None => global().current_num_threads(),
    })
}

/// Runs one task of the pool; `None` outside of pools.
pub fn yield_now() -> Option<Yield> {
    with_current(|worker| worker.map(|worker| Yield::of(worker.yield_now())))
}

/// Runs one task that the calling thread would run first; `None` outside of pools.
pub fn yield_local() -> Option<Yield> {
    with_current(|worker| worker.map(|worker| Yield::of(worker.yield_local())))
}

/// Calls a join from outside of pools on a thread of the global one.
fn enter_global(join: Entering<'_>) {
    global().pool().install(|worker| join(worker));
}

/// Calls `f` on a worker: here, if this thread is one, else on one of the global pool.
fn in_pool<R: Send>(f: impl FnOnce(&Worker) -> R + Send) -> R {
    with_current(|worker| match worker {
        Some(worker) => f(worker),
        None => global().pool().install(f),
    })
}
