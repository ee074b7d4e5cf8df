//! The files that a command line names.

use std::io;
use std::path::Path;

use crate::failure::Failure;

/// Reads a text file named on the command line.
///
/// # Errors
///
/// The file cannot be read; the failure names it.
pub fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        Failure::Usage(format!("cannot read `{}`: {error}; give another file", path.display()))
    })
}

/// The line about a file that cannot be written.
pub fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("cannot write `{}`: {error}; give another file", path.display())
}
