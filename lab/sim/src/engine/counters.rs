//! Counters, and the checks at the end of a run.

use sinew_policy::victim::Tally;

use super::Simulation;
use crate::queue::Time;
use crate::random::mix;
use crate::report::{Activity, Counts, Report, Violation};
use crate::workload::Workload;

/// Picoseconds in a microsecond.
const US: Time = 1_000_000;

/// Counters that are updated during a run.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) counts: Counts,
    /// T1 and T∞ of the tasks so far.
    pub(super) work: Time,
    pub(super) span: Time,
    /// The time that this work must have taken, with slow workers and contention.
    effort: Time,
    created: u64,
    /// Hashes of task numbers, added when a task is created and subtracted when it begins. The sum
    /// is zero if each task began exactly once.
    balance: u64,
    tallies: Vec<(u64, Time)>,
}

impl Counters {
    /// Registers a new task and returns its number.
    #[inline]
    pub(super) fn created(&mut self) -> u64 {
        let id = self.created;
        self.created += 1;
        self.balance = self.balance.wrapping_add(mix(id));
        id
    }

    #[inline]
    pub(super) fn begun(&mut self, id: u64) {
        self.counts.tasks += 1;
        self.balance = self.balance.wrapping_sub(mix(id));
    }

    /// Adds a task's own work and the end of the longest path through it.
    #[inline]
    pub(super) fn worked(&mut self, work: Time, end: Time) {
        self.work += work;
        self.span = self.span.max(end);
    }

    /// Adds the time that a worker takes for a task or a slice of it.
    #[inline]
    pub(super) fn took(&mut self, takes: Time) {
        self.effort += takes;
    }

    pub(super) fn tally(&mut self, depth: u32, took: Time) {
        let depth = depth as usize;
        if self.tallies.len() <= depth {
            self.tallies.resize(depth + 1, (0, 0));
        }
        let tally = &mut self.tallies[depth];
        *tally = (tally.0 + 1, tally.1 + took);
    }

    /// Duration of stolen tasks, by depth.
    pub(super) fn tallies(&self) -> Vec<Tally> {
        let tally = |&(tasks, time): &(u64, Time)| Tally { tasks, micros: time / US };
        self.tallies.iter().map(tally).collect()
    }
}

impl<W: Workload> Simulation<'_, W> {
    /// Checks the invariants and returns the report.
    pub(super) fn close(self) -> Result<Report, Violation> {
        let report = self.report();
        if self.queue.backwards() > 0 {
            return Err(Violation::TimeRanBackwards(self.queue.backwards()));
        }
        self.check_times(&report)?;
        if report.is_whole {
            self.check_tasks(&report)?;
            self.check_bounds(&report)?;
        }
        Ok(report)
    }

    fn report(&self) -> Report {
        let now = self.now();
        let mut spent = [0; Activity::COUNT];
        for worker in &self.workers {
            for (all, one) in spent.iter_mut().zip(worker.spent(now)) {
                *all += one;
            }
        }
        Report {
            workers: self.workers.len(),
            time: now,
            work: self.counters.work,
            span: self.counters.span,
            counts: self.counters.counts,
            spent,
            tallies: self.counters.tallies(),
            trace: self.trace.hash(),
            is_whole: self.open == 0,
        }
    }

    fn check_times(&self, report: &Report) -> Result<(), Violation> {
        let all: Time = report.spent.iter().sum();
        match all.abs_diff(report.time * report.workers as u64) {
            0 => Ok(()),
            by => Err(Violation::TimesDoNotSumUp(by)),
        }
    }

    fn check_tasks(&self, report: &Report) -> Result<(), Violation> {
        let (created, run) = (self.counters.created, report.counts.tasks);
        if created != run || self.counters.balance != 0 {
            return Err(Violation::NotOnceEach { created, run });
        }
        let done = report.spent[Activity::Works as usize];
        if done != self.counters.effort {
            return Err(Violation::WorkNotConserved { had: self.counters.effort, done });
        }
        Ok(())
    }

    fn check_bounds(&self, report: &Report) -> Result<(), Violation> {
        let Report { time, work, span, workers, .. } = *report;
        let outside = |bound| Err(Violation::OutOfBounds { time, bound });
        let lower = span.max(work.div_ceil(workers as u64));
        if time < lower {
            return outside(lower);
        }
        // Times are whole picoseconds, so the share may be rounded up.
        let upper = span + work.div_ceil(workers as u64);
        if self.setup.is_greedy() && time > upper {
            return outside(upper);
        }
        Ok(())
    }
}
