//! Loops in virtual time, under every schedule.
//!
//! Workers come to a loop one after the other, claim iterations and run them, until there are none.
//! How long a chunk is, who is dealt what and which schedule is tried says the very code of
//! [`sinew_policy`]; schedules that cut ranges like the arms of a join are trees, and run on the
//! engine.
//!
//! | schedule | what is simulated |
//! |---|---|
//! | `static` | a share a worker, in slices; who is done takes shares that nobody has begun |
//! | `dynamic`, `tapered`, `factoring` | one counter |
//! | `stealing` | worker 0 begins with everything; who runs dry takes the back half of the longest of four ranges |
//! | `affinity` | the same from the parts that a [`LoopMemory`] deals: equal shares in the first run, later whoever stole a part keeps it |
//! | `weighted` | the same from shares as long as workers were fast in the runs before, equal ones in the first |
//! | `auto` | what the tuner of [`sinew_policy::auto`] tries: a run that is looked at, then candidates, then the best |
//! | `simple`, `adaptive` | [`Splits`], where nobody waits in joins |
//!
//! | room | what lives there |
//! |---|---|
//! | `course` | one run: who claims what when |
//! | `source` | what is left of a loop, and where |
//! | `memory` | what one run leaves for the next |
//!
//! # Invariants
//!
//! - L1: each iteration is claimed exactly once.
//! - L2: max(longest iteration, T1/p) ≤ Tp, where slow workers count as parts of one.
//!
//! Both are checked at the end of every run.
//!
//! Not modelled: claims that wait for each other's cache line; data that a part finds in its
//! owner's cache; the first iterations by which the runtime guesses how long a loop will take
//! before it looks at it: here that is known.

mod course;
mod memory;
mod source;
#[cfg(test)]
mod tests;

use sinew_policy::chunk::Schedule;
use sinew_policy::split::Splitter;

pub use memory::LoopMemory;

use crate::costs::Costs;
use crate::engine::{Progress, Simulation};
use crate::named::RunError;
use crate::queue::Time;
use crate::random::Duration;
use crate::setup::{Fault, Mishap, Setup, SetupError, Stack, Waiting};
use crate::workload::{IterationCosts, Splits};
use course::Course;
use memory::Lesson;

/// What a loop's run depends on, besides its iterations.
#[derive(Debug, Clone)]
pub struct Loop {
    /// How many workers come.
    pub workers: usize,
    /// How iterations are shared out.
    pub schedule: Schedule,
    /// What a claim takes.
    pub claim: Duration,
    /// What it takes to get iterations from another worker, besides; and how long after the one
    /// before the next worker comes.
    pub steal: Duration,
    /// How many times as long worker 0, 1 and so on takes for its iterations, at least 1; once for
    /// those beyond the list.
    pub slow: Vec<f64>,
    /// From which all chance comes.
    pub seed: u64,
}

/// What a loop's run has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoopReport {
    /// How long it took. Of a run that was stopped: how far it got.
    pub time: Time,
    /// All iterations together; of a run that was stopped, those that were claimed.
    pub work: Time,
    /// How many chunks were run.
    pub chunks: u64,
    /// The longest of them, in time.
    pub longest_chunk: Time,
    /// How often iterations were taken from another worker.
    pub steals: u64,
    /// Under which schedule: `auto` tries others.
    pub ran: Schedule,
    /// The fingerprint: equal for equal loops, whatever the machine.
    pub trace: u64,
    /// Whether it ran to its end.
    pub is_whole: bool,
}

impl Loop {
    /// Runs it over iterations of these costs, for the first time.
    ///
    /// # Errors
    ///
    /// No worker, a chunk of 0 iterations, a worker faster than others, or an error of the
    /// simulator.
    pub fn run(&self, costs: &IterationCosts) -> Result<LoopReport, RunError> {
        self.run_again(costs, &mut LoopMemory::default(), |_| true)
    }

    /// Runs it with what runs before have left in `memory`, for as long as `goes_on` says, which is
    /// asked now and then; tasks are iterations then, or cuts of the loop. A run that was stopped
    /// leaves nothing.
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

    /// Whether it can be run.
    ///
    /// # Errors
    ///
    /// What is impossible about it.
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

    /// By how many times a worker is slow.
    fn slowness(&self, worker: usize) -> f64 {
        self.slow.get(worker).copied().unwrap_or(1.0)
    }

    fn run_as(
        &self,
        costs: &IterationCosts,
        lesson: Lesson,
        goes_on: impl FnMut(&Progress) -> bool,
    ) -> Result<(LoopReport, Lesson), RunError> {
        match self.schedule {
            Schedule::Simple { grain } => {
                Ok((self.run_tree(costs, Splitter::Simple, grain, goes_on)?, lesson))
            }
            Schedule::Adaptive { grain } => {
                let splitter = Splitter::adaptive(self.workers);
                Ok((self.run_tree(costs, splitter, grain, goes_on)?, lesson))
            }
            _ => Course::new(self, costs, lesson).run(goes_on).map_err(RunError::Violation),
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
            // A leaf for each spawn, and one.
            chunks: counts.spawns + 1,
            longest_chunk: report.span,
            steals: counts.steals,
            ran: self.schedule,
            trace: report.trace,
            is_whole: report.is_whole,
        })
    }
}
