//! Why there is no report.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The error. Prints as one line that names the file.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// A file or folder that was named cannot be read.
    Unread {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Nowhere in what was named lies a result.
    Nothing(Vec<PathBuf>),
    /// All that looked like results is broken: each file, and why.
    Broken(Vec<String>),
}

impl Failure {
    pub(crate) fn unread(path: &Path, source: io::Error) -> Self {
        Self::Unread { path: path.to_owned(), source }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread { path, source } => {
                write!(f, "cannot read `{}`: {source}", path.display())
            }
            Self::Broken(files) => write!(f, "no result can be read: {}", files.join("; ")),
            Self::Nothing(paths) => {
                let names: Vec<String> =
                    paths.iter().map(|path| format!("`{}`", path.display())).collect();
                write!(
                    f,
                    "no results in {}: give folders of `sinew-lab reproduce`, or files that end in \
                     .csv, .json, .md or .txt",
                    names.join(", ")
                )
            }
        }
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unread { source, .. } => Some(source),
            Self::Nothing(_) | Self::Broken(_) => None,
        }
    }
}
