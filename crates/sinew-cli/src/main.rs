#![forbid(unsafe_code)]
//! The `sinew` command.
//!
//! # Files
//!
//! | file | contents |
//! |---|---|
//! | `args` | the subcommands; each has its arguments in its own file |
//! | `values`, `pool` | values and arguments of several subcommands |
//! | `demo`, `run`, `list`, `topo`, `oracle`, `reproduce`, `report`, `sim` | a subcommand each |
//! | `coordinator`, `top/`, `exec` | programs that share this machine: policies with a clock, display, start |
//! | `timeline` | the demo's loop that is changed while it runs |
//! | `measure` | interleaved serial and parallel runs with checked results |
//! | `profile` | the output of `--profile` |
//! | `trace` | the timeline of `--trace` |
//! | `worklist` | options and output about worklists |
//! | `contention` | the time that workers waited for a core |
//! | `table`, `progress`, `output`, `suggest` | output |
//! | `files` | files named on the command line |
//! | `failure` | failures and their exit statuses |
//!
//! # Exit status
//!
//! 0: success, every result was right. 1: a result was wrong, or output could not be written. 2: an
//! error on the command line, described in one line; nothing was run. `exec` ends with the status
//! of its command, or with 126 or 127 if the command could not be run or found.
//!
//! # Not handled
//!
//! Ctrl-C, except in `sim`, `oracle`, `coordinator` and `top`, which print the results so far.
//! Elsewhere the system's default ends the process at once; the files that `reproduce` has written
//! are then complete.

mod args;
mod contention;
mod coordinator;
mod demo;
mod exec;
mod failure;
mod files;
mod list;
mod measure;
mod oracle;
mod output;
mod pool;
mod printer;
mod profile;
mod progress;
mod report;
mod reproduce;
mod run;
mod sim;
mod suggest;
mod table;
mod timeline;
mod top;
mod topo;
mod trace;
mod values;
mod worklist;

use std::process::ExitCode;

use args::Command;
use failure::Failure;

fn main() -> ExitCode {
    match args::parse().and_then(perform) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn perform(command: Command) -> Result<(), Failure> {
    match command {
        Command::Demo(args) => demo::perform(&args),
        Command::Run(args) => run::perform(args),
        Command::List => list::perform(),
        Command::Topo(args) => topo::perform(&args),
        Command::Oracle(args) => oracle::perform(&args),
        Command::Reproduce(args) => reproduce::perform(&args),
        Command::Program => reproduce::program(),
        Command::Report(args) => report::perform(&args),
        Command::Sim(args) => sim::perform(&args),
        Command::Coordinator(args) => coordinator::perform(&args),
        Command::Top(args) => top::perform(&args),
        Command::Exec(args) => exec::perform(args),
    }
}
