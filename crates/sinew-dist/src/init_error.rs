//! Reasons for which a process has no world.

use std::fmt;

/// Why a process has no world.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InitError {
    /// `mpirun` has started so many ranks, but the program was built without the feature `mpi`.
    WithoutMpi(u32),
    /// MPI did not start, for this reason.
    Mpi(String),
}

impl fmt::Display for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WithoutMpi(ranks) => write!(
                f,
                "mpirun has started {ranks} ranks, but this program was built without MPI: build \
                 it with the feature `mpi` of sinew-dist"
            ),
            Self::Mpi(why) => write!(f, "MPI did not start: {why}"),
        }
    }
}

impl std::error::Error for InitError {}
