//! What a pool's threads share: the slots, the queues, the sleepers, and the protocol of the pool's
//! end.
//!
//! # Shutdown
//!
//! 1. Ending the pool sets `ending` and wakes every worker.
//! 2. A worker that finds nothing to do any more *resigns*, waits for a moment whether all do, and
//!    parks; new work wakes it as ever, and takes it back into the count. So tasks that need each
//!    other still find a second worker, and detached tasks are run first, also those that tasks
//!    spawn meanwhile. It reads `ending` before it looks for the last time: the last searcher's
//!    look sees all that was queued from outside before the pool was told to end, so not all resign
//!    while that lies there.
//! 3. The last one to resign wakes the others, and all end.
//! 4. The slots are freed by the last of the pool's handle and its threads.
//!
//! The building thread of a pool that it is a worker of never resigns, and is not counted: its pool
//! ends without it.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use sinew_deque::{Injector, Queued};
use sinew_policy::Wait;
use sinew_sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use sinew_sync::current_worker;
use sinew_sync::fence as asymmetric;
use sinew_sync::lock::{Condvar, Mutex};
use sinew_sync::parker::Parker;
use sinew_sync::plant::{Bug, planted};
use sinew_sync::thread::yield_now;
use sinew_topology::CpuAssignment;

use crate::fork;
use crate::idle::backoff::ENDLESS;
use crate::idle::sleep::Sleepers;
use crate::idle::wake_placement::WakePlacement;
use crate::idle::wake_up_cost::WakeUpCost;
use crate::seams::cancel::CancelScope;
use crate::seams::hook::PoolHook;
use crate::seams::limit::Limit;
use crate::seams::observer::Observer;
use crate::seams::pins::PoolPins;
use crate::state::counters::Counters;
use crate::state::external_slot::ExternalSlot;
use crate::state::tls;
use crate::state::worker::Worker;
use crate::state::worker_slots::WorkerSlots;
use crate::stealing::Stealing;

/// How often a worker that has resigned offers its core to the others, who are about to resign
/// mostly, before it parks.
const LAST_OFFERS: u32 = if cfg!(shuttle) { 1 } else { 2 };

/// Among those who serve a pool: the last one has resigned.
const OVER: usize = 1 << (usize::BITS - 1);

/// What to do with the payload of a detached task that panicked.
pub(crate) type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;

/// Who sits at slot 0. The others have a thread of the pool each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FirstSlot {
    /// Callers from outside, one at a time.
    #[default]
    ExternalThreads,
    /// The thread that built the pool, for good.
    Builder,
    /// A thread of the pool.
    Thread,
    /// One thread, for the time of what it does [`serially`](crate::serially).
    Serial,
}

/// What a pool's threads share.
pub(crate) struct PoolState {
    /// Cores that the process could use when the pool was built.
    pub(crate) cores: usize,
    pub(crate) slots: WorkerSlots,
    pub(crate) first_slot: FirstSlot,
    pub(crate) sleepers: Sleepers,
    pub(crate) injector: Injector,
    /// The slot that took work from outside last; none at first.
    pub(crate) last_taker: AtomicUsize,
    pub(crate) external_slot: ExternalSlot,
    pub(crate) limit: Limit,
    /// What is under way and can be cancelled.
    pub(crate) cancel_scope: Arc<CancelScope>,
    /// Told of what happens to the pool.
    pub(crate) hooks: Box<[Arc<dyn PoolHook>]>,
    pub(crate) wait: Wait,
    /// Owners take from the old end of their queues.
    pub(crate) oldest_first: bool,
    /// A fixed spin window, where the adaptive one is not wanted.
    pub(crate) spin_ns: Option<u64>,
    /// Ticks that a thief loses between a steal and the stolen task, for experiments.
    pub(crate) steal_delay: u64,
    pub(crate) panic_handler: Option<PanicHandler>,
    /// Wakes the standby thread of a pool of one.
    pub(crate) standby: Parker,
    pub(crate) cpu_assignment: CpuAssignment,
    pub(crate) pins: PoolPins,
    /// Threads are pinned where the CPU assignment says.
    pub(crate) can_pin: bool,
    pub(crate) stealing: Stealing,
    pub(crate) wake_placement: WakePlacement,
    pub(crate) wake_up_cost: WakeUpCost,
    pub(crate) heavy_fences: bool,
    pub(crate) ending: AtomicBool,
    /// Threads that have come, or serve before that, and have not resigned; and delivered tasks
    /// that are not over. Or [`OVER`].
    pub(crate) serving: AtomicUsize,
    pub(crate) threads: Living,
    pub(crate) generation: u32,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    /// Returns the calling thread's worker of a pool of its own, and makes it first if need be; see
    /// [`serially`](crate::serially). A field, because this floor does not know how to build pools.
    pub(crate) serial_worker: fn() -> current_worker::Pointer,
}

