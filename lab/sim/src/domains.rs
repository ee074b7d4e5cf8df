//! Locality domains in virtual time, with a FIFO queue of tasks for each.
//!
//! Worker 0 spawns every task into the domain that holds its data. A worker serves the queue of its
//! own domain first and, unless the scope is strict, other queues next. A task that runs far from
//! its data takes longer. Source of the queues: M. Wittmann and G. Hager, "A Proof of Concept for
//! Optimizing Task Parallelism by Locality Queues" (2009).
//!
//! # Invariants
//!
//! - D1: each task runs exactly once; in a strict scope it runs on a worker of its domain.
//! - D2: the number of pending tasks never exceeds the bound.
//! - D3: longest task ≤ Tp, and T1/p ≤ Tp.
//!
//! All are checked at the end of every run.

use std::collections::VecDeque;

use sinew_topology::Machine;

use crate::costs::set_by_name;
use crate::engine::Progress;
use crate::named::RunError;
use crate::places::Places;
use crate::queue::{Queue, Time};
use crate::random::{Duration, mix};
use crate::report::Violation;
use crate::setup::{Setup, SetupError};
use crate::trace::{Step, Trace};

/// Number of events between two calls of `goes_on`.
const BETWEEN_CHECKS: u64 = 1 << 12;

/// The order in which a worker with an empty domain queue tries other queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The next domain in the ring.
    #[default]
    Ring,
    /// The nearest domain.
    Distance,
    /// No other domain.
    Strict,
    /// One queue for all workers: plain tasking.
    Single,
}

impl Order {
    /// All orders.
    pub const ALL: [Self; 4] = [Self::Ring, Self::Distance, Self::Strict, Self::Single];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Distance => "distance",
            Self::Strict => "strict",
            Self::Single => "single",
        }
    }
}

/// The domain into which each task is spawned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    /// Equal blocks: the first tasks into the first domain, and so on.
    #[default]
    Blocks,
    /// Round robin.
    Turns,
    /// All tasks into the first domain.
    First,
}

impl Placement {
    /// All placements.
    pub const ALL: [Self; 3] = [Self::Blocks, Self::Turns, Self::First];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocks => "blocks",
            Self::Turns => "turns",
            Self::First => "first",
        }
    }
}

/// The configuration of a run.
#[derive(Debug, Clone)]
pub struct Domains {
    /// Number of workers, packed as close together as possible.
    pub workers: usize,
    /// The machine; each package is a domain.
    pub machine: Machine,
    /// The order in which queues are served.
    pub order: Order,
    /// The domains of the tasks.
    pub placement: Placement,
    /// Number of tasks.
    pub tasks: usize,
    /// Duration of each task near its data.
    pub task: Duration,
    /// Slow-down factors at distance 1, 2 and so on from a task's domain, each at least 1. The last
    /// one holds for larger distances.
    pub far: Vec<f64>,
    /// Cost of spawning a task.
    pub spawn: Duration,
    /// Cost of taking a task from a queue.
    pub take: Duration,
    /// Number of pending tasks at which the spawner runs tasks itself; `None` means no bound.
    pub most_pending: Option<usize>,
    /// Random seed; the same seed gives the same run.
    pub seed: u64,
}

/// The result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DomainsReport {
    /// Total time.
    pub time: Time,
    /// The sum of all tasks' durations near their data.
    pub work: Time,
    /// Tasks that ran in their domain.
    pub near: u64,
    /// Tasks that ran in another domain.
    pub far: u64,
    /// The largest number of pending tasks.
    pub pending: usize,
    /// Number of events.
    pub events: u64,
    /// Fingerprint: equal setups give equal traces on every machine.
    pub trace: u64,
    /// Whether all tasks ran.
    pub is_whole: bool,
}

set_by_name!(Domains: Duration; spawn, take);

impl Domains {
    /// Tasks of 10 µs on `machine`; they take twice as long outside of their package.
    pub fn new(machine: Machine, tasks: usize) -> Self {
        Self {
            workers: machine.pus().len(),
            machine,
            order: Order::default(),
            placement: Placement::default(),
            tasks,
            task: Duration::ns(10_000),
            far: vec![2.0],
            spawn: Duration::ns(50),
            take: Duration::ns(50),
            most_pending: Some(257),
            seed: 0,
        }
    }

    /// The same setup with free spawns and takes.
    #[must_use]
    pub fn free(self) -> Self {
        Self { spawn: Duration::ZERO, take: Duration::ZERO, ..self }
    }

    /// Runs the setup.
    ///
    /// # Errors
    ///
    /// An impossible setup, or an error of the simulator.
    pub fn run(&self) -> Result<DomainsReport, RunError> {
        self.run_while(|_| true)
    }

