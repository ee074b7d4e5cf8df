//! The time counters of a worker, one for each kind of activity.
//!
//! The state is the present activity and its beginning. A change of activity ends the present
//! interval at the tick at which the next one begins. So the times of all activities sum up exactly
//! to the time since the counters were made.
//!
//! # Invariants
//!
//! - T1: the sum of all times, the present interval included, is the time since the counters were
//!   made.
//! - T2: the work is the time in the application, minus the clock's cost for each of its intervals.
//!
//! # Cost
//!
//! A change of activity reads the clock once and makes eight stores in the owner's cache. A reading
//! costs the owner nothing.

use sinew_sync::clock::ticks;
use sinew_sync::seqlock::SeqLock;

use crate::activity::{Activity, KINDS, Kind};

/// The source of the times.
pub(crate) trait Clock {
    fn now(&self) -> u64;
}

/// The processor's time-stamp counter.
#[derive(Debug, Default)]
pub(crate) struct Ticks;

impl Clock for Ticks {
    #[inline]
    fn now(&self) -> u64 {
        ticks()
    }
}

const TIMES: usize = 0;
const INTERVALS: usize = KINDS;
const SINCE: usize = 2 * KINDS;
const PRESENT: usize = SINCE + 1;
const WORK: usize = PRESENT + 1;
const WORDS: usize = WORK + 1;

/// Time counters. Their worker writes them, any thread reads them.
#[derive(Debug)]
pub(crate) struct TimeCounters<C> {
    pub(crate) clock: C,
    seqlock: SeqLock<WORDS>,
    /// The clock's cost for an interval, in ticks.
    cost: u64,
}

/// An interval of one activity.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interval {
    pub(crate) kind: Kind,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// Time counters at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Times {
    /// By [`Kind`].
    pub(crate) times: [u64; KINDS],
    pub(crate) intervals: [u64; KINDS],
    pub(crate) work: u64,
}

impl<C: Clock> TimeCounters<C> {
    /// Counters that begin now, of a worker without a thread.
    pub(crate) fn new(clock: C, cost: u64) -> Self {
        let counters = Self { clock, seqlock: SeqLock::new(), cost };
        counters.seqlock.write(|row| {
            row.set(SINCE, counters.clock.now());
            row.set(PRESENT, Kind::new(Activity::Away, false).number() as u64);
        });
        counters
    }

    /// The worker's present activity. For the owner.
    #[inline]
    pub(crate) fn present(&self) -> Kind {
        Kind::of(self.seqlock.get(PRESENT))
    }

    /// The work so far, without the present interval. For the owner.
    #[inline]
    pub(crate) fn work(&self) -> u64 {
        self.seqlock.get(WORK)
    }

    /// Changes the activity to `next`. Returns the interval that ends.
    #[inline]
    pub(crate) fn switch(&self, next: Kind) -> Interval {
        self.switch_from(self.present(), next)
    }

    /// [`switch`](Self::switch), with the present interval counted as `present`, whose kind is
    /// known only now.
    #[inline]
    pub(crate) fn switch_from(&self, present: Kind, next: Kind) -> Interval {
        let since = self.seqlock.get(SINCE);
        // After a migration the clock of the new processor may be slightly behind.
        let now = self.clock.now().max(since);
        self.seqlock.write(|row| {
            row.add(TIMES + present.number(), now - since);
            row.add(INTERVALS + present.number(), 1);
            if present.activity() == Activity::Application {
                row.add(WORK, (now - since).saturating_sub(self.cost));
            }
            row.set(SINCE, now);
            row.set(PRESENT, next.number() as u64);
        });
        Interval { kind: present, from: since, to: now }
    }

    /// Counts a past interval as `kind`. For the owner.
    pub(crate) fn recount(&self, past: Interval, kind: Kind) {
        let time = past.to - past.from;
        self.seqlock.write(|row| {
            row.add(TIMES + past.kind.number(), time.wrapping_neg());
            row.add(INTERVALS + past.kind.number(), 1_u64.wrapping_neg());
            row.add(TIMES + kind.number(), time);
            row.add(INTERVALS + kind.number(), 1);
        });
    }

    /// The worker's present activity, and its beginning. Any thread may call it.
    pub(crate) fn read_present(&self) -> (Kind, u64) {
        let words = self.seqlock.read();
        (Kind::of(words[PRESENT]), words[SINCE])
    }

    /// The counters up to now. Any thread may call it.
    pub(crate) fn read(&self) -> Times {
        let words = self.seqlock.read();
        let at = self.clock.now().max(words[SINCE]);
        let mut times: [u64; KINDS] = std::array::from_fn(|kind| words[TIMES + kind]);
        let intervals = std::array::from_fn(|kind| words[INTERVALS + kind]);
        let (present, since) = (Kind::of(words[PRESENT]), at - words[SINCE]);
        times[present.number()] += since;
        let in_application = present.activity() == Activity::Application;
        let more = if in_application { since.saturating_sub(self.cost) } else { 0 };
        Times { times, intervals, work: words[WORK] + more }
    }
}

/// The clock's cost for an interval, in ticks: the first quartile of empty intervals.
pub(crate) fn clock_cost() -> u64 {
    if cfg!(any(loom, shuttle)) {
        return 0;
    }
    let counters = TimeCounters::new(Ticks, 0);
    let (application, spawn) =
        (Kind::new(Activity::Application, false), Kind::new(Activity::Spawn, false));
    let empty = || {
        counters.switch(application);
        let before = counters.work();
        counters.switch(spawn);
        counters.work() - before
    };
    let mut costs: [u64; 33] = std::array::from_fn(|_| empty());
    costs.sort_unstable();
    costs[costs.len() / 4]
}
