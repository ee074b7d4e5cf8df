//! The choice of victims: how a worker follows its pool's victim policy.
//!
//! The crate `sinew-policy` has the policies, as pure code. Each worker has its own instance, and
//! starts a newly chosen policy at its next search. `stealing` has the state that all thieves of a
//! pool share.
//!
//! | file | contents |
//! |---|---|
//! | `view` | the pool as a policy sees it |
//! | `mastership` | when a worker is the master of its package |
//!
//! # Invariants
//!
//! - X1: a worker that has searched in vain for [`WITHHELD_NS`](crate::stealing::WITHHELD_NS),
//!   while it sees work, takes any task, whether or not it ever parks. The time begins when the
//!   worker has found nothing for a spin window, or for a silence, if that is shorter. So a rule
//!   that excludes tasks delays them, and never strands them, unless an experiment requests it
//!   (`PoolBuilder::withhold`).
//!
//! # Cost
//!
//! One load of a read-only line, at each search, at each stolen task, and when an external thread
//! enters or leaves. Nothing at a join.
//!
//! # Tests
//!
//! `tests/pool/victims.rs`.

mod mastership;
mod view;

use sinew_sync::atomic::Ordering;
use sinew_sync::clock::now_ns;

use crate::scheduler::job::Allowed;
use crate::state::pool_state::PoolState;
use crate::state::worker::Worker;
use crate::stealing::{PIECES, SIZES};
use view::PoolView;

impl PoolState {
    /// The worker at `slot` begins a root task.
    #[inline]
    pub(crate) fn root_begins(&self, slot: usize) {
        if self.stealing.interest() == PIECES {
            self.deal_cold(slot);
        }
    }

    /// The root task has ended.
    #[inline]
    pub(crate) fn root_ends(&self) {
        if self.stealing.interest() == SIZES {
            self.stealing.classes.end_run(self.stealing.packages.count());
        }
    }

    /// A new root task begins at `slot`.
    #[cold]
    fn deal_cold(&self, slot: usize) {
        let own = self.stealing.packages.of(slot);
        self.stealing.pieces.begin(own);
        if self.is_of_another_process() {
            return;
        }
        for package in (0..self.stealing.packages.count()).filter(|&package| package != own) {
            let mut members =
                self.slots.iter().filter(|slot| self.stealing.packages.of(slot.index()) == package);
            // Relaxed: a hint. Without a sleeper, a worker is awake and will steal a piece.
            let sleeper = members.rfind(|slot| !slot.active.load(Ordering::Relaxed));
            if let Some(sleeper) = sleeper.filter(|slot| !slot.is_surplus()) {
                sleeper.parker.unpark();
            }
        }
    }
}

impl Worker {
    /// A search begins.
    pub(crate) fn start_policy(&self) {
        let stealing = &self.pool().stealing;
        // Acquire: pairs with `set`.
        if stealing.version.load(Ordering::Acquire) != self.own.victims_version.get() {
            self.renew_policy_cold();
        }
        if self.own.has_masters.get() {
            self.stand_for_mastership();
        }
        let view = PoolView::of(self, Allowed::Any);
        let mut random = self.own.random.borrow_mut();
        self.own.policy.borrow_mut().start(&view, &mut || random.u64(..));
    }

    #[cold]
    fn renew_policy_cold(&self) {
        let choice = self.pool().stealing.newer_than(self.own.victims_version.get());
        let Some((version, victims)) = choice else { return };
        self.resign_mastership();
        *self.own.policy.borrow_mut() = victims.policy();
        self.own.victims_version.set(version);
        self.own.has_masters.set(victims.has_masters());
        self.own.chooses_by_tasks.set(victims.chooses_by_tasks());
    }

    /// The policy's next victim, or `None` at the end of a round.
    pub(crate) fn next_victim(&self, allowed: Allowed) -> Option<usize> {
        let view = PoolView::of(self, allowed);
        let mut random = self.own.random.borrow_mut();
        self.own.policy.borrow_mut().next(&view, &mut || random.u64(..))
    }

    /// Whether the policy lets this worker go to `victim`.
    pub(crate) fn policy_allows(&self, victim: usize, allowed: Allowed) -> bool {
        self.own.policy.borrow().allows(&PoolView::of(self, allowed), victim)
    }

    /// Counts a task that was stolen from `victim` on the policy's advice or after an exposure.
    pub(crate) fn record_steal(&self, victim: usize, allowed: Allowed) {
        self.counters.stolen.add(u64::from(allowed == Allowed::Any));
        self.counters.stolen_waiting.add(u64::from(allowed != Allowed::Any));
        self.own.in_vain_since.set(0);
        let stealing = &self.pool().stealing;
        if stealing.packages.of(victim) != stealing.packages.of(self.index()) {
            self.counters.left_package.add(1);
            if stealing.interest() == PIECES {
                stealing.pieces.serve(stealing.packages.of(self.index()));
            }
        }
    }

    /// A stolen task that lay at `depth` took `ticks`.
    #[inline]
    pub(crate) fn stolen_task_took(&self, depth: u32, ticks: u64) {
        if self.pool().stealing.interest() == SIZES {
            self.pool().stealing.classes.note(depth, ticks);
        }
    }

    /// A search has found no allowed task, though there is work (X1).
    pub(crate) fn search_was_in_vain(&self) {
        if self.own.in_vain_since.get() == 0 {
            self.own.in_vain_since.set(now_ns().max(1));
        }
    }

    /// Whether that has lasted for the limit (X1).
    fn is_stranded(&self) -> bool {
        let since = self.own.in_vain_since.get();
        since != 0
            && now_ns().saturating_sub(since) > self.pool().stealing.experiments().withheld_ns
    }
}
