//! What may go wrong.

use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Why a program cannot take part. It can always go on without.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// This system has no way to share a table; only Linux has.
    Unsupported,
    /// The folder or file could be another user's work, or be read by one; remove it, or set
    /// `SINEW_TABLE_DIR` to a folder of your own.
    Insecure {
        /// What was found.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The system refused something.
    System {
        /// What was to be done.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
    /// There are [`MAX_PROGRAMS`](crate::MAX_PROGRAMS) programs already.
    Full,
    /// Somebody who is neither dead nor stopped has had the table for too long; try again later.
    Busy,
    /// Another coordinator, of this process number, is at work; end it first.
    Coordinated(u32),
    /// The process, or the row, is not there any more.
    Gone,
    /// The table belongs to the parent of this process; open it anew.
    Forked,
}

impl Error {
    pub(crate) fn system(what: &'static str, path: &Path, source: io::Error) -> Self {
        Self::System { what, path: path.to_owned(), source }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn insecure(path: &Path, what: &'static str) -> Self {
        Self::Insecure { path: path.to_owned(), what }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported => {
                f.write_str("programs cannot share a table on this system; each runs as if alone")
            }
            Self::Insecure { path, what } => write!(
                f,
                "{} {what}: remove it, or set SINEW_TABLE_DIR to a folder of your own",
                path.display()
            ),
            Self::System { what, path, source } => {
                write!(f, "cannot {what} {}: {source}", path.display())
            }
            Self::Full => {
                write!(f, "the table has {} programs already; end one first", crate::MAX_PROGRAMS)
            }
            Self::Busy => f.write_str("another program keeps the table locked; try again"),
            Self::Coordinated(pid) => write!(f, "process {pid} coordinates already: end it first"),
            Self::Gone => f.write_str(
                "there is no such program in the table; `sinew top` shows those there are",
            ),
            Self::Forked => {
                f.write_str("the table is the parent process's: open it anew after a fork")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System { source, .. } => Some(source),
            _ => None,
        }
    }
}
