//! Planted errors that the checks must find.

use super::Simulation;
use crate::queue::Time;
use crate::worker::{Frame, Task};
use crate::workload::Workload;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bug {
    /// A thief runs a stolen task twice.
    RunTwice,
    /// A thief begins another task than it stole.
    WrongTask,
    /// Sleepers are not woken.
    NobodyIsCalled,
    /// A worker that waits in a join is not told that its task has finished.
    NobodyIsTold,
    /// A thief's next step lies in the past.
    IntoThePast,
    /// Work takes half the time.
    HalfTheWork,
}

impl<W: Workload> Simulation<'_, W> {
    pub(super) fn plant(&mut self, bug: Bug) {
        self.planted = Some(bug);
    }

    pub(super) fn planted(&self, bug: Bug) -> bool {
        self.planted == Some(bug)
    }

    pub(super) fn plant_in_steal(&mut self, me: usize, task: &mut Task<W::Node>) {
        match self.planted {
            Some(Bug::RunTwice) => {
                self.open += 1;
                self.counters.begun(task.id);
                self.workers[me].frames.push(Frame::of(*task, None));
            }
            Some(Bug::WrongTask) => task.id += 1,
            Some(Bug::IntoThePast) => self.queue.set(me, self.now().saturating_sub(1)),
            _ => {}
        }
    }

    pub(super) fn plant_in_work(&self, takes: Time) -> Time {
        if self.planted(Bug::HalfTheWork) { takes / 2 } else { takes }
    }
}
