//! Work handed to a pool by a thread that waits for it, and who takes it.

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use sinew_sync::atomic::Ordering;
use sinew_sync::clock::{TICKS_A_US, ticks};

use crate::inner::Inner;
use crate::latch::{Latch, Owner};
use crate::queue::{Header, Queued, TaskRef};
use crate::search::Allowed;
use crate::waiter::Waiter;
use crate::worker::Worker;

/// How long a worker leaves work from outside to the one that took the last piece: as long as a caller takes to park, and another thread to get its core.
const DEFERRED: u64 = 6 * TICKS_A_US;

/// A task in the frame of the thread that waits for it.
#[repr(C)]
struct Injected<F, R> {
    header: Header,
    work: UnsafeCell<Option<F>>,
    result: UnsafeCell<Option<Result<R, Box<dyn Any + Send>>>>,
    latch: Latch,
}

impl<F, R> Injected<F, R>
where
    F: for<'w> FnOnce(&'w Worker) -> R,
{
    /// # Safety
    ///
    /// `header` is the first field of an `Injected<F, R>` that is valid until its latch is set; called once.
    unsafe fn run(header: NonNull<Header>, worker: &Worker) {
        let task = header.cast::<Self>().as_ptr();
        // SAFETY: valid until the latch is set, and the waiting thread looks at the fields only after that.
        unsafe {
            let work = (*(*task).work.get()).take();
            let result = work.map(|work| catch_unwind(AssertUnwindSafe(|| work(worker))));
            *(*task).result.get() = result;
            worker.end_call();
            Latch::set(&raw const (*task).latch, worker);
        }
    }
}

/// Runs `f` on a worker of `pool`, to which the calling thread does not belong.
pub(crate) fn run<F, R>(pool: &Inner, f: F) -> R
where
    F: for<'w> FnOnce(&'w Worker) -> R + Send,
    R: Send,
{
    let waiter = Waiter::here();
    let task = Injected {
        header: Header { run: Injected::<F, R>::run },
        work: UnsafeCell::new(Some(f)),
        result: UnsafeCell::new(None),
        latch: Latch::new(Owner::Elsewhere(Arc::clone(waiter.parker()))),
    };
    pool.inject(Queued { task: TaskRef(NonNull::from(&task).cast()), depth: 0 }, waiter.keeps_core());
    waiter.wait(pool, &task.latch);
    match task.result.into_inner() {
        Some(Ok(result)) => result,
        Some(Err(payload)) => resume_unwind(payload),
        None => unreachable!("the latch is set after the result"),
    }
}

impl Worker {
    /// Work from outside.
    pub(crate) fn take_injected(&self, allowed: Allowed) -> Option<Queued> {
        let pool = self.pool();
        if pool.injector.is_empty() {
            self.own.defers_since.set(0);
            return None;
        }
        if self.defers_to_last_taker() {
            return None;
        }
        let queued = pool.injector.pop(allowed.above())?;
        // Relaxed: a hint.
        pool.last_taker.store(self.index(), Ordering::Relaxed);
        Some(queued)
    }

    /// Who took the last piece of work from outside has the first claim to the next, for a moment, if it is without work as well: a loop that is called again
    /// and again finds its data where it left them. It may be off its core just then, as the caller was woken there, and parks in a moment.
    fn defers_to_last_taker(&self) -> bool {
        let pool = self.pool();
        // Relaxed, here and below: hints.
        let last = pool.last_taker.load(Ordering::Relaxed);
        let searches = |seat: &Self| seat.searching.load(Ordering::Relaxed);
        if last == self.index() || !pool.seats.get(last).is_some_and(searches) {
            return false;
        }
        let (now, since) = (ticks().max(1), self.own.defers_since.get());
        if since == 0 {
            self.own.defers_since.set(now);
        }
        since == 0 || now.saturating_sub(since) < DEFERRED
    }
}
