//! Files for results.

use std::path::{Path, PathBuf};

use sinew_console::{Failure, cannot_write};

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
