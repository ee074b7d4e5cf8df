#![forbid(unsafe_code)]
//! The `sinew-lab` command: applications, published experiments, and a simulator.
//!
//! # Files
//!
//! | file | contents |
//! |---|---|
//! | `args` | the subcommands; each has its arguments in its own file |
//! | `values`, `pool` | values and arguments of several subcommands |
//! | `demo`, `draw`, `run`, `list`, `oracle`, `reproduce`, `report`, `sim` | a subcommand each |
//! | `entries` | lists of names and descriptions |
//! | `timeline` | the demo's loop that is changed while it runs |
//! | `measure` | interleaved serial and parallel runs with checked results |
//! | `ranks` | an application over ranks |
//! | `profile` | the output of `--profile` |
//! | `trace` | the timeline of `--trace` |
//! | `worklist` | options and output about worklists |
//! | `contention` | the time that workers waited for a core |
//! | `progress` | progress on standard error |
//! | `files` | files for results |
//! | `interrupt` | Ctrl-C in commands that print the results so far |
//!
//! # Exit status
//!
//! 0: success, every result was right. 1: a result was wrong, or output could not be written. 2: an
//! error on the command line, described in one line; nothing was run.
//!
//! # Not handled
//!
//! Ctrl-C, except in `demo`, `sim` and `oracle`, which print the results so far. In other commands
//! the system's default ends the process at once; the files that `reproduce` has written are then
//! complete.

mod args;
mod conditions;
mod contention;
mod demo;
mod draw;
mod entries;
mod files;
mod interrupt;
mod list;
mod measure;
mod oracle;
mod pool;
mod profile;
mod progress;
mod ranks;
mod report;
mod reproduce;
mod run;
mod sim;
mod timeline;
mod trace;
mod values;
mod worklist;

use std::process::ExitCode;

use args::{Command, CommandLine};
use sinew_console::Failure;

fn main() -> ExitCode {
    match args::parse().and_then(perform) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report("sinew-lab"),
    }
}

fn perform(command: Command) -> Result<(), Failure> {
    match command {
        Command::Demo(args) => demo::perform(&args),
        Command::Run(args) => match args.ranks {
            Some(ranks) => ranks::perform(&args, ranks),
            None => run::perform(args),
        },
        Command::List(args) => list::perform(&args),
        Command::Oracle(args) => oracle::perform(&args),
        Command::Reproduce(args) => reproduce::perform(&args),
        Command::Program => reproduce::program(),
        Command::Report(args) => report::perform(&args),
        Command::Draw(args) => draw::perform(&args),
        Command::Sim(args) => sim::perform(&args),
        Command::Completions(args) => args.perform::<CommandLine>(),
        Command::Man(args) => args.perform::<CommandLine>(),
    }
}
