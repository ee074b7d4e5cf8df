//! The coordinators of other machines, as the ranks of a world over MPI: with the feature `mpi`.
//! Without it the command needs no MPI, and refuses `--machines`.

use sinew_console::Failure;

#[cfg(feature = "mpi")]
pub(crate) use sinew_dist::World;
#[cfg(feature = "mpi")]
pub(crate) use sinew_dist::machines::Machines;

/// The coordinators that `mpirun` has started.
///
/// # Errors
///
/// `mpirun` has not started this one, or MPI does not start.
#[cfg(feature = "mpi")]
pub(crate) fn reach() -> Result<World, Failure> {
    if sinew_dist::launched().is_none() {
        return Err(Failure::usage(
            "`--machines` needs the coordinators of the other machines: start one on each with \
             `mpirun -n MACHINES --map-by node sinew coordinator --machines`",
        ));
    }
    sinew_dist::init().map_err(|error| Failure::Wrong(error.to_string()))
}

#[cfg(not(feature = "mpi"))]
pub(crate) use without::{Machines, World};

#[cfg(not(feature = "mpi"))]
pub(crate) fn reach() -> Result<World, Failure> {
    Err(Failure::usage(
        "this `sinew` was built without MPI, which `--machines` needs: build it with the feature \
         `mpi` of sinew-cli",
    ))
}

/// The same types, of which there is no value.
#[cfg(not(feature = "mpi"))]
mod without {
    use std::time::Duration;

    use sinew_coord::{Coordinator, Error};

    pub(crate) enum World {}

    pub(crate) struct Machines<'w>(&'w World);

    impl<'w> Machines<'w> {
        pub(crate) fn over(world: &'w World, _interval: Duration) -> Self {
            Self(world)
        }

        pub(crate) fn step(&mut self, _of: &Coordinator, _ends: bool) -> Result<bool, Error> {
            match *self.0 {}
        }

        pub(crate) fn due_in(&self) -> Duration {
            match *self.0 {}
        }
    }
}
