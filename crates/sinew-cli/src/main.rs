#![forbid(unsafe_code)]
//! The `sinew` command.
//!
//! # The rooms
//!
//! | file | what lives there |
//! |---|---|
//! | `args` | the subcommands; each has its arguments in its own file |
//! | `values`, `pool` | values and arguments that several subcommands take |
//! | `demo`, `run`, `list`, `topo`, `oracle`, `reproduce`, `report`, `sim` | a subcommand each |
//! | `coordinator`, `top/`, `exec` | programs that share this machine: decided with a clock, shown, started |
//! | `timeline` | the demo's loop that is changed while it runs |
//! | `measure` | serial and parallel runs side by side, judged |
//! | `profile` | what `--profile` prints |
//! | `trace` | the timeline that `--trace` writes |
//! | `worklist` | what `run` takes and prints about worklists |
//! | `contention` | whether the workers had their cores to themselves |
//! | `table`, `progress`, `output`, `suggest` | how things are printed |
//! | `files` | the files that a command line names |
//! | `failure` | what may go wrong, and with which exit status |
//!
//! # Exit status
//!
//! 0: done, and every answer was right. 1: an answer was wrong, or output could not be written. 2:
//! something on the command line was wrong, said in one line; nothing was run. `exec` ends as its
//! command does; 126 or 127: the command could not be run, or found.
//!
//! # Not handled
//!
//! Ctrl-C, except in `sim`, `oracle`, `coordinator` and `top`, which print what they have: the
//! system's default, which ends the process at once, is what users want here. What `reproduce` has
//! written by then is whole.

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
