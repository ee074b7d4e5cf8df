//! Errors on purpose, to see that the checks find them.

use super::Simulation;
use crate::queue::Time;
use crate::seat::{Frame, Task};
use crate::workload::Workload;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bug {
    /// A thief runs what it has stolen twice.
    RunTwice,
    /// A thief begins a task that is another one's.
    WrongTask,
    /// Sleepers are not called.
    NobodyIsCalled,
    /// Who waits in a join is not told that its task is done.
    NobodyIsTold,
    /// A thief's next step is in the past.
    IntoThePast,
    /// Work takes half as long.
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
                self.books.begun(task.id);
                self.seats[me].frames.push(Frame::of(*task, None));
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
