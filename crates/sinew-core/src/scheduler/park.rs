//! How a worker parks: its steal requests, its last checks for work, and the timed park between
//! them.
//!
//! A worker parks without work (`search`), in a blocked join or scope (`wait`), and above the limit
//! (`surplus`). Each kind of park is a type that implements [`Parking`]. [`Worker::park`] executes
//! the steps, in an order that `sleep` proves.
//!
//! # Steps
//!
//! 1. The worker sets steal requests, and looks for work ([`Parking::looks_for`]).
//! 2. It makes its last preparations, or finds that it need not park ([`Parking::will_park`]).
//! 3. If the check left it unsure, it parks for a limited time ([`Parking::timed_park`]), executes
//!    a heavy fence, and looks for work again.
//! 4. It parks until a thread wakes it, or its time is over ([`Parking::sleep`]).
//!
//! # Cost
//!
//! A check reads two cache lines of each other worker. The observer and the counters see one park,
//! which begins after step 2.

use sinew_deque::stack::reason;
use sinew_sync::atomic::{Ordering, fence};
use sinew_sync::fence::heavy;
use sinew_sync::plant::{Bug, planted};

use crate::scheduler::job::Allowed;
use crate::seams::observer::Activity;
use crate::state::pool_state::PoolState;
use crate::state::worker::Worker;

/// One kind of park.
pub(crate) trait Parking {
    /// The tasks for which the worker looks before it parks; `None` if the thread that has work for
    /// it wakes it in any case.
    fn looks_for(&self) -> Option<Allowed>;

    /// The worker has seen no work. Returns whether it parks.
    fn will_park(&mut self, worker: &Worker) -> bool;

    /// The nanoseconds after which the worker ends its park without a wake-up.
    fn left_ns(&self) -> Option<u64> {
        None
    }

    /// Parks for a limited time. Returns whether the worker was woken or has seen work.
    fn timed_park(&self, worker: &Worker) -> bool {
        worker.parker.park_for(self.left_ns().map_or(TIMED_PARK_NS, |ns| ns.min(TIMED_PARK_NS)))
    }

    /// Parks until the worker is woken, or no time is left.
    fn sleep(&mut self, worker: &Worker) {
        worker.parker.park_at_most(self.left_ns());
    }
}

/// The result of a [`park`](Worker::park).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parked {
    /// The worker has seen work before it parked.
    SawWork,
    /// It found that it [need not park](Parking::will_park).
    NotNeeded,
    /// It was parked.
    Woken,
}

/// The result of a check before a park.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// There is work that the worker may run.
    Work,
    /// There is no work, and an owner that pushes later will wake a worker.
    Nothing,
    /// There is no work, but an owner may have pushed at the same moment and seen no request.
    Unsure,
}

/// How long an unsure worker parks before it makes sure with a heavy fence. It is unsure only of
/// stores that become visible within nanoseconds, so work hardly ever waits for that time.
const TIMED_PARK_NS: u64 = 1_000_000;

/// The same where owners do not wake workers in timed parks. Work that would pay for a wake-up
/// waits at most so long.
const SHORT_TIMED_PARK_NS: u64 = 400_000;

/// The number of short timed parks in a row without work. A request costs its owner a wake-up, and
/// the heavy fence interrupts it; a check costs the owner nothing.
const SHORT_TIMED_PARKS: u32 = if cfg!(shuttle) { 1 } else { 4 };

impl Worker {
    /// Parks, unless this worker sees work or need not park. A worker in a list of sleepers leaves
    /// it afterwards.
    pub(crate) fn park(&self, parking: &mut dyn Parking) -> Parked {
        let allowed = parking.looks_for();
        let seen = allowed.map_or(Seen::Nothing, |allowed| self.first_check(allowed));
        if seen == Seen::Work {
            self.search_was_in_vain();
            return Parked::SawWork;
        }
        if !parking.will_park(self) {
            return Parked::NotNeeded;
        }
        self.counters.parks.add(1);
        let _parked = self.begin(Activity::Park);
        let is_awake = match allowed {
            Some(allowed) if seen == Seen::Unsure => {
                parking.timed_park(self) || self.last_check(allowed)
            }
            _ => false,
        };
        if !is_awake {
            self.placement.restore_mask(); // K1
            parking.sleep(self);
        }
        Parked::Woken
    }

    /// Parks for a limited time, during which owners need not wake it. Returns whether it was woken
    /// or has seen work; else it must check once more (S4).
    pub(crate) fn timed_park(&self) -> bool {
        let PoolState { sleepers, wake_up_cost, .. } = self.pool();
        sleepers.begin_timed_park();
        let woken = match wake_up_cost.pays() {
            true => self.parker.park_for(TIMED_PARK_NS),
            false => {
                let short = || self.parker.park_for(SHORT_TIMED_PARK_NS);
                // No check after the last: a worker that was not woken checks in any case.
                short() || (1..SHORT_TIMED_PARKS).any(|_| self.sees_work(Allowed::Any) || short())
            }
        };
        sleepers.end_timed_park();
        if !woken && !planted(Bug::ForgottenStealRequest) {
            self.leave_notes();
        }
        woken
    }

    /// Before a park: sets a steal request at every slot, and checks for work. Exact for work
    /// whose owner wakes a worker (M7), and if no owner is active that could push without a fence
    /// (M9).
    fn first_check(&self, allowed: Allowed) -> Seen {
        if planted(Bug::NoLastCheck) {
            return Seen::Nothing;
        }
        fence(Ordering::SeqCst); // M7, M9
        // Relaxed: made exact by the fence. A worker that becomes active later publishes and wakes
        // at its first push.
        let active = self.others().any(|worker| worker.active.load(Ordering::Relaxed));
        if active {
            self.leave_notes();
            fence(Ordering::SeqCst); // M5, where owners execute full fences
        }
        match self.sees_work(allowed) {
            true => Seen::Work,
            // Under shuttle every park begins with a timed park.
            false if active && (self.pool().may_rely_on_heavy_fences() || cfg!(shuttle)) => {
                Seen::Unsure
            }
            false => Seen::Nothing,
        }
    }

    /// Requests that the next push publishes tasks and wakes a worker.
    fn leave_notes(&self) {
        for worker in self.others() {
            worker.stack.set_poll_reason(reason::STEAL_REQUEST);
        }
    }

    /// After an unsure [`first_check`](Self::first_check): executes a heavy fence, and checks once
    /// more (M5).
    fn last_check(&self, allowed: Allowed) -> bool {
        heavy();
        self.sees_work(allowed)
    }

    fn others(&self) -> impl Iterator<Item = &Self> {
        self.pool().slots.iter().filter(|worker| worker.index() != self.index())
    }

    pub(crate) fn sees_work(&self, allowed: Allowed) -> bool {
        let above = allowed.above();
        let has_work = |worker: &Self| {
            (worker.stack.has_tasks() && self.may_take_from(worker, allowed))
                || worker.deque.has(above)
        };
        self.pool().injector.has(above) || self.others().any(has_work)
    }
}
