//! Failures of an experiment.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why an experiment ended, or a part of it was left out. Prints as one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// Something asked for is impossible: a size, a number of workers, a folder that holds
    /// something else.
    Impossible(String),
    /// A result was wrong: its figures are worthless.
    Wrong(String),
    /// A result could not be written.
    Output {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Failure {
    /// A failure with this one-line reason.
    pub fn impossible(why: impl fmt::Display) -> Self {
        Self::Impossible(why.to_string())
    }

    pub(crate) fn output(path: &Path, source: io::Error) -> Self {
        Self::Output { path: path.to_owned(), source }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Impossible(why) | Self::Wrong(why) => f.write_str(why),
            Self::Output { path, source } => {
                write!(
                    f,
                    "cannot write `{}`: {source}; give another folder with --out",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Output { source, .. } => Some(source),
            Self::Impossible(_) | Self::Wrong(_) => None,
        }
    }
}
