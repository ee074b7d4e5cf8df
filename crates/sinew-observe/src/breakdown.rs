//! The two breakdowns of a pool's time: that of Wool's authors, and that by the functions of TBB.

use crate::activity::{Activity, KINDS, Kind};
use crate::counts::{Count, Counts};

/// A time in ticks, outside and inside joins. Inside is above a join or the end of a scope that
/// waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Split {
    /// The time while no join below waits.
    pub outside: u64,
    /// The time while at least one join below waits.
    pub inside: u64,
}

impl Split {
    /// The sum of both.
    pub fn total(self) -> u64 {
        self.outside + self.inside
    }
}

/// The breakdown of execution time of Wool's authors. Its parts, `parked` aside, sum up to the time
/// that passed.
///
/// Source: K.-F. Faxén and J. Ardelius, "Manycore Work Stealing" (2011), section 5.3. Difference:
/// their thieves never sleep; ours do, which counts as search and is also in `parked`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Breakdown {
    /// In the application, including pushes and pops of tasks. Inside a join: leapfrogging.
    pub application: Split,
    /// In successful steals, from the choice of the victim on.
    pub steals: Split,
    /// Without work: failed attempts to steal, and all between them. Inside a join: waiting.
    pub search: Split,
    /// The part of `search` that was sleep.
    pub parked: Split,
    /// The time without a thread, of the worker slot for external threads.
    pub away: u64,
}

impl Breakdown {
    /// The time in which the worker had a thread.
    pub fn total(self) -> u64 {
        self.application.total() + self.steals.total() + self.search.total()
    }

    /// Names and times, in the order of the paper's figure, from bottom to top.
    pub fn iter(self) -> impl Iterator<Item = (&'static str, Split)> {
        [("application", self.application), ("steals", self.steals), ("search", self.search)]
            .into_iter()
    }

    /// [`iter`](Self::iter) in units of `one_processor`, the application time of one worker on the
    /// same problem, in ticks, as (name, outside, inside). The speed-up is the number of workers
    /// divided by the sum.
    pub fn normalised(self, one_processor: u64) -> impl Iterator<Item = (&'static str, f64, f64)> {
        let unit = one_processor.max(1) as f64;
        self.iter().map(move |(name, split)| {
            (name, split.outside as f64 / unit, split.inside as f64 / unit)
        })
    }
}

/// The calls and the time of one function of the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Function {
    /// The number of calls.
    pub calls: u64,
    /// The time, in ticks.
    pub time: u64,
}

/// The breakdown of the library's time by its functions, in the terms of Intel's TBB.
///
/// `wait_for_all` = `spawn` + `get` + `lock` + `steal` + `steal_wait` + `lib_wait`. `acquire_queue`
/// is a part of `spawn` and `get`. None contains sleep.
///
/// Source: a thesis on the work stealing of TBB, its profiling of basic functionalities.
/// Differences: `lock` is a claim by compare-and-swap here, not a lock on the victim's task pool;
/// `acquire_queue` is the rare synchronisation of an owner with thieves, not the lock of every
/// spawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Functions {
    /// Making tasks.
    pub spawn: Function,
    /// Popping own tasks.
    pub get: Function,
    /// The part of both in which the owner synchronises with thieves.
    pub acquire_queue: Function,
    /// Claims on others' tasks, successful or not.
    pub lock: Function,
    /// The rest of successful steals: from the claim to the task, and from the task's end to the
    /// report.
    pub steal: Function,
    /// Between attempts to steal: choosing victims, reading other queues, pausing.
    pub steal_wait: Function,
    /// All time in the scheduler: neither application nor sleep. Its calls are idle
    /// times and waits in joins.
    pub wait_for_all: Function,
    /// The rest of it: polling for the end of a stolen task, beginning and ending waits.
    pub lib_wait: Function,
    /// Sleep, which is not part of the thesis' scheduler.
    pub parked: Function,
    /// In the program.
    pub application: u64,
    /// Tasks that were sent to this worker alone.
    pub mailed: u64,
    /// Attempts to steal.
    pub attempts: Attempts,
}

