//! The workers and helpers of a run, and its termination.
//!
//! A run has as many slots as the pool has workers; a slot is a rank of the
//! [participants](sinew_loops::Participants). A slot's task runs units, or helps a worker. It
//! leaves when its slot has no role, or when it has found no unit for a while. A worker that sees a
//! free slot that has a role spawns a task for it. So the number of workers follows the settings
//! and the pool's limit while the list runs, and the pool can use idle workers for other work. When
//! the limit falls, a worker of the pool that is to stand down leaves its slot to another one; the
//! first slot can always be taken.
//!
//! # Termination
//!
//! Source: Góes (see [`worklist`](super)), section 5.1.1: a count of searching workers.
//! Differences: it is compared with the number of workers that are present. A worker counts as
//! searching only while it holds no unit and has none in its own list.
//!
//! - E1: only a worker that is present and does not search adds units. Units that a thread outside
//!   wakes (`parked`) are the exception.
//! - E2: when all workers that are present search, and every list was seen empty between two such
//!   checks, no unit is left that could run. By E1 no worker could add one in between, and a thief
//!   stops searching before it takes.
//!
//! - E3: a worker that has units for others, or has woken some, checks for free slots before it
//!   runs its next units, and a worker checks for units after it has left its slot. Each has a
//!   fence between what it did and what it checks, light and heavy, so one of them sees the other.
//!   So units do not wait for the end of the unit that a worker runs, which may itself wait for
//!   them. And no unit is left in the lists at the end: the last worker that leaves sees it.
//!   The heavy fence is left out if every worker that is present searches. One of them that later
//!   finds units changes the count of those that search afterwards, and so sees the free slot.

use sinew_loops::{Participants, Registration};
use sinew_policy::worklist::{Settings, helpers};
use sinew_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sinew_sync::statics::AtomicBool as HintBool;

/// The slots of a run, and how many of its workers search.
#[derive(Debug)]
pub(super) struct Team {
    /// The number of present workers in the upper half, of searching ones in the lower.
    present: AtomicU64,
    /// The slots that have a task.
    slots: Participants,
    /// The run is to end: a unit panicked, or the run was cancelled.
    stopped: AtomicBool,
    /// Workers leave when they have no failed attempt to repeat; see `rounds`. A hint, which the
    /// time of a model does not count.
    paused: HintBool,
}

const PRESENT: u64 = 1 << 32;

/// The settings in force within the pool's limit, and the number of slots that may have a task,
/// including those of helpers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InForce {
    pub(super) settings: Settings,
    pub(super) slots: usize,
}

/// The role of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Runs units.
    Work,
    /// Runs the next unit of a worker ahead of it.
    Help(usize),
    /// Nothing.
    Leave,
}

impl InForce {
    /// The role of `slot`.
    pub(super) fn role(&self, slot: usize) -> Role {
        let threads = self.settings.threads;
        let helping = slot.wrapping_sub(threads);
        if slot < threads {
            Role::Work
        } else if self.helps(helping) {
            Role::Help(helping)
        } else {
            Role::Leave
        }
    }

    /// The number of slots that should have a task.
    fn wanted(&self) -> usize {
        self.settings.threads + self.helpers()
    }

    /// Whether `worker` has a helper.
    pub(super) fn helps(&self, worker: usize) -> bool {
        worker < self.helpers()
    }

    /// The number of workers that have a helper: the first ones.
    pub(super) fn helpers(&self) -> usize {
        let Settings { threads, lifespan, .. } = self.settings;
        if lifespan > 0 { helpers::helpers(threads, self.slots) } else { 0 }
    }
}

