//! The transactions and worklists of an application's run, and the tuning of worklists in the next
//! one.
//!
//! An application has its worklists inside. A caller passes a [`Record`] in the
//! [`Options`](crate::Options) and keeps a clone. Each run of a list adds its report to the record,
//! and a list that is made later is tuned as the record says. So a search over many settings
//! prepares its input once.

use std::sync::Arc;
use std::time::Duration;

use sinew::stm::{Counters, Locking, counters_by_site};
use sinew::worklist::{Pages, Path, Report, Settings, Touch, Tuning};
use sinew_sync::lock::Mutex;

/// A handle that an application shares with its caller. Clones are the same record.
#[derive(Debug, Clone, Default)]
pub struct Record(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    recorded: Recorded,
    tuning: Option<Tuning>,
    pages: Option<Pages>,
    sampled: Option<u64>,
    locking: Option<Locking>,
}

/// The totals over all runs of worklists.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Recorded {
    /// Runs of worklists: a list that is filled again counts again.
    pub runs: u64,
    /// Units whose transaction was committed.
    pub commits: u64,
    /// Attempts that were given up.
    pub aborts: u64,
    /// Accesses to a list that had to wait.
    pub stalls: u64,
    /// Successful steals.
    pub steals: u64,
    /// Units that were stolen.
    pub stolen: u64,
    /// Units put back for another.
    pub swaps: u64,
    /// Pauses after attempts that were given up.
    pub pauses: u64,
    /// Transactions that committed two units.
    pub coalesced: u64,
    /// Units that units added.
    pub added: u64,
    /// Attempts that were made irrevocable.
    pub favoured: u64,
    /// Units that helpers ran ahead.
    pub ahead: u64,
    /// Words that helpers read ahead.
    pub words_ahead: u64,
    /// Total duration of the lists' runs.
    pub elapsed: Duration,
    /// The processor time that tuning took.
    pub tuning: Duration,
    /// Pages that were touched, if they were sampled; the times are those of all runs behind each
    /// other.
    pub touches: Vec<Touch>,
    /// The settings at the end of the last run.
    pub settings: Option<Settings>,
    /// The steps of the last list's tuner, if it had one.
    pub path: Option<Path>,
}

impl Record {
    /// The records since the last call.
    pub fn take(&self) -> Recorded {
        std::mem::take(&mut self.0.lock().recorded)
    }

    /// Sets the tuning of lists that are made from now on, overriding the options; `None` restores
    /// these.
    pub fn retune(&self, tuning: Option<Tuning>) {
        self.0.lock().tuning = tuning;
    }

    /// Has the pages of the lists that are made from now on placed so; `None` leaves that to the
    /// list.
    pub fn place(&self, pages: Option<Pages>) {
        self.0.lock().pages = pages;
    }

    /// Has the lists that are made from now on [sample](sinew::worklist::Worklist::sample) the
    /// pages that they touch; `None` ends that.
    pub fn sample(&self, attempts: Option<u64>) {
        self.0.lock().sampled = attempts;
    }

    /// Has the transactions of the lists that are made from now on lock so; `None` leaves that to
    /// the list.
    pub fn lock(&self, locking: Option<Locking>) {
        self.0.lock().locking = locking;
    }

    pub(crate) fn locking(&self) -> Option<Locking> {
        self.0.lock().locking
    }

    pub(crate) fn sampled(&self) -> Option<u64> {
        self.0.lock().sampled
    }

    pub(crate) fn tuning(&self) -> Option<Tuning> {
        self.0.lock().tuning
    }

    pub(crate) fn pages(&self) -> Option<Pages> {
        self.0.lock().pages
    }

    pub(crate) fn add<L>(&self, report: &Report<L>) {
        self.0.lock().recorded += &Recorded::of(report);
    }
}

