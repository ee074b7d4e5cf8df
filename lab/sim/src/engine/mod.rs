//! The engine: workers that run a program in virtual time.
//!
//! Each worker has at most one event, its own next step. The engine takes the earliest event,
//! executes the worker's step, and repeats until the program is done. A step that affects another
//! worker (the thief has finished, a sleeper is woken) sets that worker's event.
//!
//! | file | contents |
//! |---|---|
//! | `run` | a worker and its own tasks: spawn, join, finish |
//! | `work` | work of tasks, and contention between workers |
//! | `data` | the packages that have a program's data, and tasks far from theirs |
//! | `steal` | a worker without a task: search, attempt, park |
//! | `exposure` | private tasks, and how thieves get to them |
//! | `wait` | a worker in a join whose task was stolen |
//! | `idle` | spin windows of idle workers |
//! | `faults` | workers that leave, come back and slow down |
//! | `counters` | counters, and the checks at the end |
//!
//! # States
//!
//! | state | entered by | left by |
//! |---|---|---|
//! | `Runs` | a root, a successful steal, a finished join | no frame left → `Searches`; a stolen task at a join → `Tries`, `Blocked` |
//! | `Searches` | no frame left; a wake-up; the return after a fault | its event → `Tries`, `Parked` |
//! | `Pauses` | a round in which the policy chose no victim | its event → `Tries`, `Parked`, `Blocked`, `Pauses` |
//! | `Tries` | a victim is chosen | arrival → `Runs`, `Tries`, `Parked`, `Blocked` |
//! | `Blocked` | a join, under policies that block, or after failed rounds | the thief's finish → `Runs` |
//! | `Parked` | failed rounds without any task to steal | a spawn → `Searches` |
//! | `Gone` | a fault, without a frame | a fault → `Searches` |
//!
//! # Invariants
//!
//! - E1: no worker parks while an unclaimed task exists, and each spawn that thieves can see wakes
//!   a parked worker. So no task is left without a worker that searches.
//! - E2: all random numbers come from one stream in the order of events, so setup and program
//!   determine the run.
//! - E3: while a worker is parked and none searches, every owner's next spawn is public. A worker
//!   that parks, or takes the last visible task, sets a steal request on every worker.
//!
//! # Cost
//!
//! An event costs one path in the queue, one step and one hash; the crate's documentation has the
//! measured rate.

mod counters;
mod data;
mod exposure;
mod faults;
mod idle;
#[cfg(test)]
mod models;
#[cfg(test)]
mod plant;
mod run;
mod steal;
#[cfg(test)]
mod tests;
mod wait;
mod work;

use std::cell::Cell;
use std::collections::VecDeque;

use sinew_policy::victim::VictimPolicy;

use crate::offers::Offers;
use crate::places::{Packages, Places};
use crate::queue::{Queue, Time};
use crate::random::Duration;
use crate::report::{Activity, Report, Violation};
use crate::setup::{Fault, Idle, Setup, SetupError, Waiting};
use crate::trace::Trace;
use crate::view::Sight;
use crate::worker::{Data, Frame, Origin, State, Task, Worker};
use crate::workload::Workload;
use counters::Counters;
use idle::Spinner;

/// Number of events between two calls of `goes_on`.
const BETWEEN_CHECKS: u64 = 1 << 16;

/// The progress of a run.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Virtual time.
    pub time: Time,
    /// Number of events so far.
    pub events: u64,
    /// Tasks that have run.
    pub tasks: u64,
    /// Completed share of the run, from 0 to 1, if known.
    pub share: Option<f64>,
    /// Expected number of tasks over all seeds, if the number for this seed is unknown.
    pub expected: Option<f64>,
}

impl Progress {
    /// Progress with the completed `share`.
    pub(crate) fn new(time: Time, events: u64, tasks: u64, share: Option<f64>) -> Self {
        Self { time, events, tasks, share, expected: None }
    }
}

