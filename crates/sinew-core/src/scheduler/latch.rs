//! Latches: how a thread waits for one thing that happens once, or for the last of several.
//!
//! A latch is in the stack frame of the waiting thread, which ends as soon as the thread sees the
//! latch set. So the store that sets it is the setter's last access, and the setter copies what it
//! needs for the wake-up before.
//!
//! # Tests
//!
//! `models` below: the waiting thread sees all results, even if another thread wakes it early; a
//! worker that waits for another pool serves its own; three planted bugs.

use std::sync::Arc;

use sinew_sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use sinew_sync::clock::now_ns;
use sinew_sync::parker::Parker;
use sinew_sync::plant::{self, Bug};

use crate::state::worker::Worker;

/// The thread that waits for workers of a pool.
#[derive(Debug)]
pub(crate) enum Owner {
    /// The worker of that pool at this slot.
    Slot(usize),
    /// Another thread, which parks here.
    ExternalThread(Arc<Parker>),
}

impl Owner {
    /// Calls `last`, after which this owner may no longer exist, and wakes the owner if `last`
    /// returns true. `worker` is one of the pool's.
    ///
    /// # Safety
    ///
    /// `owner` is valid until `last` is called.
    #[inline]
    pub(crate) unsafe fn wake_after(
        owner: *const Self,
        worker: &Worker,
        last: impl FnOnce() -> bool,
    ) {
        // SAFETY: as the caller says. The slots of the worker's pool exist as long as it works.
        unsafe { Self::wake_among(owner, |slot| &worker.pool().slots[slot].parker, last) };
    }

    /// The same for a pool whose workers park where `parker_at` says.
    ///
    /// # Safety
    ///
    /// As [`wake_after`](Self::wake_after).
    #[inline]
    unsafe fn wake_among<'p>(
        owner: *const Self,
        parker_at: impl FnOnce(usize) -> &'p Parker,
        last: impl FnOnce() -> bool,
    ) {
        // SAFETY: as the caller says; what is needed later is copied.
        match unsafe { &*owner } {
            Self::Slot(slot) => {
                let slot = *slot;
                if last() {
                    parker_at(slot).unpark();
                }
            }
            Self::ExternalThread(parker) => {
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
    /// The time at which it was set, for an owner outside the pool; else 0.
    at_ns: AtomicU64,
    owner: Owner,
}

impl Latch {
    /// A latch that `owner` waits for.
    pub(crate) fn new(owner: Owner) -> Self {
        Self { set: AtomicU32::new(0), at_ns: AtomicU64::new(0), owner }
    }

    /// Sets the latch and wakes the waiting thread. `worker` is one of the pool that the latch's
    /// task was given to.
    ///
    /// # Safety
    ///
    /// `latch` is valid until it is set, and may not exist afterwards.
    pub(crate) unsafe fn set(latch: *const Self, worker: &Worker) {
        // SAFETY: as the caller says. The slots of the worker's pool exist as long as it works.
        unsafe { Self::set_among(latch, |slot| &worker.pool().slots[slot].parker) };
    }

    /// # Safety
    ///
    /// As [`set`](Self::set).
    unsafe fn set_among<'p>(latch: *const Self, parker_at: impl FnOnce(usize) -> &'p Parker) {
        // SAFETY: valid until the store, which is the last access. Release: pairs with `is_set`.
        unsafe {
            Owner::wake_among(&raw const (*latch).owner, parker_at, || {
                if matches!((*latch).owner, Owner::ExternalThread(_)) {
                    // Relaxed: published by the store that follows.
                    (*latch).at_ns.store(now_ns(), Ordering::Relaxed);
                }
                (*latch).set.store(1, plant::ordering(Bug::RelaxedLatch, Ordering::Release));
                true
            });
        }
    }

    /// The time at which the latch was set; for an owner outside the pool.
    pub(crate) fn set_at_ns(&self) -> Option<u64> {
        // Relaxed: the caller has seen the latch set.
        Some(self.at_ns.load(Ordering::Relaxed)).filter(|at_ns| *at_ns > 0)
    }

    /// Whether the latch is set.
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        // Acquire: pairs with `set`.
        self.set.load(Ordering::Acquire) == 1
    }
}

