//! The world that a process is a part of.

use crate::World;
use crate::init_error::InitError;
use crate::threads;

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
        _ => Ok(World::over(Box::new(threads::links(1, &threads::Faults::default()).remove(0)))),
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
