//! A task's own work.
//!
//! Workers on one memory share its bandwidth: the more of them work, the longer each takes.
//! [`Costs::contention`](crate::Costs::contention) has the factors. With contention work is divided
//! into slices; the number of busy workers on the memory at its beginning determines a slice's
//! speed.
//!
//! # Invariants
//!
//! - W1: a worker counts as busy on its memory exactly from the beginning of a task's work to its
//!   end.
//!
//! # Cost
//!
//! Without contention a comparison; with contention one event per [`SLICE`].

use super::Simulation;
use crate::costs::times;
use crate::queue::Time;
use crate::report::Activity;
use crate::trace::Step;
use crate::workload::Workload;

/// Longest time between two looks at the number of busy workers: 10 us.
const SLICE: Time = 10_000_000;

impl<W: Workload> Simulation<'_, W> {
    /// The youngest frame begins its work. Returns whether that takes time.
    #[inline]
    pub(super) fn work(&mut self, me: usize) -> bool {
        let workload = self.workload;
        let worker = &mut self.workers[me];
        let Some(frame) = worker.frames.last_mut() else { return false };
        let work = workload.work(&frame.task.node);
        frame.begun = true;
        frame.children = workload.children(&frame.task.node);
        frame.joins = frame.children.saturating_sub(1);
        // Children begin at the end of this work.
        frame.task.path += work;
        frame.end = frame.task.path;
        let (end, id) = (frame.task.path, frame.task.id);
        self.counters.worked(work, end);
        self.trace.add(self.queue.now(), me, Step::Works, id);
        let work = self.with_distance_of_data(me, work);
        if !self.setup.costs.contention.is_empty() {
            return self.begin_to_crowd(me, work);
        }
        let takes = times(work, self.workers[me].slowness);
        self.counters.took(takes);
        #[cfg(test)]
        let takes = self.plant_in_work(takes);
        if takes > 0 {
            self.after(me, takes, Activity::Works);
        }
        takes > 0
    }

    fn begin_to_crowd(&mut self, me: usize, work: Time) -> bool {
        if work == 0 {
            return false;
        }
        (self.workers[me].is_crowding, self.workers[me].work_left) = (true, work);
        self.busy[self.places.memory(me)] += 1;
        self.works_on(me)
    }

    /// Begins the next slice of the current work. Returns whether there was one.
    #[inline(never)]
    pub(super) fn works_on(&mut self, me: usize) -> bool {
        let memory = self.places.memory(me);
        let worker = &mut self.workers[me];
        let slice = worker.work_left.min(SLICE);
        if slice == 0 {
            worker.is_crowding = false;
            self.busy[memory] -= 1;
            return false;
        }
        worker.work_left -= slice;
        let takes =
            times(times(slice, worker.slowness), self.setup.costs.contention(self.busy[memory]));
        self.counters.took(takes);
        self.after(me, takes, Activity::Works);
        true
    }
}
