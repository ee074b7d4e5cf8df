//! The engine: workers that run a program in virtual time.
//!
//! Each worker has at most one event ahead of it, its own next step; the engine takes the earliest,
//! lets that worker take the step, and so on until the program is done. What a step does to another
//! worker (a thief is done, a sleeper is called) it does by setting that one's event.
//!
//! | room | what lives there |
//! |---|---|
//! | `run` | a worker and its own tasks: spawn, join, finish |
//! | `work` | their work, and how workers slow each other down |
//! | `steal` | a worker without: search, attempt, park |
//! | `exposure` | private tasks, and how thieves get to them |
//! | `wait` | a worker in a join whose task is elsewhere |
//! | `idle` | how long a worker spins before it parks, where it learns that |
//! | `faults` | workers that leave, come back and slow down |
//! | `books` | counts, and the checks at the end |
//!
//! # States
//!
//! | state | entered by | left by |
//! |---|---|---|
//! | `Runs` | a root, a successful steal, an awaited task that is done | no task in hand → `Searches`; a stolen one at a join → `Tries`, `Blocked` |
//! | `Searches` | nothing in hand; a call; coming back | its event → `Tries`, `Parked` |
//! | `Pauses` | a round in which the policy named nobody | its event → `Tries`, `Parked`, `Blocked`, `Pauses` |
//! | `Tries` | a victim is chosen | arrival → `Runs`, `Tries`, `Parked`, `Blocked` |
//! | `Blocked` | a join, where waiting means that, or after rounds in vain | the thief's finish → `Runs` |
//! | `Parked` | rounds in vain, and nothing on offer anywhere | a spawn → `Searches` |
//! | `Gone` | a fault, with nothing in hand | a fault → `Searches` |
//!
//! # Invariants
//!
//! - E1: nobody parks while a task is left that nobody has, and each spawn that thieves can see
//!   calls one who is parked; so no task is left while nobody comes.
//! - E3: as long as somebody is parked and nobody searches, every owner's next spawn is public: who
//!   parks, and who takes the last task in sight, calls on everybody.
//! - E2: all chance is drawn from one stream in the order of events, so a run follows from its
//!   setup and its program.
//!
//! # Cost
//!
//! Of an event: one path in the queue, one step, a hash of it; see the crate's documentation for
//! the measured rate.

mod books;
mod exposure;
mod faults;
mod idle;
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
use crate::seat::{Frame, Origin, Seat, State, Task};
use crate::setup::{Fault, Idle, Setup, SetupError, Waiting};
use crate::trace::Trace;
use crate::view::Sight;
use crate::workload::Workload;
use books::Books;
use idle::Spinner;

/// Between so many events the caller is asked whether to go on.
const LOOK_UP: u64 = 1 << 16;

/// How far a run has got.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Virtual time.
    pub time: Time,
    /// Steps so far.
    pub events: u64,
    /// Tasks that have been run.
    pub tasks: u64,
    /// How much of all is done, from 0 to 1, where that is known.
    pub share: Option<f64>,
    /// How many tasks there are in all on average over all seeds, where the program's own number
    /// cannot be known.
    pub expected: Option<f64>,
}

impl Progress {
    /// Of a run in which so much is done.
    pub(crate) fn new(time: Time, events: u64, tasks: u64, share: Option<f64>) -> Self {
        Self { time, events, tasks, share, expected: None }
    }
}