/// A run. Initially worker 0 has the root and all others search.
pub struct Simulation<'w, W: Workload> {
    workload: &'w W,
    setup: Setup,
    /// One event per worker, followed by one for faults.
    queue: Queue,
    workers: Vec<Worker<W::Node>>,
    policies: Vec<Box<dyn VictimPolicy>>,
    places: Places,
    packages: Packages,
    /// Parked workers; the last one is woken first.
    parked: Vec<u32>,
    /// The spin windows, under [`Idle::Adaptive`].
    spinners: Vec<Spinner>,
    /// Loads of all workers, for policies that compare all workers.
    offers: Option<Offers>,
    /// Number of busy workers on each memory.
    busy: Vec<u32>,
    /// The package that touched each region of the data last.
    homes: Vec<u32>,
    /// Future faults; the next one is at the end.
    faults: Vec<Fault>,
    chance: fastrand::Rng,
    trace: Trace,
    counters: Counters,
    /// Tasks that were created and have not finished.
    open: u64,
    /// Tasks that no worker has begun, including private ones.
    on_offer: u64,
    /// Number of requests to all workers to publish.
    calls: u64,
    /// Pending steal requests with their times, oldest first; some owners have published since.
    asked: VecDeque<(Time, u32)>,
    /// Number of the next root.
    root: usize,
    /// See [`Setup::boundary`]; learned if not set.
    boundary: Option<u32>,
    #[cfg(test)]
    planted: Option<plant::Bug>,
}

impl<W: Workload> std::fmt::Debug for Simulation<'_, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Simulation")
            .field("setup", &self.setup)
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}

impl<'w, W: Workload> Simulation<'w, W> {
    /// Creates a run of `workload` under this setup.
    ///
    /// # Errors
    ///
    /// Describes the impossible value of the setup.
    pub fn new(setup: Setup, workload: &'w W) -> Result<Self, SetupError> {
        let victims = setup.victims;
        Self::with_policies(setup, workload, || victims.policy())
    }

    /// Like [`new`](Self::new) with a custom policy for each worker; the setup's victims only
    /// determine whether packages have masters.
    ///
    /// # Errors
    ///
    /// Describes the impossible value of the setup.
    pub fn with_policies(
        setup: Setup,
        workload: &'w W,
        policy: impl FnMut() -> Box<dyn VictimPolicy>,
    ) -> Result<Self, SetupError> {
        setup.check()?;
        if workload.has_sequels() && setup.wait == Waiting::Leave {
            return Err(SetupError::new(
                "tasks continue after their joins here, so no worker can leave \
                a join: choose another way to wait than leave"
                    .into(),
            ));
        }
        // A machine with enough PUs has a place for each worker.
        let places = Places::new(setup.machine.as_ref(), setup.workers, &setup.mapping)
            .map_err(SetupError::from)?;
        let mut faults = setup.faults.clone();
        faults.sort_by_key(|fault| std::cmp::Reverse(fault.at));
        let mut simulation = Self {
            workload,
            queue: Queue::new(setup.workers + 1),
            workers: (0..setup.workers).map(|_| Worker::new()).collect(),
            policies: std::iter::repeat_with(policy).take(setup.workers).collect(),
            packages: Packages::new(places.packages()),
            busy: vec![0; places.memories()],
            homes: data::untouched(&setup.costs),
            spinners: match setup.idle {
                Idle::Adaptive => vec![Spinner::default(); setup.workers],
                Idle::Spin | Idle::Park { .. } => Vec::new(),
            },
            offers: setup.victims.scans_all().then(|| Offers::new(setup.workers)),
            places,
            parked: Vec::new(),
            faults,
            chance: fastrand::Rng::with_seed(crate::random::mix(setup.seed)),
            trace: Trace::new(setup.seed),
            counters: Counters::default(),
            open: 0,
            on_offer: 0,
            calls: 0,
            asked: VecDeque::new(),
            root: 0,
            boundary: setup.boundary,
            setup,
            #[cfg(test)]
            planted: None,
        };
        simulation.begin();
        Ok(simulation)
    }

    /// Runs to the end.
    ///
    /// # Errors
    ///
    /// A [`Violation`], which is an error of this crate.
    pub fn run(self) -> Result<Report, Violation> {
        self.run_while(|_| true)
    }