impl PoolState {
    /// Distance level between two slots: 0 is the closest.
    pub(crate) fn distance(&self, a: usize, b: usize) -> u8 {
        self.cpu_assignment.distance(a, b)
    }

    /// The slots that have a thread of the pool.
    pub(crate) fn threaded_slots(&self) -> Range<usize> {
        usize::from(self.first_slot != FirstSlot::Thread)..self.slots.len()
    }

    /// Whether there is a thread that serves whoever calls from outside.
    pub(crate) fn has_threads(&self) -> bool {
        !self.threaded_slots().is_empty()
    }

    /// Whether this is what a thread does [`serially`](crate::serially).
    #[inline]
    pub(crate) fn is_serial(&self) -> bool {
        self.first_slot == FirstSlot::Serial
    }

    /// Whether callers from outside may sit down at slot 0.
    pub(crate) fn takes_external_threads(&self) -> bool {
        self.first_slot == FirstSlot::ExternalThreads
    }

    /// Whether a worker is awake for every core of the process, those of threads that call from
    /// outside included. A hint.
    pub(crate) fn wants_every_core(&self) -> bool {
        self.limit.get().min(self.slots.len()) >= self.cores && self.sleepers.all_are_up()
    }

    /// How many may search at once: half of those who may work, and two in any case, since a loop
    /// that follows another soon would have to wake the second worker each time.
    pub(crate) fn most_searchers(&self) -> usize {
        if self.spin_ns == Some(ENDLESS) {
            return self.slots.len();
        }
        self.limit.get().min(self.slots.len()).div_ceil(2).max(2)
    }

    /// Whether the pool lets its owners do without full fences once the heavy one works.
    pub(crate) fn may_rely_on_heavy_fences(&self) -> bool {
        self.heavy_fences
    }

    /// Whether owners can do without full fences now. A pool of one has no thieves, and needs none
    /// in any case.
    pub(crate) fn relies_on_heavy_fences(&self) -> bool {
        self.heavy_fences && (asymmetric::asymmetric() || self.slots.len() == 1)
    }

    /// Whether this process is a child that came by the pool through a fork.
    pub(crate) fn is_of_another_process(&self) -> bool {
        self.generation != fork::current()
    }

    /// How many slots have somebody awake at them; a hint.
    pub(crate) fn awake(&self) -> usize {
        // Relaxed: a hint.
        self.slots.iter().filter(|slot| slot.active.load(Ordering::Relaxed)).count()
    }

