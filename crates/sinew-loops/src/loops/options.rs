//! The options of a loop, and what follows from them for a pool.

use sinew_policy::chunk::Schedule;
use sinew_policy::schedule::Mechanism;
use sinew_policy::split::Splitter;

use super::auto::Site;
use super::meter::Meter;
use crate::Control;
use crate::source::{LoopMemory, Source};
use sinew_core::Worker;
use std::ops::Range;

/// Loops of at most so many iterations a worker are halved by joins. With more of them a local
/// state for each iteration costs more than that gains. None in models, which have few iterations
/// and are to run the chunk sources.
const FEW_PER_WORKER: usize = if cfg!(any(loom, shuttle)) { 0 } else { 2 };

/// The options of a loop.
#[derive(Debug, Clone, Copy)]
pub struct Options<'m> {
    /// The schedule of its iterations.
    pub schedule: Schedule,
    /// Whether the pool's schedule, [set](sinew_core::PoolControl::set_schedule) or granted by a
    /// coordinator, replaces this one. Only for loops over items, which its chunks count.
    pub open: bool,
    /// The maximum number of workers (0 counts as 1).
    pub threads: usize,
    /// The memory of earlier runs, for `Affinity` and `Weighted`.
    pub memory: Option<&'m LoopMemory>,
    /// A handle that may change the loop while it runs.
    pub control: Option<&'m Control>,
    /// The call site of the loop, for `Auto`.
    pub site: Option<Site>,
    /// Whether values are combined in an order that follows from the number of items alone.
    pub reproducible: bool,
    /// Measures each thread. A measured loop runs as one with a control, but without a control it
    /// cannot be changed or cancelled.
    pub meter: Option<&'m Meter>,
    /// Runs the loop in rounds. Such a loop runs as one with a control.
    pub rounds: Option<Rounds>,
}

/// Rounds of a loop: each runs in parallel, and ends before the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// Rounds of this many iterations (0 counts as 1).
    Uniform(usize),
    /// A round of as many iterations as the pool has workers, then one of twice as many, and so on.
    Doubling,
}

impl Rounds {
    /// The rounds of a loop of `n` iterations.
    pub(super) fn of(self, n: usize, workers: usize) -> impl Iterator<Item = Range<usize>> {
        let (mut start, mut length, factor) = match self {
            Self::Uniform(length) => (0, length.max(1), 1),
            Self::Doubling => (0, workers, 2_usize),
        };
        std::iter::from_fn(move || {
            let round = start..start + length.min(n - start);
            (start, length) = (round.end, length.saturating_mul(factor));
            Some(round).filter(|round| !round.is_empty())
        })
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            schedule: Schedule::default(),
            open: false,
            threads: usize::MAX,
            memory: None,
            control: None,
            site: None,
            reproducible: false,
            meter: None,
            rounds: None,
        }
    }
}

impl Options<'_> {
    /// Whether the loop runs as one that may be changed.
    #[inline]
    pub(super) fn is_controlled(&self) -> bool {
        self.control.is_some() || self.meter.is_some() || self.rounds.is_some()
    }

    /// These options with the schedule of the pool of `w`, where that replaces the loop's own. A
    /// loop that may be changed reads the pool's schedule while it runs.
    #[cold]
    #[inline(never)]
    pub(super) fn on_pool(&self, w: &Worker) -> Self {
        let schedule = match self.is_controlled() {
            true => self.schedule,
            false => w.limit().schedule().of_loop(self.schedule, self.open),
        };
        Self { schedule, ..*self }
    }

    /// The maximum number of participants of a loop of `n` iterations on the pool of `w`.
    #[inline]
    pub(super) fn participants(&self, w: &Worker, n: usize) -> usize {
        // A control may request any number.
        let threads = if self.control.is_some() { usize::MAX } else { self.threads };
        threads.min(w.max_threads()).min(Source::pieces(self.schedule, n)).max(1)
    }

    /// The splitter and the grain of a loop that is halved by joins.
    ///
    /// `None` for other schedules; also if the loop may not use all workers or has a control,
    /// because any worker may steal an arm.
    #[inline]
    pub(super) fn splitter(&self, w: &Worker) -> Option<(Splitter, usize)> {
        match Mechanism::of(self.schedule) {
            _ if self.threads < w.max_threads() || self.control.is_some() => None,
            Mechanism::Joins { rule, grain } => Some((Splitter::new(rule, w.max_threads()), grain)),
            _ => None,
        }
    }

    /// The same for a loop of `n` iterations. If it has ranges and few iterations, each is an arm:
    /// a thief then reads fewer cache lines of the caller than for a range.
    pub(super) fn splitter_for(&self, w: &Worker, n: usize) -> Option<(Splitter, usize)> {
        let is_few = n <= FEW_PER_WORKER * w.max_threads();
        match Mechanism::of(self.schedule) {
            Mechanism::Ranges if is_few => {
                let by_joins = Self { schedule: Schedule::Simple { grain: 1 }, ..*self };
                by_joins.splitter(w)
            }
            _ => self.splitter(w),
        }
    }
}
