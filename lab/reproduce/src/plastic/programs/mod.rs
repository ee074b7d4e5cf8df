//! Programs beside each other: real processes of this binary, each with a pool of its own, alone on
//! the machine or by agreement.
//!
//! | file | contents |
//! |---|---|
//! | `job` | what a program is told, and what it says |
//! | `program` | the program: what `sinew` does when it is started as one |
//! | `group` | starting programs, speaking with them, and the coordinator beside them |
//!
//! A program receives its job, reports that it is ready, and begins on command. So processes and
//! inputs exist before anything is measured.

mod group;
mod job;
mod program;

pub(super) use group::{Program, Standing, place};
pub(super) use job::{Access, Finished, Job, Until, Way};
pub use program::run_program;

/// The word by which the binary is started as a program.
pub const PROGRAM: &str = "reproduce-program";
