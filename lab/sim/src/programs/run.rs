//! A run: programs arrive, end and die. Each machine has at most one pending event; arrivals and
//! deaths share one more.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::counters::Counters;
use super::dispatch::{Load, choose};
use super::host::{Facts, Host};
use super::mix::{Arrival, Mix};
use super::{Cluster, ProgramsReport};
use crate::engine::Progress;
use crate::queue::{Queue, Time};
use crate::report::Violation;
use crate::trace::{Step, Trace};

/// Number of events between two calls of `goes_on`.
const BETWEEN_CHECKS: u64 = 256;

/// A run.
pub(super) struct Run<'f> {
    pub(super) facts: &'f Facts<'f>,
    pub(super) queue: Queue,
    pub(super) hosts: Vec<Host<'f>>,
    pub(super) counters: Counters,
    pub(super) trace: Trace,
    loads: Vec<Load>,
    /// Numbers of future arrivals; the next one is at the end.
    coming: Vec<usize>,
    /// Future deaths.
    dying: BinaryHeap<Reverse<(Time, usize)>>,
    /// The machine of each program.
    at: Vec<Option<usize>>,
    chance: fastrand::Rng,
}

/// Runs a mix on machines.
pub(super) fn run(
    setup: &Cluster,
    mix: &Mix,
    goes_on: impl FnMut(&Progress) -> bool,
) -> Result<ProgramsReport, Violation> {
    let facts = Facts::new(setup, mix);
    Run::new(&facts).run(goes_on)
}

impl<'f> Run<'f> {
    fn new(facts: &'f Facts<'f>) -> Self {
        let machines = facts.setup.machines;
        let arrivals = &facts.mix.arrivals;
        let mut coming: Vec<usize> = (0..arrivals.len()).collect();
        coming.sort_by_key(|&id| Reverse((arrivals[id].at, id)));
        let mut run = Self {
            facts,
            queue: Queue::new(machines + 1),
            hosts: (0..machines).map(|_| Host::new(facts)).collect(),
            counters: Counters::default(),
            trace: Trace::new(facts.setup.seed),
            loads: vec![Load::default(); machines],
            coming,
            dying: BinaryHeap::new(),
            at: vec![None; arrivals.len()],
            chance: fastrand::Rng::with_seed(crate::random::mix(facts.setup.seed)),
        };
        run.announce();
        run
    }

    fn run(
        mut self,
        mut goes_on: impl FnMut(&Progress) -> bool,
    ) -> Result<ProgramsReport, Violation> {
        let all = self.at.len() as u64;
        while self.counters.left() < all {
            let Some(next) = self.queue.next() else {
                return Err(Violation::Stranded { tasks: all - self.counters.left() });
            };
            if next < self.hosts.len() {
                self.attend(next);
            } else {
                self.attend_outside();
            }
            self.counters.events += 1;
            if self.counters.events.is_multiple_of(BETWEEN_CHECKS) && !goes_on(&self.progress(all))
            {
                break;
            }
        }
        self.close()
    }

    fn progress(&self, all: u64) -> Progress {
        let share = (all > 0).then(|| self.counters.left() as f64 / all as f64);
        Progress::new(self.queue.now(), self.counters.events, self.counters.left(), share)
    }

    /// Handles the due event of a machine: the end of a program, or a decision.
    fn attend(&mut self, machine: usize) {
        let now = self.queue.now();
        if let Some(id) = self.hosts[machine].finished(now) {
            self.leave(machine, id, false);
        } else if self.hosts[machine].due.is_some_and(|due| due <= now) {
            self.trace.add(now, machine, Step::Works, self.hosts[machine].residents.len() as u64);
            self.hosts[machine].decide(now);
        }
        self.set(machine);
    }

    fn leave(&mut self, machine: usize, id: usize, dies: bool) {
        let now = self.queue.now();
        let Some(gone) = self.hosts[machine].dismiss(now, id) else { return };
        let arrival = self.facts.mix.arrivals[id];
        self.trace.add(now, machine, if dies { Step::Fault } else { Step::Finishes }, id as u64);
        self.at[id] = None;
        let load = &mut self.loads[machine];
        load.programs -= 1;
        load.demand -= gone.program.max;
        if dies {
            self.counters.died += 1;
            return;
        }
        let alone = arrival.work as f64 / self.facts.best_speed(arrival.kind);
        self.counters.record_end(now, &arrival, &gone, alone, alone / self.facts.best_company());
    }

    /// Handles the next arrival or death.
    fn attend_outside(&mut self) {
        let now = self.queue.now();
        if let Some(&Reverse((time, id))) = self.dying.peek()
            && time <= now
        {
            self.dying.pop();
            if let Some(machine) = self.at[id] {
                self.leave(machine, id, true);
                self.set(machine);
            }
        } else if let Some(id) = self.coming.pop() {
            self.admit(id);
        }
        self.announce();
    }

    fn admit(&mut self, id: usize) {
        let now = self.queue.now();
        let Arrival { kind, work, dies_after, .. } = self.facts.mix.arrivals[id];
        let cores = self.facts.layout.len() as u32;
        let chance = &mut self.chance;
        let machine = choose(
            self.facts.setup.dispatch,
            &self.loads,
            cores,
            self.counters.arrived,
            &mut || chance.u64(..),
        );
        self.trace.add(now, machine, Step::Spawns, id as u64);
        self.counters.arrived += 1;
        self.at[id] = Some(machine);
        self.hosts[machine].admit(now, id, kind, work);
        let load = &mut self.loads[machine];
        load.programs += 1;
        load.demand += self.facts.mix.kinds[kind].max.min(cores);
        self.dying.extend(dies_after.map(|after| Reverse((now + after, id))));
        self.set(machine);
    }

    fn set(&mut self, machine: usize) {
        match self.hosts[machine].next() {
            Some(time) => self.queue.set(machine, time.max(self.queue.now())),
            None => self.queue.clear(machine),
        }
    }

    fn announce(&mut self) {
        let outside = self.hosts.len();
        let arrival = self.coming.last().map(|&id| self.facts.mix.arrivals[id].at);
        let death = self.dying.peek().map(|Reverse((time, _))| *time);
        match arrival.into_iter().chain(death).min() {
            Some(time) => self.queue.set(outside, time.max(self.queue.now())),
            None => self.queue.clear(outside),
        }
    }
}
