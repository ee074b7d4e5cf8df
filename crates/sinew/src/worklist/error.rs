//! The errors of runs.

use std::fmt;

use sinew_policy::tune::KnobError;

use super::tally::Report;

/// Why a list could not be run, or not to its end.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum WorklistError {
    /// There are no units.
    Empty,
    /// The settings have 0 threads.
    NoThreads,
    /// The settings have more threads than the pool has workers.
    TooManyThreads {
        /// The threads of the settings.
        threads: usize,
        /// The workers of the pool.
        workers: usize,
    },
    /// The settings have helpers, but the list does not allow units to be run ahead.
    NotSpeculative,
    /// The settings have helpers, but each worker of the pool runs units itself.
    NoIdleWorkers {
        /// The threads of the settings, and the workers of the pool.
        threads: usize,
    },
    /// The tuner cannot work with its thresholds.
    Knobs(KnobError),
    /// Units have called [`retry`](sinew_stm::Tx::retry) and wait for a change that no unit can
    /// make, and no thread holds a [`KeepAlive`](super::KeepAlive) of the list. All others have run
    /// and committed; those that wait are in the list.
    Waiting {
        /// The number of waiting units.
        units: usize,
        /// The report of the run, without what workers kept.
        report: Box<Report>,
    },
}

impl fmt::Display for WorklistError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => {
                f.write_str("the worklist has no units: add some with `push` or `extend`")
            }
            Self::NoThreads => f.write_str("the worklist has 0 threads: use at least 1"),
            Self::TooManyThreads { threads, workers } => {
                write!(
                    f,
                    "the worklist has {threads} threads, its pool {workers} workers: use at most \
                     {workers}"
                )
            }
            Self::NotSpeculative => f.write_str(
                "the worklist has helpers: allow them with `speculative`, or use a lifespan of 0",
            ),
            Self::NoIdleWorkers { threads } => write!(
                f,
                "the worklist has {threads} threads and helpers, its pool {threads} workers, of \
                 which none is left to help: use fewer threads, a pool with more workers, or a \
                 lifespan of 0"
            ),
            Self::Knobs(error) => write!(f, "the worklist's tuner: {error}"),
            Self::Waiting { units, .. } => write!(
                f,
                "all {units} units left in the worklist called `retry` and wait for a change that \
                 none of them can make: make the change and run the list again, or have the thread \
                 that makes it hold `Worklist::keep_alive`"
            ),
        }
    }
}

impl std::error::Error for WorklistError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Knobs(error) => Some(error),
            _ => None,
        }
    }
}
