//! Which worker the current thread is.
//!
//! A thread can be a worker of several pools at once, one inside the other: a worker of one pool may enter another as its guest. The
//! innermost is the current one; each knows the one around it.

use std::cell::Cell;

use crate::pool::Inner;
use crate::worker::Worker;

#[cfg(not(any(loom, shuttle)))]
std::thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(std::ptr::null()) };
}

#[cfg(shuttle)]
shuttle::thread_local! {
    static CURRENT: Cell<*const Worker> = Cell::new(std::ptr::null());
}

#[cfg(loom)]
loom::thread_local! {
    static CURRENT: Cell<*const Worker> = Cell::new(std::ptr::null());
}

/// The innermost worker that this thread is.
#[inline(always)]
pub(crate) fn current<'a>() -> Option<&'a Worker> {
    // SAFETY: the pointer is set by `enter` for as long as its guard lives, which is inside the life of the pool; callers use the
    // reference inside one call of theirs, during which no guard of this thread below them can go.
    CURRENT.with(|current| unsafe { current.get().as_ref() })
}

/// The worker of `pool` that this thread is, if it is one.
pub(crate) fn current_in<'a>(pool: &Inner) -> Option<&'a Worker> {
    let mut worker = current();
    while let Some(candidate) = worker {
        if std::ptr::eq(candidate.pool(), pool) {
            return worker;
        }
        worker = candidate.around();
    }
    None
}

/// Makes this thread `worker` until the guard is dropped.
pub(crate) fn enter(worker: &Worker) -> Entered {
    let around = CURRENT.with(|current| current.replace(worker));
    worker.set_around(around);
    Entered { around }
}

/// The guard of [`enter`].
pub(crate) struct Entered {
    around: *const Worker,
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.around));
    }
}
