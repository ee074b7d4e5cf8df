//! A run: workers, the queues of the domains, and tasks that share the memory of their data.

use std::collections::VecDeque;

use super::memory::Memories;
use super::{Domains, DomainsReport, Order};
use crate::engine::Progress;
use crate::places::Places;
use crate::queue::{Queue, Time};
use crate::random::mix;
use crate::report::Violation;
use crate::trace::{Step, Trace};

/// Number of events between two calls of `goes_on`.
pub(super) const BETWEEN_CHECKS: u64 = 1 << 12;

/// A spawned task.
#[derive(Debug, Clone, Copy)]
struct Task {
    number: usize,
    domain: usize,
}

/// A worker's task.
#[derive(Debug, Clone, Copy)]
enum Doing {
    /// Takes it from its queue.
    Takes(Task),
    /// Works on the data of this domain.
    Works(usize),
}

/// A run.
pub(super) struct Run<'c> {
    setup: &'c Domains,
    places: &'c Places,
    queue: Queue,
    queues: Vec<VecDeque<Task>>,
    /// Workers that wait for tasks.
    idle: Vec<usize>,
    spawned: usize,
    pending: usize,
    ended: usize,
    memories: Memories,
    /// Hashes of tasks, added when they are spawned and subtracted when they run.
    balance: u64,
    strays: u64,
    doing: Vec<Option<Doing>>,
    longest: Time,
    /// The work on each domain's data.
    works: Vec<Time>,
    /// Distance of each worker from each domain, computed when first needed.
    distances: Vec<Box<[u8]>>,
    chance: fastrand::Rng,
    trace: Trace,
    report: DomainsReport,
}

impl<'c> Run<'c> {
    pub(super) fn new(setup: &'c Domains, places: &'c Places) -> Self {
        let mut queue = Queue::new(setup.workers);
        queue.set(0, 0);
        Self {
            setup,
            places,
            queue,
            queues: vec![VecDeque::new(); places.packages()],
            idle: (1..setup.workers).rev().collect(),
            spawned: 0,
            pending: 0,
            ended: 0,
            balance: 0,
            strays: 0,
            doing: vec![None; setup.workers],
            longest: 0,
            works: vec![0; places.packages()],
            memories: Memories::new(places.packages(), setup.readers),
            distances: vec![Box::default(); setup.workers],
            chance: fastrand::Rng::with_seed(mix(setup.seed)),
            trace: Trace::new(setup.seed),
            report: DomainsReport::default(),
        }
    }

    pub(super) fn run(
        mut self,
        mut goes_on: impl FnMut(&Progress) -> bool,
    ) -> Result<DomainsReport, Violation> {
        while self.ended < self.setup.tasks {
            let Some(worker) = self.queue.next() else {
                return Err(Violation::Stranded { tasks: (self.setup.tasks - self.ended) as u64 });
            };
            self.step(worker);
            self.report.events += 1;
            if self.report.events.is_multiple_of(BETWEEN_CHECKS) && !goes_on(&self.progress()) {
                break;
            }
        }
        self.close()
    }

    fn progress(&self) -> Progress {
        let share = self.ended as f64 / self.setup.tasks.max(1) as f64;
        Progress::new(self.queue.now(), self.report.events, self.ended as u64, Some(share))
    }

    fn step(&mut self, me: usize) {
        match self.doing[me].take() {
            Some(Doing::Takes(task)) => return self.begin(me, task),
            Some(Doing::Works(domain)) => self.end(me, domain),
            None => {}
        }
        let is_full = self.setup.most_pending.is_some_and(|most| self.pending >= most);
        if me == 0 && self.spawned < self.setup.tasks && !is_full {
            return self.spawn();
        }
        match self.take(me) {
            Some(task) => self.fetch(me, task),
            None => {
                self.trace.add(self.queue.now(), me, Step::Parks, 0);
                self.queue.clear(me);
                self.idle.push(me);
            }
        }
    }

    /// Worker 0 spawns the next task.
    fn spawn(&mut self) {
        let (number, domains) = (self.spawned, self.queues.len());
        let domain = self.setup.placement.domain(number, self.setup.tasks, domains);
        self.spawned += 1;
        self.pending += 1;
        self.report.pending = self.report.pending.max(self.pending);
        self.balance = self.balance.wrapping_add(mix(number as u64));
        self.trace.add(self.queue.now(), 0, Step::Spawns, number as u64);
        let line = self.line(domain);
        self.queues[line].push_back(Task { number, domain });
        self.call(domain);
        let time = self.queue.now() + self.setup.spawn.draw(self.chance.u64(..));
        self.queue.set(0, time);
    }

    /// The index of the queue that holds the tasks of a domain.
    fn line(&self, domain: usize) -> usize {
        if self.setup.order == Order::Single { 0 } else { domain }
    }

    /// Wakes one worker that may run a task of this domain, preferably one of the domain.
    fn call(&mut self, domain: usize) {
        let of_domain = self.idle.iter().rposition(|&worker| self.places.package(worker) == domain);
        let anybody = || {
            if self.setup.order == Order::Strict { None } else { self.idle.len().checked_sub(1) }
        };
        if let Some(at) = of_domain.or_else(anybody) {
            let worker = self.idle.remove(at);
            self.queue.set(worker, self.queue.now());
        }
    }

