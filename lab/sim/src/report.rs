//! The result of a run, and the checks that it passed.
//!
//! Every run is checked when it ends: a [`Violation`] is an error of the simulator, never of the
//! simulated program.
//!
//! # Invariants
//!
//! - R1: time never runs backwards.
//! - R2: each created task ran exactly once.
//! - R3: the workers' work equals the tasks' work.
//! - R4: at any time a worker has exactly one activity, so its times sum up to the time that has
//!   passed.
//! - R5: max(T∞, T1/p) ≤ Tp; and for greedy scheduling without costs Tp ≤ T∞ + T1/p.

use std::fmt;

use sinew_policy::span::Bounds;
use sinew_policy::victim::Tally;

use crate::queue::Time;

/// The activity of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Activity {
    /// Runs a task's own work.
    Works,
    /// Spawns, joins, or fetches a stolen task.
    Schedules,
    /// Searches for a task.
    Searches,
    /// Is in a join and blocks, or searches for a task that it may run meanwhile.
    Waits,
    /// Is parked, or has left.
    Parks,
}

impl Activity {
    /// Number of activities.
    pub const COUNT: usize = 5;

    /// All activities in order.
    pub const ALL: [Self; Self::COUNT] =
        [Self::Works, Self::Schedules, Self::Searches, Self::Waits, Self::Parks];
}

/// Counters of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Number of events.
    pub events: u64,
    /// Tasks that ran.
    pub tasks: u64,
    /// Tasks that were pushed onto a stack.
    pub spawns: u64,
    /// Tasks that their own worker popped.
    pub inlined: u64,
    /// Successful attempts, apart from pieces of a loop in which the thief already took part.
    pub steals: u64,
    /// Pieces of loops that moved between participants.
    pub pieces: u64,
    /// Steals from the thief of an awaited task.
    pub leaps: u64,
    /// All attempts.
    pub attempts: u64,
    /// Attempts that paid for a [miss](crate::Costs::miss).
    pub misses: u64,
    /// Samples of other workers' loads.
    pub samples: u64,
    /// Wake-ups of parked workers.
    pub wakes: u64,
    /// Times that an owner published tasks on request.
    pub publications: u64,
    /// Times that a thief exposed the private tasks of an owner that did not publish.
    pub exposures: u64,
    /// Attempts on two-field stacks that backed out because of another thief.
    pub back_outs: u64,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Number of workers.
    pub workers: usize,
    /// Tp, the total time; for a stopped run the time so far.
    pub time: Time,
    /// T1, the total work.
    pub work: Time,
    /// T∞, the longest chain of dependent tasks.
    pub span: Time,
    /// The counters.
    pub counts: Counts,
    /// Time of all workers together, by [`Activity`].
    pub spent: [Time; Activity::COUNT],
    /// Duration of stolen tasks by depth, as input of [`sinew_policy::victim::boundary`].
    pub tallies: Vec<Tally>,
    /// Fingerprint: equal setups give equal traces on every machine.
    pub trace: u64,
    /// Whether the program ran to its end.
    pub is_whole: bool,
}

impl Report {
    /// T1/Tp.
    pub fn speedup(&self) -> f64 {
        self.work as f64 / self.time.max(1) as f64
    }

    /// The fraction of all workers' time that this activity took.
    pub fn share(&self, activity: Activity) -> f64 {
        self.spent[activity as usize] as f64 / (self.time.max(1) as f64 * self.workers as f64)
    }

    /// The theoretical bounds of the time.
    pub fn bounds(&self) -> Bounds {
        Bounds::new(self.work as f64, self.span as f64, self.workers)
    }
}

/// A broken invariant of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// Number of events that were requested in the past (R1).
    TimeRanBackwards(u64),
    /// Some tasks ran not exactly once (R2).
    NotOnceEach {
        /// Number of created tasks.
        created: u64,
        /// Number of tasks that ran.
        run: u64,
    },
    /// Work was lost or invented (R3).
    WorkNotConserved {
        /// The work of all tasks.
        had: Time,
        /// The work of all workers.
        done: Time,
    },
    /// The workers' times do not sum up (R4); the difference in picoseconds.
    TimesDoNotSumUp(u64),
    /// Faster than possible, or slower than greedy scheduling allows (R5).
    OutOfBounds {
        /// The run's time.
        time: Time,
        /// The bound that it broke.
        bound: Time,
    },
    /// Number of times that a core was given to two programs.
    Shared(u64),
    /// Number of transactions that committed although their reads were outdated.
    Torn(u64),
    /// Tasks are left, and no worker has an event.
    Stranded {
        /// Number of these tasks.
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
                write!(f, "{tasks} tasks are left, and no worker takes them")
            }
        }?;
        f.write_str(": an error of the simulator, please report it with the command and the seed")
    }
}

impl std::error::Error for Violation {}