    /// Like [`run`](Self::run), but stops when `goes_on` returns false; it is called every few
    /// thousand events.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_while(
        &self,
        goes_on: impl FnMut(&Progress) -> bool,
    ) -> Result<DomainsReport, RunError> {
        self.check().map_err(RunError::Setup)?;
        let places = Places::new(Some(&self.machine), self.workers)
            .map_err(|error| RunError::Setup(SetupError::from(error)))?;
        Run::new(self, &places).run(goes_on).map_err(RunError::Violation)
    }

    /// Checks that the setup can run.
    ///
    /// # Errors
    ///
    /// Describes the impossible value.
    pub fn check(&self) -> Result<(), SetupError> {
        Setup { machine: Some(self.machine.clone()), ..Setup::new(self.workers) }.check()?;
        if let Some(factor) = self.far.iter().find(|factor| !(1.0..=1e6).contains(*factor)) {
            return Err(SetupError::new(format!(
                "a task takes {factor} times as long far away: use 1 to 1000000"
            )));
        }
        if self.most_pending == Some(0) {
            return Err(SetupError::new("no task may be pending: allow 1 or more".into()));
        }
        Ok(())
    }
}

/// A spawned task.
#[derive(Debug, Clone, Copy)]
struct Task {
    number: usize,
    domain: usize,
}

/// A run.
struct Run<'c> {
    setup: &'c Domains,
    places: &'c Places,
    queue: Queue,
    queues: Vec<VecDeque<Task>>,
    /// Workers that wait for tasks.
    idle: Vec<usize>,
    spawned: usize,
    pending: usize,
    ended: usize,
    /// Hashes of tasks, added when they are spawned and subtracted when they run.
    balance: u64,
    strays: u64,
    running: Vec<bool>,
    longest: Time,
    /// Distance of each worker from each domain, computed when first needed.
    distances: Vec<Box<[u8]>>,
    chance: fastrand::Rng,
    trace: Trace,
    report: DomainsReport,
}

