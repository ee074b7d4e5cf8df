#![forbid(unsafe_code)]
//! The `sinew` command: programs that share this machine.
//!
//! # Files
//!
//! | file | contents |
//! |---|---|
//! | `args` | the subcommands; each has its arguments in its own file |
//! | `values` | values of several subcommands |
//! | `exec` | starts a program within a share of the machine |
//! | `top/` | shows the programs and their shares |
//! | `coordinator`, `machines` | policies with a clock, and scripts; coordinators of other machines |
//! | `topo` | shows the machine |
//! | `printer` | output that never waits for its reader |
//!
//! # Exit status
//!
//! 0: success. 1: the table of programs cannot be used, or output cannot be written. 2: an error on
//! the command line, described in one line; nothing was run. `exec` ends with the status of its
//! command, or with 126 or 127 if the command could not be run or found.

mod args;
mod coordinator;
mod exec;
mod machines;
mod printer;
mod top;
mod topo;
mod values;

use std::process::ExitCode;

use args::Command;
#[cfg(feature = "completions")]
use args::CommandLine;
use sinew_console::Failure;

fn main() -> ExitCode {
    match args::parse().and_then(perform) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report("sinew"),
    }
}

fn perform(command: Command) -> Result<(), Failure> {
    match command {
        Command::Exec(args) => exec::perform(args),
        Command::Top(args) => top::perform(&args),
        Command::Coordinator(args) => coordinator::perform(&args),
        Command::Topo(args) => topo::perform(&args),
        #[cfg(feature = "completions")]
        Command::Completions(args) => args.perform::<CommandLine>(),
        #[cfg(feature = "completions")]
        Command::Man(args) => args.perform::<CommandLine>(),
    }
}
