//! The state of a scope: a count of unfinished tasks, the first panic, and the waiting owner.
//!
//! # Invariants
//!
//! - C1: `pending` is the sum of the counts of the body and of every unfinished task: one each, or
//!   a [`Share`]. It falls to zero once.
//! - C2: the scope's frame is valid until `pending` is zero; a task's last access to it is the
//!   subtraction.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use sinew_deque::{Queued, TaskRef};
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::first_panic::FirstPanic;
use crate::scheduler::job::Job;
use crate::scheduler::latch::Owner;
use crate::scheduler::wait::Awaited;
use crate::scheduler::waiter::{Waiter, wait_for_call};
use crate::seams::observer::{Activity, Event, ScopeNote};
use crate::state::heap_task::HeapTask;
use crate::state::pool_state::PoolState;
use crate::state::scope_tasks::ScopeTasks;
use crate::state::tls;
use crate::state::worker::Worker;

/// A scope as its tasks see it.
pub(crate) struct ScopeState {
    pool: NonNull<PoolState>,
    owner: Owner,
    depth: u32,
    /// On a cache line of its own, since every task reads the other fields, which are constant.
    pending: CachePadded<AtomicU64>,
    panic: FirstPanic,
    /// The tasks of a pool whose waiting workers run no others.
    tasks: Option<Arc<ScopeTasks>>,
    /// The observer's note, if the pool has an observer.
    note: Option<ScopeNote>,
}

// SAFETY: the fields are atomics, locks, constants, and counted pointers to the like; the pool
// outlives the scope.
unsafe impl Sync for ScopeState {}
// SAFETY: as above; tasks get only references to a scope.
unsafe impl Send for ScopeState {}

impl ScopeState {
    /// A scope in `pool`, owned by the calling thread; its body counts for `body`. `oldest_first`
    /// if its tasks are to be run in order.
    pub(crate) fn new(pool: &PoolState, body: u32, oldest_first: bool) -> Self {
        let inside = tls::current_in(pool);
        let owner = inside.map_or_else(
            || Owner::ExternalThread(Arc::clone(Waiter::here().parker())),
            |worker| Owner::Slot(worker.index()),
        );
        Self {
            pool: NonNull::from(pool),
            owner,
            depth: inside.map_or(0, Worker::depth),
            pending: CachePadded::new(AtomicU64::new(body.into())),
            panic: FirstPanic::default(),
            tasks: pool.wait.allows_locks().then(|| ScopeTasks::new(oldest_first)),
            note: pool.observer.as_ref().map(|observer| observer.scope_begins()),
        }
    }

    pub(crate) fn pool(&self) -> &PoolState {
        // SAFETY: the pool outlives the scope.
        unsafe { self.pool.as_ref() }
    }

    /// The depth of the scope's frame; its tasks are deeper.
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// Whether the scope has a list for its own tasks.
    pub(crate) fn keeps_its_tasks(&self) -> bool {
        self.tasks.is_some()
    }

    /// The count of unfinished tasks, the body included.
    pub(crate) fn pending(&self) -> u64 {
        // Relaxed: a hint.
        self.pending.load(Ordering::Relaxed)
    }

    /// Adds to the count. Returns the count before, the body included.
    #[inline]
    pub(crate) fn count_in(&self, more: u32) -> u64 {
        // Relaxed: the spawner is counted, so the count is above zero and publishes nothing.
        self.pending.fetch_add(more.into(), Ordering::Relaxed)
    }

    /// The worker of the scope's pool that this thread is.
    #[inline]
    pub(crate) fn inside<'a>(&self) -> Option<&'a Worker> {
        tls::current_in(self.pool())
    }

