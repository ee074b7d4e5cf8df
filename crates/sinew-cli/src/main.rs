#![forbid(unsafe_code)]
//! The `sinew` command.
//!
//! # The rooms
//!
//! | file | what lives there |
//! |---|---|
//! | `args` | what may be written on the command line |
//! | `demo`, `run`, `list`, `topo`, `oracle`, `reproduce`, `report`, `sim`, `exec` | a subcommand each |
//! | `coordinator`, `top/` | programs that share this machine: decided with a clock, and shown |
//! | `measure` | serial and parallel runs side by side, judged |
//! | `profile` | what `--profile` prints |
//! | `trace` | the timeline that `--trace` writes |
//! | `worklist` | what `run` takes and prints about worklists |
//! | `contention` | whether the workers had their cores to themselves |
//! | `table`, `progress`, `output`, `suggest` | how things are printed |
//! | `failure` | what may go wrong, and with which exit status |
//!
//! # Exit status
//!
//! 0: done, and every answer was right. 1: an answer was wrong, or output could not be written. 2: something on the
//! command line was wrong, said in one line; nothing was run. `exec` ends as its command does; 126 or 127: the command could not be run, or found.
//!
//! # Not handled
//!
//! Ctrl-C, except in `sim`, `coordinator` and `top`: the system's default, which ends the process at once, is what users want here. What `oracle` and `reproduce` have written by then is whole.

mod args;
mod contention;
mod coordinator;
mod demo;
mod exec;
mod failure;
mod list;
mod measure;
mod oracle;
mod output;
mod profile;
mod progress;
mod report;
mod reproduce;
mod run;
mod sim;
mod suggest;
mod table;
mod top;
mod topo;
mod trace;
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
        Command::Report(args) => report::perform(&args),
        Command::Sim(args) => sim::perform(&args),
        Command::Exec(args) => exec::perform(args),
        Command::Coordinator(args) => coordinator::perform(&args),
        Command::Top(args) => top::perform(&args),
    }
}
