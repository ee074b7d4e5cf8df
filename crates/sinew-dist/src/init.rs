//! The world that a process is a part of.

use std::fmt;

use crate::World;
use crate::threads;

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

/// The variables in which launchers say how many ranks there are.
const RANKS: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"];

/// The number of ranks, if a launcher of MPI programs has started this process.
fn launched(variable: impl Fn(&str) -> Option<String>) -> Option<u32> {
    RANKS.iter().find_map(|name| variable(name)?.trim().parse().ok())
}

/// The world of this process: over MPI if `mpirun` has started it, otherwise a world of one.
///
/// # Errors
///
/// [`InitError::WithoutMpi`] if there are several ranks and no MPI to reach them by;
/// [`InitError::Mpi`] if MPI does not start, for example because this process has had a world
/// already.
pub fn init() -> Result<World, InitError> {
    match launched(|name| std::env::var(name).ok()) {
        #[cfg(feature = "mpi")]
        Some(_) => crate::mpi::Mpi::start().map(|link| World::over(Box::new(link))),
        #[cfg(not(feature = "mpi"))]
        Some(ranks) if ranks > 1 => Err(InitError::WithoutMpi(ranks)),
        _ => Ok(World::over(Box::new(threads::links(1, None).remove(0)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_is_known_by_its_variables() {
        let by = |set: &'static str| launched(move |name| (name == set).then(|| "4".to_owned()));
        assert_eq!(by("OMPI_COMM_WORLD_SIZE"), Some(4));
        assert_eq!(by("PMI_SIZE"), Some(4));
        assert_eq!(by("HOME"), None);
    }
}
