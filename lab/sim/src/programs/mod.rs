//! Programs that arrive and end, and share machines by the policies of [`sinew_policy::share`].
//!
//! A program has an amount of work and a curve of its speed over the number of cores. A number per
//! pair of kinds gives the effect of neighbours in a cache. Each machine has a coordinator. It
//! decides anew whenever a program arrives, ends or dies, and periodically under policies that use
//! measurements. A dispatcher above the machines sends arriving programs to machines
//! ([`Dispatch`]); a program stays on its machine.
//!
//! | file | contents |
//! |---|---|
//! | `mix` | kinds of programs, arrivals, effects; random mixes |
//! | `parse` | the same, read from text |
//! | `host` | one machine: its programs, their cores and their progress |
//! | `dispatch` | the machine for an arriving program |
//! | `run` | arrivals, ends, deaths |
//! | `counters` | results, and the checks at the end |
//!
//! # Invariants
//!
//! - J1: each program arrives once, and ends or dies once.
//! - J2: the cores of a machine's programs are disjoint, unless all of them share everything.
//! - J3: an ended program has done its work and paid for its moves.
//! - J4: no program ends sooner than it would alone on the whole machine with the best neighbours.
//!
//! All are checked in every run.
//!
//! # Cost
//!
//! One decision of the share policy per arrival and per end: programs × cores of one machine.
//!
//! # Not handled
//!
//! Migration of programs between machines.

mod counters;
mod dispatch;
mod host;
mod mix;
mod parse;
mod run;
#[cfg(test)]
mod tests;

use sinew_topology::Machine;

pub use dispatch::Dispatch;
pub use mix::{Arrival, Kind, Mix, SpeedUp};
pub use parse::MixTextError;
pub use sinew_policy::share::{Policy, Power, Script};

use crate::costs::set_by_name;
use crate::engine::Progress;
use crate::named::RunError;
use crate::queue::Time;
use crate::setup::SetupError;

/// Picoseconds in a second.
pub const SECOND: Time = 1_000_000_000_000;

/// The machines and their policies.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// The description of each machine; at most 1,024 PUs.
    pub machine: Machine,
    /// Number of machines.
    pub machines: usize,
    /// The share policy of each machine.
    pub policy: Policy,
    /// The dispatch rule.
    pub dispatch: Dispatch,
    /// Cost to a program of each core that it gains or loses, in time of that core.
    pub move_cost: Time,
    /// Time from an arrival or an end to the new shares.
    pub delay: Time,
    /// Period of measurements and decisions under [`Policy::Efficiency`] and [`Policy::Energy`].
    pub period: Time,
    /// The power of each machine, if energy is of interest. [`Policy::Energy`] knows it.
    pub power: Option<Power>,
    /// The script that each machine follows under [`Policy::Script`].
    pub script: Script,
    /// Random seed; the same seed gives the same run.
    pub seed: u64,
}

/// The result of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ProgramsReport {
    /// Programs that arrived.
    pub arrived: u64,
    /// Programs that ended.
    pub ended: u64,
    /// Programs that died.
    pub died: u64,
    /// From the beginning to the last end.
    pub makespan: Time,
    /// Mean time from arrival to end of the ended programs.
    pub mean_response: f64,
    /// Mean ratio of that time to the time alone on a whole machine.
    pub mean_slowdown: f64,
    /// The worst of these ratios.
    pub worst_slowdown: f64,
    /// Jain's fairness index of the slow-downs: 1 if all are equal, 1/n if one program has
    /// everything.
    pub fairness: f64,
    /// Cores that changed hands, apart from those of arriving and ending programs.
    pub moved: u64,
    /// Number of decisions.
    pub decisions: u64,
    /// Decisions that moved cores of a program.
    pub moving_decisions: u64,
    /// Fraction of all cores' time until the makespan that was assigned to programs.
    pub used: f64,
    /// Joules of all machines until the makespan, if their power is given.
    pub energy_j: Option<f64>,
    /// Number of events.
    pub events: u64,
    /// The fingerprint of the run.
    pub trace: u64,
    /// Whether all programs ended or died.
    pub is_whole: bool,
}

set_by_name!(Cluster: Time; move_cost, delay, period);

impl Cluster {
    /// `machines` machines of this kind with equal shares; a move costs 50 µs per core, a decision
    /// takes 200 µs.
    pub fn new(machine: Machine, machines: usize) -> Self {
        Self {
            machine,
            machines,
            policy: Policy::default(),
            dispatch: Dispatch::default(),
            move_cost: 50_000_000,
            delay: 200_000_000,
            period: SECOND / 10,
            power: None,
            script: Script::default(),
            seed: 0,
        }
    }

    /// The same cluster with free moves and decisions.
    #[must_use]
    pub fn free(self) -> Self {
        Self { move_cost: 0, delay: 0, ..self }
    }

    /// Runs these programs.
    ///
    /// # Errors
    ///
    /// An impossible value, or an error of the simulator.
    pub fn run(&self, mix: &Mix) -> Result<ProgramsReport, RunError> {
        self.run_while(mix, |_| true)
    }

    /// Like [`run`](Self::run), but stops when `goes_on` returns false; it is called now and then.
    /// Tasks in its progress are programs.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_while(
        &self,
        mix: &Mix,
        goes_on: impl FnMut(&Progress) -> bool,
    ) -> Result<ProgramsReport, RunError> {
        self.check(mix).map_err(RunError::Setup)?;
        run::run(self, mix, goes_on).map_err(RunError::Violation)
    }

    /// Checks that these programs can run.
    ///
    /// # Errors
    ///
    /// Describes the impossible value.
    pub fn check(&self, mix: &Mix) -> Result<(), SetupError> {
        self.check_setup().and_then(|()| mix.check())
    }

    fn check_setup(&self) -> Result<(), SetupError> {
        let pus = self.machine.pus().len();
        let most = sinew_policy::share::MAX_CORES;
        if pus > most {
            return Err(SetupError::new(format!(
                "programs share machines of at most {most} PUs, not {pus}"
            )));
        }
        if self.machines == 0 || self.machines > crate::setup::MOST_WORKERS {
            return Err(SetupError::new(format!(
                "there are 1 to {} machines, not {}",
                crate::setup::MOST_WORKERS,
                self.machines
            )));
        }
        let is_sound = |power: Power| {
            [power.idle_w, power.core_w].iter().all(|watts| (0.0..=1e9).contains(watts))
        };
        if !self.power.is_none_or(is_sound) {
            return Err(SetupError::new("watts are from 0 to 1e9".into()));
        }
        if self.period == 0 {
            return Err(SetupError::new(
                "speeds cannot be measured every 0 s: use a period above 0".into(),
            ));
        }
        Ok(())
    }
}
