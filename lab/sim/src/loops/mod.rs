//! Loops in virtual time, under every schedule.
//!
//! Workers arrive at a loop one after the other, claim iterations and run them until none are left.
//! Chunk sizes, deals and the schedules to try come from [`sinew_policy`]. Schedules that halve
//! ranges like the arms of a join are trees, and run on the engine.
//!
//! | [mechanism](Mechanism) | model |
//! |---|---|
//! | shares | a share per worker, in slices; a worker that has finished takes slices of shares that their owners have not begun |
//! | counter | one counter |
//! | ranges | worker 0 begins with everything; a worker without work takes the back half of the longest of the next few ranges |
//! | partition by owners | as ranges, but the [`LoopMemory`] deals the parts: equal shares in the first run; later the thief of a part keeps it |
//! | partition by speeds | as ranges, but from shares proportional to the workers' earlier speeds; equal in the first run |
//! | joins | [`Splits`] without waiting in joins |
//! | tuned | the choices of the tuner of [`sinew_policy::auto`]: a profiled run, then candidates, then the best |
//!
//! | file | contents |
//! |---|---|
//! | `run` | one run: the workers' claims in order of time |
//! | `source` | the unclaimed iterations |
//! | `memory` | state that one run leaves for the next |
//!
//! # Invariants
//!
//! - L1: each iteration is claimed exactly once.
//! - L2: max(longest iteration, T1/p) ≤ Tp, where a slow worker counts as a fraction of one.
//!
//! Both are checked at the end of every run.
//!
//! Not modelled:
//!
//! - contention of claims on a cache line;
//! - data that a part finds in its owner's cache;
//! - the first iterations, from which the runtime estimates a loop's time (known here).

mod memory;
mod run;
mod source;
#[cfg(test)]
mod tests;

use sinew_policy::chunk::Schedule;
use sinew_policy::schedule::Mechanism;
use sinew_policy::split::Splitter;

pub use memory::LoopMemory;

use crate::costs::Costs;
use crate::engine::{Progress, Simulation};
use crate::named::RunError;
use crate::queue::Time;
use crate::random::Duration;
use crate::setup::{Fault, Mishap, Setup, SetupError, Stack, Waiting};
use crate::workload::{IterationCosts, Splits};
use memory::Lesson;
use run::Run;

/// The configuration of a loop's run, apart from its iterations.
#[derive(Debug, Clone)]
pub struct Loop {
    /// Number of workers.
    pub workers: usize,
    /// The schedule.
    pub schedule: Schedule,
    /// Cost of a claim.
    pub claim: Duration,
    /// Additional cost of taking iterations from another worker; also the interval between the
    /// arrivals of two workers.
    pub steal: Duration,
    /// Slow-down factors of workers 0, 1 and so on, at least 1; workers beyond the list have 1.
    pub slow: Vec<f64>,
    /// Random seed; the same seed gives the same run.
    pub seed: u64,
}

/// The result of a loop's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoopReport {
    /// Total time; for a stopped run the time so far.
    pub time: Time,
    /// The sum of all iterations; for a stopped run, of those that were claimed.
    pub work: Time,
    /// Number of chunks.
    pub chunks: u64,
    /// The longest chunk, in time.
    pub longest_chunk: Time,
    /// Number of steals from other workers.
    pub steals: u64,
    /// The schedule of this run; differs from the request under `auto`.
    pub ran: Schedule,
    /// Fingerprint: equal loops give equal traces on every machine.
    pub trace: u64,
    /// Whether the loop ran to its end.
    pub is_whole: bool,
}

impl Loop {
    /// Runs the loop for the first time, over iterations of these costs.
    ///
    /// # Errors
    ///
    /// No worker, a chunk of 0 iterations, a slow-down factor below 1, or an error of the
    /// simulator.
    pub fn run(&self, costs: &IterationCosts) -> Result<LoopReport, RunError> {
        self.run_again(costs, &mut LoopMemory::default(), |_| true)
    }

    /// Runs the loop with the `memory` of earlier runs until `goes_on` returns false; it is called
    /// now and then. Tasks in its progress are iterations or pieces of the loop. A stopped run does
    /// not change the memory.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_again(
        &self,
        costs: &IterationCosts,
        memory: &mut LoopMemory,
        goes_on: impl FnMut(&Progress) -> bool,
    ) -> Result<LoopReport, RunError> {
        self.check().map_err(RunError::Setup)?;
        let lesson = memory.lesson(self, costs);
        let as_it_runs = Self { schedule: lesson.schedule(self.schedule), ..self.clone() };
        let (report, lesson) = as_it_runs.run_as(costs, lesson, goes_on)?;
        if report.is_whole {
            memory.learn(lesson, costs.len(), report.time);
        }
        Ok(report)
    }

    /// Checks that the loop can run.
    ///
    /// # Errors
    ///
    /// Describes the impossible value.
    pub fn check(&self) -> Result<(), SetupError> {
        Setup::new(self.workers).check()?;
        self.schedule.check().map_err(SetupError::from)?;
        match self.slow.iter().find(|factor| !(1.0..=1e6).contains(*factor)) {
            Some(factor) => Err(SetupError::new(format!(
                "a worker becomes slower by a factor from 1 to 1000000, not {factor}"
            ))),
            None => Ok(()),
        }
    }

    /// The slow-down factor of a worker.
    fn slowness(&self, worker: usize) -> f64 {
        self.slow.get(worker).copied().unwrap_or(1.0)
    }

    fn run_as(
        &self,
        costs: &IterationCosts,
        lesson: Lesson,
        goes_on: impl FnMut(&Progress) -> bool,
    ) -> Result<(LoopReport, Lesson), RunError> {
        match Mechanism::of(self.schedule) {
            Mechanism::Joins { rule, grain } => {
                let splitter = Splitter::new(rule, self.workers);
                Ok((self.run_tree(costs, splitter, grain, goes_on)?, lesson))
            }
            _ => Run::new(self, costs, lesson).run(goes_on).map_err(RunError::Violation),
        }
    }

    fn run_tree(
        &self,
        costs: &IterationCosts,
        splitter: Splitter,
        grain: usize,
        goes_on: impl FnMut(&Progress) -> bool,
    ) -> Result<LoopReport, RunError> {
        let prices = Costs { spawn: self.claim, attempt: self.steal, ..Costs::ZERO };
        let splits = Splits::new(costs.clone(), splitter, grain);
        let slow = self.slow.iter().take(self.workers).enumerate();
        let faults =
            slow.map(|(worker, &factor)| Fault { at: 0, worker, what: Mishap::Slows(factor) });
        let setup = Setup {
            seed: self.seed,
            costs: prices,
            stack: Stack::Open,
            wait: Waiting::Leave,
            faults: faults.collect(),
            ..Setup::new(self.workers)
        };
        let run = Simulation::new(setup, &splits).map_err(RunError::Setup)?;
        let report = run.run_while(goes_on).map_err(RunError::Violation)?;
        let counts = report.counts;
        Ok(LoopReport {
            time: report.time,
            work: report.work,
            // A leaf for each spawn, and one more.
            chunks: counts.spawns + 1,
            longest_chunk: report.span,
            steals: counts.steals,
            ran: self.schedule,
            trace: report.trace,
            is_whole: report.is_whole,
        })
    }
}
