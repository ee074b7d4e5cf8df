//! Open scopes: their tasks get the scope itself, and may spawn into it; and scopes whose body stays on its thread, inside a pool or not.
//!
//! [`Pool::scope`] runs its body on a worker, [`Pool::in_place_scope`] on the calling thread, which need not be one. A [`ScopeFifo`] runs the tasks that
//! one worker spawns in the order in which it spawned them, where a [`Scope`] begins with the newest.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::broadcast::BroadcastContext;
use crate::inner::Inner;
use crate::pool::Pool;
use crate::queue::{Fifo, Queued, TaskRef};
use crate::scope::{ScopeRef, ScopeState};
use crate::spawn::HeapTask;
use crate::tls;
use crate::worker::Worker;

/// A task's view of `'scope`: what it borrows outlives it, and nothing shorter or longer will do.
type Invariant<'scope, S> = PhantomData<Box<dyn FnOnce(&S) + Send + Sync + 'scope>>;

/// A scope whose tasks may spawn into it.
///
/// ```
/// let pool = sinew_core::Pool::new()?;
/// let mut sums = [0; 2];
/// let (a, b) = sums.split_at_mut(1);
/// pool.scope(|s| {
///     s.spawn(move |s| {
///         a[0] = 1;
///         s.spawn(move |_| b[0] = 2);
///     });
/// });
/// assert_eq!(sums, [1, 2]);
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
///
/// What a task borrows must outlive the scope:
///
/// ```compile_fail
/// sinew_core::global_pool().scope(|s| {
///     let local = 1;
///     s.spawn(|_| println!("{local}"));
/// });
/// ```
pub struct Scope<'scope> {
    state: ScopeState,
    invariant: Invariant<'scope, Scope<'scope>>,
}

/// A scope in which the tasks that one worker spawns are begun in order.
///
/// ```
/// let pool = sinew_core::Pool::builder().threads(1).guest_seat(false).build()?;
/// let order = std::sync::Mutex::new(Vec::new());
/// pool.scope_fifo(|s| (0..3).for_each(|i| s.spawn_fifo({ let order = &order; move |_| order.lock().unwrap().push(i) })));
/// assert_eq!(order.into_inner().unwrap(), [0, 1, 2]);
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
pub struct ScopeFifo<'scope> {
    state: ScopeState,
    /// One a seat.
    fifos: Box<[Fifo]>,
    invariant: Invariant<'scope, ScopeFifo<'scope>>,
}

/// What the two kinds have in common, for their tasks.
trait Open: Sync {
    fn state(&self) -> &ScopeState;
}

impl Open for Scope<'_> {
    fn state(&self) -> &ScopeState {
        &self.state
    }
}

impl Open for ScopeFifo<'_> {
    fn state(&self) -> &ScopeState {
        &self.state
    }
}

// SAFETY: a lock and a constant, made for sharing; tokens point into it, which outlives them.
unsafe impl Sync for Fifo {}
// SAFETY: as above.
unsafe impl Send for Fifo {}

/// A counted task that runs `body` with the scope, and counts itself out.
///
/// # Safety
///
/// The task is queued and run once, in the scope's pool; `body` is valid until the scope ends.
unsafe fn task<S: Open>(scope: &S, body: impl FnOnce(&S, &Worker) + Send) -> TaskRef {
    let scope = ScopeRef(NonNull::from(scope));
    let work = move |worker: &Worker| {
        let scope = scope;
        // SAFETY: this task is still counted (C2); the call that counts it out is the last access.
        unsafe {
            let open = scope.0.as_ref();
            open.state().guard(|| body(open, worker));
            ScopeState::finish(open.state(), worker);
        }
    };
    // SAFETY: as the caller says.
    unsafe { HeapTask::on_heap(work) }
}