    /// The counters of all slots, summed.
    pub(crate) fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.slots.iter().for_each(|slot| sum += slot.counters.read());
        sum
    }

    /// Whether the workers are to end when they find nothing more to do.
    pub(crate) fn is_ending(&self) -> bool {
        // Acquire: pairs with `end`.
        self.ending.load(Ordering::Acquire)
    }

    /// The program has chosen a schedule or a mapping.
    pub(crate) fn tell_choice(&self) {
        self.hooks.iter().for_each(|hook| hook.settings_changed());
    }

    /// Queues work from outside and sees to it that somebody looks. `keeps_core` if the calling
    /// thread goes on running.
    pub(crate) fn inject(&self, queued: Queued, keeps_core: bool) {
        self.injector.push(queued);
        self.tell_of_injected(keeps_core);
    }

    /// Sees to it that a worker looks at what was queued from outside, and lets a fence pass.
    pub(crate) fn tell_of_injected(&self, keeps_core: bool) {
        if self.is_of_another_process() {
            return;
        }
        let last = self.last_taker.load(Ordering::Relaxed);
        if let Some(slot) = self.sleepers.wake_rather(last) {
            self.wake(&self.slots[slot], keeps_core);
        }
        if !self.has_threads() {
            self.standby.unpark();
        }
        self.call_substitute();
        self.hooks.iter().for_each(|hook| hook.work_arrived());
    }

    /// Hands a task to the worker at `slot` and to no other. While it is under way it counts as a
    /// thread that has not resigned: nobody else could run it, so its worker must not leave. The
    /// caller is a task of this pool, or knows that it does not end.
    pub(crate) fn deliver(&self, slot: usize, queued: Queued) {
        // Relaxed: published with the task.
        self.serving.fetch_add(1, Ordering::Relaxed);
        let slot = &self.slots[slot];
        slot.inbox.push(queued);
        let inside = tls::current_in(self).is_some_and(|worker| std::ptr::eq(worker, slot));
        if !inside && !self.is_of_another_process() && !planted(Bug::SilentDelivery) {
            // The token stays where the worker is awake: it looks again before it sleeps.
            self.wake(slot, true);
        }
    }

    /// Wakes a sleeper for new work, if one sleeps and nobody searches.
    pub(crate) fn wake_one(&self) -> bool {
        !self.is_of_another_process() && self.unpark(self.sleepers.wake_one())
    }

    /// Wakes a sleeper for what an owner has pushed, unless that does not pay and somebody will
    /// look before long.
    pub(crate) fn wake_for_push(&self) -> bool {
        !self.is_of_another_process()
            && self.unpark(self.sleepers.wake_for_push(!self.wake_up_cost.pays()))
    }

    /// Wakes a sleeper in any case.
    pub(crate) fn rouse(&self) -> bool {
        !self.is_of_another_process() && self.unpark(self.sleepers.rouse())
    }

    fn unpark(&self, slot: Option<usize>) -> bool {
        let Some(slot) = slot.map(|slot| &self.slots[slot]) else { return false };
        self.wake(slot, true);
        true
    }

    /// Wakes the worker, on another core than the caller's where the caller keeps that.
    fn wake(&self, slot: &Worker, keeps_core: bool) {
        if keeps_core && slot.parker.is_parked() {
            self.wake_placement.before_wake(&slot.placement);
        }
        slot.parker.unpark();
    }

    /// Tells the threads of the pool to end. A worker that did not see `ending` before it parked
    /// finds the token that is left here.
    pub(crate) fn end(&self) {
        self.ending.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        self.unpark_all();
        self.standby.unpark();
    }

    pub(crate) fn unpark_all(&self) {
        for slot in self.slots.iter() {
            slot.parker.unpark();
        }
    }

    /// A thread of the pool will come. Before it has, the pool may be over, unless the thread
    /// `serves` from now on.
    pub(crate) fn enlist(&self, serves: bool) {
        // Relaxed: published with the thread itself. The pool does not end while it is built.
        self.serving.fetch_add(usize::from(serves), Ordering::Relaxed);
        self.threads.begin();
    }

    /// A thread has come, or one that had resigned was woken. False if the pool is over.
    pub(crate) fn serve(&self) -> bool {
        let serve = |serving| (serving < OVER).then(|| serving + 1);
        self.serving.fetch_update(Ordering::AcqRel, Ordering::Acquire, serve).is_ok()
    }

    /// A delivered task is over, or a thread that serves will not come. Those who have resigned
    /// look again where nobody else is left to.
    pub(crate) fn retire(&self) {
        // AcqRel: whoever ends comes after all that the others did.
        if self.serving.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.unpark_all();
        }
    }

    /// A worker has found nothing to do while the pool ends. The last one wakes the others: it is
    /// over. Who is not the last waits for a moment: mostly the others are about to resign, too.
    /// Returns whether the pool is over then.
    pub(crate) fn resign(&self) -> bool {
        let resign = |serving| Some(if serving == 1 { OVER } else { serving - 1 });
        // AcqRel: as above.
        if self.serving.fetch_update(Ordering::AcqRel, Ordering::Acquire, resign) == Ok(1) {
            self.unpark_all();
            return true;
        }
        // Acquire: as whoever is woken by the last one.
        let is_over = || self.serving.load(Ordering::Acquire) >= OVER;
        (0..LAST_OFFERS).any(|_| {
            let over = is_over();
            if !over {
                yield_now();
            }
            over
        })
    }
}

/// How many threads of a pool have not left yet.
#[derive(Debug, Default)]
pub(crate) struct Living {
    count: Mutex<usize>,
    left: Condvar,
}

impl Living {
    fn begin(&self) {
        *self.count.lock() += 1;
    }

    /// A thread does nothing more for its pool.
    pub(crate) fn leave(&self) {
        let mut count = self.count.lock();
        *count -= 1;
        if *count == 0 {
            self.left.notify_all();
        }
    }

    /// Waits until all have left.
    pub(crate) fn wait(&self) {
        let mut count = self.count.lock();
        while *count > 0 {
            count = self.left.wait(count);
        }
    }
}