impl Recorded {
    fn of<L>(report: &Report<L>) -> Self {
        Self {
            runs: 1,
            commits: report.commits,
            aborts: report.aborts,
            stalls: report.stalls,
            steals: report.steals,
            stolen: report.stolen,
            swaps: report.swaps,
            pauses: report.pauses,
            coalesced: report.coalesced,
            added: report.added,
            favoured: report.favoured,
            ahead: report.ahead,
            words_ahead: report.words_ahead,
            elapsed: report.elapsed,
            tuning: report.tuning,
            touches: report.touches.clone(),
            settings: Some(report.settings),
            path: report.path.clone(),
        }
    }

    /// The cost of tuning in runs on this number of cores, if any list was tuned.
    pub fn tuning_cost(&self, cores: usize) -> Option<TuningCost> {
        let all_s = self.elapsed.as_secs_f64();
        let settling = self.path.as_ref()?.settling();
        let settling = settling.map(|settling| settling.counts.elapsed_ns as f64 / 1e9 / all_s);
        Some(TuningCost {
            settling,
            processor: self.tuning.as_secs_f64() / all_s / cores.max(1) as f64,
        })
    }

    /// The counters with their names, in the order in which they are shown.
    pub fn counters(&self) -> [(&'static str, u64); 13] {
        [
            ("runs", self.runs),
            ("commits", self.commits),
            ("aborts", self.aborts),
            ("stalls", self.stalls),
            ("steals", self.steals),
            ("stolen", self.stolen),
            ("swaps", self.swaps),
            ("pauses", self.pauses),
            ("coalesced", self.coalesced),
            ("added", self.added),
            ("favoured", self.favoured),
            ("ahead", self.ahead),
            ("words_ahead", self.words_ahead),
        ]
    }
}

/// The cost of tuning the runs of a list, as fractions of the whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TuningCost {
    /// Of the time, until all was settled but swap-retry; none if that did not come to pass.
    pub settling: Option<f64>,
    /// As a share of the processor time, for the tuner itself.
    pub processor: f64,
}

/// Counts of transactions, in worklists or hand-written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transactions {
    /// Commits.
    pub commits: u64,
    /// Attempts that were given up.
    pub aborts: u64,
}

impl Transactions {
    /// Totals of the process so far.
    pub(crate) fn so_far() -> Self {
        let sum = |sum: Self, (_, site): (_, Counters)| Self {
            commits: sum.commits + site.commits,
            aborts: sum.aborts + site.aborts(),
        };
        counters_by_site().into_iter().fold(Self::default(), sum)
    }

    pub(crate) fn since(self, before: Self) -> Self {
        Self { commits: self.commits - before.commits, aborts: self.aborts - before.aborts }
    }

    /// Attempts, committed or aborted.
    pub fn attempts(self) -> u64 {
        self.commits + self.aborts
    }

    /// The part of all attempts that was given up; 0 where there was none.
    pub fn abort_ratio(self) -> f64 {
        self.aborts as f64 / self.attempts().max(1) as f64
    }
}

impl std::ops::AddAssign for Transactions {
    fn add_assign(&mut self, other: Self) {
        self.commits += other.commits;
        self.aborts += other.aborts;
    }
}

/// Counters and times are added up; settings and path are those of the later runs.
impl std::ops::AddAssign<&Self> for Recorded {
    fn add_assign(&mut self, later: &Self) {
        if later.runs == 0 {
            return;
        }
        let elapsed = self.elapsed;
        let touches = later.touches.iter().map(|touch| touch.later(elapsed));
        self.touches.extend(touches);
        self.runs += later.runs;
        self.commits += later.commits;
        self.aborts += later.aborts;
        self.stalls += later.stalls;
        self.steals += later.steals;
        self.stolen += later.stolen;
        self.swaps += later.swaps;
        self.pauses += later.pauses;
        self.coalesced += later.coalesced;
        self.added += later.added;
        self.favoured += later.favoured;
        self.ahead += later.ahead;
        self.words_ahead += later.words_ahead;
        self.elapsed += later.elapsed;
        self.tuning += later.tuning;
        self.settings = later.settings;
        self.path.clone_from(&later.path);
    }
}
