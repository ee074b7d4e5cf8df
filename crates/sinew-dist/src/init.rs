//! The world that a process is a part of.

use crate::World;
use crate::init_error::InitError;
#[cfg(feature = "mpi")]
use crate::share::Job;
use crate::threads;

/// The variables in which launchers say how many ranks there are.
const RANKS: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"];

/// The variables in which they say how many of them run on this machine.
#[cfg(feature = "mpi")]
const RANKS_HERE: [&str; 2] = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"];

/// The number in the first of these variables that has one.
fn number(variables: &[&str], variable: impl Fn(&str) -> Option<String>) -> Option<u32> {
    variables.iter().find_map(|name| variable(name)?.trim().parse().ok())
}

/// The number of ranks, if a launcher of MPI programs has started this process.
pub fn launched() -> Option<u32> {
    number(&RANKS, |name| std::env::var(name).ok())
}

/// The world of this process: over MPI if `mpirun` has started it, otherwise a world of one.
///
/// If several ranks run on this machine, their pools share it: see
/// [`World::pool_builder`](crate::World::pool_builder).
///
/// # Errors
///
/// [`InitError::WithoutMpi`] if there are several ranks and no MPI to reach them by;
/// [`InitError::Mpi`] if MPI does not start, for example because this process has had a world
/// already.
pub fn init() -> Result<World, InitError> {
    match launched() {
        #[cfg(feature = "mpi")]
        Some(_) => {
            let here = number(&RANKS_HERE, |name| std::env::var(name).ok()).unwrap_or(1);
            let link = crate::mpi::Mpi::start()?;
            let world = World::over(Box::new(link)).with_ranks_here(here);
            // The job of a rank that joins one has its number already.
            if world.joined() {
                return Ok(world);
            }
            let job = world.broadcast(&Job::draw());
            Ok(world.with_job(job))
        }
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
        let by =
            |set: &'static str| number(&RANKS, move |name| (name == set).then(|| "4".to_owned()));
        assert_eq!(by("OMPI_COMM_WORLD_SIZE"), Some(4));
        assert_eq!(by("PMI_SIZE"), Some(4));
        assert_eq!(by("HOME"), None);
    }
}
