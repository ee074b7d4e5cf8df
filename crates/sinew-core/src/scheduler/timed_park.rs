//! Before a sleep: the notes that a worker leaves, its last looks for work, and the timed park
//! between them.
//!
//! The order of all this is argued in `sleep`.

use sinew_deque::stack::reason;
use sinew_sync::atomic::{Ordering, fence};
use sinew_sync::fence::heavy;
use sinew_sync::plant::{Bug, planted};

use crate::scheduler::job::Allowed;
use crate::state::pool_state::PoolState;
use crate::state::worker::Worker;

/// What a worker sees before it sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Work that it may do.
    Work,
    /// Nothing, and whoever pushes later will wake.
    Nothing,
    /// Nothing; somebody may have pushed at the same moment and seen no note.
    Unsure,
}

/// How long a worker parks that is not sure that there is nothing to do, before it makes sure at
/// the price of a heavy fence. The doubt is about stores that are on their way for nanoseconds, so
/// it hardly ever costs that time.
pub(crate) const TIMED_PARK_NS: u64 = 1_000_000;

/// The same where owners do not wake workers in timed parks. At worst, work that has become worth a
/// wake-up lies for so long.
const SHORT_TIMED_PARK_NS: u64 = 400_000;

/// So many short timed parks follow one another while nothing is to be seen. A note costs its owner
/// a wake-up, and the heavy fence interrupts it; a look costs the owner nothing.
const SHORT_TIMED_PARKS: u32 = if cfg!(shuttle) { 1 } else { 4 };

impl Worker {
    /// Sleeps for a moment, in which owners need not wake it. Answers whether it was woken or has
    /// seen work; else it must look once more (S4).
    pub(crate) fn timed_park(&self) -> bool {
        let PoolState { sleepers, wake_up_cost, .. } = self.pool();
        sleepers.begin_timed_park();
        let woken = match wake_up_cost.pays() {
            true => self.parker.park_for(TIMED_PARK_NS),
            false => {
                let short = || self.parker.park_for(SHORT_TIMED_PARK_NS);
                // No look after the last: whoever was not woken looks in any case.
                short() || (1..SHORT_TIMED_PARKS).any(|_| self.sees_work(Allowed::Any) || short())
            }
        };
        sleepers.end_timed_park();
        if !woken && !planted(Bug::ForgottenNote) {
            self.leave_notes();
        }
        woken
    }

    /// Before a sleep: leaves a note at every slot, and looks whether there is work after all.
    /// Exact for work whose owner wakes for it (M7), and where nobody is active who could push
    /// without a fence (M9).
    pub(crate) fn first_look(&self, allowed: Allowed) -> Look {
        if planted(Bug::NoLastLook) {
            return Look::Nothing;
        }
        fence(Ordering::SeqCst); // M7, M9
        // Relaxed: made exact by the fence. Whoever becomes active later publishes and wakes at its
        // first push.
        let active = self.others().any(|worker| worker.active.load(Ordering::Relaxed));
        if active {
            self.leave_notes();
            fence(Ordering::SeqCst); // M5, where owners execute full fences
        }
        match self.sees_work(allowed) {
            true => Look::Work,
            // Under shuttle every sleep begins with a timed park.
            false if active && (self.pool().may_rely_on_heavy_fences() || cfg!(shuttle)) => {
                Look::Unsure
            }
            false => Look::Nothing,
        }
    }

    /// Whoever pushes next is to publish tasks, and to wake somebody.
    fn leave_notes(&self) {
        for worker in self.others() {
            worker.stack.set_poll_reason(reason::STEAL_REQUEST);
        }
    }

    /// After a [`first_look`](Self::first_look) that was unsure: lets a heavy fence pass, and looks
    /// once more (M5).
    pub(crate) fn last_look(&self, allowed: Allowed) -> bool {
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
