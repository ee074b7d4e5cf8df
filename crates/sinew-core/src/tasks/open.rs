//! Open scopes: scopes with rayon's interface, for the drop-in for rayon-core. Other programs use
//! [`Scope`](crate::Scope).
//!
//! Rayon's interface differs in three ways, so its scopes need types of their own:
//!
//! - A task gets the scope itself as its argument. So a task may spawn into a scope that is not
//!   borrowed for `'scope`, and the type has one lifetime.
//! - The body may stay on a thread outside the pool: [`Pool::in_place_scope`].
//! - An [`OpenScopeFifo`] begins the tasks that one worker spawns in the order in which it spawned
//!   them, while an [`OpenScope`] begins with the newest.
//!
//! The count of tasks, the first panic and the wait are those of every scope: `scope/state.rs`.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use sinew_deque::{Queued, TaskRef};

use crate::pool::Pool;
use crate::scope::{ScopeRef, ScopeState, Share, WHOLE};
use crate::seams::observer::Activity;
use crate::state::fifo::Fifo;
use crate::state::heap_task::HeapTask;
use crate::state::pool_state::PoolState;
use crate::state::tls;
use crate::state::worker::Worker;
use crate::tasks::broadcast::BroadcastContext;

/// The lifetime `'scope` of a task's borrows, which is invariant.
type Invariant<'scope, S> = PhantomData<Box<dyn FnOnce(&S) + Send + Sync + 'scope>>;

/// A scope whose tasks may spawn into it.
///
/// ```
/// let pool = sinew_core::Pool::new()?;
/// let mut sums = [0; 2];
/// let (a, b) = sums.split_at_mut(1);
/// pool.open_scope(|s| {
///     s.spawn(move |s| {
///         a[0] = 1;
///         s.spawn(move |_| b[0] = 2);
///     });
/// });
/// assert_eq!(sums, [1, 2]);
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
///
/// A task's borrows must outlive the scope:
///
/// ```compile_fail
/// sinew_core::global_pool().open_scope(|s| {
///     let local = 1;
///     s.spawn(|_| println!("{local}"));
/// });
/// ```
pub struct OpenScope<'scope> {
    view: View,
    invariant: Invariant<'scope, OpenScope<'scope>>,
}

/// A scope in which the tasks that one worker spawns are begun in order.
///
/// ```
/// let pool = sinew_core::Pool::builder().threads(1).external_slot(false).build()?;
/// let order = std::sync::Mutex::new(Vec::new());
/// pool.open_scope_fifo(|s| {
///     for i in 0..3 {
///         let order = &order;
///         s.spawn_fifo(move |_| order.lock().unwrap().push(i));
///     }
/// });
/// assert_eq!(order.into_inner().unwrap(), [0, 1, 2]);
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
pub struct OpenScopeFifo<'scope> {
    view: View,
    invariant: Invariant<'scope, OpenScopeFifo<'scope>>,
}

/// An open scope, in the frame of the thread that waits for it.
struct Frame {
    state: ScopeState,
    /// For tasks in order, one for each slot.
    fifos: Box<[Fifo]>,
}

/// The reference to the scope that the body and each task have.
struct View {
    frame: NonNull<Frame>,
    share: Share,
}

// SAFETY: all fields of the frame are `Sync`, and it is valid while the holder of the reference is
// counted (C2).
unsafe impl Sync for View {}
// SAFETY: as above.
unsafe impl Send for View {}

// SAFETY: a lock and a constant, which are `Sync`; tokens point into it, and it outlives them.
unsafe impl Sync for Fifo {}
// SAFETY: as above.
unsafe impl Send for Fifo {}

/// The two kinds of open scopes, for their common code.
trait Open: Sync + Sized {
    fn of(view: View) -> Self;
    fn view(&self) -> &View;
}

impl Open for OpenScope<'_> {
    fn of(view: View) -> Self {
        Self { view, invariant: PhantomData }
    }

    fn view(&self) -> &View {
        &self.view
    }
}

