//! Why a pool cannot be built.

use std::{fmt, io};

use sinew_topology::MappingError;

/// The most threads a pool can have, the external slot included.
pub const MAX_THREADS: usize = 1 << 16;

/// A pool that cannot be built.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// Not a valid number of threads; use 1 to [`MAX_THREADS`](crate::MAX_THREADS).
    Threads(usize),
    /// Not a valid weight; use 0.01 to 100. With the feature `coordinate`.
    #[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
    Weight(f64),
    /// The mapping does not fit the machine, or the CPUs that this process may use.
    Mapping(MappingError),
    /// The system refused a thread; try fewer threads or a smaller stack.
    Spawn(io::Error),
    /// The building thread cannot be a worker of the pool, as it is one of another pool. Build
    /// the pool on another thread.
    AlreadyWorker,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Threads(n) => {
                write!(f, "a pool of {n} threads is not possible; take 1 to {MAX_THREADS}")
            }
            #[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
            Self::Weight(weight) => {
                write!(f, "a weight of {weight} is not possible; take 0.01 to 100")
            }
            Self::Mapping(error) => error.fmt(f),
            Self::Spawn(error) => {
                write!(f, "a worker's thread could not be started: {error}; try fewer threads")
            }
            Self::AlreadyWorker => f.write_str(
                "this thread is a worker of another pool already: build the pool on another thread",
            ),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Threads(_) | Self::AlreadyWorker => None,
            #[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
            Self::Weight(_) => None,
            Self::Mapping(error) => Some(error),
            Self::Spawn(error) => Some(error),
        }
    }
}
