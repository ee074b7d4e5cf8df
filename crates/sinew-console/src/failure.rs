//! Failures and their exit statuses.

use std::fmt;
use std::io;
use std::process::ExitCode;

use crate::output;

/// Exit status of an interrupted process without a result, as in shells.
pub const INTERRUPTED: i32 = 130;

/// The reason why the command ends without success.
#[derive(Debug)]
pub enum Failure {
    /// The command line asks for something impossible. Nothing has run.
    Usage(String),
    /// A result was wrong, or could not be computed.
    Wrong(String),
    /// The output could not be written.
    Output(io::Error),
    /// A file of results could not be written; the text names it.
    Unwritten(String),
    /// Another program could not be run; has the exit status that shells return.
    NotRun(u8, String),
}

impl Failure {
    /// A usage failure from anything that prints as one line.
    pub fn usage(why: impl fmt::Display) -> Self {
        Self::Usage(why.to_string())
    }

    /// The wrong result, if this failure is about one.
    pub fn wrong(&self) -> Option<&str> {
        match self {
            Self::Wrong(why) => Some(why),
            _ => None,
        }
    }

    /// The reason, as one line.
    pub fn to_line(&self) -> String {
        match self {
            Self::Usage(why) | Self::Wrong(why) | Self::Unwritten(why) | Self::NotRun(_, why) => {
                why.clone()
            }
            Self::Output(error) => error.to_string(),
        }
    }

    /// Prints the reason to standard error, in one line that begins with the name of `program`, and
    /// returns the exit status.
    ///
    /// An output that the reader closes (`sinew topo | head -1`) is no failure.
    pub fn report(&self, program: &str) -> ExitCode {
        match self {
            Self::Usage(why) => {
                output::complain(program, why);
                ExitCode::from(2)
            }
            Self::Wrong(why) | Self::Unwritten(why) => {
                output::complain(program, why);
                ExitCode::FAILURE
            }
            Self::NotRun(status, why) => {
                output::complain(program, why);
                ExitCode::from(*status)
            }
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Self::Output(error) => {
                output::complain(program, &format!("cannot write the output: {error}"));
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