/// A run, from the moment at which worker 0 has the root and all others search.
pub struct Simulation<'w, W: Workload> {
    workload: &'w W,
    setup: Setup,
    /// The workers' events; behind them one for what happens from outside.
    queue: Queue,
    seats: Vec<Seat<W::Node>>,
    policies: Vec<Box<dyn VictimPolicy>>,
    places: Places,
    packages: Packages,
    /// Who sleeps; the last one is called first.
    parked: Vec<u32>,
    /// How long each spins, where they learn it.
    spinners: Vec<Spinner>,
    /// Who offers what, where the policy looks at everybody.
    offers: Option<Offers>,
    /// How many workers of each package work.
    busy: Vec<u32>,
    /// Those to come, the next one at the end.
    faults: Vec<Fault>,
    chance: fastrand::Rng,
    trace: Trace,
    books: Books,
    /// Tasks that have been created and not finished.
    open: u64,
    /// Tasks that nobody has begun, private ones included.
    on_offer: u64,
    /// How often everybody was called upon to publish.
    calls: u64,
    /// Who was asked to publish and when, oldest first; some have done so since.
    asked: VecDeque<(Time, u32)>,
    /// The next root.
    root: usize,
    /// See [`Setup::boundary`]; learned, where nothing is set.
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
    /// A run of `workload` under this setup.
    ///
    /// # Errors
    ///
    /// What is impossible about the setup.
    pub fn new(setup: Setup, workload: &'w W) -> Result<Self, SetupError> {
        let victims = setup.victims;
        Self::with_policies(setup, workload, || victims.policy())
    }

    /// The same with a policy of one's own for each worker; the setup's says only whether packages
    /// have masters.
    ///
    /// # Errors
    ///
    /// What is impossible about the setup.
    pub fn with_policies(
        setup: Setup,
        workload: &'w W,
        policy: impl FnMut() -> Box<dyn VictimPolicy>,
    ) -> Result<Self, SetupError> {
        setup.check()?;
        if workload.has_sequels() && setup.wait == Waiting::Leave {
            return Err(SetupError::new("tasks go on after their joins here, so nobody can leave those: choose another way to wait than leave".into()));
        }
        // A machine with room for all workers has a place for each.
        let places =
            Places::new(setup.machine.as_ref(), setup.workers).map_err(SetupError::from)?;
        let mut faults = setup.faults.clone();
        faults.sort_by_key(|fault| std::cmp::Reverse(fault.at));
        let mut simulation = Self {
            workload,
            queue: Queue::new(setup.workers + 1),
            seats: (0..setup.workers).map(|_| Seat::new()).collect(),
            policies: std::iter::repeat_with(policy).take(setup.workers).collect(),
            packages: Packages::new(places.packages()),
            busy: vec![0; places.packages()],
            spinners: match setup.idle {
                Idle::Adaptive => vec![Spinner::default(); setup.workers],
                Idle::Spin | Idle::Park { .. } => Vec::new(),
            },
            offers: setup.victims.looks_at_all().then(|| Offers::new(setup.workers)),
            places,
            parked: Vec::new(),
            faults,
            chance: fastrand::Rng::with_seed(crate::random::mix(setup.seed)),
            trace: Trace::new(setup.seed),
            books: Books::default(),
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

    /// Runs it to its end.
    ///
    /// # Errors
    ///
    /// A [`Violation`], which is an error of this crate.
    pub fn run(self) -> Result<Report, Violation> {
        self.run_while(|_| true)
    }

    /// Runs it for as long as `goes_on` says, which is asked every 65,536 events. A run that was
    /// stopped has a report of what was done by then.
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
            let events = &mut self.books.counts.events;
            *events += 1;
            if events.is_multiple_of(LOOK_UP) && !goes_on(&self.progress()) {
                break;
            }
        }
        self.close()
    }

    fn progress(&self) -> Progress {
        let counts = &self.books.counts;
        let of = |done: u64, all: u64| done as f64 / all.max(1) as f64;
        let by_tasks = self.workload.tasks().map(|all| of(counts.tasks, all));
        let share =
            by_tasks.or_else(|| self.workload.total_work().map(|all| of(self.books.work, all)));
        let expected = self.workload.expected_tasks();
        Progress { expected, ..Progress::new(self.now(), counts.events, counts.tasks, share) }
    }

    fn begin(&mut self) {
        for worker in 1..self.seats.len() {
            self.queue.set(worker, 0);
        }
        self.announce_fault();
        self.begin_root(0);
    }

    #[inline]
    fn step(&mut self, worker: usize) {
        match self.seats.get(worker).map(|seat| seat.state) {
            Some(State::Runs) => self.go_on(worker),
            Some(State::Searches) => self.search(worker),
            Some(State::Pauses) => self.ask_again(worker),
            Some(State::Tries { victim, advised }) => self.arrive(worker, victim as usize, advised),
            // These have no event.
            Some(State::Blocked | State::Parked | State::Gone) => self.queue.clear(worker),
            None => self.fault(),
        }
    }

    #[inline]
    fn now(&self) -> Time {
        self.queue.now()
    }

    /// How long something takes this worker.
    #[inline]
    fn draw(&mut self, worker: usize, cost: Duration) -> Time {
        let time = match cost {
            Duration::Fixed(time) => time,
            drawn => drawn.draw(self.chance.u64(..)),
        };
        crate::costs::times(time, self.seats[worker].slowness)
    }

    /// The same, for something that goes from one worker to another.
    fn draw_between(&mut self, worker: usize, other: usize, cost: Duration) -> Time {
        let time = self.draw(worker, cost);
        if self.setup.costs.know_distance() {
            let distance = self.places.distance(worker, other);
            crate::costs::times(time, self.setup.costs.factor(distance))
        } else {
            time
        }
    }

    /// The worker's next event comes after `delay`, which it spends with `doing`.
    #[inline]
    fn after(&mut self, worker: usize, delay: Time, doing: Activity) {
        let now = self.queue.now();
        self.seats[worker].does(doing, now);
        self.queue.set(worker, now + delay);
    }

    /// The worker has no event of its own any more.
    fn rest(&mut self, worker: usize, state: State, doing: Activity) {
        let now = self.now();
        self.seats[worker].state = state;
        self.seats[worker].does(doing, now);
        self.queue.clear(worker);
    }

    /// A task that has just been made.
    #[inline]
    fn create(&mut self, node: W::Node, path: Time, depth: u32) -> Task<W::Node> {
        self.open += 1;
        Task { node, id: self.books.created(), path, depth }
    }

    /// What the worker offers may have changed.
    #[inline]
    fn note_offer(&mut self, worker: usize) {
        if let Some(offers) = &mut self.offers {
            offers.set(worker, self.seats[worker].tasks.load());
        }
    }

    #[inline]
    fn take(&mut self, worker: usize, task: Task<W::Node>, origin: Option<Origin>) {
        self.books.begun(task.id);
        self.seats[worker].frames.push(Frame::of(task, origin));
    }

    /// Asks the worker's policy something, and returns what its looks cost as well.
    fn ask<T>(
        &mut self,
        me: usize,
        question: impl FnOnce(&mut dyn VictimPolicy, &Sight<'_, W::Node>, &mut dyn FnMut() -> u64) -> T,
    ) -> (T, Time) {
        let sight = Sight {
            seats: &self.seats,
            places: &self.places,
            packages: &self.packages,
            costs: &self.setup.costs,
            me,
            above: self.above(me),
            boundary: self.boundary,
            stranded: self.seats[me].in_vain >= steal::LONG,
            offers: self.offers.as_ref(),
            looks: Cell::new((0, 0.0)),
        };
        let chance = &mut self.chance;
        let answer = question(&mut *self.policies[me], &sight, &mut || chance.u64(..));
        let (looks, factors) = sight.looks.get();
        (answer, self.price(me, looks, factors))
    }

    /// What so many looks cost.
    fn price(&mut self, me: usize, looks: u32, factors: f64) -> Time {
        if looks == 0 || self.setup.costs.sample.is_zero() {
            return 0;
        }
        self.books.counts.samples += u64::from(looks);
        let sample = self.setup.costs.sample;
        // The sum of many hardly differs from so many times the mean.
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
