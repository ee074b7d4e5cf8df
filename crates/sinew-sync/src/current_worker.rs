//! The current worker of a thread, and how a transaction replaces it for a time.
//!
//! A scheduler stores its current worker here, and reads it with one load. A transaction must not
//! be interrupted, so it replaces the current worker by the thread's *serial* worker, the only
//! worker of its pool. The two crates do not depend on each other,
//! and the scheduler's fast paths contain no test for transactions.
//!
//! # Cost
//!
//! [`begin`]: two loads and three stores, all to one cache line of this thread; [`end`]: a load and
//! two stores.
//!
//! # Not handled
//!
//! The scheduler owns the workers behind the pointers, and drops them. It makes the serial worker
//! when a transaction first asks for one.

use std::cell::Cell;
use std::ptr::null;

/// A scheduler's worker; this module never dereferences it.
pub type Pointer = *const ();

struct ThreadState {
    current: Cell<Pointer>,
    /// The thread's serial worker, once it exists.
    serial: Cell<Pointer>,
    /// The current worker before the transaction began.
    outer: Cell<Pointer>,
    busy: Cell<bool>,
    /// Makes the serial worker.
    make: Cell<fn() -> Pointer>,
}

impl ThreadState {
    const fn new() -> Self {
        Self {
            current: Cell::new(null()),
            serial: Cell::new(null()),
            outer: Cell::new(null()),
            busy: Cell::new(false),
            make: Cell::new(null),
        }
    }

    #[cold]
    fn make_cold(&self) -> Pointer {
        self.make.get()()
    }
}

#[cfg(not(any(loom, shuttle)))]
std::thread_local! {
    static STATE: ThreadState = const { ThreadState::new() };
}

#[cfg(shuttle)]
shuttle::thread_local! {
    static STATE: ThreadState = ThreadState::new();
}

#[cfg(loom)]
loom::thread_local! {
    static STATE: ThreadState = ThreadState::new();
}

/// The current worker, or null.
#[inline(always)]
pub fn current() -> Pointer {
    // Under a model checker the thread-local may be destroyed before other destructors of the
    // thread run.
    STATE.try_with(|state| state.current.get()).unwrap_or(null())
}

/// Makes `worker` the current one and returns the one before. `make` makes the thread's serial
/// worker and passes it to [`set_serial`].
#[inline(always)]
pub fn replace(worker: Pointer, make: fn() -> Pointer) -> Pointer {
    STATE.with(|state| {
        state.make.set(make);
        state.current.replace(worker)
    })
}

/// Restores the worker that [`replace`] returned.
#[inline(always)]
pub fn restore(worker: Pointer) {
    STATE.with(|state| state.current.set(worker));
}

/// Sets the thread's serial worker; null once it is dropped.
pub fn set_serial(worker: Pointer) {
    // As in `current`: no code uses it any more then.
    let _ = STATE.try_with(|state| state.serial.set(worker));
}

/// Whether this thread runs something that must not be interrupted.
#[inline]
pub fn is_busy() -> bool {
    STATE.with(|state| state.busy.get())
}

/// Begins something on this thread that must not be interrupted; calls do not nest. The current
/// worker is the serial one until [`end`].
///
/// A thread that is not a worker may have none; code that needs a worker there checks [`is_busy`].
#[inline(always)]
pub fn begin() {
    STATE.with(|state| {
        let (current, mut serial) = (state.current.get(), state.serial.get());
        if !current.is_null() && serial.is_null() {
            serial = state.make_cold();
        }
        state.outer.set(current);
        state.busy.set(true);
        state.current.set(serial);
    });
}

/// Ends what [`begin`] began: the worker before it is the current one again.
#[inline(always)]
pub fn end() {
    STATE.with(|state| {
        state.busy.set(false);
        state.current.set(state.outer.get());
    });
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    static WORKERS: [u8; 2] = [0; 2];

    fn worker(number: usize) -> Pointer {
        (&raw const WORKERS[number]).cast()
    }

    fn make() -> Pointer {
        set_serial(worker(1));
        worker(1)
    }

    /// Catches: a worker that is lost, one that is still found inside, and a serial worker that is
    /// made on a thread without a scheduler.
    #[test]
    fn a_worker_is_replaced_and_restored() {
        std::thread::spawn(|| {
            begin();
            assert!(current().is_null() && is_busy());
            end();
            assert!(replace(worker(0), make).is_null());
            for _ in 0..2 {
                begin();
                assert!(current() == worker(1) && is_busy());
                end();
                assert!(current() == worker(0) && !is_busy());
            }
            restore(null());
            assert!(current().is_null());
        })
        .join()
        .unwrap();
    }
}
