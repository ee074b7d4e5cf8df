//! The state that a pool's threads share: slots, queues, sleepers, and the shutdown protocol.
//!
//! # Shutdown
//!
//! 1. Ending the pool sets `ending` and wakes every worker.
//! 2. A worker that finds no more work *resigns*, waits for a moment for the others to resign, and
//!    parks. New work wakes it as usual, and adds it to the count again. So tasks that need each
//!    other still find a second worker, and detached tasks run first, including those that tasks
//!    spawn meanwhile. A worker reads `ending` before its last check. So the last searcher sees all
//!    work that was queued from outside before the shutdown began, and not all workers resign while
//!    such work waits.
//! 3. The last one to resign wakes the others, and all end.
//! 4. The slots are freed by the last of the pool's handle and its threads.
//!
//! A thread that has built a pool and is its worker 0 never resigns, and is not counted: the pool
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

/// How often a worker that has resigned yields its core before it parks, since the others usually
/// resign soon.
const LAST_OFFERS: u32 = if cfg!(shuttle) { 1 } else { 2 };

/// A value of the count of serving threads: the last one has resigned.
const OVER: usize = 1 << (usize::BITS - 1);

/// The handler for the payload of a detached task that panicked.
pub(crate) type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;

/// The thread of slot 0. Each other slot has a thread of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FirstSlot {
    /// Callers from outside, one at a time.
    #[default]
    ExternalThreads,
    /// The thread that built the pool, permanently.
    Builder,
    /// A thread of the pool.
    Thread,
    /// One thread, while it runs code [`serially`](crate::serially).
    Serial,
}

