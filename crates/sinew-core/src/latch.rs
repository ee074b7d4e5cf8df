//! Latches: how a thread waits for one thing that happens once.
//!
//! A latch lives in the waiting thread's frame, which is gone as soon as the latch is seen set. So the setter's last access to it is the store that sets it,
//! and what it needs to wake the waiting thread it takes before.

use std::sync::Arc;

use sinew_sync::atomic::{AtomicU32, Ordering};
use sinew_sync::parker::Parker;

use crate::worker::Worker;

/// Who waits for something that the workers of a pool bring about.
#[derive(Debug)]
pub(crate) enum Owner {
    /// The worker of that pool at this seat.
    Seat(usize),
    /// Another thread, which parks here.
    Elsewhere(Arc<Parker>),
}

impl Owner {
    /// Calls `last`, after which this owner may be gone, and wakes the owner if that answers true. `worker` is one of the pool's.
    ///
    /// # Safety
    ///
    /// `owner` is valid until `last` is called.
    #[inline]
    pub(crate) unsafe fn wake_after(owner: *const Self, worker: &Worker, last: impl FnOnce() -> bool) {
        // SAFETY: as the caller says; what is needed later is copied.
        match unsafe { &*owner } {
            Self::Seat(seat) => {
                let seat = *seat;
                if last() {
                    // The seats of the worker's pool are there as long as it works.
                    worker.pool().seats[seat].parker.unpark();
                }
            }
            Self::Elsewhere(parker) => {
                let parker = Arc::clone(parker);
                if last() {
                    parker.unpark();
                }
            }
        }
    }
}

/// Set once, awaited by one thread.
#[derive(Debug)]
pub(crate) struct Latch {
    set: AtomicU32,
    owner: Owner,
}

impl Latch {
    /// A latch that `owner` waits for.
    pub(crate) fn new(owner: Owner) -> Self {
        Self { set: AtomicU32::new(0), owner }
    }

    /// Sets the latch and wakes the waiting thread. `worker` is one of the pool that the latch's task was given to.
    ///
    /// # Safety
    ///
    /// `latch` is valid until it is set; it may be gone directly after.
    pub(crate) unsafe fn set(latch: *const Self, worker: &Worker) {
        // SAFETY: valid until the store, which is the last access. Release: pairs with `is_set`.
        unsafe {
            Owner::wake_after(&raw const (*latch).owner, worker, || {
                (*latch).set.store(1, Ordering::Release);
                true
            });
        }
    }

    /// Whether the latch is set.
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        // Acquire: pairs with `set`.
        self.set.load(Ordering::Acquire) == 1
    }
}
