//! The command line: the subcommands, each of which has its arguments in its own file.

use clap::{Parser, Subcommand};
use sinew_console::Failure;

use crate::coordinator::CoordinatorArgs;
use crate::exec::{self, ExecArgs};
use crate::top::TopArgs;
use crate::topo::TopoArgs;

/// Shares the machine among programs.
#[derive(Debug, Parser)]
#[command(name = "sinew", version)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

/// A subcommand.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run any program within a share of the machine
    Exec(ExecArgs),
    /// Show the programs that share this machine, continuously
    Top(TopArgs),
    /// Apply a policy or a script to the programs that share this machine, and log every decision
    /// with its reason
    Coordinator(CoordinatorArgs),
    /// Show the machine, and the part of it that this process may use
    Topo(TopoArgs),
}

/// Parses the command line. Prints help and version itself, and ends the process then.
pub(crate) fn parse() -> Result<Command, Failure> {
    if let Some(args) = exec::arguments_of(std::env::args_os().skip(1)) {
        return Ok(Command::Exec(args));
    }
    sinew_console::parse::<CommandLine>().map(|line| line.command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use sinew_console::explain;

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
            &["top", "exec"],
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
            &["sinew", "exce"],
            &["sinew", "exec"],
            &["sinew", "exec", "--weight", "0", "true"],
            &["sinew", "exec", "--min", "0", "true"],
            &["sinew", "exec", "--max", "many", "true"],
            &["sinew", "exec", "--maleable", "true"],
            &["sinew", "coordinator", "--policy", "fair"],
            &["sinew", "top", "--interval-ms", "0"],
        ] {
            let error = CommandLine::try_parse_from(words).unwrap_err();
            let line = explain::<CommandLine>(&error);
            assert!(
                !line.contains('\n') && !line.contains("Usage") && !line.starts_with("error"),
                "{line}"
            );
            let named = words.iter().skip(1).any(|word| line.contains(word)) || words.len() < 3;
            assert!(named, "{words:?}: {line}");
        }
    }
}
