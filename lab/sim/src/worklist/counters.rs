//! Counters, and the checks at the end of a run.

use sinew_policy::tune::Counts;

use super::WorklistReport;
use super::run::Run;
use crate::queue::Time;
use crate::random::{NS, mix};
use crate::report::Violation;

/// Counters that are updated during a run.
#[derive(Debug, Default)]
pub(super) struct Counters {
    created: u64,
    committed: u64,
    /// Hashes of units, added when they are created and subtracted when they commit.
    balance: u64,
    /// The work of all units, and of those that have committed.
    had: Time,
    done: Time,
    pub(super) aborts: u64,
    pub(super) wasted: Time,
    pub(super) coalesced: u64,
    pub(super) steals: u64,
    pub(super) swaps: u64,
    pub(super) tokens: u64,
    pub(super) events: u64,
    /// Transactions that committed although their reads had changed.
    pub(super) torn: u64,
    /// A planted error.
    pub(super) skips_validation: bool,
}

impl Counters {
    /// Registers a new unit and returns its number.
    pub(super) fn created(&mut self, work: Time) -> u64 {
        let id = self.created;
        self.created += 1;
        self.had += work;
        self.balance = self.balance.wrapping_add(mix(id));
        id
    }

    pub(super) fn record_commit(&mut self, id: u64, work: Time) {
        self.committed += 1;
        self.done += work;
        self.balance = self.balance.wrapping_sub(mix(id));
    }

    /// Number of uncommitted units.
    pub(super) fn open(&self) -> u64 {
        self.created - self.committed
    }

    pub(super) fn committed(&self) -> u64 {
        self.committed
    }

    /// Completed share of the known units.
    pub(super) fn share(&self) -> Option<f64> {
        (self.created > 0).then(|| self.committed as f64 / self.created as f64)
    }
}

impl Run<'_> {
    pub(super) fn totals(&self) -> Counts {
        Counts {
            commits: self.counters.committed(),
            aborts: self.counters.aborts,
            stalls: self.lists.stalls,
            elapsed_ns: self.now() / NS,
        }
    }

    /// Checks the invariants and returns the report.
    pub(super) fn close(self) -> Result<WorklistReport, Violation> {
        if self.queue.backwards() > 0 {
            return Err(Violation::TimeRanBackwards(self.queue.backwards()));
        }
        if self.counters.torn > 0 {
            return Err(Violation::Torn(self.counters.torn));
        }
        if self.counters.open() == 0 {
            self.check_units()?;
        }
        Ok(self.report())
    }

    fn check_units(&self) -> Result<(), Violation> {
        let counters = &self.counters;
        if counters.balance != 0 || self.memory.locked() != 0 {
            return Err(super::not_once(counters.created, counters.committed));
        }
        if counters.had != counters.done {
            return Err(Violation::WorkNotConserved { had: counters.had, done: counters.done });
        }
        // A helper saves at most the time spent waiting for memory.
        let least =
            (counters.done as f64 * (1.0 - self.mix.memory) / self.setup.cores as f64) as Time;
        if self.now() + 1 < least {
            return Err(Violation::OutOfBounds { time: self.now(), bound: least });
        }
        Ok(())
    }

    fn report(self) -> WorklistReport {
        let counters = &self.counters;
        WorklistReport {
            time: self.now(),
            work: counters.done,
            wasted: counters.wasted,
            counts: self.totals(),
            coalesced: counters.coalesced,
            steals: counters.steals,
            swaps: counters.swaps,
            tokens: counters.tokens,
            events: counters.events,
            settings: self.settings,
            trace: self.trace.hash(),
            is_whole: counters.open() == 0,
            path: self.path,
        }
    }
}
