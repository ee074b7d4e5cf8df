//! Reading the kernel's small files.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use crate::warning::Warning;
use sinew_cpus::{CpuSet, shorten};

/// Reads a small file without surrounding blanks. A larger file is cut, as no file read here is
/// long.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    const LONGEST: u64 = 1 << 20;
    // Most files are shorter, so one read suffices.
    let mut bytes = Vec::with_capacity(1024);
    fs::File::open(path)?.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// As [`read_text`], but a missing file is `None`, not an error.
pub(crate) fn read_if_exists(path: &Path) -> Result<Option<String>, Warning> {
    match read_text(path) {
        Ok(text) => Ok(Some(text)),
        // A control group's folder may be the name of a file here. sysfs returns ENODATA and
        // similar errors for some absent values.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(Warning::at(path, format_args!("{error}; ignored"))),
    }
}

/// A file with a list of CPUs.
pub(crate) fn read_set(path: &Path) -> Result<CpuSet, Warning> {
    let text = read_text(path).map_err(|error| Warning::at(path, error))?;
    text.parse().map_err(|error| Warning::at(path, error))
}

/// The message for a text that is not a `what`.
pub(crate) fn not_a(what: &str, text: &str) -> String {
    format!("`{}` is not a {what}", shorten(text))
}
