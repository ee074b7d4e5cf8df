//! What a run has shown, and whether it can be believed.
//!
//! Every run is checked when it ends: a [`Violation`] is an error of the simulator, never of the
//! program that it simulates.
//!
//! # Invariants
//!
//! - R1: time never runs backwards.
//! - R2: each task that was created has been run exactly once.
//! - R3: what workers have worked is what tasks had to be worked.
//! - R4: at each moment a worker does exactly one thing, so what it has spent sums up to the time
//!   that has passed.
//! - R5: max(T∞, T1/p) ≤ Tp; and for greedy scheduling without costs Tp ≤ T∞ + T1/p.

use std::fmt;

use sinew_policy::span::Bounds;
use sinew_policy::victim::Tally;

use crate::queue::Time;

/// What a worker does at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Activity {
    /// A task's own work.
    Works,
    /// Spawns, joins, and fetching what it has stolen.
    Schedules,
    /// Looks for work.
    Searches,
    /// Stands in a join, and does nothing or looks for something that it may do meanwhile.
    Waits,
    /// Sleeps, or is not there.
    Parks,
}

impl Activity {
    /// How many there are.
    pub const COUNT: usize = 5;

    /// All, in their order.
    pub const ALL: [Self; Self::COUNT] =
        [Self::Works, Self::Schedules, Self::Searches, Self::Waits, Self::Parks];
}

/// How often things happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Steps of workers.
    pub events: u64,
    /// Tasks that have been run.
    pub tasks: u64,
    /// Tasks that were put on a stack.
    pub spawns: u64,
    /// Tasks that their own worker took back.
    pub inlined: u64,
    /// Attempts that got a task, pieces of loops aside in which the thief took part already.
    pub steals: u64,
    /// Pieces of loops that moved from one who took part to another who did.
    pub pieces: u64,
    /// Those of them that helped the thief of what was waited for.
    pub leaps: u64,
    /// All attempts.
    pub attempts: u64,
    /// Looks at what others have on offer.
    pub samples: u64,
    /// Calls to parked workers.
    pub wakes: u64,
    /// Times that an owner published a part of its tasks because it was asked to.
    pub publications: u64,
    /// Times that a thief took the private part of an owner that did not.
    pub exposures: u64,
    /// Attempts that another thief's was in the way of, on stacks with two fields.
    pub back_outs: u64,
}

/// A run.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// How many workers.
    pub workers: usize,
    /// How long it took: Tp. Of a run that was stopped: how far it got.
    pub time: Time,
    /// All work: T1.
    pub work: Time,
    /// The longest chain of tasks that wait for each other: T∞.
    pub span: Time,
    /// How often things happened.
    pub counts: Counts,
    /// What workers spent, all together, by [`Activity`].
    pub spent: [Time; Activity::COUNT],
    /// How long stolen tasks took, by depth, as [`sinew_policy::victim::boundary`] wants to know
    /// it.
    pub tallies: Vec<Tally>,
    /// The fingerprint: equal for equal setups, whatever the machine.
    pub trace: u64,
    /// Whether it ran to its end.
    pub is_whole: bool,
}

impl Report {
    /// T1/Tp.
    pub fn speedup(&self) -> f64 {
        self.work as f64 / self.time.max(1) as f64
    }

    /// The share of all workers' time that went into this.
    pub fn share(&self, activity: Activity) -> f64 {
        self.spent[activity as usize] as f64 / (self.time.max(1) as f64 * self.workers as f64)
    }

    /// What theory says about the time.
    pub fn bounds(&self) -> Bounds {
        Bounds::new(self.work as f64, self.span as f64, self.workers)
    }
}

/// What a run was found to have broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// So many events were asked for in the past (R1).
    TimeRanBackwards(u64),
    /// Other tasks were run than created, or some more than once (R2).
    NotOnceEach {
        /// How many were created.
        created: u64,
        /// How many were run.
        run: u64,
    },
    /// Work was lost or made up (R3).
    WorkNotConserved {
        /// What tasks had.
        had: Time,
        /// What workers did.
        done: Time,
    },
    /// Workers' times do not sum up (R4); by so many picoseconds.
    TimesDoNotSumUp(u64),
    /// Faster than possible, or slower than greedy scheduling can be (R5).
    OutOfBounds {
        /// The run's time.
        time: Time,
        /// The one that it should have kept to.
        bound: Time,
    },
    /// So many times a core was given to two programs.
    Shared(u64),
    /// So many transactions committed what they had read although it was no longer so.
    Torn(u64),
    /// Tasks are left, and nobody has anything ahead.
    Stranded {
        /// How many.
        tasks: u64,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimeRanBackwards(events) => write!(f, "time ran backwards {events} times"),
            Self::NotOnceEach { created, run } => {
                write!(f, "{created} tasks were created, and {run} run, not each once")
            }
            Self::WorkNotConserved { had, done } => {
                write!(f, "of {had} ps of work {done} were done")
            }
            Self::TimesDoNotSumUp(by) => write!(f, "the workers' times are wrong by {by} ps"),
            Self::OutOfBounds { time, bound } => write!(f, "{time} ps, which {bound} ps bound"),
            Self::Shared(many) => write!(f, "{many} times a core was given to two programs"),
            Self::Torn(many) => write!(f, "{many} transactions committed what was no longer so"),
            Self::Stranded { tasks } => {
                write!(f, "{tasks} tasks are left, and nobody comes for them")
            }
        }?;
        f.write_str(": an error of the simulator, please report it with the command and the seed")
    }
}

impl std::error::Error for Violation {}
