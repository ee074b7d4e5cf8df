//! Locality domains in virtual time, with a FIFO queue of tasks for each.
//!
//! Worker 0 spawns every task into the domain that holds its data. A worker serves the queue of its
//! own domain first and, unless the scope is strict, other queues next. A task that runs far from
//! its data takes longer, and tasks share the memory of the domain that has their data. Source of
//! the queues: M. Wittmann and G. Hager, "A Proof of Concept for Optimizing Task Parallelism by
//! Locality Queues" (2009).
//!
//! # Invariants
//!
//! - D1: each task runs exactly once; in a strict scope it runs on a worker of its domain.
//! - D2: the number of pending tasks never exceeds the bound.
//! - D3: longest task ≤ Tp, T1/p ≤ Tp, and the work on a domain's data ≤ Tp · readers.
//!
//! All are checked at the end of every run.

mod memory;
mod run;
#[cfg(test)]
mod tests;

use sinew_topology::{Machine, Mapping};

use crate::costs::set_by_name;
use crate::engine::Progress;
use crate::models;
use crate::named::RunError;
use crate::places::Places;
use crate::queue::Time;
use crate::random::{Duration, is_within};
use crate::setup::{Setup, SetupError};

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
    /// Round robin, so many tasks at once: what a sweep over layers submits, each of which lies in
    /// one domain. At least 1.
    Runs(usize),
    /// All tasks into the first domain.
    First,
}

impl Placement {
    /// The placements without a number.
    pub const ALL: [Self; 3] = [Self::Blocks, Self::Turns, Self::First];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocks => "blocks",
            Self::Turns => "turns",
            Self::Runs(_) => "runs",
            Self::First => "first",
        }
    }

    /// The domain of task `number` of so many.
    fn domain(self, number: usize, tasks: usize, domains: usize) -> usize {
        match self {
            Self::Blocks => number * domains / tasks,
            Self::Turns => number % domains,
            Self::Runs(length) => number / length.max(1) % domains,
            Self::First => 0,
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
    /// Number of tasks near their data that the memory of a domain serves at full speed; `None`
    /// means any number.
    pub readers: Option<f64>,
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
    /// Tasks of 10 µs on `machine`, with the memories of [`models`].
    pub fn new(machine: Machine, tasks: usize) -> Self {
        Self {
            workers: machine.pus().len(),
            machine,
            order: Order::default(),
            placement: Placement::default(),
            tasks,
            task: Duration::ns(10_000),
            far: vec![models::FAR],
            readers: Some(models::READERS),
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
        let places = Places::new(Some(&self.machine), self.workers, &Mapping::Compact)
            .map_err(|error| RunError::Setup(SetupError::from(error)))?;
        run::Run::new(self, &places).run(goes_on).map_err(RunError::Violation)
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
        if let Some(readers) = self.readers.filter(|readers| !is_within(&(0.01..=1e6), *readers)) {
            return Err(SetupError::new(format!(
                "a memory serves 0.01 to 1000000 readers, not {readers}"
            )));
        }
        if self.most_pending == Some(0) {
            return Err(SetupError::new("no task may be pending: allow 1 or more".into()));
        }
        Ok(())
    }
}
