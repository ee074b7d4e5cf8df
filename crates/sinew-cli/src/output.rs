//! Standard output and standard error. Neither panics when nobody listens.

use std::io::{self, Write};

/// Writes a text to standard output, at once, so that a reader sees it before the next computation
/// starts.
///
/// # Errors
///
/// When nobody reads any more, or there is no room.
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
