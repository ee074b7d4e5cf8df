//! The command line: the subcommands, each of which has its arguments in its own file.

use clap::{Parser, Subcommand};
use sinew_console::Failure;
#[cfg(feature = "completions")]
use sinew_console::{CompletionsArgs, ManArgs};

use crate::coordinator::CoordinatorArgs;
use crate::exec::{self, ExecArgs};
use crate::top::TopArgs;
use crate::topo::TopoArgs;

/// Shares the machine among programs.
#[derive(Debug, Parser)]
#[command(name = "sinew", version)]
pub(crate) struct CommandLine {
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
    /// Print the completions of this command for a shell
    #[cfg(feature = "completions")]
    Completions(CompletionsArgs),
    /// Write the manual pages of this command
    #[cfg(feature = "completions")]
    Man(ManArgs),
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

    /// Whether the script has this option among those of this subcommand.
    #[cfg(feature = "completions")]
    fn completes(shell: &str, script: &str, subcommand: &str, option: &str) -> bool {
        let (begin, end, option) = match shell {
            "bash" => (format!("sinew__subcmd__{subcommand})"), ";;", format!("--{option}")),
            "zsh" => (format!("({subcommand})\n"), "\n;;", format!("--{option}")),
            _ => (format!("using_subcommand {subcommand}\""), "\n", format!("-l {option}")),
        };
        let parts = script.split(&begin).skip(1).filter_map(|part| part.split(end).next());
        parts.flat_map(|part| part.match_indices(&option).map(move |(at, _)| &part[at..])).any(
            |found| !found[option.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '-'),
        )
    }

    /// Catches: completions and pages of another table, or of the table's first level alone.
    #[cfg(feature = "completions")]
    #[test]
    fn every_option_is_in_the_completions_and_on_the_pages() {
        let folder = tempfile::tempdir().unwrap();
        let man = ["sinew", "man"]
            .map(std::ffi::OsStr::new)
            .into_iter()
            .chain([folder.path().as_os_str()]);
        let Command::Man(man) = CommandLine::try_parse_from(man).unwrap().command else { panic!() };
        man.perform::<CommandLine>().unwrap();
        let main = std::fs::read_to_string(folder.path().join("sinew.1")).unwrap();
        let scripts = ["bash", "zsh", "fish"].map(|shell| {
            let line = CommandLine::try_parse_from(["sinew", "completions", shell]).unwrap();
            let Command::Completions(args) = line.command else { panic!("{shell}") };
            (shell, args.script::<CommandLine>())
        });
        let (mut table, mut options) = (CommandLine::command(), 0);
        table.build();
        for subcommand in table.get_subcommands().filter(|command| command.get_name() != "help") {
            let name = subcommand.get_name();
            assert!(main.contains(&format!("sinew\\-{name}(1)")), "{name}: {main}");
            let page = std::fs::read_to_string(folder.path().join(format!("sinew-{name}.1")));
            let page = page.unwrap().replace("\\-", "-");
            for option in subcommand.get_arguments().filter_map(clap::Arg::get_long) {
                options += 1;
                assert!(page.contains(&format!("--{option}")), "{option}: {page}");
                for (shell, script) in &scripts {
                    assert!(completes(shell, script, name, option), "{shell}, {name}: {option}");
                }
            }
        }
        assert!(options > 12, "{options}");
        let (_, fish) = &scripts[2];
        assert!(!completes("fish", fish, "exec", "once") && !completes("fish", fish, "top", "on"));
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
