//! Workers that stand down because the limit is below their number.
//!
//! Worker slots with a number at or above the limit are *surplus*. Their threads stand down between
//! two tasks: they leave their queued tasks to thieves, park, and return when the limit rises, when
//! the pool ends, or for their part of a broadcast. A worker inside a join keeps its slot and
//! continues to help there. No task is interrupted, and no thread ends.
//!
//! # Invariants
//!
//! - L1: at least one thread of the pool is never surplus, so that callers from outside are served.
//! - L2: a worker that stands down is in no list of sleepers, and is not counted as a searcher. If
//!   it was woken for new work, it wakes another worker first.
//! - L3: in a pool with an external slot that is granted a single core, the external thread works
//!   alone, and the first thread is its *substitute*. The substitute is not surplus while no thread
//!   uses the external slot, or while a call from outside waits. It also takes tasks of the second
//!   queues that have waited for a while, because a thread may wait for one in a way that the pool
//!   cannot see.
//!
//! # Orderings
//!
//! M8: the limit is raised (Release), `unpark` ↔ `park`, the limit is read (Acquire): the token is
//! not lost, whichever comes first.
//!
//! # Cost
//!
//! One load of a read-only line, between two tasks. A pool that follows the limits of its process
//! reads them at most ten times a second. A worker without work reads them, or a worker between two
//! pieces of a loop or skeleton ([`between`](crate::scheduler::between)).

use sinew_deque::Queued;
use sinew_deque::deque::Taken;
use sinew_sync::atomic::{Ordering, fence};
use sinew_sync::plant::{Bug, planted};
use sinew_topology::Limits;

use crate::scheduler::job::Allowed;
use crate::scheduler::park::Parking;
use crate::seams::limit::{Limit, Room, Source};
use crate::state::pool_state::PoolState;
use crate::state::worker::Worker;

/// How long a task of a second queue waits, once or twice, before a substitute takes it.
const RELIEF_NS: u64 = 10_000_000;

/// The park of a surplus worker. It is in no list of sleepers (L2).
struct Surplus;

impl Parking for Surplus {
    fn looks_for(&self) -> Option<Allowed> {
        None
    }

    fn will_park(&mut self, worker: &Worker) -> bool {
        worker.deactivate();
        // M7, for a substitute: it is in no list of sleepers, and threads that have work for it
        // read the limit instead.
        fence(Ordering::SeqCst);
        true
    }

    fn sleep(&mut self, worker: &Worker) {
        let must_work = || !worker.is_surplus() || !worker.inbox.is_empty();
        if !worker.is_substitute() {
            return worker.parker.park_until(must_work);
        }
        let mut seen = false;
        while !must_work() {
            if !worker.parker.park_for(RELIEF_NS) {
                let queued = worker.pool().has_queued();
                if queued && seen {
                    worker.own.relieves.set(true);
                    break;
                }
                seen = queued;
            }
        }
    }
}

impl PoolState {
    /// Sets the limit of one source; it takes effect at each worker's next task. Returns the limit
    /// of the pool: at least one thread (L1), at most all slots. The share of other programs may
    /// reduce a pool to its external thread; the first thread is then its substitute (L3).
    pub(crate) fn set_limit(&self, source: Source, workers: usize) -> usize {
        let slots = self.slots.len();
        let fewest = (self.threaded_slots().start + 1).min(slots);
        let fewest_by_others = if self.takes_external_threads() { 1 } else { fewest };
        let room = Room { fewest, fewest_by_others, most: slots };
        let limit = self.limit.set(source, workers, room);
        if !self.is_of_another_process() && !planted(Bug::SilentRaise) {
            for worker in self.slots.iter().take(limit.end).skip(limit.start) {
                worker.parker.unpark();
            }
        }
        limit.end
    }

    /// How many workers may work.
    pub(crate) fn active_limit(&self) -> usize {
        self.limit.get().min(self.slots.len())
    }

    /// A call from outside waits: wakes the external thread's substitute, if the substitute must
    /// take it (L3).
    pub(crate) fn call_substitute(&self) {
        // The fence of M7 is between the queued call and this load. Acquire: M8.
        if self.limit.get() == 1 && self.takes_external_threads() && self.has_threads() {
            self.slots[1].parker.unpark();
        }
    }

    /// The external thread has left: the substitute runs the queued tasks now.
    pub(crate) fn relieve_external_thread(&self) {
        if self.limit.get() == 1 && self.has_queued() && !self.is_of_another_process() {
            self.call_substitute();
        }
    }

    /// Whether any second queue has tasks; a hint.
    fn has_queued(&self) -> bool {
        self.slots.iter().any(|worker| !worker.deque.is_empty())
    }

    /// Reads the limits of the process if a read is due, and limits the workers to the CPUs that
    /// they allow.
    pub(crate) fn follow_limits(&self) {
        if let Some(root) = self.limit.root_of_due_read() {
            self.set_limit(Source::Process, Limits::read_below(root).effective_threads());
        }
    }
}

