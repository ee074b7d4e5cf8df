//! Programs that come and go, and share machines by the policies of [`sinew_policy::share`].
//!
//! A program has an amount of work and a curve that says how many times as fast it is on how many
//! cores; what its neighbours in a cache do to it is a number a pair. Each machine has a
//! coordinator, which decides anew whenever somebody comes, goes or dies, and, under rules that go
//! by what has been measured, every so often. Above the machines there is one that sends arriving
//! programs to machines ([`Dispatch`]); a program stays where it was sent.
//!
//! | file | what lives there |
//! |---|---|
//! | `mix` | kinds of programs, arrivals, effects; random mixes |
//! | `parse` | the same from text |
//! | `host` | one machine: who is there, who has what, how far they are |
//! | `dispatch` | where an arriving program goes |
//! | `course` | arrivals, ends, deaths |
//! | `books` | what was found, and the checks at the end |
//!
//! # Invariants
//!
//! - J1: each program comes once, and ends or dies once.
//! - J2: the cores of a machine's programs are disjoint, unless all of them share everything.
//! - J3: who has ended has done its work, and what its moves have cost.
//! - J4: nobody ends sooner after its arrival than it would alone on the whole machine with the
//!   best of neighbours.
//!
//! All are checked in every run.
//!
//! # Cost
//!
//! A decision of the share policy for each arrival and each end: programs × cores of one machine.
//!
//! # Not handled
//!
//! Programs that move from machine to machine.

mod books;
mod course;
mod dispatch;
mod host;
mod mix;
mod parse;
#[cfg(test)]
mod tests;

use sinew_topology::Machine;

pub use dispatch::Dispatch;
pub use mix::{Arrival, Kind, Mix, SpeedUp};
pub use parse::MixTextError;
pub use sinew_policy::share::{Policy, Script};

use crate::engine::Progress;
use crate::named::RunError;
use crate::queue::Time;
use crate::setup::SetupError;

/// Picoseconds in a second.
pub const SECOND: Time = 1_000_000_000_000;

/// The machines, and how they are shared.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// What each of the machines is like; at most 1,024 PUs.
    pub machine: Machine,
    /// How many there are.
    pub machines: usize,
    /// How a machine is shared.
    pub policy: Policy,
    /// Where programs are sent.
    pub dispatch: Dispatch,
    /// What a program loses for each core that it gets or gives up, in time of that core.
    pub move_cost: Time,
    /// From an arrival or an end to the new shares.
    pub delay: Time,
    /// How often speeds are measured and shares decided anew, under [`Policy::Efficiency`].
    pub period: Time,
    /// For [`Policy::Script`]: each machine follows it.
    pub script: Script,
    /// From which all chance comes.
    pub seed: u64,
}

/// What a run has shown.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ProgramsReport {
    /// Programs that have come.
    pub arrived: u64,
    /// Programs that have ended.
    pub ended: u64,
    /// Programs that have died.
    pub died: u64,
    /// From the beginning to the last end.
    pub makespan: Time,
    /// From arrival to end, on average over those that have ended.
    pub mean_response: f64,
    /// That over the time alone on a whole machine, on average, and of the worst.
    pub mean_slowdown: f64,
    /// See there.
    pub worst_slowdown: f64,
    /// Jain's index of the slowdowns: 1 if all are the same, 1/n if one has it all.
    pub fairness: f64,
    /// Cores that changed hands, those of programs that came or went aside.
    pub moved: u64,
    /// Decisions, and those that moved somebody's cores.
    pub decisions: u64,
    /// See there.
    pub moving_decisions: u64,
    /// The share of all cores' time until the makespan that somebody had.
    pub used: f64,
    /// Steps.
    pub events: u64,
    /// The fingerprint.
    pub trace: u64,
    /// Whether all programs have ended or died.
    pub is_whole: bool,
}

impl Cluster {
    /// So many machines of this kind, shared equally; a move costs 50 µs a core, a decision takes
    /// 200 µs.
    pub fn new(machine: Machine, machines: usize) -> Self {
        Self {
            machine,
            machines,
            policy: Policy::default(),
            dispatch: Dispatch::default(),
            move_cost: 50_000_000,
            delay: 200_000_000,
            period: SECOND / 10,
            script: Script::default(),
            seed: 0,
        }
    }

    /// The same where neither moves nor decisions cost anything.
    #[must_use]
    pub fn free(self) -> Self {
        Self { move_cost: 0, delay: 0, ..self }
    }

    /// The names that [`set`](Self::set) knows.
    pub const NAMES: [&'static str; 3] = ["move_cost", "delay", "period"];

    /// Sets one cost, or the period, by its name. Returns whether there is one.
    pub fn set(&mut self, name: &str, time: Time) -> bool {
        let place = match name {
            "move_cost" => &mut self.move_cost,
            "delay" => &mut self.delay,
            "period" => &mut self.period,
            _ => return false,
        };
        *place = time;
        true
    }

    /// Runs these programs.
    ///
    /// # Errors
    ///
    /// What is impossible about it, or an error of the simulator.
    pub fn run(&self, mix: &Mix) -> Result<ProgramsReport, RunError> {
        self.run_while(mix, |_| true)
    }

    /// The same for as long as `goes_on` says, which is asked now and then; tasks are programs
    /// then.
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
        course::run(self, mix, goes_on).map_err(RunError::Violation)
    }

    /// Whether these programs can be run so.
    ///
    /// # Errors
    ///
    /// What is impossible about it.
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
        if self.period == 0 {
            return Err(SetupError::new(
                "speeds cannot be measured every 0 s: use a period above 0".into(),
            ));
        }
        Ok(())
    }
}
