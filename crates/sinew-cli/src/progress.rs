//! What is being done right now, on standard error: one line that changes on a terminal, a line for
//! each finished step elsewhere.

use std::io::{self, IsTerminal, Write};

use crate::output;

/// Longer lines would wrap, and then could not be taken back.
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

    /// Something begins.
    pub(crate) fn now(&self, what: &str) {
        if self.terminal {
            let line: String = what.chars().take(WIDTH).collect();
            replace_line(&line);
        }
    }

    /// Something is finished.
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

/// Back to the first column, and clear what was there.
fn replace_line(line: &str) {
    let mut err = io::stderr().lock();
    let _ = write!(err, "\r\x1b[K{line}").and_then(|()| err.flush());
}
