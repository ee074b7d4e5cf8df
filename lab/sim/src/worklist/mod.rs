//! Transactional worklists in virtual time, with a model of conflicts between units.
//!
//! The settings are those of the library. [`sinew_policy::worklist`] and [`sinew_policy::tune`]
//! decide their consequences: the distribution of units, the number that a thief takes, swaps, the
//! number of helpers, the end of an epoch, the tuner's steps.
//!
//! A unit accesses its variables at even distances over its time. Transactions are a simplified
//! version of the library's. A write locks its variable until the commit; a transaction that meets
//! a lock aborts. A read remembers the version. An access to a variable younger than the snapshot
//! validates all reads again, and so does the commit. After 64 failed attempts a worker takes the
//! token: other workers do not commit while it has the token, and transactions in its way abort.
//!
//! | file | contents |
//! |---|---|
//! | `mix` | the units: durations and variables |
//! | `memory` | variables, their versions and locks |
//! | `lists` | a shared list and one per worker, each with a lock |
//! | `run` | workers between two units |
//! | `attempt` | workers in a transaction |
//! | `counters` | counters, and the checks at the end |
//!
//! # Invariants
//!
//! - K1: every unit commits exactly once.
//! - K2: a variable is locked by one transaction at most, and by none at the end.
//! - K3: committed work and wasted work add up to all work.
//!
//! All are checked at the end of every run.
//!
//! # Not handled
//!
//! Pages and mappings. A helper has a core, but no steps of its own: it makes its worker's units
//! shorter or longer, as [`Mix::memory`] says, and each attempt longer by [`Worklist::exchange`].

mod attempt;
mod counters;
mod lists;
mod memory;
mod mix;
mod run;
#[cfg(test)]
mod tests;

use sinew_policy::tune::{Counts, Path};

use sinew_policy::worklist::Settings;

pub use mix::{Mix, MixError};
pub use sinew_policy::tune::Knobs;

use crate::costs::set_by_name;
use crate::engine::Progress;
use crate::named::RunError;
use crate::queue::Time;
use crate::random::Duration;
use crate::report::Violation;
use crate::setup::{Fault, MOST_WORKERS, SetupError};

/// The source of the settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tuning {
    /// Constant settings.
    Fixed(Settings),
    /// The autotuner.
    Auto(Knobs),
}

/// The configuration of a run, apart from its units.
#[derive(Debug, Clone)]
pub struct Worklist {
    /// Greatest number of workers.
    pub cores: usize,
    /// The source of the settings.
    pub tuning: Tuning,
    /// Time for which a use blocks a list.
    pub access: Duration,
    /// Cost of a look at another worker's list.
    pub look: Duration,
    /// Cost of beginning and committing a transaction.
    pub transaction: Duration,
    /// Time from an abort to the next attempt.
    pub abort: Duration,
    /// Time from the addition of units to the first step of a woken worker.
    pub wake: Duration,
    /// Time of a cache line from a worker to its helper and back; of [`Mix::lines`] a unit.
    pub exchange: Duration,
    /// Faults in any order.
    pub faults: Vec<Fault>,
    /// Random seed; the same seed gives the same run.
    pub seed: u64,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct WorklistReport {
    /// Total time.
    pub time: Time,
    /// The sum of all units' durations.
    pub work: Time,
    /// Work of aborted attempts.
    pub wasted: Time,
    /// Commits, aborts and accesses that had to wait.
    pub counts: Counts,
    /// Transactions that ran two units.
    pub coalesced: u64,
    /// Number of steals from other workers' lists.
    pub steals: u64,
    /// Number of swapped units.
    pub swaps: u64,
    /// Number of times that the token was taken.
    pub tokens: u64,
    /// Number of events.
    pub events: u64,
    /// The final settings.
    pub settings: Settings,
    /// The tuner's steps, if there is one.
    pub path: Path,
    /// The fingerprint of the run.
    pub trace: u64,
    /// Whether all units ran.
    pub is_whole: bool,
}

impl WorklistReport {
    /// Work over time.
    pub fn speedup(&self) -> f64 {
        self.work as f64 / self.time.max(1) as f64
    }
}

set_by_name!(Worklist: Duration; access, look, transaction, abort, wake, exchange);

impl Worklist {
    /// `cores` cores with these settings, and costs close to the library's on a present-day server.
    pub fn new(cores: usize, tuning: Tuning) -> Self {
        Self {
            cores,
            tuning,
            access: Duration::ns(20),
            look: Duration::ns(40),
            transaction: Duration::ns(20),
            abort: Duration::ns(100),
            wake: Duration::ns(5_000),
            exchange: crate::models::NEAR.line,
            faults: Vec::new(),
            seed: 0,
        }
    }

    /// The same worklist with free operations.
    #[must_use]
    pub fn free(self) -> Self {
        let zero = Duration::ZERO;
        Self {
            access: zero,
            look: zero,
            transaction: zero,
            abort: zero,
            wake: zero,
            exchange: zero,
            ..self
        }
    }

    /// Runs the units of this mix.
    ///
    /// # Errors
    ///
    /// An impossible value, or an error of the simulator.
    pub fn run(&self, mix: &Mix) -> Result<WorklistReport, RunError> {
        self.run_while(mix, |_| true)
    }

    /// Like [`run`](Self::run), but stops when `goes_on` returns false; it is called now and then.
    /// Tasks in its progress are units.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_while(
        &self,
        mix: &Mix,
        goes_on: impl FnMut(&Progress) -> bool,
    ) -> Result<WorklistReport, RunError> {
        self.check(mix).map_err(RunError::Setup)?;
        run::Run::new(self, mix).run(goes_on).map_err(RunError::Violation)
    }

    /// Checks that these units can run.
    ///
    /// # Errors
    ///
    /// Describes the impossible value.
    pub fn check(&self, mix: &Mix) -> Result<(), SetupError> {
        self.check_setup().and_then(|()| mix.check())
    }

    fn check_setup(&self) -> Result<(), SetupError> {
        let wrong = |why: String| Err(SetupError::new(why));
        if self.cores == 0 || self.cores > MOST_WORKERS {
            return wrong(format!(
                "a worklist runs on 1 to {MOST_WORKERS} cores, not {}",
                self.cores
            ));
        }
        match self.tuning {
            Tuning::Fixed(settings) if settings.threads == 0 => {
                return wrong("a worklist with 0 threads never ends: use at least 1".to_owned());
            }
            Tuning::Fixed(settings) if settings.threads > self.cores => {
                return wrong(format!(
                    "{} threads do not fit onto {} cores",
                    settings.threads, self.cores
                ));
            }
            Tuning::Auto(knobs) => {
                knobs.check().map_err(|error| SetupError::new(error.to_string()))?;
            }
            Tuning::Fixed(_) => {}
        }
        self.faults.iter().try_for_each(|fault| fault.check(self.cores, "core"))
    }
}

/// The error of a run whose units did not commit exactly once each.
fn not_once(created: u64, run: u64) -> Violation {
    Violation::NotOnceEach { created, run }
}
