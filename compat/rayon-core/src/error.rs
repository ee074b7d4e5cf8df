//! The error of a pool that cannot be built.

use std::error::Error;
use std::fmt;
use std::io;

use sinew_core::BuildError;

/// A pool that was not built.
#[derive(Debug)]
pub struct ThreadPoolBuildError {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    GlobalExists,
    AlreadyInPool,
    Io(io::Error),
}

impl ThreadPoolBuildError {
    pub(crate) fn global_exists() -> Self {
        Self { kind: Kind::GlobalExists }
    }

    /// Whether this target has no threads.
    pub(crate) fn is_unsupported(&self) -> bool {
        matches!(&self.kind, Kind::Io(error) if error.kind() == io::ErrorKind::Unsupported)
    }
}

impl From<BuildError> for ThreadPoolBuildError {
    fn from(error: BuildError) -> Self {
        let kind = match error {
            BuildError::AlreadyWorker => Kind::AlreadyInPool,
            BuildError::Spawn(error) => Kind::Io(error),
            other => Kind::Io(io::Error::other(other)),
        };
        Self { kind }
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::GlobalExists => {
                f.write_str("The global thread pool has already been initialized.")
            }
            Kind::AlreadyInPool => {
                f.write_str("The current thread is already part of another thread pool.")
            }
            Kind::Io(error) => error.fmt(f),
        }
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            Kind::Io(error) => Some(error),
            Kind::GlobalExists | Kind::AlreadyInPool => None,
        }
    }
}