impl Team {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            present: AtomicU64::new(0),
            slots: Participants::with_ranks(slots),
            stopped: AtomicBool::new(false),
            paused: HintBool::new(false),
        }
    }

    pub(super) fn slots(&self) -> usize {
        self.slots.ranks()
    }

    /// Takes the next slot from `first` on that should have a task and has none.
    pub(super) fn take_slot(&self, in_force: &InForce, first: usize) -> Option<Registration<'_>> {
        self.slots.register_rank(first..in_force.wanted())
    }

    /// Whether `slot` has a task: a hint for helpers, which check again.
    pub(super) fn is_taken(&self, slot: usize) -> bool {
        self.slots.is_taken(slot)
    }

    /// Whether a slot is missing: a hint, `take_slot` decides.
    pub(super) fn is_short(&self, in_force: &InForce) -> bool {
        self.slots.count() < in_force.wanted()
    }

    /// A worker begins, not searching.
    pub(super) fn enter(&self) {
        // AcqRel, here and below: by the order of these changes the last of them has seen what all
        // the others did before.
        self.present.fetch_add(PRESENT, Ordering::AcqRel);
    }

    /// A worker that does not search ends.
    pub(super) fn leave(&self) {
        self.present.fetch_sub(PRESENT, Ordering::AcqRel);
    }

    pub(super) fn begin_search(&self) {
        self.present.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn end_search(&self) {
        self.present.fetch_sub(1, Ordering::AcqRel);
    }

    /// Whether no worker that is present has a unit.
    pub(super) fn all_search(&self) -> bool {
        let present = self.present.load(Ordering::Acquire);
        present / PRESENT == present % PRESENT
    }

    /// Whether a worker that is present has a unit. A worker that has one later sees what the
    /// caller did before.
    pub(super) fn is_any_at_work(&self) -> bool {
        let present = self.present.fetch_add(0, Ordering::AcqRel);
        present / PRESENT != present % PRESENT
    }

    /// Stops the run.
    pub(super) fn stop(&self) {
        // Relaxed, as below: it publishes nothing; the end of the scope orders all tasks.
        self.stopped.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Ends or begins a round.
    pub(super) fn set_paused(&self, paused: bool) {
        // Relaxed, as for `stop`.
        self.paused.store(paused, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a helper for a worker that does not exist, two roles of one slot, a helper on the
    /// core of a worker, and one at a slot beyond the limit.
    #[test]
    fn slots_beyond_the_workers_help_the_first_of_them() {
        let in_force = |settings: Settings| InForce { settings, slots: 5 };
        let roles = |settings| (0..5).map(|slot| in_force(settings).role(slot)).collect::<Vec<_>>();
        let settings = Settings::baseline(3);
        assert_eq!(roles(settings), [Role::Work, Role::Work, Role::Work, Role::Leave, Role::Leave]);
        let helped = settings.lifespan(10);
        assert_eq!(roles(helped)[2..], [Role::Work, Role::Help(0), Role::Help(1)]);
        assert_eq!((0..5).filter(|&worker| in_force(helped).helps(worker)).count(), 2);
        assert_eq!(roles(Settings::baseline(1).lifespan(10))[2], Role::Leave);
        assert!(!in_force(Settings::baseline(5).lifespan(10)).helps(0));
        assert_eq!(InForce { settings: helped, slots: 4 }.role(4), Role::Leave);
    }

    /// Catches: a slot with two tasks, and one that is never taken again.
    #[test]
    fn a_slot_has_one_task_at_a_time() {
        let team = Team::new(3);
        let in_force = InForce { settings: Settings::baseline(1).lifespan(1), slots: 3 };
        let [first, second, third] = [0; 3].map(|from| team.take_slot(&in_force, from));
        assert_eq!([&first, &second].map(|slot| slot.as_ref().unwrap().rank()), [0, 1]);
        assert!(third.is_none() && !team.is_short(&in_force));
        drop(first);
        assert!(!team.is_taken(0) && team.is_taken(1) && team.is_short(&in_force));
        assert!(team.take_slot(&in_force, 1).is_none());
        assert_eq!(team.take_slot(&in_force, 0).unwrap().rank(), 0);
    }

    /// Catches: an end while a worker has a unit, and none once no worker has.
    #[test]
    fn a_run_is_over_when_all_present_workers_search() {
        let team = Team::new(2);
        team.enter();
        assert!(!team.all_search());
        team.begin_search();
        assert!(team.all_search());
        team.enter();
        assert!(!team.all_search());
        team.leave();
        assert!(team.all_search());
        team.end_search();
        team.leave();
        assert!(team.all_search(), "nobody is here");
    }
}
