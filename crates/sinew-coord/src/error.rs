//! The errors of this crate.

use std::path::{Path, PathBuf};
use std::{fmt, io};

/// The reason why a program cannot take part. It can always run without the table.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// This system cannot share a table; only Linux can.
    Unsupported,
    /// Another user could have made the folder or file, or could read it. Remove it, or set
    /// `SINEW_TABLE_DIR` to a folder of your own.
    Insecure {
        /// The folder or file.
        path: PathBuf,
        /// The reason why it is refused.
        what: &'static str,
    },
    /// A system call failed. Check the file or folder, or set `SINEW_TABLE_DIR` to
    /// another folder.
    System {
        /// The operation, as a verb with its particle.
        what: &'static str,
        /// The file or folder it was about.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The table has [`MAX_PROGRAMS`](crate::MAX_PROGRAMS) programs already.
    Full,
    /// A running program holds the lock for too long; try again later.
    Busy,
    /// A coordinator with this process number runs already; end it first.
    Coordinated(u32),
    /// The process or the row does not exist any more.
    Gone,
    /// The parent of this process opened the table; open it again.
    Forked,
    /// The folder has no energy counter. Use a policy that needs none.
    NoEnergy(PathBuf),
    /// An energy counter cannot be read; mostly, only the system's administrator may.
    Energy {
        /// The counter's file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
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
                let advice = match path.starts_with("/proc") {
                    true => "check that /proc is mounted",
                    false => "check it, or set SINEW_TABLE_DIR to another folder",
                };
                write!(f, "cannot {what} {}: {source}; {advice}", path.display())
            }
            Self::Full => {
                write!(f, "the table has {} programs already; end one first", crate::MAX_PROGRAMS)
            }
            Self::Busy => f.write_str("another program keeps the table locked; try again"),
            Self::Coordinated(pid) => {
                write!(f, "process {pid} runs a coordinator already: end it first")
            }
            Self::Gone => {
                f.write_str("the table has no such program; `sinew top` lists its programs")
            }
            Self::Forked => {
                f.write_str("the parent process opened the table: open it again after a fork")
            }
            Self::NoEnergy(folder) => write!(
                f,
                "no energy counter in {}: this machine has none, or its host shows it none; use \
                 another policy",
                folder.display()
            ),
            Self::Energy { path, source } => {
                let advice = match source.kind() {
                    io::ErrorKind::PermissionDenied => "run this as root, or let this user read it",
                    _ => "check it, or use another policy",
                };
                write!(f, "cannot read {}: {source}; {advice}", path.display())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System { source, .. } | Self::Energy { source, .. } => Some(source),
            _ => None,
        }
    }
}