/// Attempts to steal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attempts {
    /// Attempts that claimed a task.
    pub successful: u64,
    /// Attempts that found no task, or lost it to another thief.
    pub failed: u64,
}

impl Attempts {
    /// Successful attempts per failed one; `None` if none failed.
    pub fn ratio(self) -> Option<f64> {
        sinew_policy::span::ratio(self.successful, self.failed)
    }
}

impl Functions {
    /// Names, calls and times, in the order of the documentation.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Function)> {
        [
            ("spawn", self.spawn),
            ("get", self.get),
            ("acquire_queue", self.acquire_queue),
            ("lock", self.lock),
            ("steal", self.steal),
            ("steal_wait", self.steal_wait),
            ("wait_for_all", self.wait_for_all),
            ("lib_wait", self.lib_wait),
            ("parked", self.parked),
        ]
        .into_iter()
    }
}

/// Times and intervals by [`Kind`], and counts, from which both breakdowns follow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures<'f> {
    pub(crate) times: &'f [u64; KINDS],
    pub(crate) intervals: &'f [u64; KINDS],
    pub(crate) counts: &'f Counts,
}

impl Figures<'_> {
    /// The time of some activities, outside and inside joins.
    fn split(&self, activities: &[Activity]) -> Split {
        let time = |inside| {
            activities
                .iter()
                .map(|&activity| self.times[Kind::new(activity, inside).number()])
                .sum()
        };
        Split { outside: time(false), inside: time(true) }
    }

    fn intervals(&self, activity: Activity) -> u64 {
        [false, true]
            .map(|inside| self.intervals[Kind::new(activity, inside).number()])
            .iter()
            .sum()
    }

    pub(crate) fn breakdown(&self) -> Breakdown {
        use Activity::{
            Application, Away, Choice, Claim, FailedClaim, Get, GetQueue, Parked, Search, Spawn,
            SpawnQueue, Steal, Wait,
        };
        Breakdown {
            application: self.split(&[Application, Spawn, SpawnQueue, Get, GetQueue]),
            steals: self.split(&[Choice, Claim, Steal]),
            search: self.split(&[FailedClaim, Search, Wait, Parked]),
            parked: self.split(&[Parked]),
            away: self.split(&[Away]).total(),
        }
    }

    pub(crate) fn functions(&self) -> Functions {
        use Activity::{
            Application, Choice, Claim, FailedClaim, Get, GetQueue, Parked, Search, Spawn,
            SpawnQueue, Steal, Wait,
        };
        let counts = self.counts;
        let attempts = Attempts {
            successful: counts.of(Count::Claims),
            failed: counts.of(Count::FailedClaims),
        };
        let function = |calls, activities: &[Activity]| Function {
            calls,
            time: self.split(activities).total(),
        };
        let library =
            [Spawn, SpawnQueue, Get, GetQueue, Choice, Claim, FailedClaim, Steal, Search, Wait];
        Functions {
            spawn: function(counts.of(Count::Spawned), &[Spawn, SpawnQueue]),
            get: function(counts.of(Count::Gets), &[Get, GetQueue]),
            acquire_queue: function(counts.of(Count::Queues), &[SpawnQueue, GetQueue]),
            lock: function(attempts.successful + attempts.failed, &[Claim, FailedClaim]),
            steal: function(attempts.successful, &[Steal]),
            steal_wait: function(
                self.intervals(Search) + self.intervals(Choice),
                &[Search, Choice],
            ),
            wait_for_all: function(counts.of(Count::Searches) + counts.of(Count::Waits), &library),
            lib_wait: function(counts.of(Count::Waits), &[Wait]),
            parked: function(counts.of(Count::Parks), &[Parked]),
            application: self.split(&[Application]).total(),
            mailed: counts.of(Count::Mailed),
            attempts,
        }
    }
}
