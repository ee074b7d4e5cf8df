//! The files that a command line names.

use std::io;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A file for results. It is opened before anything runs, so no result is lost because the file is
/// not writable.
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
    /// If the disk is full; the file keeps its old contents.
    pub(crate) fn write(self, text: &str) -> Result<(), Failure> {
        self.file.write(text).map_err(|error| Failure::Unwritten(cannot_write(&self.path, &error)))
    }
}

/// Reads a text file named on the command line.
///
/// # Errors
///
/// If the file cannot be read; the error names it.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        Failure::Usage(format!("cannot read `{}`: {error}; give another file", path.display()))
    })
}

fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("cannot write `{}`: {error}; give another file", path.display())
}
