//! A run: workers between two units, and events that concern all of them.
//!
//! # States
//!
//! | state | entered by | left by |
//! |---|---|---|
//! | `Begins` | a commit, a wake-up, the beginning | its event → `Takes`, `Attempts`, `Idle`, `Down` |
//! | `Takes` | the use of a list | its event → `Attempts`, `Idle` |
//! | `Attempts` | current units, or an abort | its events → `Attempts`, `Begins`, `Waits` |
//! | `Waits` | a commit while another worker has the token | the release of the token → `Attempts` |
//! | `Idle` | no units in any list | new units → `Begins` |
//! | `Down` | fewer threads, or a fault | more threads → `Begins` |

use sinew_policy::tune::{Autotuner, Epochs, Path};
use sinew_policy::worklist::{Settings, helpers, units};

use super::attempt::Attempt;
use super::counters::Counters;
use super::lists::Lists;
use super::memory::Memory;
use super::mix::{Mix, Unit};
use super::{Tuning, Worklist, WorklistReport};
use crate::engine::Progress;
use crate::queue::{Queue, Time};
use crate::random::{Duration, mix};
use crate::report::Violation;
use crate::setup::{Fault, Mishap};
use crate::trace::{Step, Trace};

/// Number of events between two calls of `goes_on`.
const BETWEEN_CHECKS: u64 = 1 << 16;
/// Greatest number of rows in a tuner's path.
const ROWS: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Begins,
    Takes,
    Attempts,
    Waits,
    Idle,
    Down,
}

/// A worker.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) state: State,
    /// Units that it has taken and not begun.
    pub(super) held: std::collections::VecDeque<Unit>,
    /// Units of its current transaction.
    pub(super) current: Vec<Unit>,
    pub(super) attempt: Attempt,
    /// Aborts of this unit, and since its last commit.
    pub(super) in_row: u32,
    pub(super) in_vain: u32,
    is_active: bool,
    is_gone: bool,
    pub(super) slowness: f64,
}

/// A run.
pub(super) struct Run<'c> {
    pub(super) setup: &'c Worklist,
    pub(super) mix: &'c Mix,
    /// One event per worker, followed by one for faults.
    pub(super) queue: Queue,
    pub(super) workers: Vec<Worker>,
    pub(super) lists: Lists,
    pub(super) memory: Memory,
    pub(super) settings: Settings,
    pub(super) counters: Counters,
    pub(super) trace: Trace,
    pub(super) chance: fastrand::Rng,
    /// The owner of the token, and the workers that wait for its release.
    pub(super) token: Option<usize>,
    pub(super) waiting: Vec<usize>,
    pub(super) path: Path,
    tuner: Option<Autotuner>,
    epochs: Epochs,
    idle: Vec<usize>,
    faults: Vec<Fault>,
}

impl<'c> Run<'c> {
    pub(super) fn new(setup: &'c Worklist, mix: &'c Mix) -> Self {
        let mut tuner = match setup.tuning {
            // The knobs have been checked.
            Tuning::Auto(knobs) => Autotuner::new(setup.cores, knobs).ok(),
            Tuning::Fixed(_) => None,
        };
        tuner.iter_mut().for_each(|tuner| tuner.begin(mix.units as usize, setup.cores));
        let settings = match (&tuner, setup.tuning) {
            (None, Tuning::Fixed(settings)) => settings,
            (tuner, _) => {
                tuner.as_ref().map_or(Settings::baseline(setup.cores), Autotuner::settings)
            }
        };
        let length = tuner.as_ref().map_or(1, Autotuner::epoch_length);
        let mut faults = setup.faults.clone();
        faults.sort_by_key(|fault| std::cmp::Reverse(fault.at));
        let mut run = Self {
            setup,
            mix,
            queue: Queue::new(setup.cores + 1),
            workers: (0..setup.cores).map(|_| Worker::new()).collect(),
            lists: Lists::new(setup.cores),
            memory: Memory::new(mix.variables),
            settings: settings.stealing(false),
            counters: Counters::default(),
            trace: Trace::new(setup.seed),
            chance: fastrand::Rng::with_seed(crate::random::mix(setup.seed)),
            token: None,
            waiting: Vec::new(),
            path: Path::new(ROWS),
            tuner,
            epochs: Epochs::new(length),
            idle: Vec::new(),
            faults,
        };
        run.fill();
        run.follow(settings);
        run.announce_fault();
        run
    }

    fn fill(&mut self) {
        let shared = self.lists.shared();
        for id in 0..self.mix.units {
            let unit = self.mix.first(id);
            self.counters.created(self.mix.work(&unit));
            self.lists.push(shared, unit);
        }
    }

