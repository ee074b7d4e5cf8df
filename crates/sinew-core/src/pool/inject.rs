//! Calls into a pool by a thread that waits for the result.
//!
//! # Withdrawal
//!
//! A call with [`Terms`] is *withdrawn* if no worker has taken it when its control or its pool is
//! cancelled, or when its deadline passes. The caller withdraws it under the lock under which
//! workers take calls. So either a worker owns the frame, and the caller waits for it, or the
//! caller owns it. A cancellation wakes the callers, which check again
//! ([`callers`](crate::seams::callers)). For a deadline the caller parks for a limited time.
//!
//! A worker may take a call whose deadline has passed, before the caller withdraws it. It does not
//! run such a call either. If a worker runs the call when the deadline passes, the caller cancels
//! the control of the call, and waits on. Between the two events a word decides, which the worker
//! swaps before it runs the call, and the caller at the deadline: the call has begun in time, or it
//! does not begin.
//!
//! # Tests
//!
//! `tests/calls`; under random schedules in `shuttle::calls` and `shuttle::deadlines`, with five
//! planted bugs.

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use sinew_deque::{Priority, Queued, TaskRef, Ticket};
use sinew_sync::atomic::{AtomicU32, Ordering};
use sinew_sync::clock::now_ns;
use sinew_sync::plant::{Bug, planted};

use crate::scheduler::latch::{Latch, Owner};
use crate::scheduler::wait::Awaited;
use crate::scheduler::waiter::Waiter;
use crate::seams::callers::Listed;
use crate::seams::cancel::Cancellable;
use crate::seams::observer::Event;
use crate::state::pool_state::PoolState;
use crate::state::queue::Header;
use crate::state::worker::Worker;

/// The closure of a call, which runs once. The type is not generic, so all calls share the code of
/// this file.
pub(super) type Body<'f> = &'f mut (dyn FnMut(&Worker) + Send);

/// Calls `enter` with `f` as a [`Body`]. Returns what `f` returned; `None` if it was not called.
pub(super) fn erased<F, R>(f: F, enter: impl FnOnce(Body<'_>)) -> Option<R>
where
    F: for<'w> FnOnce(&'w Worker) -> R + Send,
    R: Send,
{
    let (mut f, mut result) = (Some(f), None);
    enter(&mut |worker| result = f.take().map(|f| f(worker)));
    result
}

/// Why a call was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallError {
    /// Its control, or its [pool](crate::PoolControl::cancel), was cancelled before it began.
    Cancelled,
    /// Its deadline passed before it began.
    Expired,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancelled => {
                "the call was cancelled before it began; to make it nevertheless, call again under \
                 a new control"
            }
            Self::Expired => {
                "the call was not begun before its deadline, because all workers had other work; \
                 allow more time, or raise its priority"
            }
        })
    }
}

impl std::error::Error for CallError {}

/// Whether that time has come.
fn is_over(deadline_ns: Option<u64>) -> bool {
    deadline_ns.is_some_and(|deadline_ns| now_ns() >= deadline_ns)
}

/// The terms of a call whose caller can return without its result.
#[derive(Clone, Copy, Default)]
pub(super) struct Terms<'c> {
    pub(super) priority: Priority,
    /// By [`now_ns`].
    pub(super) deadline_ns: Option<u64>,
    pub(super) control: Option<&'c dyn Cancellable>,
}

impl Terms<'_> {
    /// The priority of a call with these terms, or without any.
    pub(super) fn priority_of(terms: Option<&Self>) -> Priority {
        terms.map_or(Priority::Normal, |terms| terms.priority)
    }

    fn is_expired(&self) -> bool {
        is_over(self.deadline_ns)
    }

    /// Why the call may not begin now.
    pub(super) fn refusal(&self) -> Option<CallError> {
        if self.control.is_some_and(|control| control.is_cancelled()) {
            return Some(CallError::Cancelled);
        }
        self.is_expired().then_some(CallError::Expired)
    }

    /// Whether the caller has something to do at the deadline of a call that has begun.
    pub(super) fn cancels_at_deadline(&self) -> bool {
        self.control.is_some() && self.deadline_ns.is_some()
    }
}

