//! A worker in a join whose task was stolen.
//!
//! [`Wait`] says what it may do meanwhile. It checks whether the task has finished after each of
//! its own attempts; a blocked worker is woken by the thief.

use sinew_policy::Wait;

use super::Simulation;
use crate::queue::Time;
use crate::report::Activity;
use crate::setup::Waiting;
use crate::trace::Step;
use crate::worker::{Origin, State, Top};
use crate::workload::Workload;

/// Failed attempts in a row at the thief, after which a worker that may park parks.
const MOST_FAILURES: u32 = 16;

impl<W: Workload> Simulation<'_, W> {
    /// Begins to wait for the task that `thief` has. Returns that the step is over.
    pub(super) fn wait_for(&mut self, me: usize, thief: usize) -> bool {
        self.trace.add(self.queue.now(), me, Step::Waits, thief as u64);
        match self.setup.wait {
            Waiting::Leave => self.abandon(me),
            Waiting::Runtime(Wait::Block) => self.block(me),
            _ => self.begin_to_help(me, thief),
        }
        true
    }

    fn begin_to_help(&mut self, me: usize, thief: usize) {
        (self.workers[me].in_vain, self.workers[me].attempts) = (0, 0);
        self.begin_to_spin_in_join(me);
        let price = match self.setup.wait {
            wait if wait.helps_thieves_only() => 0,
            _ => self.ask(me, |policy, sight, chance| policy.start(sight, chance)).1,
        };
        self.set_out(me, thief, false, price);
    }

    /// An attempt at the thief or at a victim of the policy failed: chooses the next step.
    pub(super) fn help_on(&mut self, me: usize, victim: usize) {
        if self.setup.wait.helps_thieves_only() {
            return self.leap_again(me, victim);
        }
        match self.workers[me].state {
            State::Tries { advised: true, .. } if self.workers[me].attempts.is_multiple_of(2) => {
                self.try_thief(me, 0);
            }
            _ => self.choose(me, 0),
        }
    }

    /// If only the thief is helped: tries it again, or the thief that it waits for, or blocks.
    fn leap_again(&mut self, me: usize, victim: usize) {
        let worker = &mut self.workers[me];
        worker.in_vain = worker.in_vain.saturating_add(1);
        if self.has_spun_enough(me, MOST_FAILURES) {
            return self.block(me);
        }
        let further = match self.setup.wait {
            Waiting::Runtime(Wait::Transitive) => {
                self.workers[victim].tasks.thief_of_top().filter(|&thief| thief != me)
            }
            _ => None,
        };
        match further {
            Some(thief) => self.set_out(me, thief, false, 0),
            None => self.try_thief(me, 0),
        }
    }

    /// Whether the worker may run the oldest task of `thief` while it waits.
    pub(super) fn may_help_with_oldest(&self, me: usize, thief: usize) -> bool {
        self.setup.wait != Waiting::Runtime(Wait::Descendants) || self.has_only_parts(me, thief)
    }

    /// Whether all remaining tasks of `thief` lie above the one that it took from the top of this
    /// worker's stack, and so are parts of it.
    fn has_only_parts(&self, me: usize, thief: usize) -> bool {
        let top = |origin: &Origin| {
            origin.victim as usize == me && self.workers[me].tasks.is_top(origin.slot as usize)
        };
        let mut below = 0;
        for frame in &self.workers[thief].frames {
            if frame.origin.as_ref().is_some_and(top) {
                return self.workers[thief].tasks.oldest_is_above(below);
            }
            below += frame.joins as usize;
        }
        false
    }

    /// Goes to the thief of the awaited task; `spent` has already passed.
    pub(super) fn try_thief(&mut self, me: usize, spent: Time) {
        match self.workers[me].tasks.thief_of_top() {
            Some(thief) => self.set_out(me, thief, false, spent),
            None => self.go_on_again(me),
        }
    }

    /// The awaited task has finished.
    pub(super) fn go_on_again(&mut self, me: usize) {
        self.workers[me].state = State::Runs;
        self.after(me, 0, Activity::Schedules);
    }

    /// Whether the worker is in a join whose task has finished.
    pub(super) fn has_what_it_waits_for(&self, me: usize) -> bool {
        self.workers[me].waits() && self.workers[me].tasks.thief_of_top().is_none()
    }

    /// Waits without doing anything.
    pub(super) fn block(&mut self, me: usize) {
        if self.has_what_it_waits_for(me) {
            return self.go_on_again(me);
        }
        self.packages.resign(self.places.package(me), me);
        self.rest(me, State::Blocked, Activity::Waits);
    }

    /// Leaves the join. All remaining tasks are with thieves; the one that finishes last continues.
    fn abandon(&mut self, me: usize) {
        let frames = self.workers[me].frames.len() as u64;
        self.workers[me].frames.clear();
        self.workers[me].tasks.abandon();
        self.note_offer(me);
        self.open -= frames;
        if self.open == 0 {
            self.begin_root(me);
        } else {
            self.run_dry(me);
        }
    }
}

impl<N: Copy> crate::worker::TaskStack<N> {
    /// The thief of the youngest entry, if it is stolen and has not finished.
    pub(crate) fn thief_of_top(&self) -> Option<usize> {
        match self.top() {
            Some(Top::Stolen(thief)) => Some(thief),
            _ => None,
        }
    }
}