    /// `f` as a task that is counted already. It does not unwind, and removes its count at its end.
    /// `here` is the worker that this thread is, if it is one.
    ///
    /// # Safety
    ///
    /// The task is run once; what `f` borrows outlives the scope.
    pub(crate) unsafe fn task<F>(&self, f: F, here: Option<&Worker>) -> TaskRef
    where
        F: for<'w> FnOnce(&'w Worker) + Send,
    {
        let scope = ScopeRef(NonNull::from(self));
        let task = move |worker: &Worker| {
            let scope = scope;
            // SAFETY: C2: this task is still counted; the call that removes its count is the last
            // access.
            unsafe {
                scope.0.as_ref().guard(|| f(worker));
                Self::finish(scope.0.as_ptr(), 1, worker);
            }
        };
        // SAFETY: run once, before `pending` is zero: the scope and its borrows are valid (C2).
        unsafe { HeapTask::on_heap(task, here) }
    }

    /// Queues a counted task: on `inside`, this thread's worker, or from outside.
    ///
    /// # Safety
    ///
    /// The task is run once, and ends with [`finish`](Self::finish).
    #[inline]
    pub(crate) unsafe fn queue(&self, task: TaskRef, inside: Option<&Worker>) {
        let _spawn = inside.map(|worker| worker.begin(Activity::Spawn));
        let task = inside.map_or(task, |worker| worker.noted(task));
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
            // No other thread could take the task.
            Some(worker) if self.pool().is_serial() => {
                if !worker.within_spawn(|worker| worker.execute(Job::Queued(queued))) {
                    worker.queue(queued);
                }
            }
            Some(worker) => worker.queue(queued),
            None => self.pool().inject(queued, true),
        }
    }

    /// The owner may be asleep although it could run the task.
    #[cold]
    fn wake_owner(&self) {
        match &self.owner {
            Owner::Slot(slot) => self.pool().slots[*slot].parker.unpark(),
            Owner::ExternalThread(parker) => parker.unpark(),
        };
    }

    /// Calls a task's closure; its panic is kept.
    #[inline]
    pub(crate) fn guard(&self, f: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
            self.panic.keep(payload);
        }
    }

    /// Removes the count of a task, which is `share` by now.
    ///
    /// # Safety
    ///
    /// The task is counted, runs on a worker of the scope's pool, and does not access the scope
    /// afterwards.
    #[inline]
    pub(crate) unsafe fn finish(scope: *const Self, share: u32, worker: &Worker) {
        let share = u64::from(share);
        // SAFETY: counted, so the scope is valid.
        if let Some(note) = unsafe { &(*scope).note } {
            worker.tell(Event::ScopeTaskEnd(note));
        }
        // SAFETY: counted, so the scope is valid until the subtraction, which is the last access
        // (C2). AcqRel: what the task did is visible to the owner (Acquire in `is_done`), through
        // the tasks that end later.
        unsafe {
            Owner::wake_after(&raw const (*scope).owner, worker, || {
                (*scope).pending.fetch_sub(share, Ordering::AcqRel) == share
            });
        }
    }

    /// Runs the body, waits for the tasks, and returns the result or resumes the first panic.
    /// `share` is the count of the body at its end.
    pub(crate) fn complete<R>(&self, body: impl FnOnce() -> R, share: impl FnOnce() -> u32) -> R {
        let result =
            catch_unwind(AssertUnwindSafe(body)).map_err(|payload| self.panic.keep(payload));
        // AcqRel: as in `finish`.
        let share = u64::from(share());
        if self.pending.fetch_sub(share, Ordering::AcqRel) > share {
            self.wait();
        }
        if let Some(note) = &self.note {
            self.tell_end(note);
        }
        let panic = self.panic.take();
        match (result, panic) {
            (_, Some(payload)) => resume_unwind(payload),
            (Ok(result), None) => result,
            (Err(()), None) => unreachable!("the body's panic was kept"),
        }
    }

    /// Tells the observer that the scope is over.
    #[cold]
    fn tell_end(&self, note: &ScopeNote) {
        match (self.inside(), &self.pool().observer) {
            (Some(worker), _) => worker.tell(Event::ScopeEnd(note)),
            (None, Some(observer)) => observer.scope_ends(note),
            (None, None) => {}
        }
    }

    fn wait(&self) {
        match &self.owner {
            Owner::ExternalThread(parker) => wait_for_call(parker, self.pool(), self),
            Owner::Slot(_) => {
                let worker =
                    tls::current_in(self.pool()).expect("a scope ends on the thread it began on");
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

/// The count of a body or a task. It gives a part to each task that it spawns, so that a spawn
/// writes no cache line of other workers. (Weighted reference counting: D. I. Bevan, "Distributed
/// garbage collection using reference counting", 1987.)
///
/// Only the worker that runs the holder divides it. Another thread that spawns for the holder, in
/// an arm that it has stolen, adds to the scope's count.
pub(crate) struct Share {
    left: AtomicU32,
    holder: *const Worker,
}

/// The count of a body, which is also added when a share cannot be divided any more.
pub(crate) const WHOLE: u32 = if cfg!(any(loom, shuttle)) { 2 } else { 1 << 20 };

impl Share {
    /// `share`, held by the task that `holder` runs, if it is a worker of the scope's pool.
    pub(crate) fn new(share: u32, holder: Option<&Worker>) -> Self {
        Self {
            left: AtomicU32::new(share),
            holder: holder.map_or(std::ptr::null(), std::ptr::from_ref),
        }
    }

    /// A part for a task that is spawned by `spawner`.
    #[inline]
    pub(crate) fn give(&self, scope: &ScopeState, spawner: Option<&Worker>) -> u32 {
        if !spawner.is_some_and(|spawner| std::ptr::eq(spawner, self.holder)) {
            scope.count_in(1);
            return 1;
        }
        // Relaxed, here and below: only the holder's thread writes.
        let left = self.left.load(Ordering::Relaxed);
        if left == 1 {
            return self.give_more(scope);
        }
        self.left.store(left - left / 2, Ordering::Relaxed);
        left / 2
    }

    /// The same if nothing is left to divide: adds to the scope's count.
    #[cold]
    fn give_more(&self, scope: &ScopeState) -> u32 {
        scope.count_in(2 * WHOLE);
        self.left.store(1 + WHOLE, Ordering::Relaxed);
        WHOLE
    }

    /// The rest, when its holder has ended.
    #[inline]
    pub(crate) fn rest(&self) -> u32 {
        self.left.load(Ordering::Relaxed)
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

// SAFETY: the scope is `Sync`, so a reference to it may be sent; the pointer is one.
unsafe impl<S: Sync> Send for ScopeRef<S> {}
