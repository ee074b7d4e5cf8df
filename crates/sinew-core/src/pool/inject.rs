//! Calls into a pool by a thread that waits for the result.
//!
//! # Withdrawal
//!
//! A call under a cancelled control, or one that was queued before a cancellation of the pool, is
//! *withdrawn* if no worker has taken it. The caller withdraws it under the lock under which
//! workers take calls. So either a worker owns the frame, and the caller waits for it, or the
//! caller owns it. A cancellation wakes the callers, which check again
//! ([`callers`](crate::seams::callers)).

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use sinew_deque::{Queued, TaskRef, Ticket};

use crate::scheduler::latch::{Latch, Owner};
use crate::scheduler::wait::Awaited;
use crate::scheduler::waiter::Waiter;
use crate::seams::callers::Listed;
use crate::seams::cancel::{Cancellable, Cancelled};
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

/// A task in the frame of the thread that waits for it.
#[repr(C)]
struct Injected<'f> {
    header: Header,
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
        // SAFETY: valid until the latch is set, and the waiting thread reads the fields only after
        // that.
        unsafe {
            let work = (*(*task).work.get()).take();
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

/// A call whose caller waits until it ends or is cancelled.
struct Call<'c> {
    pool: &'c PoolState,
    latch: &'c Latch,
    ticket: Ticket,
    control: Option<&'c dyn Cancellable>,
    /// How often the pool had cancelled before the call.
    cancellations: u64,
    fate: Cell<Fate>,
}

impl Call<'_> {
    fn is_cancelled(&self) -> bool {
        self.control.is_some_and(|control| {
            control.is_cancelled() || self.pool.cancel_scope.cancellations() != self.cancellations
        })
    }

    /// Withdraws the call, if no worker has taken it. Returns whether it is withdrawn.
    fn withdraw(&self) -> bool {
        if self.fate.get() == Fate::Queued {
            let is_back = self.pool.injector.withdraw(self.ticket).is_some();
            self.fate.set(if is_back { Fate::Withdrawn } else { Fate::Taken });
        }
        self.fate.get() == Fate::Withdrawn
    }

    /// Registers the caller, so that a cancellation wakes it.
    fn enter_lists(&self, waiter: &Waiter<'_>) -> Option<[Listed<'_>; 2]> {
        let control = self.control?;
        Some(
            [control.callers(), self.pool.cancel_scope.callers()]
                .map(|callers| callers.enter(waiter.parker())),
        )
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
        if !self.pool.external_slot.enter_unless(waiter.parker(), || self.is_done()) {
            return false;
        }
        let sits = self.withdraw();
        if !sits {
            // Only the holder of the slot takes calls, and it ends them before it leaves.
            debug_assert!(self.latch.is_set());
            self.pool.external_slot.leave();
        }
        sits
    }
}

impl Awaited for Call<'_> {
    fn is_done(&self) -> bool {
        self.latch.is_set() || self.is_cancelled() && self.withdraw()
    }

    fn done_at_ns(&self) -> Option<u64> {
        self.latch.set_at_ns()
    }
}

/// Queues `f` for a worker of `pool`, to which the calling thread does not belong, and calls
/// `wait`, which returns when the call is over or withdrawn. Then it returns `f`.
fn offer<'f>(
    pool: &PoolState,
    f: Body<'f>,
    control: Option<&dyn Cancellable>,
    wait: impl FnOnce(&Call<'_>, &Waiter<'_>),
) -> Result<(), Body<'f>> {
    let waiter = Waiter::here();
    let task = Injected {
        header: Header { run: Injected::run },
        work: UnsafeCell::new(Some(f)),
        result: UnsafeCell::new(None),
        latch: Latch::new(Owner::ExternalThread(Arc::clone(waiter.parker()))),
    };
    let cancellations = pool.cancel_scope.cancellations();
    let queued = Queued { task: TaskRef::new(NonNull::from(&task)), depth: 0 };
    let ticket = pool.inject_call(queued, waiter.keeps_core());
    let fate = Cell::new(Fate::Queued);
    wait(&Call { pool, latch: &task.latch, ticket, control, cancellations, fate }, &waiter);
    match (task.result.into_inner(), task.work.into_inner()) {
        (Some(Ok(())), _) => Ok(()),
        (Some(Err(payload)), _) => resume_unwind(payload),
        (None, Some(work)) => Err(work),
        (None, None) => unreachable!("the latch is set after the result"),
    }
}

/// Runs `f` on a worker of `pool`, to which the calling thread does not belong, unless `control` is
/// cancelled before.
pub(super) fn run(
    pool: &PoolState,
    f: Body<'_>,
    control: Option<&dyn Cancellable>,
) -> Result<(), Cancelled> {
    offer(pool, f, control, |call, waiter| call.wait(waiter)).map_err(|_| Cancelled)
}

/// The same in a pool of one worker, whose external slot another thread has, for a thread that may
/// take the slot.
pub(super) fn run_or_sit(
    pool: &PoolState,
    f: Body<'_>,
    control: Option<&dyn Cancellable>,
) -> Result<(), Cancelled> {
    let mut sits = false;
    match offer(pool, f, control, |call, waiter| sits = call.wait_or_sit(waiter)) {
        Ok(()) => Ok(()),
        Err(f) if sits => {
            pool.as_external_thread(f);
            Ok(())
        }
        Err(_) => Err(Cancelled),
    }
}
