//! Progress on standard error: one line that changes on a terminal, otherwise a line for each
//! finished step.

use std::io::{self, IsTerminal, Write};

use sinew_console::output;

/// Longer lines would wrap, and could not be erased.
const WIDTH: usize = 78;

/// The line, while it is shown.
#[derive(Debug)]
pub(crate) struct Progress {
    terminal: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { terminal: io::stderr().is_terminal() }
    }

    /// A step begins.
    pub(crate) fn now(&self, what: &str) {
        if self.terminal {
            let line: String = what.chars().take(WIDTH).collect();
            replace_line(&line);
        }
    }

    /// A step has finished.
    pub(crate) fn done(&self, what: &str) {
        if !self.terminal {
            output::note(what);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.terminal {
            replace_line("");
        }
    }
}

/// Clears the line of a terminal, before the process ends early.
pub(crate) fn clear() {
    drop(Progress::new());
}

/// Moves to the first column and clears the line.
fn replace_line(line: &str) {
    let mut err = io::stderr().lock();
    let _ = write!(err, "\r\x1b[K{line}").and_then(|()| err.flush());
}
