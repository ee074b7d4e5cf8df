//! Jobs whose ranks share machines with each other, under three ways to divide the cores.
//!
//! A job arrives, has a rank on each of some machines, and ends when its work is done. A job that
//! waits is as fast as its slowest rank; another one as all ranks together. Speeds are constant
//! between two events.
//!
//! | way | cores of a rank |
//! |---|---|
//! | static | an equal part of its machine, for so many ranks as the machine has places |
//! | alone | each machine decides by [`share::decide`], equally, when its ranks change |
//! | whole | all machines decide together by [`jobs::decide`], at each round |
//!
//! | file | contents |
//! |---|---|
//! | `mix` | random jobs |
//! | `run` | arrivals, rounds, ends |
//!
//! # Invariants
//!
//! - J1: no machine gives more cores than it has, unless it has more ranks than cores.
//! - J2: every job ends, after the time of its work at its speeds.
//!
//! Both are checked in every run.
//!
//! # Not handled
//!
//! Measuring loads: they are known, but for a noise.
//!
//! [`share::decide`]: sinew_policy::share::decide
//! [`jobs::decide`]: sinew_policy::share::jobs::decide

mod mix;
mod run;
#[cfg(test)]
mod tests;

pub use mix::{JobKind, Part, SimulatedJob, random};

use crate::queue::Time;

/// A way to divide the cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Nobody: a rank has its part of the machine from its beginning to its end.
    Static,
    /// Each machine's coordinator.
    Alone,
    /// The coordinators of all machines together.
    Whole,
}

impl Way {
    /// All ways.
    pub const ALL: [Self; 3] = [Self::Static, Self::Alone, Self::Whole];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Alone => "alone",
            Self::Whole => "whole",
        }
    }
}

/// The machines and how their cores are divided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machines {
    /// The number of machines.
    pub machines: usize,
    /// The cores of each.
    pub cores: u32,
    /// Ranks for which a machine has places under [`Way::Static`], and at most.
    pub places: u32,
    /// The way to divide the cores.
    pub way: Way,
    /// The time between two rounds under [`Way::Whole`]. Until then ranks that arrive have the
    /// cores that no other has, or one.
    pub round: Time,
    /// The most relative error of a known load.
    pub noise: f64,
    /// The time that a job loses for each core that one of its ranks gains or loses.
    pub move_cost: Time,
    /// The seed of the errors.
    pub seed: u64,
}

impl Machines {
    /// Machines of 16 cores with four places, rounds of half a second, errors of 3 %, and 50 µs
    /// for a core that moves.
    pub fn new(machines: usize, way: Way) -> Self {
        let (round, move_cost) = (crate::programs::SECOND / 2, 50_000_000);
        Self { machines, cores: 16, places: 4, way, round, noise: 0.03, move_cost, seed: 0 }
    }
}

/// The result of a run. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct JobsReport {
    /// Jobs that ended.
    pub ended: usize,
    /// From the beginning to the last end.
    pub makespan: f64,
    /// The sum of the times from arrival to end.
    pub total: f64,
    /// The longest time from arrival to end.
    pub longest: f64,
    /// The mean of the ratios of that time to the time alone on the machines.
    pub mean_slowdown: f64,
    /// The worst of these ratios.
    pub worst_slowdown: f64,
    /// Decisions of a machine, or of all together.
    pub decisions: u64,
    /// Cores that changed hands between ranks that stay.
    pub moved: u64,
    /// The most ranks of a decision.
    pub most_ranks: usize,
}

/// Runs jobs to their ends. `around` is called around each decision, so that a caller can measure
/// it.
///
/// # Panics
///
/// If J1 does not hold, or a job has no ranks or ranks on machines that do not exist.
pub fn run_jobs(
    setup: &Machines,
    jobs: &[SimulatedJob],
    around: &mut dyn FnMut(&mut dyn FnMut()),
) -> JobsReport {
    run::run(setup, jobs, around)
}