/// Whether a call begins before its deadline, which its worker or its caller decides: the worker
/// when it has taken the call, the caller when the deadline has passed.
struct Start {
    deadline_ns: Option<u64>,
    is_decided: AtomicU32,
}

impl Start {
    /// Returns whether the calling thread is the first to decide.
    fn decide(&self) -> bool {
        // Relaxed: only the order of the two swaps matters.
        self.is_decided.swap(1, Ordering::Relaxed) == 0
    }

    /// For the worker: whether it runs the call.
    fn begin(&self) -> bool {
        self.deadline_ns.is_none() || !is_over(self.deadline_ns) && self.decide()
    }
}

/// A task in the frame of the thread that waits for it.
#[repr(C)]
struct Injected<'f> {
    header: Header,
    start: Start,
    priority: Priority,
    work: UnsafeCell<Option<Body<'f>>>,
    result: UnsafeCell<Option<Result<(), Box<dyn Any + Send>>>>,
    latch: Latch,
}

impl Injected<'_> {
    /// # Safety
    ///
    /// `header` is the first field of an `Injected` that is valid until its latch is set; called
    /// once.
    unsafe fn run(header: NonNull<Header>, worker: &Worker) {
        let task = header.cast::<Self>().as_ptr();
        // SAFETY: valid until the latch is set. Before that, the waiting thread accesses only
        // `start` and `latch`, whose fields are atomic or constant.
        unsafe {
            let begins = (*task).start.begin();
            worker.work.belongs_to((*task).priority);
            let work = if begins { (*(*task).work.get()).take() } else { None };
            let result = work.map(|work| catch_unwind(AssertUnwindSafe(|| work(worker))));
            *(*task).result.get() = result;
            worker.tell(Event::CallEnd);
            Latch::set(&raw const (*task).latch, worker);
        }
    }
}

/// The state of a call, as its caller has seen it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It was queued; a worker may have taken it since.
    Queued,
    /// A worker has taken it, and will set its latch.
    Taken,
    /// The caller has withdrawn it.
    Withdrawn,
}

/// A call whose caller waits until it ends or is withdrawn.
struct Call<'c> {
    pool: &'c PoolState,
    latch: &'c Latch,
    start: &'c Start,
    ticket: Ticket,
    terms: Option<&'c Terms<'c>>,
    /// How often the pool had cancelled before the call.
    cancellations: u64,
    fate: Cell<Fate>,
    /// Why it was withdrawn.
    error: Cell<Option<CallError>>,
    /// Whether its deadline has passed after a worker took it.
    is_past: Cell<bool>,
}

impl Call<'_> {
    /// Why the call must not begin now.
    fn refusal(&self) -> Option<CallError> {
        let terms = self.terms?;
        let is_cancelled = self.pool.cancel_scope.cancellations() != self.cancellations;
        if is_cancelled { Some(CallError::Cancelled) } else { terms.refusal() }
    }

    /// Withdraws the call, if no worker has taken it. Returns whether it is withdrawn.
    fn withdraw(&self) -> bool {
        if self.fate.get() == Fate::Queued {
            let is_back = self.pool.injector.withdraw(self.ticket).is_some();
            self.fate.set(if is_back { Fate::Withdrawn } else { Fate::Taken });
        }
        self.fate.get() == Fate::Withdrawn
    }

    /// Withdraws the call, if its terms demand it and no worker has taken it. If a worker runs it
    /// at its deadline, cancels its control. Returns whether it is withdrawn.
    fn give_up(&self) -> bool {
        let (Some(terms), Some(error)) = (self.terms, self.refusal()) else { return false };
        if planted(Bug::BlindExpiry) {
            self.error.set(Some(error));
        }
        if self.withdraw() {
            self.error.set(Some(error));
            return true;
        }
        if terms.is_expired() && !self.is_past.replace(true) {
            let has_begun = !self.start.decide() || planted(Bug::BlindCancel);
            terms.control.filter(|_| has_begun).into_iter().for_each(Cancellable::cancel);
        }
        false
    }

    /// Registers the caller, so that a cancellation wakes it.
    fn enter_lists(&self, waiter: &Waiter<'_>) -> [Option<Listed<'_>>; 2] {
        let pool = self.terms.map(|_| self.pool.cancel_scope.callers());
        let control = self.terms.and_then(|terms| terms.control).map(Cancellable::callers);
        [pool, control].map(|callers| callers.map(|callers| callers.enter(waiter.parker())))
    }

    /// Waits until the call is over or withdrawn.
    fn wait(&self, waiter: &Waiter<'_>) {
        let _listed = self.enter_lists(waiter);
        waiter.wait(self.pool, self);
    }

    /// The same in a pool of one worker whose external slot is taken: its external thread serves
    /// the call, or the caller takes the slot when it is free. Returns whether the caller has the
    /// slot, and thus its call.
    fn wait_or_sit(&self, waiter: &Waiter<'_>) -> bool {
        let _listed = self.enter_lists(waiter);
        let slot = &self.pool.external_slot;
        if !slot.enter_unless(waiter.parker(), || self.is_done(), || self.left_ns()) {
            return false;
        }
        let sits = !self.is_done() && self.withdraw();
        if !sits {
            // Only the holder of the slot takes calls, and it ends them before it leaves.
            debug_assert!(self.is_done());
            slot.leave();
        }
        sits
    }
}

