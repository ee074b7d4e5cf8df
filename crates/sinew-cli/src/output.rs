//! The ways out. None panics when nobody listens.

use std::io::{self, Write};
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

/// Writes a text to standard output, at once, so that a reader sees it before the next computation
/// starts.
///
/// # Errors
///
/// When nobody reads any more, or there is no room; see
/// [`Failure::report`](crate::failure::Failure::report).
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// One line on standard error, whatever line ends are in `why`.
pub(crate) fn complain(why: &str) {
    let words: Vec<&str> = why.split_whitespace().collect();
    note(&format!("sinew: {}", words.join(" ")));
}

/// A line on standard error. If even that fails, there is nobody left to tell.
pub(crate) fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