impl Open for OpenScopeFifo<'_> {
    fn of(view: View) -> Self {
        Self { view, invariant: PhantomData }
    }

    fn view(&self) -> &View {
        &self.view
    }
}

impl View {
    fn frame(&self) -> &Frame {
        // SAFETY: the holder of a reference is counted (C2).
        unsafe { self.frame.as_ref() }
    }

    fn state(&self) -> &ScopeState {
        &self.frame().state
    }
}

/// Runs `body` with a scope in `pool` that the calling thread owns.
fn run<S: Open, R>(pool: &PoolState, fifos: Box<[Fifo]>, body: impl FnOnce(&S) -> R) -> R {
    let frame = Frame { state: ScopeState::new(pool, WHOLE, !fifos.is_empty()), fifos };
    let scope = S::of(View {
        frame: NonNull::from(&frame),
        share: Share::new(WHOLE, tls::current_in(pool)),
    });
    frame.state.complete(|| body(&scope), || scope.view().share.rest())
}

fn fifos(pool: &PoolState) -> Box<[Fifo]> {
    pool.slots.iter().map(|_| Fifo::new()).collect()
}

/// A task that runs `body` with the scope, and removes its count.
///
/// # Safety
///
/// The task is queued and run once, in the scope's pool; `body` is valid until the scope ends.
#[inline]
unsafe fn task<S: Open>(
    scope: &S,
    spawner: Option<&Worker>,
    body: impl FnOnce(&S, &Worker) + Send,
) -> TaskRef {
    let view = scope.view();
    let (frame, share) = (ScopeRef(view.frame), view.share.give(view.state(), spawner));
    let work = move |worker: &Worker| {
        let frame = frame;
        let scope = S::of(View { frame: frame.0, share: Share::new(share, Some(worker)) });
        scope.view().state().guard(|| body(&scope, worker));
        // SAFETY: this task is still counted (C2), and this is its last access.
        unsafe {
            ScopeState::finish(
                &raw const (*frame.0.as_ptr()).state,
                scope.view().share.rest(),
                worker,
            );
        };
    };
    // SAFETY: as the caller says.
    unsafe { HeapTask::on_heap(work, spawner) }
}