/// A latch that is set by the last of several parts.
#[derive(Debug)]
pub(crate) struct Countdown {
    left: AtomicUsize,
    latch: Latch,
}

impl Countdown {
    /// A latch that `owner` waits for, after so many `parts`.
    pub(crate) fn new(parts: usize, owner: Owner) -> Self {
        Self { left: AtomicUsize::new(parts), latch: Latch::new(owner) }
    }

    /// Set by the last part.
    pub(crate) fn latch(&self) -> &Latch {
        &self.latch
    }

    /// A part is over; the last one wakes the waiting thread. `worker` is one of the pool that the
    /// parts were given to.
    ///
    /// # Safety
    ///
    /// Called once for each part. `countdown` is valid until the last one, and may not exist
    /// afterwards.
    pub(crate) unsafe fn count(countdown: *const Self, worker: &Worker) {
        // SAFETY: as the caller says. The slots of the worker's pool exist as long as it works.
        unsafe { Self::count_among(countdown, |slot| &worker.pool().slots[slot].parker) };
    }

    /// # Safety
    ///
    /// As [`count`](Self::count).
    unsafe fn count_among<'p>(countdown: *const Self, parker_at: impl FnOnce(usize) -> &'p Parker) {
        // SAFETY: this part is counted in `left`, so the subtraction is within the countdown's
        // life; and if it was the last part, no other thread ends it.
        unsafe {
            // AcqRel: the last part, and with it the waiting thread, sees the effects of all parts.
            let before = (*countdown)
                .left
                .fetch_sub(1, plant::ordering(Bug::RelaxedCount, Ordering::AcqRel));
            if before == 1 {
                Latch::set_among(&raw const (*countdown).latch, parker_at);
            }
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use std::ptr::NonNull;

    use sinew_deque::{Injector, Queued, TaskRef};
    use sinew_sync::atomic::fence;
    use sinew_sync::cell::Cell;
    use sinew_sync::plant::{plant, planted};

    use super::*;
    use crate::idle::sleep::Sleepers;
    use crate::state::queue::Header;

    /// A broadcast of two parts in the frame of a thread that waits for it.
    struct Frame {
        countdown: Countdown,
        results: [Cell<u32>; 2],
    }

    // SAFETY: a result is written by its part, and read when all are over; that this is no race is
    // what loom checks.
    unsafe impl Sync for Frame {}
    // SAFETY: as above.
    unsafe impl Send for Frame {}

    impl Frame {
        fn run(&self, part: usize, parkers: &[Parker]) {
            // SAFETY: the part's own result.
            self.results[part].with_mut(|result| unsafe { *result = 1 });
            // SAFETY: once for each part, and the frame outlives the model's threads.
            unsafe { Countdown::count_among(&raw const self.countdown, |slot| &parkers[slot]) };
        }
    }

    /// As `wait_outside`, or the wait of a worker without work.
    fn wait_for(latch: &Latch, parker: &Parker) {
        while !latch.is_set() {
            parker.park();
        }
    }

    /// The owner waits at a slot of the parts' pool or outside it; one more thread wakes it for
    /// another reason.
    fn check_broadcast(slot: bool) {
        loom::model(move || {
            let parkers: Arc<[Parker; 2]> = Arc::new([Parker::new(), Parker::new()]);
            let external = Arc::new(Parker::new());
            let owner =
                if slot { Owner::Slot(1) } else { Owner::ExternalThread(Arc::clone(&external)) };
            let results = [Cell::new(0), Cell::new(0)];
            let frame = Arc::new(Frame { countdown: Countdown::new(2, owner), results });
            let threads = [0, 1].map(|part| {
                let (frame, parkers) = (Arc::clone(&frame), Arc::clone(&parkers));
                loom::thread::spawn(move || {
                    if part == 0 {
                        parkers[1].unpark();
                    }
                    frame.run(part, &*parkers);
                })
            });
            wait_for(frame.countdown.latch(), if slot { &parkers[1] } else { &external });
            // SAFETY: all parts are over.
            let sum: u32 =
                frame.results.iter().map(|result| result.with(|result| unsafe { *result })).sum();
            assert_eq!(sum, 2);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }

    /// Catches: a waiting thread that is forgotten, that goes on too early, or does not see the
    /// results.
    #[test]
    fn loom_the_last_part_wakes_whoever_waits_for_all() {
        check_broadcast(true);
        check_broadcast(false);
    }

    #[test]
    #[should_panic]
    fn loom_finds_parts_that_count_relaxed() {
        plant(&[Bug::RelaxedCount]);
        check_broadcast(false);
    }

    #[test]
    #[should_panic]
    fn loom_finds_a_latch_that_is_set_relaxed() {
        plant(&[Bug::RelaxedLatch]);
        check_broadcast(false);
    }

    unsafe fn never(_: NonNull<Header>, _: &Worker) {}
    static HEADER: Header = Header { run: never };

    /// Two pools of one worker each. The first worker waits for a task of the second pool, which in
    /// turn waits for a task that it gives to the first.
    struct Pools {
        sleepers: Sleepers,
        injector: Injector,
        parkers: [Arc<Parker>; 2],
        there: Latch,
        back: Latch,
        result: Cell<u32>,
    }

    // SAFETY: the result is written before `back` is set, and read after `there` is, which comes
    // later; that this is no race is what loom checks.
    unsafe impl Sync for Pools {}
    // SAFETY: as above.
    unsafe impl Send for Pools {}

    impl Pools {
        fn new() -> Self {
            let parkers = [0; 2].map(|_| Arc::new(Parker::new()));
            let [there, back] =
                parkers.clone().map(|parker| Latch::new(Owner::ExternalThread(parker)));
            let (sleepers, injector) = (Sleepers::new(2), Injector::new());
            Self { sleepers, injector, parkers, there, back, result: Cell::new(0) }
        }

        fn set(latch: &Latch) {
            // SAFETY: both latches live as long as the model's threads.
            unsafe { Latch::set_among(latch, |_| unreachable!("the owners are external threads")) };
        }

        /// The second pool's task: as `PoolState::inject`, and a worker that has nothing else to
        /// do.
        fn call_back(&self) {
            self.injector.push(Queued { task: TaskRef::new(NonNull::from(&HEADER)), depth: 0 });
            if let Some(slot) = self.sleepers.wake_one() {
                self.parkers[slot].unpark();
            }
            wait_for(&self.back, &self.parkers[1]);
            // SAFETY: the first worker is done with it.
            self.result.with_mut(|result| unsafe { *result += 1 });
            Self::set(&self.there);
        }

        /// A task of the first pool, if there is one.
        fn serve(&self) -> bool {
            let Some(_) = self.injector.pop(None) else { return false };
            // SAFETY: the second worker waits.
            self.result.with_mut(|result| unsafe { *result += 1 });
            Self::set(&self.back);
            true
        }

        /// As `Worker::sleep_for`.
        fn sleep(&self) {
            self.sleepers.sleep_in_wait(0);
            fence(Ordering::SeqCst); // M7
            let work = self.injector.has(None) && !planted(Bug::NoLastCheck);
            if !work && !self.there.is_set() {
                self.parkers[0].park();
            }
            self.sleepers.wake_up(0);
        }
    }

    fn check_pools() {
        loom::model(|| {
            let pools = Arc::new(Pools::new());
            let theirs = Arc::clone(&pools);
            let other = loom::thread::spawn(move || theirs.call_back());
            while !pools.there.is_set() {
                if !pools.serve() {
                    pools.sleep();
                }
            }
            // SAFETY: the second worker is done with it.
            assert_eq!(pools.result.with(|result| unsafe { *result }), 2);
            other.join().unwrap();
        });
    }

    /// Catches: a worker that sleeps although a call waits in its own pool, or although its wait is
    /// over.
    #[test]
    fn loom_a_worker_that_waits_for_another_pool_serves_its_own() {
        check_pools();
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn loom_finds_a_waiting_worker_that_does_not_look_once_more() {
        plant(&[Bug::NoLastCheck]);
        check_pools();
    }
}