    fn take(&mut self, me: usize) -> Option<Task> {
        let own = self.places.package(me);
        let domains = self.queues.len();
        let mut order: Vec<usize> = match self.setup.order {
            Order::Single => vec![0],
            Order::Strict => vec![own],
            Order::Ring | Order::Distance => {
                (0..domains).map(|step| (own + step) % domains).collect()
            }
        };
        if self.setup.order == Order::Distance {
            let distances = self.distances(me);
            order.sort_by_key(|&domain| distances[domain]);
        }
        let task = order.into_iter().find_map(|domain| self.queues[domain].pop_front());
        if task.is_some() {
            self.pending -= 1;
            self.call_spawner();
        }
        task
    }

    /// Wakes the spawner when a task may be spawned again. It waits if it has no task that it may
    /// run itself.
    fn call_spawner(&mut self) {
        let waits = self.spawned < self.setup.tasks;
        if let Some(at) = self.idle.iter().position(|&worker| worker == 0).filter(|_| waits) {
            self.idle.remove(at);
            self.queue.set(0, self.queue.now());
        }
    }

    /// The distance of a worker from each domain; 0 for its own.
    fn distances(&mut self, me: usize) -> &[u8] {
        if self.distances[me].is_empty() {
            let mut row = vec![u8::MAX; self.queues.len()];
            for run in self.places.neighbours(me) {
                let domain = self.places.package(run.first);
                row[domain] = row[domain].min(run.distance);
            }
            row[self.places.package(me)] = 0;
            self.distances[me] = row.into();
        }
        &self.distances[me]
    }

    /// The task leaves its queue.
    fn fetch(&mut self, me: usize, task: Task) {
        let take = self.setup.take.draw(self.chance.u64(..));
        if take == 0 {
            return self.begin(me, task);
        }
        self.doing[me] = Some(Doing::Takes(task));
        self.queue.set(me, self.queue.now() + take);
    }

    fn begin(&mut self, me: usize, task: Task) {
        let work = self.setup.task.draw(mix(mix(self.setup.seed) ^ task.number as u64));
        let is_near = self.places.package(me) == task.domain;
        // Index 0 is the nearest domain outside of the worker's package.
        let beyond = usize::from(self.beyond(me, task.domain));
        let far = self.setup.far.get(beyond).or(self.setup.far.last());
        self.trace.add(self.queue.now(), me, Step::Works, task.number as u64);
        let factor = if is_near { 1.0 } else { far.copied().unwrap_or(1.0) };
        self.strays += u64::from(!is_near && self.setup.order == Order::Strict);
        self.balance = self.balance.wrapping_sub(mix(task.number as u64));
        self.report.work += work;
        self.report.near += u64::from(is_near);
        self.report.far += u64::from(!is_near);
        self.longest = self.longest.max(crate::costs::times(work, factor));
        self.works[task.domain] += work;
        self.doing[me] = Some(Doing::Works(task.domain));
        self.memories.begin(me, task.domain, work, 1.0 / factor, &mut self.queue);
    }

    fn end(&mut self, me: usize, domain: usize) {
        self.ended += 1;
        self.memories.end(me, domain, &mut self.queue);
        self.report.time = self.queue.now();
    }

    /// How many distance levels `domain` is farther than the nearest other domain.
    fn beyond(&mut self, me: usize, domain: usize) -> u8 {
        let own = self.places.package(me);
        let distances = self.distances(me);
        let others = distances.iter().enumerate().filter(|(other, _)| *other != own);
        let nearest = others.map(|(_, distance)| *distance).min().unwrap_or(0);
        distances[domain].saturating_sub(nearest)
    }

    fn close(mut self) -> Result<DomainsReport, Violation> {
        self.report.trace = self.trace.hash();
        self.report.is_whole = self.ended == self.setup.tasks;
        if self.queue.backwards() > 0 {
            return Err(Violation::TimeRanBackwards(self.queue.backwards()));
        }
        if !self.report.is_whole {
            // Tasks that are running end later.
            self.report.time = self.queue.now();
            return Ok(self.report);
        }
        let (created, run) = (self.spawned as u64, self.report.near + self.report.far);
        let is_over_full = self.setup.most_pending.is_some_and(|most| self.report.pending > most);
        if self.balance != 0 || created != run || self.strays > 0 || is_over_full {
            return Err(Violation::NotOnceEach { created, run });
        }
        let bound = self.longest.max(self.report.work.div_ceil(self.setup.workers as u64));
        let served = self.setup.readers.unwrap_or(f64::INFINITY);
        let busiest = self.works.iter().copied().max().unwrap_or(0);
        // Speeds are no whole numbers.
        let bound = bound.max((busiest as f64 / served * (1.0 - 1e-9)) as Time);
        match self.report.time < bound {
            true => Err(Violation::OutOfBounds { time: self.report.time, bound }),
            false => Ok(self.report),
        }
    }
}