/// Spawns a part of a broadcast for every thread.
///
/// # Safety
///
/// `body` is valid until the scope ends.
unsafe fn broadcast<S: Open>(scope: &S, body: impl Fn(&S, BroadcastContext<'_>) + Send + Sync) {
    let body = Arc::new(body);
    let pool = scope.state().pool();
    let depth = tls::current_in(pool).map_or(scope.state().depth(), Worker::depth) + 1;
    for seat in pool.broadcast_seats() {
        let body = Arc::clone(&body);
        scope.state().count_in();
        // SAFETY: as the caller says; delivered and run once.
        let part = unsafe { task(scope, move |scope, worker| body(scope, BroadcastContext::new(worker))) };
        pool.deliver(seat, Queued { task: part, depth });
    }
}

impl<'scope> Scope<'scope> {
    fn new(pool: &Inner) -> Self {
        Self { state: ScopeState::new(pool, false), invariant: PhantomData }
    }

    /// Spawns a task that the scope waits for.
    ///
    /// # Cost
    ///
    /// An allocation and two locked instructions.
    pub fn spawn<B>(&self, body: B)
    where
        B: FnOnce(&Self) + Send + 'scope,
    {
        self.state.count_in();
        // SAFETY: counted; what `body` borrows outlives the scope.
        unsafe { self.state.queue(task(self, move |scope, _worker| body(scope))) };
    }

    /// Spawns one call on every thread of the pool, each as a task that the scope waits for.
    pub fn spawn_broadcast<B>(&self, body: B)
    where
        B: Fn(&Self, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        // SAFETY: what `body` borrows outlives the scope.
        unsafe { broadcast(self, body) };
    }
}

impl<'scope> ScopeFifo<'scope> {
    fn new(pool: &Inner) -> Self {
        let fifos = pool.seats.iter().map(|_| Fifo::new()).collect();
        Self { state: ScopeState::new(pool, true), fifos, invariant: PhantomData }
    }

    /// Spawns a task that the scope waits for, and that is begun after those which this worker spawned before.
    ///
    /// # Cost
    ///
    /// An allocation, four locked instructions, and a lock that only this worker and its thieves take.
    pub fn spawn_fifo<B>(&self, body: B)
    where
        B: FnOnce(&Self) + Send + 'scope,
    {
        self.state.count_in();
        // SAFETY: counted; what `body` borrows outlives the scope, and so does the list, as its tasks are counted.
        unsafe {
            let task = task(self, move |scope, _worker| body(scope));
            match tls::current_in(self.state.pool()) {
                Some(worker) if !self.state.keeps_its_tasks() => {
                    let depth = worker.depth() + 1;
                    let token = self.fifos[worker.index()].push(Queued { task, depth });
                    worker.queue(Queued { task: token, depth });
                }
                // From outside the order is that of the pool's queue; a scope that keeps its tasks keeps them in order.
                _ => self.state.queue(task),
            }
        }
    }

    /// Spawns one call on every thread of the pool, each as a task that the scope waits for.
    pub fn spawn_broadcast<B>(&self, body: B)
    where
        B: Fn(&Self, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        // SAFETY: what `body` borrows outlives the scope.
        unsafe { broadcast(self, body) };
    }
}

impl Pool {
    /// Runs `body` with a scope on a worker of this pool, and returns when the tasks are over, too.
    ///
    /// # Panics
    ///
    /// If the body or a task panics, after all have ended, with the payload of the first.
    pub fn scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.run(|worker| worker.open_scope(body))
    }

    /// [`scope`](Self::scope) whose tasks are begun in order.
    ///
    /// # Panics
    ///
    /// As [`scope`](Self::scope).
    pub fn scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.run(|worker| worker.open_scope_fifo(body))
    }

    /// Runs `body` with a scope on the calling thread, and returns when its tasks, which this pool runs, are over. A worker waits as in
    /// [`install`](Self::install), another thread parks.
    ///
    /// # Panics
    ///
    /// As [`scope`](Self::scope).
    pub fn in_place_scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R,
    {
        let scope = Scope::new(&self.inner);
        scope.state.complete(|| body(&scope))
    }

    /// [`in_place_scope`](Self::in_place_scope) whose tasks are begun in order.
    ///
    /// # Panics
    ///
    /// As [`scope`](Self::scope).
    pub fn in_place_scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        let scope = ScopeFifo::new(&self.inner);
        scope.state.complete(|| body(&scope))
    }
}

impl Worker {
    /// An open scope on this worker: [`Pool::scope`] for code that has one at hand.
    ///
    /// # Panics
    ///
    /// As [`Pool::scope`].
    pub fn open_scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R,
    {
        let scope = Scope::new(self.pool());
        scope.state.complete(|| body(&scope))
    }

    /// [`open_scope`](Self::open_scope) whose tasks are begun in order.
    ///
    /// # Panics
    ///
    /// As [`Pool::scope`].
    pub fn open_scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        let scope = ScopeFifo::new(self.pool());
        scope.state.complete(|| body(&scope))
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("pending", &self.state.pending()).finish_non_exhaustive()
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo").field("pending", &self.state.pending()).finish_non_exhaustive()
    }
}