impl Awaited for Call<'_> {
    fn is_done(&self) -> bool {
        self.latch.is_set() || self.fate.get() == Fate::Withdrawn || self.give_up()
    }

    fn left_ns(&self) -> Option<u64> {
        let terms = self.terms.filter(|_| !self.is_past.get() && !planted(Bug::UntimedWait))?;
        terms.deadline_ns.map(|deadline_ns| deadline_ns.saturating_sub(now_ns()))
    }

    fn done_at_ns(&self) -> Option<u64> {
        self.latch.set_at_ns()
    }
}

/// Queues `f` for a worker of `pool`, to which the calling thread does not belong, and calls
/// `wait`, which returns when the call is over or withdrawn. If `wait` returns true, the caller has
/// withdrawn the call and has the external slot, in which it then calls `f`.
fn offer(
    pool: &PoolState,
    f: Body<'_>,
    terms: Option<&Terms<'_>>,
    wait: impl FnOnce(&Call<'_>, &Waiter<'_>) -> bool,
) -> Result<(), CallError> {
    let waiter = Waiter::here();
    let priority = Terms::priority_of(terms);
    let task = Injected {
        header: Header { run: Injected::run },
        priority,
        start: Start {
            deadline_ns: terms.and_then(|terms| terms.deadline_ns),
            is_decided: AtomicU32::new(0),
        },
        work: UnsafeCell::new(Some(f)),
        result: UnsafeCell::new(None),
        latch: Latch::new(Owner::ExternalThread(Arc::clone(waiter.parker()))),
    };
    let cancellations = pool.cancel_scope.cancellations();
    let queued = Queued { task: TaskRef::new(NonNull::from(&task)), depth: 0 };
    let ticket = pool.inject_call(queued, priority, waiter.keeps_core());
    let (fate, error, is_past) = (Cell::new(Fate::Queued), Cell::new(None), Cell::new(false));
    let Injected { latch, start, .. } = &task;
    let call = Call { pool, latch, start, ticket, terms, cancellations, fate, error, is_past };
    let sits = wait(&call, &waiter);
    let error = call.error.get();
    match (task.result.into_inner(), task.work.into_inner()) {
        (Some(Err(payload)), _) => resume_unwind(payload),
        (Some(Ok(())), _) => error.map_or(Ok(()), Err),
        (None, Some(f)) if sits => {
            pool.as_external_thread(priority, f);
            Ok(())
        }
        // Without an error, a worker has taken the call after its deadline.
        (None, _) => Err(error.unwrap_or(CallError::Expired)),
    }
}

/// Runs `f` on a worker of `pool`, to which the calling thread does not belong, if the `terms`
/// allow it.
pub(super) fn run(
    pool: &PoolState,
    f: Body<'_>,
    terms: Option<&Terms<'_>>,
) -> Result<(), CallError> {
    offer(pool, f, terms, |call, waiter| {
        call.wait(waiter);
        false
    })
}

/// The same in a pool of one worker, whose external slot another thread has, for a thread that may
/// take the slot.
pub(super) fn run_or_sit(
    pool: &PoolState,
    f: Body<'_>,
    terms: Option<&Terms<'_>>,
) -> Result<(), CallError> {
    offer(pool, f, terms, |call, waiter| call.wait_or_sit(waiter))
}
