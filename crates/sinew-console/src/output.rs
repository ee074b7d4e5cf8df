//! Standard output and standard error. Neither panics when the reader has gone.

use std::io::{self, Write};

/// Writes a text to standard output and flushes it, so that a reader sees it before the next
/// computation starts.
///
/// # Errors
///
/// The reader has gone, or the disk is full.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes one line to standard error, with the name of `program` first; line ends in `why` become
/// spaces.
pub fn complain(program: &str, why: &str) {
    let words: Vec<&str> = why.split_whitespace().collect();
    note(&format!("{program}: {}", words.join(" ")));
}

/// Writes a line to standard error; a failure is ignored.
pub fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
