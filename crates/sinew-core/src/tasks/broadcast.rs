//! Broadcasts: one closure, called once on every thread of a pool.
//!
//! Each worker has an inbox in addition to its queues. It checks its inbox when its own queue is
//! empty, before it takes other work, and also while it waits: another task may wait for the task
//! that waits for a broadcast. Broadcasts from one thread begin in order on each worker.
//!
//! # Invariants
//!
//! - B1: the frame of [`Pool::broadcast`] is valid until `left` is zero; a part's last access to it
//!   is its count there.

use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use sinew_deque::{Queued, TaskRef};

use crate::fork;
use crate::pool::Pool;
use crate::scheduler::latch::{Countdown, Owner};
use crate::scheduler::waiter::Waiter;
use crate::state::heap_task::HeapTask;
use crate::state::pool_state::{FirstSlot, PoolState};
use crate::state::queue::Header;
use crate::state::tls;
use crate::state::worker::Worker;

/// The number of a part of a broadcast, and the number of parts. It cannot leave its thread:
///
/// ```compile_fail
/// fn send<T: Send>(_: T) {}
/// sinew_core::global_pool().broadcast(|context| send(context));
/// ```
pub struct BroadcastContext<'a> {
    index: usize,
    num_threads: usize,
    not_shared: PhantomData<&'a mut dyn Fn()>,
}

impl<'a> BroadcastContext<'a> {
    /// The part of `worker` in a broadcast to these slots.
    pub(crate) fn new(worker: &'a Worker, slots: &Range<usize>) -> Self {
        let index = worker.index() - slots.start;
        Self { index, num_threads: slots.len(), not_shared: PhantomData }
    }

    /// The number of this part, below [`num_threads`](Self::num_threads).
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The number of parts.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.num_threads
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index())
            .field("num_threads", &self.num_threads())
            .finish_non_exhaustive()
    }
}

impl PoolState {
    /// The slots that take part in every broadcast: all but the external slot.
    pub(crate) fn broadcast_slots(&self) -> Range<usize> {
        usize::from(self.first_slot == FirstSlot::ExternalThreads)..self.slots.len()
    }
}

type Outcome<R> = Result<R, Box<dyn Any + Send>>;

/// A broadcast in the frame of the thread that waits for it. All workers get the same pointer to
/// it.
#[repr(C)]
struct Shared<'f, F, R> {
    header: Header,
    f: &'f F,
    slots: Range<usize>,
    /// By part; each is written by the worker at its slot.
    results: Box<[UnsafeCell<Option<Outcome<R>>>]>,
    left: Countdown,
}

impl<F, R> Shared<'_, F, R>
where
    F: Fn(BroadcastContext<'_>) -> R,
{
    /// # Safety
    ///
    /// `header` is the first field of a `Shared<F, R>` that is valid by B1; called once by each
    /// worker of the pool.
    unsafe fn run(header: NonNull<Header>, worker: &Worker) {
        let shared = header.cast::<Self>().as_ptr();
        // SAFETY: B1; the part's result is this worker's to write.
        unsafe {
            let (f, slots) = ((*shared).f, &(*shared).slots);
            let context = BroadcastContext::new(worker, slots);
            let part = context.index();
            let result = catch_unwind(AssertUnwindSafe(|| f(context)));
            let results = &(*shared).results;
            *results[part].get() = Some(result);
            Countdown::count(&raw const (*shared).left, worker);
        }
    }
}

impl Pool {
    /// Calls `f` once on every thread of the pool, and returns the results in the order of the
    /// slots. A thread calls it as soon as its own queue is empty; a waiting thread at once, if its
    /// [`Wait`](crate::Wait) policy allows it. An external thread takes part only in its own
    /// broadcasts, while it has the external slot: within [`run`](Self::run), all threads of the
    /// pool call `f`, and outside, those that the pool has started.
    ///
    /// # Panics
    ///
    /// If a call panics, after all have ended, with the payload of the first one in the order of
    /// the slots.
    ///
    /// # Blocking
    ///
    /// Until all have ended.
    ///
    /// ```
    /// let pool = sinew_core::Pool::builder().threads(3).external_slot(false).build()?;
    /// assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2]);
    /// # Ok::<(), sinew_core::BuildError>(())
    /// ```
    pub fn broadcast<F, R>(&self, f: F) -> Vec<R>
    where
        F: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast(&self.state, &f)
    }

    /// Calls `f` once on every thread of the pool, asynchronously. Only the shutdown of the pool
    /// waits for it.
    ///
    /// # Panics
    ///
    /// If a call panics, the pool's panic handler gets the payload; without a handler the process
    /// aborts. The caller does not panic.
    pub fn spawn_broadcast<F>(&self, f: F)
    where
        F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        spawn_broadcast(&self.state, f);
    }
}