    /// Runs until `goes_on` returns false; it is called every 65,536 events. The report of a
    /// stopped run covers what has run so far.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_while(
        mut self,
        mut goes_on: impl FnMut(&Progress) -> bool,
    ) -> Result<Report, Violation> {
        while self.open > 0 {
            let Some(worker) = self.queue.next() else {
                return Err(Violation::Stranded { tasks: self.open });
            };
            self.step(worker);
            let events = &mut self.counters.counts.events;
            *events += 1;
            if events.is_multiple_of(BETWEEN_CHECKS) && !goes_on(&self.progress()) {
                break;
            }
        }
        self.close()
    }

    fn progress(&self) -> Progress {
        let counts = &self.counters.counts;
        let of = |done: u64, all: u64| done as f64 / all.max(1) as f64;
        let by_tasks = self.workload.tasks().map(|all| of(counts.tasks, all));
        let share =
            by_tasks.or_else(|| self.workload.total_work().map(|all| of(self.counters.work, all)));
        let expected = self.workload.expected_tasks();
        Progress { expected, ..Progress::new(self.now(), counts.events, counts.tasks, share) }
    }

    fn begin(&mut self) {
        for worker in 1..self.workers.len() {
            self.queue.set(worker, 0);
        }
        self.announce_fault();
        self.begin_root(0);
    }

    #[inline]
    fn step(&mut self, worker: usize) {
        match self.workers.get(worker).map(|worker| worker.state) {
            Some(State::Runs) => self.go_on(worker),
            Some(State::Searches) => self.search(worker),
            Some(State::Pauses) => self.ask_again(worker),
            Some(State::Tries { victim, advised }) => self.arrive(worker, victim as usize, advised),
            // These states have no event.
            Some(State::Blocked | State::Parked | State::Gone) => self.queue.clear(worker),
            None => self.fault(),
        }
    }

    #[inline]
    fn now(&self) -> Time {
        self.queue.now()
    }

    /// Draws the duration of an operation on this worker.
    #[inline]
    fn draw(&mut self, worker: usize, cost: Duration) -> Time {
        let time = match cost {
            Duration::Fixed(time) => time,
            drawn => drawn.draw(self.chance.u64(..)),
        };
        crate::costs::times(time, self.workers[worker].slowness)
    }

    /// Draws the duration of an operation between two workers.
    fn draw_between(&mut self, worker: usize, other: usize, cost: Duration) -> Time {
        let time = self.draw(worker, cost);
        if self.setup.costs.know_distance() {
            let distance = self.places.distance(worker, other);
            crate::costs::times(time, self.setup.costs.factor(distance))
        } else {
            time
        }
    }

    /// Schedules the worker's next event after `delay`, which counts as `doing`.
    #[inline]
    fn after(&mut self, worker: usize, delay: Time, doing: Activity) {
        let now = self.queue.now();
        self.workers[worker].does(doing, now);
        self.queue.set(worker, now + delay);
    }

    /// Clears the worker's event.
    fn rest(&mut self, worker: usize, state: State, doing: Activity) {
        let now = self.now();
        self.workers[worker].state = state;
        self.workers[worker].does(doing, now);
        self.queue.clear(worker);
    }

    /// Creates a task.
    #[inline]
    fn create(&mut self, node: W::Node, path: Time, depth: u32, data: Data) -> Task<W::Node> {
        self.open += 1;
        Task { node, id: self.counters.created(), path, depth, data }
    }

    /// Updates the worker's load in the list, if there is one.
    #[inline]
    fn note_offer(&mut self, worker: usize) {
        if let Some(offers) = &mut self.offers {
            offers.set(worker, self.workers[worker].tasks.load());
        }
    }

    #[inline]
    fn take(&mut self, worker: usize, task: Task<W::Node>, origin: Option<Origin>) {
        self.counters.begun(task.id);
        self.workers[worker].frames.push(Frame::of(task, origin));
    }

    /// Asks the worker's policy, and returns the cost of its samples as well.
    fn ask<T, Q>(&mut self, me: usize, question: Q) -> (T, Time)
    where
        Q: FnOnce(&mut dyn VictimPolicy, &Sight<'_, W::Node>, &mut dyn FnMut() -> u64) -> T,
    {
        let sight = Sight {
            workers: &self.workers,
            places: &self.places,
            packages: &self.packages,
            costs: &self.setup.costs,
            me,
            above: self.above(me),
            boundary: self.boundary,
            stranded: self.workers[me].in_vain >= steal::LONG,
            offers: self.offers.as_ref(),
            looks: Cell::new((0, 0.0)),
        };
        let chance = &mut self.chance;
        let answer = question(&mut *self.policies[me], &sight, &mut || chance.u64(..));
        let (looks, factors) = sight.looks.get();
        (answer, self.price(me, looks, factors))
    }

    /// The cost of `looks` samples.
    fn price(&mut self, me: usize, looks: u32, factors: f64) -> Time {
        if looks == 0 || self.setup.costs.sample.is_zero() {
            return 0;
        }
        self.counters.counts.samples += u64::from(looks);
        let sample = self.setup.costs.sample;
        // The sum of many draws is approximated by their mean.
        let time = match looks {
            0..=16 => (0..looks).map(|_| self.draw(me, sample)).sum(),
            _ => crate::costs::times(
                self.draw(me, Duration::Fixed(sample.mean() as Time)),
                f64::from(looks),
            ),
        };
        crate::costs::times(time, factors / f64::from(looks))
    }
}
