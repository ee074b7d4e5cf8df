//! Errors of worklists over ranks.

use std::fmt;

use sinew_policy::lifelines::Rank;

/// Why a worklist over ranks did not run, or not to its end. All ranks return the same error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorklistError {
    /// The list of a rank cannot run with its settings; no unit has run.
    Refused {
        /// The first such rank.
        rank: Rank,
        /// The text of its error.
        why: String,
    },
    /// Units have called [`retry`](sinew::stm::Tx::retry) and wait for a change that no unit can
    /// make. All others have run; those that wait are in the lists of their homes.
    Waiting {
        /// The number of waiting units on all ranks.
        units: u64,
    },
}

impl fmt::Display for WorklistError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { rank, why } => write!(f, "rank {rank}: {why}"),
            Self::Waiting { units } => write!(
                f,
                "all {units} units left in the worklist called `retry` and wait for a change that \
                 no unit of their ranks can make"
            ),
        }
    }
}

impl std::error::Error for WorklistError {}