    pub(super) fn run(
        mut self,
        mut goes_on: impl FnMut(&Progress) -> bool,
    ) -> Result<WorklistReport, Violation> {
        while self.counters.open() > 0 {
            let Some(worker) = self.queue.next() else {
                return Err(Violation::Stranded { tasks: self.counters.open() });
            };
            self.step(worker);
            self.counters.events += 1;
            if self.counters.events.is_multiple_of(BETWEEN_CHECKS) && !goes_on(&self.progress()) {
                break;
            }
        }
        self.close()
    }

    fn progress(&self) -> Progress {
        let (events, tasks) = (self.counters.events, self.counters.committed());
        Progress::new(self.now(), events, tasks, self.counters.share())
    }

    fn step(&mut self, worker: usize) {
        match self.workers.get(worker).map(|worker| worker.state) {
            Some(State::Begins) => self.begin(worker),
            Some(State::Takes) => self.begin_or_work(worker),
            Some(State::Attempts) => self.advance(worker),
            Some(State::Waits | State::Idle | State::Down) => self.queue.clear(worker),
            None => self.fault(),
        }
    }

    #[inline]
    pub(super) fn now(&self) -> Time {
        self.queue.now()
    }

    /// Draws the duration of an operation on this worker.
    #[inline]
    pub(super) fn draw(&mut self, me: usize, cost: Duration) -> Time {
        let time = match cost {
            Duration::Fixed(time) => time,
            drawn => drawn.draw(self.chance.u64(..)),
        };
        crate::costs::times(time, self.workers[me].slowness)
    }

    pub(super) fn at(&mut self, me: usize, state: State, time: Time) {
        self.workers[me].state = state;
        self.queue.set(me, time);
    }

    pub(super) fn rest(&mut self, me: usize, state: State) {
        self.workers[me].state = state;
        self.queue.clear(me);
    }

    /// Begins the next unit.
    fn begin(&mut self, me: usize) {
        self.look_at_epoch();
        if !self.workers[me].is_active {
            return self.stand_down(me);
        }
        let wanted = units::to_take(
            self.settings.coalescing,
            self.is_helped(me),
            self.workers[me].held.len(),
        );
        if wanted > 0 { self.fetch(me, wanted) } else { self.set_to_work(me) }
    }

    /// Whether a helper runs ahead of this worker; the first workers have one.
    pub(super) fn is_helped(&self, me: usize) -> bool {
        self.settings.lifespan > 0 && me < helpers::helpers(self.settings.threads, self.setup.cores)
    }

    fn fetch(&mut self, me: usize, wanted: usize) {
        let (list, looks) = self.choose_list(me);
        let Some(list) = list else {
            return if self.workers[me].held.is_empty() {
                self.fall_idle(me);
            } else {
                self.set_to_work(me);
            };
        };
        let access = self.draw(me, self.setup.access);
        let mut end = self.lists.use_lock(list, self.now(), access);
        for _ in 0..looks {
            end += self.draw(me, self.setup.look);
        }
        self.take_from(me, list, wanted);
        self.at(me, State::Takes, end);
    }

    fn take_from(&mut self, me: usize, list: usize, wanted: usize) {
        let there = self.lists.len(list);
        let held = &mut self.workers[me].held;
        if list == me {
            held.extend(self.lists.take(list, units::batch(wanted, there, 1)));
        } else if list == self.lists.shared() {
            held.extend(self.lists.take(list, wanted));
        } else {
            self.counters.steals += 1;
            self.trace.add(self.queue.now(), me, Step::Steals, list as u64);
            let mut stolen = self.lists.steal(list, units::stolen(there));
            held.extend(stolen.by_ref().take(wanted));
            let rest: Vec<Unit> = stolen.collect();
            rest.into_iter().for_each(|unit| self.lists.push(me, unit));
        }
    }

    /// The first list with units in the order of the settings, and the number of other workers'
    /// lists that were sampled.
    fn choose_list(&mut self, me: usize) -> (Option<usize>, usize) {
        let shared = self.lists.shared();
        let own = if self.settings.stealing { [me, shared] } else { [shared, me] };
        if self.settings.stealing
            && self.lists.len(me) == 0
            && self.lists.units() > self.lists.len(shared)
        {
            return self.choose_victim(me);
        }
        match own.into_iter().find(|&list| self.lists.len(list) > 0) {
            Some(list) => (Some(list), 0),
            None if self.lists.units() > 0 => self.choose_victim(me),
            None => (None, 0),
        }
    }

    /// Tries all victims in a circle from a random one.
    fn choose_victim(&mut self, me: usize) -> (Option<usize>, usize) {
        let workers = self.workers.len();
        let first = self.chance.usize(..workers);
        let circle = (0..workers).map(|at| (first + at) % workers).filter(|&worker| worker != me);
        let mut looks = 0;
        for victim in circle {
            looks += 1;
            if self.lists.len(victim) > 0 {
                return (Some(victim), looks);
            }
        }
        (None, looks)
    }

