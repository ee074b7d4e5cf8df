//! The published autotuner of the transactional worklist.
//!
//! It turns on one optimisation after the other, those with most influence on the others first, and
//! measures each in as few epochs as possible: a run is short, and its first epochs are
//! representative. Only swap-retry, which is cheap to change and follows the phases of a program,
//! is tuned until the end of the run.
//!
//! Source: Luís Fabrício Wanderley Góes, "Automatic Skeleton-Driven Performance Optimizations for
//! Transactional Memory" (PhD thesis, University of Edinburgh, 2012), chapter 6, figures 6.1 to
//! 6.4. Differences, where the printed figures must be misprints or leave something open:
//!
//! - The state for stealing ends after one epoch in any case. As printed, a list without contention
//!   would stay there for ever.
//! - Helpers run from the first epoch of their state on. As printed, it would compare two epochs
//!   without helpers.
//! - Their state ends at the longest lifespan. As printed, it would stay there while nothing gets
//!   worse.
//! - Each state counts its confirmations from 0.
//! - An epoch in which no transaction ended changes nothing.
//! - The number of cores may change while the list runs.
//! - A list without helpers is tuned without their state.
//!
//! # States
//!
//! | state | in it | left |
//! |---|---|---|
//! | start | all cores, one list | after an epoch |
//! | stealing | stealing turned on if stalls/commits > α | after an epoch |
//! | threads | halved after two epochs with aborts/commits ≥ β | after two below β: to helpers if a core is idle and they are allowed, else to coalescing |
//! | helpers | lifespan from 1, times 10 after two epochs not slower than the baseline (a tie is not slower) | after two slower ones (a lifespan of 1 becomes 0 then), and at the longest |
//! | coalescing | turned on if aborts/commits < β/10 and stalls/commits > α | after an epoch |
//! | swap-retry | retries follow aborts and commits of each epoch | never |
//!
//! # Invariants
//!
//! - T1: states follow each other in the order of the table; only helpers may be left out.
//! - T2: threads are between 1 and the cores, and rise only with the cores.
//! - T3: the lifespan is at most the longest, and 0 before the state for helpers.
//! - T4: stealing and coalescing, once on, stay on; retries are between 1 and 1,024.
//!
//! # Cost
//!
//! Some 20 ns per epoch, no allocation; 1 ns for the check whether an epoch is over.
//!
//! # Not handled
//!
//! The end of an epoch: see [`Epochs`](super::Epochs). A single thread that still aborts, since its
//! units wait for each other: as printed, the state for threads continues, so the worklist itself
//! must try another unit. The mapping of threads and pages: [`places`](crate::worklist::places)
//! decides before the run.
//!
//! # Tests
//!
//! `figures.rs`: each transition, and the printed figures against the tuner on any sequence.
//! `properties.rs`: T1 to T4 on any sequence. `tune/model.rs`: convergence on models of contention.

#[cfg(test)]
mod figures;
#[cfg(test)]
mod properties;

use std::cmp::Ordering;
use std::fmt;

use super::confirm::Confirm;
use super::{Baseline, Counts, KnobError, Knobs};
use crate::worklist::{Settings, helpers, swap, units};

/// The setting that is tuned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// None yet: counters fill.
    Start,
    /// One list, or one per worker.
    Stealing,
    /// The number of threads.
    Threads,
    /// The lifespan of helper threads.
    Helpers,
    /// One or two units per transaction.
    Coalescing,
    /// Retries before a swap, to the end of the run.
    SwapRetry,
}

/// The record of one epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The setting that was tuned.
    pub state: State,
    /// The settings that were in force.
    pub settings: Settings,
    /// The counts of the epoch.
    pub counts: Counts,
}

/// The state machine; see the [module](self).
#[derive(Debug, Clone, PartialEq)]
pub struct Tuner {
    knobs: Knobs,
    state: State,
    confirm: Confirm,
    may_help: bool,
    cores: usize,
    /// The number of threads, as long as there are enough cores.
    threads: usize,
    settings: Settings,
    /// The baseline for the next epoch with helpers, and the lifespan to which to return.
    baseline: Counts,
    accepted: u32,
}

impl Tuner {
    /// A tuner for a run on `cores` cores (0 counts as 1): all of them, one list.
    ///
    /// # Errors
    ///
    /// [`KnobError`], as in [`Knobs::check`].
    pub fn new(cores: usize, knobs: Knobs) -> Result<Self, KnobError> {
        let cores = cores.max(1);
        Ok(Self {
            knobs: knobs.check()?,
            state: State::Start,
            confirm: Confirm::default(),
            may_help: true,
            cores,
            threads: usize::MAX,
            settings: Settings::baseline(cores),
            baseline: Counts::default(),
            accepted: 0,
        })
    }

