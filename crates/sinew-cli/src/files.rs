//! The files that a command line names.

use std::io;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A file for results, found writable before anything is run, so that nothing is lost for want of
/// it.
#[derive(Debug)]
pub(crate) struct ResultFile {
    path: PathBuf,
    file: sinew_reproduce::ResultFile,
}

impl ResultFile {
    /// # Errors
    ///
    /// If the file cannot be written.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        match sinew_reproduce::ResultFile::create(path) {
            Ok(file) => Ok(Self { path: path.to_owned(), file }),
            Err(error) => Err(Failure::Usage(cannot_write(path, &error))),
        }
    }

    /// # Errors
    ///
    /// If there is no more room; the file keeps what it held.
    pub(crate) fn write(self, text: &str) -> Result<(), Failure> {
        self.file.write(text).map_err(|error| Failure::Unwritten(cannot_write(&self.path, &error)))
    }
}

/// A text file that the command line names.
///
/// # Errors
///
/// If it cannot be read; names it.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        Failure::Usage(format!("cannot read `{}`: {error}; give another file", path.display()))
    })
}

fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("cannot write `{}`: {error}; give another file", path.display())
}
