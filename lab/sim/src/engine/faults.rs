//! Workers that leave, come back and slow down.
//!
//! A worker leaves between two tasks, as a runtime worker that stands down does. It first finishes
//! the tasks that it has begun, including their joins; by then its other tasks have been stolen.

use super::Simulation;
use crate::report::Activity;
use crate::setup::Mishap;
use crate::trace::Step;
use crate::worker::State;
use crate::workload::Workload;

impl<W: Workload> Simulation<'_, W> {
    /// Schedules the event of the next fault.
    pub(super) fn announce_fault(&mut self) {
        let outside = self.workers.len();
        match self.faults.last() {
            Some(fault) => self.queue.set(outside, fault.at.max(self.queue.now())),
            None => self.queue.clear(outside),
        }
    }

    /// Applies the next fault.
    pub(super) fn fault(&mut self) {
        if let Some(fault) = self.faults.pop() {
            self.trace.add(self.queue.now(), fault.worker, Step::Fault, self.faults.len() as u64);
            match fault.what {
                Mishap::Leaves => self.ask_to_leave(fault.worker),
                Mishap::Returns => self.come_back(fault.worker),
                Mishap::Slows(factor) => self.workers[fault.worker].slowness = factor,
            }
        }
        self.announce_fault();
    }

    fn ask_to_leave(&mut self, worker: usize) {
        self.workers[worker].leaves = true;
        match self.workers[worker].state {
            State::Parked => {
                self.parked.retain(|&sleeper| sleeper as usize != worker);
                self.leave(worker);
            }
            State::Searches => self.leave(worker),
            // It notices the fault when its attempt or its task ends.
            _ => {}
        }
    }

    pub(super) fn leave(&mut self, worker: usize) {
        self.packages.resign(self.places.package(worker), worker);
        self.rest(worker, State::Gone, Activity::Parks);
        // It may have been the worker that was woken for a task.
        if self.on_offer > 0 {
            self.call_sleeper();
        }
    }

    fn come_back(&mut self, worker: usize) {
        self.workers[worker].leaves = false;
        if self.workers[worker].state == State::Gone {
            self.workers[worker].state = State::Searches;
            self.after(worker, 0, Activity::Searches);
        }
    }
}