    /// This tuner for a list without helpers, which skips their state.
    #[must_use]
    pub fn without_helpers(mut self) -> Self {
        self.may_help = false;
        self
    }

    /// The setting that is tuned in the current epoch.
    pub fn state(&self) -> State {
        self.state
    }

    /// The settings for the current epoch.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Whether all settings but swap-retry are decided.
    pub fn is_settled(&self) -> bool {
        self.state == State::SwapRetry
    }

    /// Ends an epoch: decides by its counts, and returns its record. Then
    /// [`settings`](Self::settings) are those for the next.
    pub fn epoch(&mut self, counts: &Counts) -> Step {
        let step = Step { state: self.state, settings: self.settings, counts: *counts };
        if !counts.is_empty() {
            self.decide(counts);
        }
        step
    }

    /// Sets the number of cores (0 counts as 1), for example after other programs came or went. The
    /// threads are never more. With enough cores again, they return to the best number found.
    pub fn set_cores(&mut self, cores: usize) {
        self.cores = cores.max(1);
        self.settings.threads = self.threads.min(self.cores);
    }

    fn decide(&mut self, counts: &Counts) {
        match self.state {
            State::Start => self.state = State::Stealing,
            State::Stealing => self.share_or_steal(counts),
            State::Threads => self.count_threads(counts),
            State::Helpers => self.time_helpers(counts),
            State::Coalescing => self.coalesce(counts),
            State::SwapRetry => {
                self.settings.swap_after = Some(swap::retries(counts.aborts, counts.commits));
            }
        }
    }

    fn share_or_steal(&mut self, counts: &Counts) {
        self.settings.stealing = units::is_contended(counts, self.knobs.alpha);
        self.state = State::Threads;
    }

    fn count_threads(&mut self, counts: &Counts) {
        match self.confirm.record(counts.abort_ratio() < self.knobs.beta) {
            None => {}
            Some(true) if self.may_help && self.has_idle_core() => self.begin_helpers(counts),
            Some(true) => self.state = State::Coalescing,
            Some(false) => self.halve(),
        }
    }

    fn halve(&mut self) {
        self.threads = (self.settings.threads / 2).max(1);
        self.settings.threads = self.threads;
    }

    fn has_idle_core(&self) -> bool {
        self.settings.threads < self.cores
    }

    fn begin_helpers(&mut self, counts: &Counts) {
        self.state = State::Helpers;
        self.settings.lifespan = helpers::FIRST_LIFESPAN;
        self.baseline = *counts;
    }

    fn time_helpers(&mut self, counts: &Counts) {
        if !self.has_idle_core() {
            // The cores of the helpers are gone: there is nothing to measure.
            self.state = State::Coalescing;
            return;
        }
        let is_slower = counts.cmp_throughput(&self.baseline) == Ordering::Less;
        let decided = self.confirm.record(is_slower);
        if self.knobs.baseline == Baseline::Previous || decided == Some(false) {
            self.baseline = *counts;
        }
        match decided {
            None => {}
            Some(true) => self.end_helpers(),
            Some(false) => self.lengthen(),
        }
    }

    fn lengthen(&mut self) {
        let Settings { lifespan, .. } = self.settings;
        self.accepted = lifespan;
        self.settings.lifespan = helpers::longer(lifespan, self.knobs.longest_lifespan);
        // Against the previous epoch, the longest would be kept in any case, so the tuner need not
        // wait for it.
        let at_end = match self.knobs.baseline {
            Baseline::Previous => self.settings.lifespan,
            Baseline::Accepted => lifespan,
        };
        if at_end == self.knobs.longest_lifespan {
            self.state = State::Coalescing;
        }
    }

    fn end_helpers(&mut self) {
        self.settings.lifespan = match self.knobs.baseline {
            Baseline::Previous if self.settings.lifespan == helpers::FIRST_LIFESPAN => 0,
            Baseline::Previous => self.settings.lifespan,
            Baseline::Accepted => self.accepted,
        };
        self.state = State::Coalescing;
    }

    fn coalesce(&mut self, counts: &Counts) {
        self.settings.coalescing =
            units::coalescing_pays(counts, self.knobs.alpha, self.knobs.beta);
        self.state = State::SwapRetry;
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::Stealing => "stealing",
            Self::Threads => "threads",
            Self::Helpers => "helpers",
            Self::Coalescing => "coalescing",
            Self::SwapRetry => "swap-retry",
        })
    }
}
