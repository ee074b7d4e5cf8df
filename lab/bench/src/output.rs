//! The ways out: standard output, and the file that `--json` names.
//!
//! No function here panics when the reader has gone. A reader that has seen enough (`bench | head
//! -1`) ends the process, unless a report is still to be written: then the measurements go on,
//! unheard.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;

use serde::Serialize;
use sinew_reproduce::ResultFile;
use sinew_sync::atomic::{AtomicBool, Ordering};

/// A report is still to be written.
static REPORT_TO_COME: AtomicBool = AtomicBool::new(false);

/// Prints a line, at once.
macro_rules! say {
    ($($words:tt)*) => { $crate::output::line(format_args!($($words)*)) };
}
pub(crate) use say;

/// See [`say`].
pub(crate) fn line(words: fmt::Arguments<'_>) {
    let mut out = io::stdout().lock();
    if let Err(error) = writeln!(out, "{words}").and_then(|()| out.flush()) {
        // Relaxed: a thread reads what it has set itself, before it measures anything.
        if !REPORT_TO_COME.load(Ordering::Relaxed) {
            unheard(&error);
        }
    }
}

fn unheard(error: &io::Error) -> ! {
    if error.kind() == io::ErrorKind::BrokenPipe {
        process::exit(0);
    }
    eprintln!("bench: cannot write the output: {error}");
    process::exit(1)
}

/// The file for a report. It is found writable first: a report that cannot be written must not be
/// found out after the work.
#[derive(Debug)]
pub(crate) struct ReportFile(Option<(PathBuf, ResultFile)>);

impl ReportFile {
    /// The one that is named, if any.
    ///
    /// # Errors
    ///
    /// One line, and the exit status that it deserves.
    pub(crate) fn create(path: Option<&Path>) -> Result<Self, (String, u8)> {
        let Some(path) = path else { return Ok(Self(None)) };
        let file = ResultFile::create(path).map_err(|error| (cannot_write(path, &error), 2))?;
        REPORT_TO_COME.store(true, Ordering::Relaxed);
        Ok(Self(Some((path.to_owned(), file))))
    }

    /// # Errors
    ///
    /// As [`create`](Self::create). The file keeps what it held then.
    pub(crate) fn write(self, report: &impl Serialize) -> Result<(), (String, u8)> {
        let Some((path, file)) = self.0 else { return Ok(()) };
        let text = serde_json::to_vec_pretty(report).map_err(io::Error::from);
        text.and_then(|text| file.write(text)).map_err(|error| (cannot_write(&path, &error), 1))
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("cannot write `{}`: {error}; give another file with --json", path.display())
}
