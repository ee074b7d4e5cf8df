//! Work handed to a pool by a thread that waits for it.

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::inner::Inner;
use crate::latch::{Latch, Owner};
use crate::queue::{Header, Queued, TaskRef};
use crate::waiter::Waiter;
use crate::worker::Worker;

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

/// Runs `f` on a worker of `pool`, to which the calling thread does not belong. `queued` is called when it can be found.
pub(crate) fn run<F, R>(pool: &Inner, f: F, queued: impl FnOnce()) -> R
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
    queued();
    waiter.wait(&task.latch);
    match task.result.into_inner() {
        Some(Ok(result)) => result,
        Some(Err(payload)) => resume_unwind(payload),
        None => unreachable!("the latch is set after the result"),
    }
}
