//! Whom a thread's free functions find as its worker, and how transactions set that aside.
//!
//! A scheduler keeps its current worker here, and finds it with one load. Whoever begins something
//! that must not be interrupted, a transaction say, puts the thread's *alone* worker in its place:
//! one that has no others, so that everything inside runs serially. Neither crate knows the other,
//! and the scheduler's fast paths know nothing of it: they find a worker and use it.
//!
//! # Cost
//!
//! [`begin`]: two loads and three stores, all of them of one line of this thread's; [`end`]: a load and two stores.
//!
//! # Not handled
//!
//! What the pointers lead to, and for how long: that is the scheduler's. It makes the alone worker
//! when a transaction first asks for one.

use std::cell::Cell;
use std::ptr::null;

/// A scheduler's worker; nothing is done with it here.
pub type Pointer = *const ();

struct Seat {
    current: Cell<Pointer>,
    /// The thread's worker without others, once there is one.
    alone: Cell<Pointer>,
    /// The current worker before the transaction began.
    aside: Cell<Pointer>,
    busy: Cell<bool>,
    /// Makes the alone worker.
    make: Cell<fn() -> Pointer>,
}

impl Seat {
    const fn new() -> Self {
        Self {
            current: Cell::new(null()),
            alone: Cell::new(null()),
            aside: Cell::new(null()),
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
    static SEAT: Seat = const { Seat::new() };
}

#[cfg(shuttle)]
shuttle::thread_local! {
    static SEAT: Seat = Seat::new();
}

#[cfg(loom)]
loom::thread_local! {
    static SEAT: Seat = Seat::new();
}

/// The current worker, or null.
#[inline(always)]
pub fn current() -> Pointer {
    // Under a model checker the seat may be gone when destructors of the thread ask.
    SEAT.try_with(|seat| seat.current.get()).unwrap_or(null())
}

/// Makes `worker` the current one; answers the one before. `make` is who makes the thread's alone
/// worker, and [says so](set_alone).
#[inline(always)]
pub fn replace(worker: Pointer, make: fn() -> Pointer) -> Pointer {
    SEAT.with(|seat| {
        seat.make.set(make);
        seat.current.replace(worker)
    })
}

/// Puts back what [`replace`] has answered.
#[inline(always)]
pub fn restore(worker: Pointer) {
    SEAT.with(|seat| seat.current.set(worker));
}

/// Says which worker is the thread's alone one; null when it is gone.
pub fn set_alone(worker: Pointer) {
    // As in `current`: nobody asks for it any more then.
    let _ = SEAT.try_with(|seat| seat.alone.set(worker));
}

/// Whether something is under way on this thread that must not be interrupted.
#[inline]
pub fn is_busy() -> bool {
    SEAT.with(|seat| seat.busy.get())
}

/// Something begins on this thread that must not be interrupted, and has not yet begun: the current
/// worker is the alone one until [`end`].
///
/// On a thread that is no worker there may be none; whoever looks for one there asks [`is_busy`].
#[inline(always)]
pub fn begin() {
    SEAT.with(|seat| {
        let (current, mut alone) = (seat.current.get(), seat.alone.get());
        if !current.is_null() && alone.is_null() {
            alone = seat.make_cold();
        }
        seat.aside.set(current);
        seat.busy.set(true);
        seat.current.set(alone);
    });
}

/// What [`begin`] began is over: the worker before it is the current one again.
#[inline(always)]
pub fn end() {
    SEAT.with(|seat| {
        seat.busy.set(false);
        seat.current.set(seat.aside.get());
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
        set_alone(worker(1));
        worker(1)
    }

    /// Catches: a worker that is lost, or still found inside, and one that is made where nobody
    /// schedules.
    #[test]
    fn a_worker_is_set_aside_and_put_back() {
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