impl Worker {
    /// [`Pool::broadcast`] in the pool of this worker.
    ///
    /// # Panics
    ///
    /// As [`Pool::broadcast`].
    pub fn broadcast<F, R>(&self, f: F) -> Vec<R>
    where
        F: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast(self.pool(), &f)
    }

    /// [`Pool::spawn_broadcast`] in the pool of this worker.
    pub fn spawn_broadcast<F>(&self, f: F)
    where
        F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        spawn_broadcast(self.pool(), f);
    }

    /// The worker slots that have a thread now: neither the external slot nor slots above the
    /// pool's limit. Empty in a forked child.
    pub fn served_slots(&self) -> Range<usize> {
        let pool = self.pool();
        if pool.is_of_another_process() {
            return 0..0;
        }
        pool.broadcast_slots().start..pool.active_limit()
    }

    /// Calls `f` on the worker with this number in this worker's pool, as a task at `depth`: if
    /// that worker waits at a lesser depth, it runs the task at once. Only the shutdown of the pool
    /// waits for it.
    ///
    /// # Panics
    ///
    /// If there is no such worker, or its slot is the external slot. If `f` panics, the pool's
    /// panic handler gets the payload; without a handler the process aborts.
    ///
    /// # Cost
    ///
    /// A lock that is held for a few instructions, an allocation, and a wake-up if the worker is
    /// parked.
    #[track_caller]
    pub fn spawn_on<F>(&self, worker: usize, depth: u32, f: F)
    where
        F: for<'w> FnOnce(&'w Self) + Send + 'static,
    {
        let pool = self.pool();
        if pool.is_of_another_process() {
            fork::die_of_lost_workers();
        }
        assert!(
            pool.broadcast_slots().contains(&worker),
            "no thread of the pool serves worker slot {worker}"
        );
        pool.deliver(worker, Queued { task: delivered(f), depth });
    }
}

/// A detached task: its panic goes to the handler of its pool.
fn delivered<F>(f: F) -> TaskRef
where
    F: for<'w> FnOnce(&'w Worker) + Send + 'static,
{
    let guarded = move |worker: &Worker| {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| f(worker))) {
            worker.pool().handle_panic(payload);
        }
    };
    // SAFETY: delivered and run once; it borrows nothing and does not unwind.
    unsafe { HeapTask::on_heap(guarded, None) }
}

fn broadcast<F, R>(pool: &PoolState, f: &F) -> Vec<R>
where
    F: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let inside = tls::current_in(pool);
    let mut slots = pool.broadcast_slots();
    // The external thread runs its own part, as every waiting worker does.
    slots.start = inside.map_or(slots.start, |worker| slots.start.min(worker.index()));
    if slots.is_empty() {
        return Vec::new();
    }
    if pool.is_of_another_process() {
        fork::die_of_lost_workers();
    }
    assert!(
        pool.is_serial() || !tls::is_serial(),
        "a broadcast needs all threads of its pool, and this code runs serially: broadcast \
         before it or after it"
    );
    let waiter = Waiter::here();
    let outside = || Owner::ExternalThread(Arc::clone(waiter.parker()));
    let shared = Shared {
        header: Header { run: Shared::<F, R>::run },
        f,
        slots: slots.clone(),
        results: slots.clone().map(|_| UnsafeCell::new(None)).collect(),
        left: Countdown::new(
            slots.len(),
            inside.map_or_else(outside, |worker| Owner::Slot(worker.index())),
        ),
    };
    let task = TaskRef::new(NonNull::from(&shared));
    let depth = inside.map_or(0, |worker| worker.depth() + 1);
    for slot in slots {
        pool.deliver(slot, Queued { task, depth });
    }
    match inside {
        Some(worker) => {
            tls::with_current(worker, |w| {
                w.wait_for_own(shared.left.latch(), w.help_for_broadcast());
            });
        }
        None => waiter.wait(pool, shared.left.latch()),
    }
    let results = shared.results.into_iter().map(UnsafeCell::into_inner);
    results
        .map(|result| {
            result.expect("every part has run").unwrap_or_else(|payload| resume_unwind(payload))
        })
        .collect()
}

fn spawn_broadcast<F>(pool: &PoolState, f: F)
where
    F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    if pool.is_of_another_process() {
        fork::die_of_lost_workers();
    }
    let f = Arc::new(f);
    let depth = tls::current_in(pool).map_or(0, |worker| worker.depth() + 1);
    let slots = pool.broadcast_slots();
    for slot in slots.clone() {
        let (f, slots) = (Arc::clone(&f), slots.clone());
        let part = move |worker: &Worker| f(BroadcastContext::new(worker, &slots));
        pool.deliver(slot, Queued { task: delivered(part), depth });
    }
}
