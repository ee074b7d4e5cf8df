//! The guest seat: where a thread that calls in from outside sits down for the time of its call.
//!
//! Whoever holds the seat owns its worker, so that joins and loops of `main` cost what they cost inside the pool. A second caller finds
//! the seat taken and hands its work to the pool instead; only a pool that has no threads makes it wait.
//!
//! # States
//!
//! | state | entered by | left by |
//! |---|---|---|
//! | `FREE` | `new`, `leave` | `try_enter`, `enter` |
//! | `TAKEN` | `try_enter` | `leave` → `FREE` |
//! | `AWAITED` | `enter` while others wait, or that had to wait | `leave` → `FREE` and a notification |
//!
//! # Orderings
//!
//! G1: `leave`'s swap (Release) ↔ `try_enter` and `enter` (Acquire): the worker's state passes from guest to guest.

use sinew_sync::atomic::{AtomicU32, Ordering};
use sinew_sync::lock::{Condvar, Mutex};
use sinew_sync::plant::{self, Bug};

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const AWAITED: u32 = 2;

#[derive(Debug)]
pub(crate) struct GuestSeat {
    state: AtomicU32,
    lock: Mutex<()>,
    freed: Condvar,
}

impl GuestSeat {
    pub(crate) fn new() -> Self {
        Self { state: AtomicU32::new(FREE), lock: Mutex::new(()), freed: Condvar::new() }
    }

    /// Takes the seat if it is free.
    #[inline]
    pub(crate) fn try_enter(&self) -> bool {
        // Acquire: G1.
        self.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Whether nobody has the seat; a hint.
    pub(crate) fn is_free(&self) -> bool {
        // Relaxed: whoever relies on it is called again.
        self.state.load(Ordering::Relaxed) == FREE
    }

    /// Takes the seat, waiting for it if need be.
    pub(crate) fn enter(&self) {
        let mut guard = self.lock.lock();
        // Acquire: G1. AWAITED may say too much, which costs the leaving guest one notification.
        while self.state.swap(AWAITED, Ordering::Acquire) != FREE {
            guard = self.freed.wait(guard);
        }
    }

    /// Gives the seat up. Its holder only.
    #[inline]
    pub(crate) fn leave(&self) {
        // Release: G1.
        if self.state.swap(FREE, plant::ordering(Bug::RelaxedLeave, Ordering::Release)) == AWAITED {
            self.notify();
        }
    }

    #[cold]
    fn notify(&self) {
        drop(self.lock.lock());
        self.freed.notify_one();
    }
}

#[cfg(all(test, loom))]
mod models {
    use std::sync::Arc;

    use sinew_sync::cell::Cell;
    use sinew_sync::plant::{Bug, plant};

    use super::GuestSeat;

    struct World {
        seat: GuestSeat,
        /// Stands for the state of the worker.
        visits: Cell<u32>,
    }

    // SAFETY: `visits` is accessed by the holder of the seat only; that this is no race is what loom checks.
    unsafe impl Sync for World {}
    // SAFETY: as above.
    unsafe impl Send for World {}

    impl World {
        fn visit(&self) {
            // SAFETY: the caller holds the seat.
            self.visits.with_mut(|visits| unsafe { *visits += 1 });
            self.seat.leave();
        }
    }

    fn check(guests: usize) {
        loom::model(move || {
            let world = Arc::new(World { seat: GuestSeat::new(), visits: Cell::new(0) });
            let threads: Vec<_> = (0..guests)
                .map(|_| {
                    let world = Arc::clone(&world);
                    loom::thread::spawn(move || {
                        world.seat.enter();
                        world.visit();
                    })
                })
                .collect();
            let mut expected = guests as u32;
            if world.seat.try_enter() {
                world.visit();
                expected += 1;
            }
            for thread in threads {
                thread.join().unwrap();
            }
            world.seat.enter();
            // SAFETY: this thread holds the seat.
            let visits = world.visits.with(|visits| unsafe { *visits });
            assert_eq!(visits, expected);
        });
    }

    /// Would miss: two guests at once, a lost notification (loom reports the deadlock), state that does not pass on.
    #[test]
    fn loom_guests_take_turns() {
        check(1);
        check(2);
    }

    #[test]
    #[should_panic]
    fn loom_finds_a_guest_that_leaves_relaxed() {
        plant(&[Bug::RelaxedLeave]);
        check(1);
    }
}
