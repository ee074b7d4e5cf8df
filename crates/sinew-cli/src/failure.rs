//! What may go wrong, and the exit status that says so.

use std::fmt;
use std::io;
use std::process::ExitCode;

use crate::output;

/// What a process ends with that was interrupted and had nothing to show, as shells have it.
pub(crate) const INTERRUPTED: i32 = 130;

/// Why the command ends without success.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line asks for something impossible. Nothing has been run.
    Usage(String),
    /// An answer was wrong, or could not be got.
    Wrong(String),
    /// What was found could not be written.
    Output(io::Error),
    /// A file of results could not be written; the text names it.
    Unwritten(String),
    /// Another program could not be run, with the exit status that shells give.
    NotRun(u8, String),
}

impl Failure {
    /// A usage failure from anything that prints as one line.
    pub(crate) fn usage(why: impl fmt::Display) -> Self {
        Self::Usage(why.to_string())
    }

    /// Which answer was wrong, if that is it.
    pub(crate) fn wrong(&self) -> Option<&str> {
        match self {
            Self::Wrong(why) => Some(why),
            _ => None,
        }
    }

    /// The reason, as one line.
    pub(crate) fn to_line(&self) -> String {
        match self {
            Self::Usage(why) | Self::Wrong(why) | Self::Unwritten(why) | Self::NotRun(_, why) => {
                why.clone()
            }
            Self::Output(error) => error.to_string(),
        }
    }

    /// Says so on standard error, in one line, and returns the exit status.
    ///
    /// A reader that has seen enough (`sinew topo | head -1`) is no failure.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::Usage(why) => {
                output::complain(why);
                ExitCode::from(2)
            }
            Self::Wrong(why) | Self::Unwritten(why) => {
                output::complain(why);
                ExitCode::FAILURE
            }
            Self::NotRun(status, why) => {
                output::complain(why);
                ExitCode::from(*status)
            }
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Self::Output(error) => {
                output::complain(&format!("cannot write the output: {error}"));
                ExitCode::FAILURE
            }
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