    fn begin_or_work(&mut self, me: usize) {
        if self.workers[me].held.is_empty() { self.begin(me) } else { self.set_to_work(me) }
    }

    /// Begins its next transaction with one unit or two.
    fn set_to_work(&mut self, me: usize) {
        let many = 1 + usize::from(self.settings.coalescing);
        let worker = &mut self.workers[me];
        let many = many.min(worker.held.len());
        worker.current.clear();
        worker.current.extend(worker.held.drain(..many));
        (worker.in_row, worker.in_vain) = (0, 0);
        self.attempt(me, 0);
    }

    fn fall_idle(&mut self, me: usize) {
        self.trace.add(self.queue.now(), me, Step::Parks, 0);
        self.idle.push(me);
        self.rest(me, State::Idle);
    }

    /// Wakes one sleeper per new unit.
    pub(super) fn call(&mut self, many: usize) {
        for _ in 0..many {
            let Some(sleeper) = self.idle.pop() else { return };
            let time = self.now() + self.draw(sleeper, self.setup.wake);
            self.trace.add(self.queue.now(), sleeper, Step::Wakes, time);
            self.at(sleeper, State::Begins, time);
        }
    }

    /// Returns its held units and leaves.
    fn stand_down(&mut self, me: usize) {
        let held = std::mem::take(&mut self.workers[me].held);
        let list = if self.settings.stealing { me } else { self.lists.shared() };
        held.into_iter().for_each(|unit| self.lists.push(list, unit));
        self.rest(me, State::Down);
        // It may have been the worker that was woken for a unit.
        self.call(self.lists.units());
    }

    /// Feeds the tuner at the end of an epoch.
    fn look_at_epoch(&mut self) {
        let totals = self.totals();
        let Some(tuner) = &mut self.tuner else { return };
        if let Some(counts) = self.epochs.poll(&totals) {
            self.path.push(&tuner.epoch(&counts));
            self.epochs.set_length(tuner.epoch_length());
            let settings = tuner.settings();
            self.follow(settings);
        }
    }

    /// Changes the settings.
    fn follow(&mut self, settings: Settings) {
        let before = std::mem::replace(&mut self.settings, settings);
        self.activate_workers();
        if settings.stealing && !before.stealing {
            self.deal();
        }
    }

    /// Activates as many present workers as there are threads, in order of their numbers.
    fn activate_workers(&mut self) {
        let mut left = self.settings.threads;
        for me in 0..self.workers.len() {
            let takes_part = left > 0 && !self.workers[me].is_gone;
            left -= usize::from(takes_part);
            self.workers[me].is_active = takes_part;
            match self.workers[me].state {
                State::Down if takes_part => self.at(me, State::Begins, self.now()),
                State::Idle if !takes_part => {
                    self.idle.retain(|&sleeper| sleeper != me);
                    self.rest(me, State::Down);
                }
                _ => {}
            }
        }
    }

    /// Deals the shared list to the active workers.
    fn deal(&mut self) {
        let units: Vec<Unit> = self.lists.steal(self.lists.shared(), usize::MAX).collect();
        let players: Vec<usize> =
            (0..self.workers.len()).filter(|&me| self.workers[me].is_active).collect();
        let block = units::block(units.len(), players.len());
        for (place, unit) in units.into_iter().enumerate() {
            self.lists.push(players[units::dealt_to(place, block, players.len())], unit);
        }
    }

    fn announce_fault(&mut self) {
        let outside = self.workers.len();
        match self.faults.last() {
            Some(fault) => self.queue.set(outside, fault.at.max(self.queue.now())),
            None => self.queue.clear(outside),
        }
    }

    fn fault(&mut self) {
        if let Some(Fault { worker, what, .. }) = self.faults.pop() {
            self.trace.add(self.queue.now(), worker, Step::Fault, mix(self.faults.len() as u64));
            match what {
                Mishap::Slows(factor) => self.workers[worker].slowness = factor,
                Mishap::Leaves => self.goes_or_comes(worker, true),
                Mishap::Returns => self.goes_or_comes(worker, false),
            }
        }
        self.announce_fault();
    }

    fn goes_or_comes(&mut self, worker: usize, goes: bool) {
        self.workers[worker].is_gone = goes;
        let cores = self.workers.iter().filter(|worker| !worker.is_gone).count();
        match &mut self.tuner {
            Some(tuner) => {
                tuner.set_cores(cores);
                let settings = tuner.settings();
                self.follow(settings);
            }
            None => self.activate_workers(),
        }
    }
}

impl Worker {
    fn new() -> Self {
        Self {
            state: State::Down,
            held: std::collections::VecDeque::new(),
            current: Vec::new(),
            attempt: Attempt::default(),
            in_row: 0,
            in_vain: 0,
            is_active: false,
            is_gone: false,
            slowness: 1.0,
        }
    }
}
