//! Transactional worklists in virtual time, with a model of what units do to each other.
//!
//! The settings mean what they mean in the library, and what follows from them (who gets which
//! units, how many a thief takes, when a unit is swapped, how many helpers there are, when an epoch
//! is over, what the tuner does then) is decided by the very code of [`sinew_policy::worklist`] and
//! [`sinew_policy::tune`].
//!
//! A unit reads and writes variables at even distances over its time. Transactions are those of the
//! library, in short: a write locks its variable until the commit; who meets a lock gives up; a
//! read remembers the version that it saw, and an access to a variable that is younger than the
//! snapshot looks through all of them again, as the commit does. After 64 attempts in vain a worker
//! takes the token: others do not commit as long as it has it, and who is in its way gives up.
//!
//! | file | what lives there |
//! |---|---|
//! | `mix` | what units are: how long, and which variables they touch |
//! | `memory` | variables, their versions and locks |
//! | `lists` | one list for all, and one a worker; locks that have to be waited for |
//! | `course` | workers between two units |
//! | `attempt` | workers in a transaction |
//! | `books` | counts, and the checks at the end |
//!
//! # Invariants
//!
//! - K1: every unit that there is commits exactly once.
//! - K2: a variable is locked by one transaction at most, and by none at the end.
//! - K3: what was worked in vain and what was committed are all that was worked.
//!
//! All are checked at the end of every run.
//!
//! # Not handled
//!
//! Pages and mappings. Helpers take time from nobody: they make their worker faster, or slower, as
//! [`Mix::memory`] says.

mod attempt;
mod books;
mod course;
mod lists;
mod memory;
mod mix;
#[cfg(test)]
mod tests;

use sinew_policy::tune::{Counts, Path};

use sinew_policy::worklist::Settings;

pub use mix::{Mix, MixError};
pub use sinew_policy::tune::Knobs;

use crate::engine::Progress;
use crate::named::RunError;
use crate::queue::Time;
use crate::random::Duration;
use crate::report::Violation;
use crate::setup::{Fault, MOST_WORKERS, Mishap, SetupError};

/// How the settings are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tuning {
    /// These.
    Fixed(Settings),
    /// By the autotuner.
    Auto(Knobs),
}

/// What a run depends on, besides its units.
#[derive(Debug, Clone)]
pub struct Worklist {
    /// How many workers there are at most.
    pub cores: usize,
    /// How settings are chosen.
    pub tuning: Tuning,
    /// How long a list serves nobody else when it is used.
    pub access: Duration,
    /// A look at another worker's list.
    pub look: Duration,
    /// To begin a transaction and to commit it.
    pub transaction: Duration,
    /// From an abort to the next attempt.
    pub abort: Duration,
    /// From units that are added to the first step of one who slept.
    pub wake: Duration,
    /// What happens to workers, in any order.
    pub faults: Vec<Fault>,
    /// From which all chance comes.
    pub seed: u64,
}

/// What a run has shown.
#[derive(Debug, Clone, PartialEq)]
pub struct WorklistReport {
    /// How long it took.
    pub time: Time,
    /// The time of all units together.
    pub work: Time,
    /// What was worked in attempts that were given up.
    pub wasted: Time,
    /// Commits of units, aborts, accesses that had to wait.
    pub counts: Counts,
    /// Transactions that ran two units.
    pub coalesced: u64,
    /// How often units were taken from another worker's list.
    pub steals: u64,
    /// How often a unit was swapped for another.
    pub swaps: u64,
    /// How often the token was taken.
    pub tokens: u64,
    /// Steps.
    pub events: u64,
    /// The settings in the end.
    pub settings: Settings,
    /// What the tuner did, where there is one.
    pub path: Path,
    /// The fingerprint.
    pub trace: u64,
    /// Whether all units were run.
    pub is_whole: bool,
}

impl WorklistReport {
    /// Work over time.
    pub fn speedup(&self) -> f64 {
        self.work as f64 / self.time.max(1) as f64
    }
}

impl Worklist {
    /// So many cores, these settings, and costs of about what the library takes on a present-day
    /// server.
    pub fn new(cores: usize, tuning: Tuning) -> Self {
        Self {
            cores,
            tuning,
            access: Duration::ns(20),
            look: Duration::ns(40),
            transaction: Duration::ns(20),
            abort: Duration::ns(100),
            wake: Duration::ns(5_000),
            faults: Vec::new(),
            seed: 0,
        }
    }

    /// The same where only units take time.
    #[must_use]
    pub fn free(self) -> Self {
        let zero = Duration::ZERO;
        Self { access: zero, look: zero, transaction: zero, abort: zero, wake: zero, ..self }
    }

    /// The names that [`set`](Self::set) knows.
    pub const NAMES: [&'static str; 5] = ["access", "look", "transaction", "abort", "wake"];

    /// Sets one cost by its name. Returns whether there is one.
    pub fn set(&mut self, name: &str, cost: Duration) -> bool {
        let place = match name {
            "access" => &mut self.access,
            "look" => &mut self.look,
            "transaction" => &mut self.transaction,
            "abort" => &mut self.abort,
            "wake" => &mut self.wake,
            _ => return false,
        };
        *place = cost;
        true
    }

    /// Runs units of this kind.
    ///
    /// # Errors
    ///
    /// What is impossible about it, or an error of the simulator.
    pub fn run(&self, mix: &Mix) -> Result<WorklistReport, RunError> {
        self.run_while(mix, |_| true)
    }

    /// The same for as long as `goes_on` says, which is asked now and then; tasks are units then.
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
        course::Course::new(self, mix).run(goes_on).map_err(RunError::Violation)
    }

    /// Whether units of this kind can be run so.
    ///
    /// # Errors
    ///
    /// What is impossible about it.
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
        self.faults.iter().try_for_each(|fault| self.check_fault(fault))
    }

    fn check_fault(&self, fault: &Fault) -> Result<(), SetupError> {
        let wrong = |why: String| Err(SetupError::new(why));
        match fault.what {
            _ if fault.worker >= self.cores => {
                wrong(format!("there is no core {}: there are {}", fault.worker, self.cores))
            }
            Mishap::Leaves if fault.worker == 0 => {
                wrong("core 0 cannot leave: choose another".into())
            }
            Mishap::Slows(factor) if !(1.0..=1e6).contains(&factor) => {
                wrong(format!("a core becomes slower by a factor from 1 to 1000000, not {factor}"))
            }
            _ => Ok(()),
        }
    }
}

/// The error that a run ends with whose units are not each committed once.
fn not_once(created: u64, run: u64) -> Violation {
    Violation::NotOnceEach { created, run }
}