impl Worker {
    /// For skeletons: how many of the pool's threads may take part now. This is the minimum of the
    /// number that was [set](crate::PoolControl::set_threads), the CPUs that affinity and quota
    /// allow, and the granted cores. At least 1; it may exceed the number of slots.
    ///
    /// # Cost
    ///
    /// One load of a read-only line.
    #[inline]
    pub fn allowed_threads(&self) -> usize {
        self.pool().limit.requested_threads()
    }

    /// The limit of the pool, for loops that compare it between two slices.
    #[inline]
    pub fn limit(&self) -> &Limit {
        &self.pool().limit
    }

    /// Whether this worker must stand down after its task, because it is above the limit; another
    /// worker can continue its work.
    pub fn is_to_stand_down(&self) -> bool {
        self.index() >= self.pool().limit.get()
    }

    /// Whether this worker should stand down: it is above the limit, and the pool neither ends nor
    /// needs it to serve callers. A helper in a loop leaves then.
    #[inline]
    pub fn is_surplus(&self) -> bool {
        self.index() >= self.pool().limit.get() && !self.pool().is_ending() && !self.stands_in()
    }

    /// Whether this is the external thread's substitute (L3): it can be surplus only where the
    /// limit is 1.
    fn is_substitute(&self) -> bool {
        self.index() == 1 && self.pool().takes_external_threads()
    }

    #[cold]
    fn stands_in(&self) -> bool {
        self.is_substitute()
            && (self.pool().external_slot.is_free() || !self.pool().injector.is_empty())
    }

    /// Parks while this worker is surplus and has no part in a broadcast.
    #[cold]
    pub(crate) fn stand_down(&self) {
        if !self.deque.is_empty() {
            self.wake_one();
        }
        self.park(&mut Surplus);
        self.activate();
    }

    /// A task for the substitute that has waited for long (L3).
    pub(crate) fn take_overdue(&self) -> Option<Queued> {
        if !self.own.relieves.take() {
            return None;
        }
        self.pool().slots.iter().find_map(|worker| match worker.deque.steal(None) {
            Taken::Task(queued) => Some(queued),
            Taken::Empty | Taken::Lost => None,
        })
    }

    /// A searcher that is surplus: wakes another searcher (L2) and stands down.
    #[cold]
    pub(crate) fn resign_search(&self) {
        if self.pool().sleepers.found_work() && !planted(Bug::KeptWake) && self.pool().rouse() {
            self.counters.wakes.add(1);
        }
        self.pool().hand_on_calls();
        self.stand_down();
    }
}

#[cfg(all(test, loom))]
mod models {
    use std::ptr::NonNull;
    use std::sync::Arc;

    use sinew_deque::{Injector, Queued, TaskRef};
    use sinew_sync::atomic::Ordering;
    use sinew_sync::parker::Parker;
    use sinew_sync::plant::{Bug, plant, planted};

    use crate::seams::limit::Limit;
    use crate::state::queue::Header;
    use crate::state::worker::Worker;

    unsafe fn never(_: NonNull<Header>, _: &Worker) {}
    static HEADER: Header = Header { run: never };

    /// The worker at slot 1 while the limit is 1.
    struct World {
        limit: Limit,
        inbox: Injector,
        parker: Parker,
    }

    impl World {
        /// As `Worker::stand_down`. Parking for ever is a deadlock, which loom reports.
        fn stand_down(&self) {
            self.parker.park_until(|| self.limit.get() >= 2 || !self.inbox.is_empty());
        }

        fn raise(&self) {
            self.limit.workers.swap(2, Ordering::AcqRel);
            if !planted(Bug::SilentRaise) {
                self.parker.unpark();
            }
        }

        fn deliver(&self) {
            self.inbox.push(Queued { task: TaskRef::new(NonNull::from(&HEADER)), depth: 0 });
            if !planted(Bug::SilentDelivery) {
                self.parker.unpark();
            }
        }
    }

    fn check(change: fn(&World)) {
        loom::model(move || {
            let world = Arc::new(World {
                limit: Limit::new(None),
                inbox: Injector::new(),
                parker: Parker::new(),
            });
            world.limit.workers.store(1, Ordering::Relaxed);
            let theirs = Arc::clone(&world);
            let worker = loom::thread::spawn(move || theirs.stand_down());
            change(&world);
            worker.join().unwrap();
        });
    }

    /// Catches: a change between the worker's check and its sleep (M8).
    #[test]
    fn loom_a_worker_that_stands_down_sees_the_limit_rise() {
        check(World::raise);
    }

    /// Catches: the same for a part of a broadcast.
    #[test]
    fn loom_a_worker_that_stands_down_sees_a_delivery() {
        check(World::deliver);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn loom_finds_a_limit_that_rises_in_silence() {
        plant(&[Bug::SilentRaise]);
        check(World::raise);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn loom_finds_a_silent_delivery() {
        plant(&[Bug::SilentDelivery]);
        check(World::deliver);
    }
}