/// The state that a pool's threads share.
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
    /// Registered work, which can be cancelled.
    pub(crate) cancel_scope: Arc<CancelScope>,
    /// Functions called at events of the pool.
    pub(crate) hooks: Box<[Arc<dyn PoolHook>]>,
    pub(crate) wait: Wait,
    /// Owners take the oldest task of their queues.
    pub(crate) oldest_first: bool,
    /// A fixed spin window, instead of the adaptive one.
    pub(crate) spin_ns: Option<u64>,
    pub(crate) panic_handler: Option<PanicHandler>,
    /// Wakes the standby thread of a pool of one worker.
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
    /// The number of threads that have started, or serve before that, and have not resigned, plus
    /// the number of unfinished delivered tasks. Or [`OVER`].
    pub(crate) serving: AtomicUsize,
    pub(crate) threads: Living,
    pub(crate) generation: u32,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    /// Returns the calling thread's serial worker, and makes it if it does not exist; see
    /// [`serially`](crate::serially). A field, because this folder cannot import the builder.
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

    /// Whether a thread serves callers from outside.
    pub(crate) fn has_threads(&self) -> bool {
        !self.threaded_slots().is_empty()
    }

    /// Whether this is the pool of a thread that works [`serially`](crate::serially).
    #[inline]
    pub(crate) fn is_serial(&self) -> bool {
        self.first_slot == FirstSlot::Serial
    }

    /// Whether callers from outside may use slot 0.
    pub(crate) fn takes_external_threads(&self) -> bool {
        self.first_slot == FirstSlot::ExternalThreads
    }

    /// Whether a worker is awake for every core of the process, including the cores of external
    /// threads. A hint.
    pub(crate) fn wants_every_core(&self) -> bool {
        self.limit.get().min(self.slots.len()) >= self.cores && self.sleepers.all_are_up()
    }

    /// How many workers may search at once: half of the limit, but at least two, since otherwise
    /// each loop in a quick sequence would have to wake the second worker.
    pub(crate) fn most_searchers(&self) -> usize {
        if self.never_parks() {
            return self.slots.len();
        }
        self.limit.get().min(self.slots.len()).div_ceil(2).max(2)
    }

    /// Whether idle and waiting workers search without end (`Spin::Forever`).
    pub(crate) fn never_parks(&self) -> bool {
        self.spin_ns == Some(ENDLESS)
    }

    /// Whether owners may omit full fences once the heavy fence works.
    pub(crate) fn may_rely_on_heavy_fences(&self) -> bool {
        self.heavy_fences
    }

    /// Whether owners may omit full fences now. A pool of one worker has no thieves, and never
    /// needs them.
    pub(crate) fn relies_on_heavy_fences(&self) -> bool {
        self.heavy_fences && (asymmetric::is_asymmetric() || self.slots.len() == 1)
    }

    /// Whether this process is a child that inherited the pool through a fork.
    pub(crate) fn is_of_another_process(&self) -> bool {
        self.generation != fork::current()
    }

    /// The number of slots whose owner is awake; a hint.
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

    /// Whether the workers end when they find no more work.
    pub(crate) fn is_ending(&self) -> bool {
        // Acquire: pairs with `end`.
        self.ending.load(Ordering::Acquire)
    }

    /// The program has chosen a schedule or a mapping.
    pub(crate) fn tell_choice(&self) {
        self.hooks.iter().for_each(|hook| hook.settings_changed());
    }

    /// Queues work from outside and wakes a worker if needed. `keeps_core` if the calling thread
    /// continues to run.
    pub(crate) fn inject(&self, queued: Queued, keeps_core: bool) {
        self.injector.push(queued);
        self.tell_of_injected(keeps_core);
    }

    /// Executes a fence, and wakes a worker for work that was queued from outside, if needed.
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

    /// Delivers a task to the worker at `slot`. Until it has run, it counts as a thread that has
    /// not resigned: no other worker can run it, so its worker must not leave. The caller is a task
    /// of this pool, or otherwise keeps the pool from ending.
    pub(crate) fn deliver(&self, slot: usize, queued: Queued) {
        // Relaxed: published with the task.
        self.serving.fetch_add(1, Ordering::Relaxed);
        let slot = &self.slots[slot];
        slot.inbox.push(queued);
        let inside = tls::current_in(self).is_some_and(|worker| std::ptr::eq(worker, slot));
        if !inside && !self.is_of_another_process() && !planted(Bug::SilentDelivery) {
            // The token stays if the worker is awake, which then checks again before it sleeps.
            self.wake(slot, true);
        }
    }

    /// Wakes a sleeper for new work, if one sleeps and no worker searches.
    pub(crate) fn wake_one(&self) -> bool {
        !self.is_of_another_process() && self.unpark(self.sleepers.wake_one())
    }

    /// Wakes a sleeper for an owner's push, unless that does not pay and a parked worker will check
    /// soon.
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

    /// Wakes the worker, on another core than the caller's if the caller continues to run.
    fn wake(&self, slot: &Worker, keeps_core: bool) {
        if keeps_core && slot.parker.is_parked() {
            self.wake_placement.before_wake(&slot.placement);
        }
        slot.parker.unpark();
    }

    /// Starts the shutdown. A worker that did not see `ending` before it parked finds the token
    /// that is stored here.
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

    /// A thread of the pool will start. The pool may end before that, unless the thread `serves`
    /// from now on.
    pub(crate) fn enlist(&self, serves: bool) {
        // Relaxed: published with the thread itself. The pool does not end while it is built.
        self.serving.fetch_add(usize::from(serves), Ordering::Relaxed);
        self.threads.begin();
    }

    /// A thread has started, or one that had resigned was woken. False if the pool has ended.
    pub(crate) fn serve(&self) -> bool {
        let serve = |serving| (serving < OVER).then(|| serving + 1);
        self.serving.fetch_update(Ordering::AcqRel, Ordering::Acquire, serve).is_ok()
    }

    /// A delivered task has ended, or a serving thread will not start. If no other thread is left,
    /// those that have resigned check again.
    pub(crate) fn retire(&self) {
        // AcqRel: a thread that ends sees the effects of all others.
        if self.serving.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.unpark_all();
        }
    }

    /// A worker has found no work while the pool ends. The last one to resign ends the pool and
    /// wakes the others. A worker that is not the last waits for a moment, since the others usually
    /// resign soon. Returns whether the pool has ended.
    pub(crate) fn resign(&self) -> bool {
        let resign = |serving| Some(if serving == 1 { OVER } else { serving - 1 });
        // AcqRel: as above.
        if self.serving.fetch_update(Ordering::AcqRel, Ordering::Acquire, resign) == Ok(1) {
            self.unpark_all();
            return true;
        }
        // Acquire: as a worker that the last one wakes.
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

    /// A thread leaves its pool.
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
