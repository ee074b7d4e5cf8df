//! The external slot: a thread from outside uses it during its call.
//!
//! Its holder owns the worker at slot 0, so joins and loops of `main` cost the same as inside the
//! pool. A second caller finds the slot taken, and queues its call for the pool's threads. In a
//! pool without threads it queues its call and waits until the external thread serves it
//! ([`service`](crate::scheduler::service)), or until the slot is free.
//!
//! # States
//!
//! | state | entered by | left by |
//! |---|---|---|
//! | `FREE` | `new`, `leave` | `try_enter`, `enter` |
//! | `TAKEN` | `try_enter` | `leave` → `FREE` |
//! | `AWAITED` | `enter` while others wait, or after a wait | `leave` → `FREE`, and the first waiter checks again |
//!
//! # Invariants
//!
//! - G2: while a thread waits, the state is `AWAITED`, or the first waiter has been woken and will
//!   try. Each tries after it has entered the list and before it parks. A waiter that leaves
//!   without the slot wakes the next.
//!
//! # Orderings
//!
//! G1: `leave`'s swap (Release) ↔ `try_enter` and `enter` (Acquire): the worker's state passes from
//! external thread to external thread.

use std::sync::Arc;

use sinew_sync::atomic::{AtomicU32, Ordering};
use sinew_sync::parker::Parker;
use sinew_sync::plant::{self, Bug};

use crate::seams::callers::Callers;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const AWAITED: u32 = 2;

#[derive(Debug)]
pub(crate) struct ExternalSlot {
    state: AtomicU32,
    waiting: Callers,
}

impl ExternalSlot {
    pub(crate) fn new() -> Self {
        Self { state: AtomicU32::new(FREE), waiting: Callers::default() }
    }

    /// Takes the slot if it is free.
    #[inline]
    pub(crate) fn try_enter(&self) -> bool {
        // Acquire: G1.
        self.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Whether the slot is free; a hint.
    pub(crate) fn is_free(&self) -> bool {
        // Relaxed: a caller that relies on it is called again.
        self.state.load(Ordering::Relaxed) == FREE
    }

    /// Takes the slot; waits until it is free.
    pub(crate) fn enter(&self) {
        self.enter_unless(&Arc::new(Parker::new()), || false, || None);
    }

    /// Takes the slot, and waits for it at `parker`, unless `is_done` returns true before. The
    /// thread that makes `is_done` true unparks, or the passing of time does: `left_ns` returns the
    /// nanoseconds until then. Returns whether the caller has the slot.
    pub(crate) fn enter_unless(
        &self,
        parker: &Arc<Parker>,
        is_done: impl Fn() -> bool,
        left_ns: impl Fn() -> Option<u64>,
    ) -> bool {
        let listed = self.waiting.enter(parker);
        let try_now = || {
            // Acquire: G1. AWAITED may be out of date, which costs the leaving external thread a
            // read of the list.
            self.state.swap(AWAITED, Ordering::Acquire) == FREE
        };
        let has_slot = loop {
            if try_now() {
                break true;
            }
            if is_done() {
                break false;
            }
            parker.park_at_most(left_ns());
        };
        drop(listed);
        if !has_slot && !plant::planted(Bug::KeptExternalSlot) {
            // This thread may have been woken for the slot (G2).
            self.waiting.wake_first();
        }
        has_slot
    }

    /// Leaves the slot. Its holder only.
    #[inline]
    pub(crate) fn leave(&self) {
        // Release: G1.
        if self.state.swap(FREE, plant::ordering(Bug::RelaxedLeave, Ordering::Release)) == AWAITED {
            self.wake_cold();
        }
    }

    #[cold]
    fn wake_cold(&self) {
        self.waiting.wake_first();
    }
}

#[cfg(all(test, loom))]
mod models {
    use std::sync::Arc;

    use sinew_sync::atomic::{AtomicU32, Ordering};
    use sinew_sync::cell::Cell;
    use sinew_sync::parker::Parker;
    use sinew_sync::plant::{Bug, plant};

    use super::ExternalSlot;

    struct World {
        slot: ExternalSlot,
        /// Represents the state of the worker.
        visits: Cell<u32>,
    }

    // SAFETY: `visits` is accessed by the holder of the slot only; that this is no race is what
    // loom checks.
    unsafe impl Sync for World {}
    // SAFETY: as above.
    unsafe impl Send for World {}

    impl World {
        fn visit(&self) {
            // SAFETY: the caller holds the slot.
            self.visits.with_mut(|visits| unsafe { *visits += 1 });
            self.slot.leave();
        }
    }

    fn check(external_threads: usize) {
        loom::model(move || {
            let world = Arc::new(World { slot: ExternalSlot::new(), visits: Cell::new(0) });
            let threads: Vec<_> = (0..external_threads)
                .map(|_| {
                    let world = Arc::clone(&world);
                    loom::thread::spawn(move || {
                        world.slot.enter();
                        world.visit();
                    })
                })
                .collect();
            let mut expected = external_threads as u32;
            if world.slot.try_enter() {
                world.visit();
                expected += 1;
            }
            for thread in threads {
                thread.join().unwrap();
            }
            world.slot.enter();
            // SAFETY: this thread holds the slot.
            let visits = world.visits.with(|visits| unsafe { *visits });
            assert_eq!(visits, expected);
        });
    }

    /// Catches: two external threads at once, a lost notification (loom reports the deadlock),
    /// state that does not pass on.
    #[test]
    fn loom_external_threads_take_turns() {
        check(1);
        check(2);
    }

    /// The slot is taken. One thread waits for it, another one for it or for a result, which it
    /// gets.
    fn check_answer() {
        loom::model(|| {
            let world = Arc::new(World { slot: ExternalSlot::new(), visits: Cell::new(0) });
            assert!(world.slot.try_enter());
            let (parker, answer) = (Arc::new(Parker::new()), Arc::new(AtomicU32::new(0)));
            let (theirs, mine) = (Arc::clone(&world), Arc::clone(&world));
            let (woken, there) = (Arc::clone(&parker), Arc::clone(&answer));
            let either = loom::thread::spawn(move || {
                let is_done = || there.load(Ordering::Acquire) == 1;
                if theirs.slot.enter_unless(&woken, is_done, || None) {
                    theirs.visit();
                }
            });
            let external = loom::thread::spawn(move || {
                mine.slot.enter();
                mine.visit();
            });
            answer.store(1, Ordering::Release);
            parker.unpark();
            world.visit();
            either.join().unwrap();
            external.join().unwrap();
        });
    }

    /// Catches: a thread that sleeps while the slot is free, because the woken waiter did not need
    /// it any more.
    #[test]
    fn loom_a_caller_that_has_its_answer_leaves_the_slot_to_the_next() {
        check_answer();
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn loom_finds_a_caller_that_keeps_what_it_was_woken_for() {
        plant(&[Bug::KeptExternalSlot]);
        check_answer();
    }

    #[test]
    #[should_panic]
    fn loom_finds_an_external_thread_that_leaves_relaxed() {
        plant(&[Bug::RelaxedLeave]);
        check(1);
    }
}
