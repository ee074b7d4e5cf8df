//! The reason why a command was not run, with the exit status that shells return for it.

use std::fmt;
use std::io;
use std::path::Path;

/// The command was not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    status: u8,
    why: String,
}

/// The command was not found.
const NOT_FOUND: u8 = 127;
/// The command was found, and cannot be run.
const NOT_RUN: u8 = 126;

impl Failure {
    pub(crate) fn not_found(program: &Path, hint: &str) -> Self {
        Self { status: NOT_FOUND, why: format!("{}: command not found{hint}", program.display()) }
    }

    pub(crate) fn empty() -> Self {
        Self { status: NOT_FOUND, why: "the name of the command is empty".to_owned() }
    }

    pub(crate) fn not_run(program: &Path, why: impl fmt::Display) -> Self {
        Self { status: NOT_RUN, why: format!("{}: {why}", program.display()) }
    }

    /// The failure for the system's error.
    pub(crate) fn of(program: &Path, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::not_found(program, ", or its interpreter is missing"),
            io::ErrorKind::PermissionDenied => {
                Self::not_run(program, "permission denied: it must be executable (chmod +x)")
            }
            _ => Self::not_run(program, format_args!("cannot be run: {error}")),
        }
    }

    /// The exit status of shells in this case: 127 if the command was not found, 126 if it cannot
    /// be run.
    pub fn status(&self) -> u8 {
        self.status
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blind to: the system's texts in other languages.
    #[test]
    fn the_exit_status_is_the_shells() {
        let of = |kind: io::ErrorKind| Failure::of(Path::new("x"), &kind.into());
        assert_eq!(of(io::ErrorKind::NotFound).status(), 127);
        assert_eq!(of(io::ErrorKind::PermissionDenied).status(), 126);
        assert_eq!(of(io::ErrorKind::ArgumentListTooLong).status(), 126);
        assert!(!of(io::ErrorKind::OutOfMemory).to_string().contains('\n'));
    }
}
