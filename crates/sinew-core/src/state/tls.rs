//! The worker of the current thread.
//!
//! A thread can be a worker of several nested pools: a worker of one pool may enter another as its
//! external thread, and then its own again. Each entry is a frame on the thread's stack with a
//! pointer to the enclosing one; the innermost is the current one.

use std::cell::Cell;
use std::ptr::null;
use std::sync::Arc;

use sinew_sync::current_worker;

use crate::seams::observer::Event;
use crate::state::pool_state::PoolState;
use crate::state::worker::Worker;

/// One entry of this thread into a pool.
struct Frame {
    worker: *const Worker,
    around: *const Frame,
}

/// The innermost entry. Its worker lies in the thread's [`current_worker`], because the free
/// functions read nothing else, and a transaction replaces it.
struct Here {
    frame: Cell<*const Frame>,
}

impl Here {
    const fn outside() -> Self {
        Self { frame: Cell::new(null()) }
    }
}

#[cfg(not(any(loom, shuttle)))]
std::thread_local! {
    static HERE: Here = const { Here::outside() };
}

#[cfg(shuttle)]
shuttle::thread_local! {
    static HERE: Here = Here::outside();
}

#[cfg(loom)]
loom::thread_local! {
    static HERE: Here = Here::outside();
}

/// This thread's innermost worker.
#[inline(always)]
pub(crate) fn current<'a>() -> Option<&'a Worker> {
    // SAFETY: `within` sets the pointer while its guard exists, and the pool outlives the guard.
    // Callers use the reference inside one call, during which no guard of an enclosing frame of
    // this thread is dropped. During a transaction it is the worker of the thread's own pool, which
    // exists as long as the thread runs transactions (`serially`).
    unsafe { current_worker::current().cast::<Worker>().as_ref() }
}

/// This thread's worker in `pool`, if it has one.
#[inline]
pub(crate) fn current_in<'a>(pool: &PoolState) -> Option<&'a Worker> {
    match current() {
        Some(worker) if std::ptr::eq(worker.pool(), pool) => Some(worker),
        Some(_) => around_in(pool),
        None => None,
    }
}

/// The same for a pool that the thread entered before the present one.
#[cold]
fn around_in<'a>(pool: &PoolState) -> Option<&'a Worker> {
    let mut frame = HERE.with(|here| here.frame.get());
    // SAFETY: frames and their workers are valid while their guards exist, and enclosing frames
    // outlive a frame; see `current`.
    while let Some(here) = unsafe { frame.as_ref() } {
        // SAFETY: as above.
        let worker = unsafe { &*here.worker };
        if std::ptr::eq(worker.pool(), pool) {
            return Some(worker);
        }
        frame = here.around;
    }
    None
}

/// The worker that serves calls into `pool`: this thread's in that pool, or its serial one, if it
/// works serially.
#[inline]
pub(crate) fn serving<'a>(pool: &PoolState) -> Option<&'a Worker> {
    match current() {
        Some(worker) if std::ptr::eq(worker.pool(), pool) || worker.pool().is_serial() => {
            Some(worker)
        }
        Some(_) => around_in(pool),
        None => alone(pool),
    }
}

/// The serial worker of a thread outside of pools that is in the middle of a transaction.
#[cold]
fn alone<'a>(pool: &PoolState) -> Option<&'a Worker> {
    if !current_worker::is_busy() {
        return None;
    }
    // Until the transaction ends.
    current_worker::restore((pool.serial_worker)());
    current()
}

/// Whether this thread works [`serially`](crate::serially).
#[inline]
pub(crate) fn is_serial() -> bool {
    current().is_some_and(|worker| worker.pool().is_serial())
}

/// This thread's innermost worker other than its serial one.
#[cold]
pub(crate) fn around_serial<'a>() -> Option<&'a Worker> {
    let mut frame = HERE.with(|here| here.frame.get());
    // SAFETY: as in `around_in`.
    while let Some(here) = unsafe { frame.as_ref() } {
        // SAFETY: as above.
        let worker = unsafe { &*here.worker };
        if !worker.pool().is_serial() {
            return Some(worker);
        }
        frame = here.around;
    }
    None
}

/// Calls `f` while `worker`, which this thread owns, is the current one.
pub(crate) fn within<R>(worker: &Worker, f: impl FnOnce() -> R) -> R {
    HERE.with(|here| {
        let frame = Frame { worker, around: here.frame.get() };
        let before =
            current_worker::replace(std::ptr::from_ref(worker).cast(), worker.pool().serial_worker);
        let _guard = Guard { here, worker: before, frame: here.frame.replace(&raw const frame) };
        f()
    })
}

/// Makes the calling thread, which is no worker yet, the worker at slot 0 of `pool` permanently.
/// The pool is never freed.
pub(crate) fn settle(pool: &Arc<PoolState>) {
    let pool: &'static PoolState = Box::leak(Box::new(Arc::clone(pool)));
    let worker = &pool.slots[0];
    let frame: &'static Frame = Box::leak(Box::new(Frame { worker, around: null() }));
    current_worker::replace(std::ptr::from_ref(worker).cast(), pool.serial_worker);
    HERE.with(|here| here.frame.set(frame));
    worker.tell(Event::Enter { calls: true });
    worker.activate();
}

/// Calls `f` with `worker`, which this thread owns, as the current one.
#[inline]
pub(crate) fn with_current<R>(worker: &Worker, f: impl FnOnce(&Worker) -> R) -> R {
    match current() {
        Some(current) if std::ptr::eq(current, worker) => f(worker),
        _ => within(worker, || f(worker)),
    }
}

/// Restores the earlier current worker, also after a panic.
struct Guard<'a> {
    here: &'a Here,
    worker: current_worker::Pointer,
    frame: *const Frame,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        current_worker::restore(self.worker);
        self.here.frame.set(self.frame);
    }
}