impl<'c> Run<'c> {
    fn new(setup: &'c Domains, places: &'c Places) -> Self {
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
            running: vec![false; setup.workers],
            longest: 0,
            distances: vec![Box::default(); setup.workers],
            chance: fastrand::Rng::with_seed(mix(setup.seed)),
            trace: Trace::new(setup.seed),
            report: DomainsReport::default(),
        }
    }

    fn run(
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
        if std::mem::take(&mut self.running[me]) {
            self.ended += 1;
        }
        let is_full = self.setup.most_pending.is_some_and(|most| self.pending >= most);
        if me == 0 && self.spawned < self.setup.tasks && !is_full {
            return self.spawn();
        }
        match self.take(me) {
            Some(task) => self.begin(me, task),
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
        let domain = match self.setup.placement {
            Placement::Blocks => number * domains / self.setup.tasks,
            Placement::Turns => number % domains,
            Placement::First => 0,
        };
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

    fn begin(&mut self, me: usize, task: Task) {
        let work = self.setup.task.draw(mix(mix(self.setup.seed) ^ task.number as u64));
        let is_near = self.places.package(me) == task.domain;
        // Index 0 is the nearest domain outside of the worker's package.
        let beyond = usize::from(self.beyond(me, task.domain));
        let far = self.setup.far.get(beyond).or(self.setup.far.last());
        self.trace.add(self.queue.now(), me, Step::Works, task.number as u64);
        let factor = if is_near { 1.0 } else { far.copied().unwrap_or(1.0) };
        let takes = crate::costs::times(work, factor);
        self.strays += u64::from(!is_near && self.setup.order == Order::Strict);
        self.balance = self.balance.wrapping_sub(mix(task.number as u64));
        self.report.work += work;
        self.report.near += u64::from(is_near);
        self.report.far += u64::from(!is_near);
        self.longest = self.longest.max(takes);
        self.running[me] = true;
        let time = self.queue.now() + self.setup.take.draw(self.chance.u64(..)) + takes;
        self.queue.set(me, time);
        self.report.time = self.report.time.max(time);
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
        match self.report.time < bound {
            true => Err(Violation::OutOfBounds { time: self.report.time, bound }),
            false => Ok(self.report),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::NS;

    fn free(machine: &str, tasks: usize) -> Domains {
        let (spawn, take) = (Duration::ZERO, Duration::ZERO);
        Domains {
            spawn,
            take,
            most_pending: None,
            ..Domains::new(machine.parse().expect("a machine"), tasks)
        }
    }

    fn run(setup: &Domains) -> DomainsReport {
        setup.run().expect("a run")
    }

    /// Catches: tasks that run in another domain although a worker of their own is free, or that
    /// wait although other workers may run them.
    #[test]
    fn evenly_spread_tasks_stay_in_their_domain_and_other_workers_help_only_where_they_may() {
        let even = Domains { placement: Placement::Turns, ..free("package:4 core:2", 80) };
        for order in [Order::Ring, Order::Distance, Order::Strict] {
            let report = run(&Domains { order, ..even.clone() });
            assert_eq!((report.time, report.near, report.far), (100_000 * NS, 80, 0), "{order:?}");
        }
        let all_in_one = Domains { placement: Placement::First, ..even };
        assert_eq!(run(&Domains { order: Order::Strict, ..all_in_one.clone() }).time, 400_000 * NS);
        let helped = run(&all_in_one);
        // In 20 us two workers run two tasks each in their own domain, and six run one each in
        // another one.
        assert_eq!((helped.time, helped.far), (160_000 * NS, 48));
    }

    /// Catches: a single queue that respects domains.
    #[test]
    fn one_queue_runs_most_tasks_far_from_their_data() {
        let blocks = free("package:4 core:2", 800);
        let (single, ring) =
            (run(&Domains { order: Order::Single, ..blocks.clone() }), run(&blocks));
        // Two workers run four tasks in their domain while the six others run six.
        assert_eq!(
            (single.far, single.time, ring.far, ring.time),
            (480, 1_600_000 * NS, 0, 1_000_000 * NS)
        );
    }

    /// Catches: a bound that is exceeded, or kept by idling.
    #[test]
    fn a_spawner_at_the_bound_runs_tasks_itself() {
        let bound = Domains { most_pending: Some(3), ..free("package:1 core:1", 20) };
        let report = run(&bound);
        assert_eq!((report.pending, report.time), (3, 200_000 * NS));
    }

    /// Catches: a run that continues after it was told to stop, a stopped run reported as complete,
    /// a progress value that does not match the tasks that ran.
    #[test]
    fn a_stopped_run_reports_what_it_has_done() {
        let setup = free("package:2 core:2", 100_000);
        let mut shares = Vec::new();
        let stopped = setup.run_while(|progress| {
            shares.push((progress.tasks, progress.share));
            shares.len() < 3
        });
        let stopped = stopped.expect("no violation");
        assert_eq!((stopped.events, stopped.is_whole), (3 * BETWEEN_CHECKS, false));
        assert!(stopped.time < run(&setup).time && run(&setup).is_whole, "{stopped:?}");
        assert!(
            shares.iter().all(|&(tasks, share)| share == Some(tasks as f64 / 100_000.0)),
            "{shares:?}"
        );
    }

    /// Catches: different runs with the same fingerprint.
    #[test]
    fn runs_that_differ_have_different_fingerprints() {
        let setup = Domains { placement: Placement::First, ..free("package:2 core:2", 99) };
        let seeds = [0, 1].map(|seed| Domains { seed, ..setup.clone() });
        let strict = Domains { order: Order::Strict, ..setup };
        let traces =
            seeds.iter().chain([&strict]).map(|setup| run(setup).trace).collect::<Vec<_>>();
        assert!(traces[0] != traces[1] && traces[0] != traces[2], "{traces:x?}");
    }

    /// Catches: a combination that loses a task or does not repeat.
    #[test]
    fn two_hundred_random_scopes_keep_every_rule_and_repeat() {
        for seed in 0..200 {
            let chance = &mut fastrand::Rng::with_seed(seed);
            let machine =
                ["core:3", "package:3 l3:2 core:2", "package:2 node:2 core:2"][chance.usize(..3)];
            let setup = Domains {
                order: [Order::Ring, Order::Distance, Order::Strict, Order::Single]
                    [chance.usize(..4)],
                placement: [Placement::Blocks, Placement::Turns, Placement::First]
                    [chance.usize(..3)],
                task: Duration::Exponential(chance.u64(1..9_000) * NS),
                far: vec![1.5, 3.0],
                most_pending: chance.bool().then(|| chance.usize(1..40)),
                seed,
                ..Domains::new(machine.parse().expect("a machine"), chance.usize(..300))
            };
            assert_eq!(run(&setup), run(&setup), "seed {seed}");
        }
    }

    /// Catches: an impossible scope that runs.
    #[test]
    fn impossible_scopes_are_refused_by_the_value() {
        let setup = free("core:2", 3);
        for (setup, says) in [
            (Domains { workers: 3, ..setup.clone() }, "3 workers"),
            (Domains { far: vec![0.5], ..setup.clone() }, "0.5"),
            (Domains { most_pending: Some(0), ..setup }, "allow 1"),
        ] {
            let error = setup.run().expect_err(says).to_string();
            assert!(error.contains(says) && !error.contains('\n'), "{error}");
        }
    }
}
