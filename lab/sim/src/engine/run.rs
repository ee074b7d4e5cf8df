//! A worker that runs its own tasks.
//!
//! A step continues until an operation takes time: work, a spawn, a join. Operations without a cost
//! are executed at once, so with zero costs one step reaches from leaf to leaf.

use sinew_policy::victim::{Victims, boundary};

use super::Simulation;
use crate::queue::Time;
use crate::report::Activity;
use crate::trace::Step;
use crate::worker::{Data, Frame, Origin, State, Top};
use crate::workload::Workload;

/// Least number of stolen tasks from which classes are learned; the runtime has the same limit.
const ENOUGH: u64 = 8;

/// The next operation of a frame.
enum Next {
    Work,
    Spawn,
    Call,
    Join,
    Finish,
}

impl<N> Frame<N> {
    #[inline]
    fn next(&self) -> Next {
        if !self.begun {
            Next::Work
        } else if self.made + 1 < self.children {
            Next::Spawn
        } else if self.made < self.children {
            Next::Call
        } else if self.joins > 0 {
            Next::Join
        } else {
            Next::Finish
        }
    }
}

impl<W: Workload> Simulation<'_, W> {
    /// Continues with the youngest frame until an operation takes time or no frame is left.
    #[inline]
    pub(super) fn go_on(&mut self, me: usize) {
        if self.workers[me].is_crowding && self.works_on(me) {
            return;
        }
        loop {
            let Some(frame) = self.workers[me].frames.last() else { return self.run_dry(me) };
            let takes_time = match frame.next() {
                Next::Work => self.work(me),
                Next::Spawn => self.spawn(me),
                Next::Call => self.call(me),
                Next::Join => self.join(me),
                Next::Finish => self.finish(me),
            };
            if takes_time {
                return;
            }
        }
    }

    /// Begins the next root at `worker`, if one is left.
    pub(super) fn begin_root(&mut self, worker: usize) {
        if self.root > 0 {
            self.learn_classes();
        }
        if self.root < self.workload.roots() {
            let node = self.workload.root(self.root);
            self.root += 1;
            self.packages.begin(self.places.package(worker));
            let root = self.create(node, self.counters.span, 0, Data::ALL);
            self.take(worker, root, None);
            self.workers[worker].state = State::Runs;
            self.after(worker, 0, Activity::Schedules);
        }
    }

    /// Ends a root. Policies that classify tasks learn the boundary of large tasks from the stolen
    /// tasks so far, once there are enough.
    fn learn_classes(&mut self) {
        let Victims::Cats { large_us } = self.setup.victims else { return };
        let tallies = self.counters.tallies();
        let stolen: u64 = tallies.iter().map(|tally| tally.tasks).sum();
        if self.boundary.is_none() && stolen >= ENOUGH {
            self.boundary = Some(boundary(&tallies, large_us, self.places.packages()));
        }
    }

    /// Creates the next child of the youngest frame.
    fn child(&mut self, me: usize) -> Option<crate::worker::Task<W::Node>> {
        let frame = self.workers[me].frames.last_mut()?;
        let (node, path, depth) =
            (self.workload.child(&frame.task.node, frame.made), frame.task.path, frame.task.depth);
        let data = frame.task.data.part(frame.made, frame.children);
        frame.made += 1;
        Some(self.create(node, path, depth + 1, data))
    }

    fn spawn(&mut self, me: usize) -> bool {
        let Some(task) = self.child(me) else { return false };
        self.trace.add(self.queue.now(), me, Step::Spawns, task.id);
        self.workers[me].tasks.push(task);
        self.note_offer(me);
        self.on_offer += 1;
        self.counters.counts.spawns += 1;
        let publishes = self.shows_spawn(me);
        let publication = if publishes { self.draw(me, self.setup.costs.publish) } else { 0 };
        let spawn = self.draw(me, self.setup.costs.spawn);
        self.spend(me, spawn + publication)
    }

    fn call(&mut self, me: usize) -> bool {
        if let Some(task) = self.child(me) {
            self.take(me, task, None);
        }
        false
    }

    fn join(&mut self, me: usize) -> bool {
        let top = self.workers[me].tasks.pop();
        self.note_offer(me);
        if let Some(Top::Stolen(thief)) = top {
            return self.wait_for(me, thief);
        }
        if let Some(frame) = self.workers[me].frames.last_mut() {
            frame.joins -= 1;
        }
        match top {
            Some(Top::Mine(task)) => {
                self.on_offer -= 1;
                self.counters.counts.inlined += 1;
                self.trace.add(self.queue.now(), me, Step::Inlines, task.id);
                self.take(me, task, None);
                self.pay(me, self.setup.costs.join)
            }
            Some(Top::Done(thief, end)) => {
                self.record_join(me, end);
                let cost = self.draw_between(me, thief, self.setup.costs.join);
                self.spend(me, cost)
            }
            _ => false,
        }
    }

    /// A task that the youngest frame waited for has ended at distance `end` from the root.
    #[inline]
    fn record_join(&mut self, me: usize, end: Time) {
        if let Some(frame) = self.workers[me].frames.last_mut() {
            frame.end = frame.end.max(end);
        }
    }

    /// Begins the sequel of the youngest frame after its joins. Returns whether it has one.
    fn begins_sequel(&mut self, me: usize) -> bool {
        let workload = self.workload;
        let Some(frame) = self.workers[me].frames.last_mut() else { return false };
        let Some(sequel) = workload.sequel(&frame.task.node) else { return false };
        (frame.task.node, frame.task.path) = (sequel, frame.end);
        (frame.begun, frame.made) = (false, 0);
        true
    }

    fn finish(&mut self, me: usize) -> bool {
        if self.workload.has_sequels() && self.begins_sequel(me) {
            return false;
        }
        let Some(frame) = self.workers[me].frames.pop() else { return false };
        self.open -= 1;
        self.trace.add(self.queue.now(), me, Step::Finishes, frame.task.id);
        if let Some(origin) = frame.origin {
            self.give_back(me, origin, frame.task.depth, frame.end);
        } else {
            self.record_join(me, frame.end);
        }
        if self.open == 0 {
            self.begin_root(me);
        }
        false
    }

    /// Reports a finished stolen task to its owner.
    fn give_back(&mut self, me: usize, origin: Origin, depth: u32, end: Time) {
        let (owner, slot) = (origin.victim as usize, origin.slot as usize);
        self.counters.tally(depth, self.queue.now() - origin.at);
        if self.setup.wait == crate::setup::Waiting::Leave {
            return;
        }
        self.workers[owner].tasks.finish(slot, me, end);
        if self.workers[owner].state == State::Blocked && self.workers[owner].tasks.is_top(slot) {
            #[cfg(test)]
            if self.planted(super::plant::Bug::NobodyIsTold) {
                return;
            }
            self.go_on_again(owner);
        }
    }

    fn pay(&mut self, me: usize, cost: crate::random::Duration) -> bool {
        let time = self.draw(me, cost);
        self.spend(me, time)
    }

    fn spend(&mut self, me: usize, time: crate::queue::Time) -> bool {
        if time > 0 {
            self.after(me, time, Activity::Schedules);
        }
        time > 0
    }
}
