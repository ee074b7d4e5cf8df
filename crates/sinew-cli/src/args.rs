//! The command line: the subcommands, each of which has its arguments in its own file, and one line
//! for each error.
//!
//! The parser's messages, which take several lines, are shortened.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};

use crate::coordinator::CoordinatorArgs;
use crate::demo::DemoArgs;
use crate::exec::{self, ExecArgs};
use crate::failure::Failure;
use crate::oracle::OracleArgs;
use crate::output;
use crate::report::ReportArgs;
use crate::reproduce::ReproduceArgs;
use crate::run::RunArgs;
use crate::sim::SimArgs;
use crate::suggest::unknown;
use crate::top::TopArgs;
use crate::topo::TopoArgs;

/// Malleable, locality-aware parallelism: applications and the machine.
#[derive(Debug, Parser)]
#[command(name = "sinew", version)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

/// A subcommand.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run all applications, serially and in parallel, and check every result
    Demo(DemoArgs),
    /// Run one application, serially and in parallel, and check its result
    Run(RunArgs),
    /// List the applications and their sizes
    List,
    /// Show the machine, and the part of it that this process may use
    Topo(TopoArgs),
    /// Measure all fixed settings of a worklist, and compare the tuner with the best of them
    Oracle(OracleArgs),
    /// Repeat published experiments, and show the published values beside the measured ones
    Reproduce(ReproduceArgs),
    /// Serve as one of the programs that `reproduce` runs beside each other
    #[command(name = sinew_reproduce::PROGRAM, hide = true)]
    Program,
    /// Collect results of any kind on one HTML page
    Report(ReportArgs),
    /// Simulate a program on any machine, in virtual time
    Sim(SimArgs),
    /// Measure the programs that share this machine, apply a policy or a script, and log every
    /// decision with its reason
    Coordinator(CoordinatorArgs),
    /// Show the programs that share this machine, continuously
    Top(TopArgs),
    /// Run any program within a share of the machine
    Exec(ExecArgs),
}

/// Parses the command line. Prints help and version itself, and ends the process then.
pub(crate) fn parse() -> Result<Command, Failure> {
    if let Some(args) = exec::arguments_of(std::env::args_os().skip(1)) {
        return Ok(Command::Exec(args));
    }
    match CommandLine::try_parse() {
        Ok(line) => Ok(line.command),
        Err(message)
            if matches!(message.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) =>
        {
            output::print(&message.render().to_string())?;
            std::process::exit(0)
        }
        Err(missing) if missing.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::usage(
                "a command is needed: demo, run, list, topo, oracle, reproduce, report, sim, \
                 coordinator, top or exec (see sinew --help)",
            ))
        }
        Err(error) => Err(Failure::Usage(explain(&error))),
    }
}

/// Describes a wrong command line in one line.
fn explain(error: &clap::Error) -> String {
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(name)) => {
            let line = CommandLine::command();
            let shown = line.get_subcommands().filter(|command| !command.is_hide_set());
            let names: Vec<&str> = shown.map(clap::Command::get_name).collect();
            unknown("command", name, &names)
        }
        _ => shorten(&error.render().to_string()),
    }
}

/// The error message of the parser without the usage after it.
fn shorten(message: &str) -> String {
    let lines = message.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let lines: Vec<&str> = lines
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        .collect();
    let line = lines.join("; ").replace(":; ", ": ").replace("; [", " [");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    if line.contains("--help") { line.to_owned() } else { format!("{line} (see sinew --help)") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_of_the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    /// The arguments of `exec` in these words, with the subcommand itself first.
    fn exec_of(words: &[&str]) -> ExecArgs {
        let line = CommandLine::try_parse_from(["sinew"].iter().chain(words)).unwrap();
        let Command::Exec(args) = line.command else { panic!("{words:?} are not of exec") };
        args
    }

    /// Catches: a line of `exec` that the short parser reads differently from the full one, or
    /// accepts although the full one prints a message.
    #[test]
    fn the_short_parser_of_exec_reads_what_the_whole_one_reads() {
        let short = |words: &[&str]| exec::arguments_of(words.iter().map(std::ffi::OsString::from));
        for words in [
            &["exec", "true"][..],
            &["exec", "--", "true", "--verbose"],
            &["exec", "--malleable", "--weight=2", "--min", "2", "--max", "3", "ls", "-l"],
            &["exec", "--verbose", "exec", "--", ""],
            &["exec", "sh", "-c", "--help"],
        ] {
            let whole = exec_of(words);
            assert_eq!(short(words).map(|args| format!("{args:?}")), Some(format!("{whole:?}")));
        }
        for words in [
            &[][..],
            &["run", "exec"],
            &["exec"],
            &["exec", "--help"],
            &["exec", "--weight", "0", "true"],
        ] {
            assert!(short(words).is_none(), "{words:?}");
        }
    }

    #[test]
    fn every_message_of_the_parser_becomes_one_line() {
        for words in [
            &["sinew"][..],
            &["sinew", "rnu"],
            &["sinew", "run"],
            &["sinew", "run", "fib", "--threads", "0"],
            &["sinew", "run", "fib", "--threads", "-1"],
            &["sinew", "run", "fib", "--schedule", "guided,"],
            &["sinew", "run", "fib", "--wait", "sleep"],
            &["sinew", "run", "fib", "--victims", "weakest"],
            &["sinew", "run", "fib", "--tune", "2 threads, steeling"],
            &["sinew", "run", "fib", "--by-hand", "--tune", "auto"],
            &["sinew", "run", "kmeans", "--pages", "bind 1"],
            &["sinew", "demo", "--victims", "set:none"],
            &["sinew", "run", "fib", "--frobnicate"],
            &["sinew", "demo", "--size", "12"],
            &["sinew", "oracle", "kmeans", "--runs", "0"],
            &["sinew", "oracle", "kmeans", "--threads", "-2"],
            &["sinew", "reproduce", "--size", "tiny"],
            &["sinew", "reproduce", "--threads", "1,0"],
            &["sinew", "reproduce", "--seed", "-1"],
            &["sinew", "reproduce", "--config", "x.toml", "--repeat", "2"],
            &["sinew", "exec"],
            &["sinew", "exec", "--weight", "0", "true"],
            &["sinew", "exec", "--min", "0", "true"],
            &["sinew", "exec", "--max", "many", "true"],
            &["sinew", "exec", "--maleable", "true"],
            &["sinew", "coordinator", "--policy", "fair"],
            &["sinew", "top", "--interval-ms", "0"],
            &["sinew", "sim", "--seed", "-1"],
            &["sinew", "sim", "--calibrate", "--csv", "x"],
        ] {
            let line = explain(&CommandLine::try_parse_from(words).unwrap_err());
            assert!(
                !line.contains('\n') && !line.contains("Usage") && !line.starts_with("error"),
                "{line}"
            );
            let named = words.iter().skip(1).any(|word| line.contains(word)) || words.len() < 3;
            assert!(named, "{words:?}: {line}");
        }
    }
}