/// Spawns a part of a broadcast for every thread.
///
/// # Safety
///
/// `body` is valid until the scope ends.
unsafe fn broadcast<S: Open>(scope: &S, body: impl Fn(&S, BroadcastContext<'_>) + Send + Sync) {
    let body = Arc::new(body);
    let state = scope.view().state();
    let spawner = state.inside();
    let depth = spawner.map_or(state.depth(), Worker::depth) + 1;
    let slots = state.pool().broadcast_slots();
    for slot in slots.clone() {
        let (body, slots) = (Arc::clone(&body), slots.clone());
        let part = move |scope: &S, worker: &Worker| {
            body(scope, BroadcastContext::new(worker, &slots));
        };
        // SAFETY: as the caller says; delivered and run once.
        let part = unsafe { task(scope, spawner, part) };
        state.pool().deliver(slot, Queued { task: part, depth });
    }
}

impl<'scope> OpenScope<'scope> {
    /// Spawns a task that the scope waits for.
    ///
    /// # Cost
    ///
    /// A block of memory, usually from the worker's free list, and one locked instruction on a line
    /// that other workers write. A second locked instruction at every twentieth spawn, and at every
    /// spawn from a thread that does not run the spawning task.
    pub fn spawn<B>(&self, body: B)
    where
        B: FnOnce(&Self) + Send + 'scope,
    {
        let spawner = self.view.state().inside();
        // SAFETY: the task counts itself out; what `body` borrows outlives the scope.
        unsafe {
            let task = task(self, spawner, move |scope, _worker| body(scope));
            self.view.state().queue(task, spawner);
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

impl<'scope> OpenScopeFifo<'scope> {
    /// Spawns a task that the scope waits for, and that begins after the tasks that this worker
    /// spawned before.
    ///
    /// # Cost
    ///
    /// A block of memory, four locked instructions, and a lock that only this worker and its
    /// thieves take.
    pub fn spawn_fifo<B>(&self, body: B)
    where
        B: FnOnce(&Self) + Send + 'scope,
    {
        let state = self.view.state();
        // SAFETY: the task counts itself out; what `body` borrows outlives the scope, and so does
        // the list, as its tasks are counted.
        unsafe {
            let spawner = state.inside();
            let task = task(self, spawner, move |scope, _worker| body(scope));
            match spawner {
                Some(worker) if !state.keeps_its_tasks() => {
                    let _spawn = worker.begin(Activity::Spawn);
                    let (task, depth) = (worker.noted(task), worker.depth() + 1);
                    let token =
                        self.view.frame().fifos[worker.index()].push(Queued { task, depth });
                    worker.queue(Queued { task: token, depth });
                }
                // From outside the order is that of the pool's queue; a scope's own list keeps the
                // order.
                _ => state.queue(task, spawner),
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

// Hidden: `sinew` exports `Pool` and `Worker`, and its programs have one kind of scope.
impl Pool {
    /// Runs `body` with a scope on a worker of this pool, and returns when all its tasks have
    /// ended.
    ///
    /// # Panics
    ///
    /// If the body or a task panics, after all have ended, with the payload of the first.
    #[doc(hidden)]
    pub fn open_scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&OpenScope<'scope>) -> R + Send,
        R: Send,
    {
        self.run(|worker| worker.open_scope(body))
    }

    /// As [`open_scope`](Self::open_scope); tasks begin in order.
    ///
    /// # Panics
    ///
    /// As [`open_scope`](Self::open_scope).
    #[doc(hidden)]
    pub fn open_scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&OpenScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.run(|worker| worker.open_scope_fifo(body))
    }

    /// Runs `body` with a scope on the calling thread, and returns when its tasks, which this pool
    /// runs, are over. A worker waits as in [`install`](Self::install), another thread parks.
    ///
    /// # Panics
    ///
    /// As [`open_scope`](Self::open_scope).
    #[doc(hidden)]
    pub fn in_place_scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&OpenScope<'scope>) -> R,
    {
        let pool = self.serving();
        run(pool, Box::default(), body)
    }

    /// As [`in_place_scope`](Self::in_place_scope); tasks begin in order.
    ///
    /// # Panics
    ///
    /// As [`open_scope`](Self::open_scope).
    #[doc(hidden)]
    pub fn in_place_scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&OpenScopeFifo<'scope>) -> R,
    {
        let pool = self.serving();
        run(pool, fifos(pool), body)
    }
}

impl Pool {
    /// The pool that runs a scope's tasks: this one, or that of a thread that works serially.
    /// Before tasks are queued from outside, a pool with only its external slot starts the thread
    /// that takes them.
    pub(super) fn serving(&self) -> &PoolState {
        match tls::serving(&self.state) {
            Some(worker) => return worker.pool(),
            None if self.state.takes_external_threads() && !self.state.has_threads() => {
                self.start_standby();
            }
            None => {}
        }
        &self.state
    }
}

impl Worker {
    /// An open scope on this worker; see [`Pool::open_scope`].
    ///
    /// # Panics
    ///
    /// As [`Pool::open_scope`].
    #[doc(hidden)]
    pub fn open_scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&OpenScope<'scope>) -> R,
    {
        run(self.pool(), Box::default(), body)
    }

    /// As [`open_scope`](Self::open_scope); tasks begin in order.
    ///
    /// # Panics
    ///
    /// As [`Pool::open_scope`].
    #[doc(hidden)]
    pub fn open_scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&OpenScopeFifo<'scope>) -> R,
    {
        run(self.pool(), fifos(self.pool()), body)
    }
}

impl fmt::Debug for OpenScope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The name that programs use for the type.
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl fmt::Debug for OpenScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo").finish_non_exhaustive()
    }
}
