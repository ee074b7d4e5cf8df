//! Workers that leave, come back and slow down.
//!
//! A worker leaves between two tasks, as one does that stands down in the runtime: it finishes what
//! it has in hand, joins included. Whatever else it had has been stolen by then.

use super::Simulation;
use crate::report::Activity;
use crate::seat::State;
use crate::setup::Mishap;
use crate::trace::Step;
use crate::workload::Workload;

impl<W: Workload> Simulation<'_, W> {
    /// Sets the event of the next fault.
    pub(super) fn announce_fault(&mut self) {
        let outside = self.seats.len();
        match self.faults.last() {
            Some(fault) => self.queue.set(outside, fault.at.max(self.queue.now())),
            None => self.queue.clear(outside),
        }
    }

    /// The next fault happens.
    pub(super) fn fault(&mut self) {
        if let Some(fault) = self.faults.pop() {
            self.trace.add(self.queue.now(), fault.worker, Step::Fault, self.faults.len() as u64);
            match fault.what {
                Mishap::Leaves => self.ask_to_leave(fault.worker),
                Mishap::Returns => self.come_back(fault.worker),
                Mishap::Slows(factor) => self.seats[fault.worker].slowness = factor,
            }
        }
        self.announce_fault();
    }

    fn ask_to_leave(&mut self, worker: usize) {
        self.seats[worker].leaves = true;
        match self.seats[worker].state {
            State::Parked => {
                self.parked.retain(|&sleeper| sleeper as usize != worker);
                self.leave(worker);
            }
            State::Searches => self.leave(worker),
            // It looks when its attempt is over, or its task.
            _ => {}
        }
    }

    pub(super) fn leave(&mut self, worker: usize) {
        self.packages.resign(self.places.package(worker), worker);
        self.rest(worker, State::Gone, Activity::Parks);
        // It may have been the one that was called for a task.
        if self.on_offer > 0 {
            self.call_sleeper();
        }
    }

    fn come_back(&mut self, worker: usize) {
        self.seats[worker].leaves = false;
        if self.seats[worker].state == State::Gone {
            self.seats[worker].state = State::Searches;
            self.after(worker, 0, Activity::Searches);
        }
    }
}
