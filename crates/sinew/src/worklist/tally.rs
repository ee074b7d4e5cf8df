//! The counters of each worker, and the report of a run.

use super::footprint::Touch;
use sinew_policy::tune::{Counts, Path};
use sinew_policy::worklist::Settings;
use sinew_sync::counter::Counter;
use std::time::Duration;

/// The counters of one slot; only its worker adds.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) commits: Counter,
    pub(super) aborts: Counter,
    pub(super) waits: Counter,
    pub(super) stalls: Counter,
    pub(super) steals: Counter,
    pub(super) stolen: Counter,
    pub(super) swaps: Counter,
    pub(super) pauses: Counter,
    pub(super) coalesced: Counter,
    pub(super) added: Counter,
    pub(super) favoured: Counter,
    pub(super) ahead: Counter,
    pub(super) words_ahead: Counter,
}

impl Tally {
    /// The counts for a tuner.
    pub(super) fn counts(&self) -> Counts {
        Counts {
            commits: self.commits.get(),
            aborts: self.aborts.get(),
            stalls: self.stalls.get(),
            elapsed_ns: 0,
        }
    }
}

/// The report of a run of a worklist.
///
/// The counters are sums over the workers of this run; the path is of all runs of the list.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Report<L = ()> {
    /// The [local values](super::Work::Local) of the workers, in the order of their numbers.
    pub locals: Vec<L>,
    /// Units whose transaction has committed, added ones included.
    pub commits: u64,
    /// Failed attempts.
    pub aborts: u64,
    /// Units that were parked after a call of [`retry`](sinew_stm::Tx::retry), each time counted.
    pub waits: u64,
    /// Accesses to a list that had to wait for its lock.
    pub stalls: u64,
    /// Successful steals.
    pub steals: u64,
    /// Units that were stolen.
    pub stolen: u64,
    /// Units swapped for another unit after aborts.
    pub swaps: u64,
    /// Pauses after failed attempts, under a contention manager that pauses.
    pub pauses: u64,
    /// Transactions that committed two units.
    pub coalesced: u64,
    /// Units that units added.
    pub added: u64,
    /// Attempts that were irrevocable, after many failed ones.
    pub favoured: u64,
    /// Units that a helper began to run ahead.
    pub ahead: u64,
    /// Words that helpers read ahead.
    pub words_ahead: u64,
    /// Whether the run was cancelled before all units had run; see
    /// [`Worklist::control`](super::Worklist::control).
    pub cancelled: bool,
    /// How long the run took.
    pub elapsed: Duration,
    /// The processor time of tuning, as a sum over all workers.
    pub tuning: Duration,
    /// Pages that were touched, if they were [sampled](super::Worklist::sample), in the order of
    /// the times.
    pub touches: Vec<Touch>,
    /// The settings at the end.
    pub settings: Settings,
    /// The steps of the tuner since the list was made, if it is tuned.
    pub path: Option<Path>,
}

impl<L> Report<L> {
    /// A report of what all slots have counted.
    pub(super) fn of<'a>(
        slots: &(impl Iterator<Item = &'a Tally> + Clone),
        locals: Vec<L>,
        settings: Settings,
    ) -> Self {
        let sum =
            |count: fn(&Tally) -> &Counter| slots.clone().map(|tally| count(tally).get()).sum();
        Self {
            locals,
            commits: sum(|t| &t.commits),
            aborts: sum(|t| &t.aborts),
            waits: sum(|t| &t.waits),
            stalls: sum(|t| &t.stalls),
            steals: sum(|t| &t.steals),
            stolen: sum(|t| &t.stolen),
            swaps: sum(|t| &t.swaps),
            pauses: sum(|t| &t.pauses),
            coalesced: sum(|t| &t.coalesced),
            added: sum(|t| &t.added),
            favoured: sum(|t| &t.favoured),
            ahead: sum(|t| &t.ahead),
            words_ahead: sum(|t| &t.words_ahead),
            cancelled: false,
            elapsed: Duration::ZERO,
            tuning: Duration::ZERO,
            touches: Vec::new(),
            settings,
            path: None,
        }
    }

    /// The same without locals, for an error, which does not name their type.
    pub(super) fn without_locals(self) -> Box<Report> {
        let Self { commits, aborts, waits, stalls, steals, stolen, swaps, pauses, .. } = self;
        let Self {
            coalesced, added, favoured, ahead, words_ahead, cancelled, elapsed, tuning, ..
        } = self;
        let Self { touches, settings, path, .. } = self;
        Box::new(Report {
            locals: Vec::new(),
            commits,
            aborts,
            waits,
            stalls,
            steals,
            stolen,
            swaps,
            pauses,
            coalesced,
            added,
            favoured,
            ahead,
            words_ahead,
            cancelled,
            elapsed,
            tuning,
            touches,
            settings,
            path,
        })
    }

    /// Failed attempts per committed unit; 0 without commits.
    pub fn abort_ratio(&self) -> f64 {
        if self.commits == 0 { 0.0 } else { self.aborts as f64 / self.commits as f64 }
    }
}
