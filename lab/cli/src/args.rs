//! The command line: the subcommands, each of which has its arguments in its own file.

use clap::{Parser, Subcommand};
use sinew_console::{CompletionsArgs, Failure, ManArgs};

use crate::demo::DemoArgs;
use crate::draw::DrawArgs;
use crate::list::ListArgs;
use crate::oracle::OracleArgs;
use crate::report::ReportArgs;
use crate::reproduce::ReproduceArgs;
use crate::run::RunArgs;
use crate::sim::SimArgs;

/// The experiments of Sinew: applications, published experiments, and a simulator.
#[derive(Debug, Parser)]
#[command(name = "sinew-lab", version)]
pub(crate) struct CommandLine {
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
    List(ListArgs),
    /// Measure all fixed settings of a worklist, and compare the tuner with the best of them
    Oracle(OracleArgs),
    /// Repeat published experiments, and show the published values beside the measured ones
    Reproduce(ReproduceArgs),
    /// Serve as one of the programs that `reproduce` runs beside each other
    #[command(name = sinew_reproduce::PROGRAM, hide = true)]
    Program,
    /// Collect results on one HTML page
    Report(ReportArgs),
    /// Draw what workers, schedules and tuners did in a real run, as SVG
    Draw(DrawArgs),
    /// Simulate a program on any machine, in virtual time
    Sim(SimArgs),
    /// Print the completions of this command for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages of this command
    Man(ManArgs),
}

/// Parses the command line. Prints help and version itself, and ends the process then.
pub(crate) fn parse() -> Result<Command, Failure> {
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

    /// Catches: completions and pages of another table, or of the table's first level alone.
    #[test]
    fn every_option_is_in_the_completions_and_on_the_pages() {
        let folder = tempfile::tempdir().unwrap();
        let pages = folder.path().to_str().unwrap();
        let command = |words: &[&str]| {
            CommandLine::try_parse_from(["sinew-lab"].iter().chain(words)).unwrap().command
        };
        let Command::Man(man) = command(&["man", pages]) else { panic!("another command") };
        man.perform::<CommandLine>().unwrap();
        let Command::Completions(bash) = command(&["completions", "bash"]) else {
            panic!("another command")
        };
        let (script, mut table) = (bash.script::<CommandLine>(), CommandLine::command());
        table.build();
        let shown = table.get_subcommands().filter(|command| !command.is_hide_set());
        for subcommand in shown.filter(|command| command.get_name() != "help") {
            let name = subcommand.get_name();
            let page = std::fs::read_to_string(folder.path().join(format!("sinew-lab-{name}.1")));
            let page = page.unwrap().replace("\\-", "-");
            let begin = format!("sinew__subcmd__lab__subcmd__{name})");
            let part = script.split(&begin).nth(1).and_then(|part| part.split(";;").next());
            for option in subcommand.get_arguments().filter_map(clap::Arg::get_long) {
                let option = format!("--{option}");
                assert!(page.contains(&option), "{option}: {page}");
                assert!(part.is_some_and(|part| part.contains(&option)), "{name}: {option}");
            }
        }
    }

    #[test]
    fn every_message_of_the_parser_becomes_one_line() {
        for words in [
            &["sinew-lab"][..],
            &["sinew-lab", "rnu"],
            &["sinew-lab", "run"],
            &["sinew-lab", "run", "fib", "--threads", "0"],
            &["sinew-lab", "run", "fib", "--threads", "-1"],
            &["sinew-lab", "run", "fib", "--schedule", "guided,"],
            &["sinew-lab", "run", "fib", "--wait", "sleep"],
            &["sinew-lab", "run", "fib", "--victims", "weakest"],
            &["sinew-lab", "run", "fib", "--tune", "2 threads, steeling"],
            &["sinew-lab", "run", "fib", "--by-hand", "--tune", "auto"],
            &["sinew-lab", "run", "kmeans", "--pages", "bind 1"],
            &["sinew-lab", "demo", "--victims", "set:none"],
            &["sinew-lab", "run", "fib", "--frobnicate"],
            &["sinew-lab", "demo", "--size", "12"],
            &["sinew-lab", "oracle", "kmeans", "--runs", "0"],
            &["sinew-lab", "oracle", "kmeans", "--threads", "-2"],
            &["sinew-lab", "reproduce", "--size", "tiny"],
            &["sinew-lab", "reproduce", "--threads", "1,0"],
            &["sinew-lab", "reproduce", "--seed", "-1"],
            &["sinew-lab", "reproduce", "--config", "x.toml", "--repeat", "2"],
            &["sinew-lab", "sim", "--seed", "-1"],
            &["sinew-lab", "sim", "--calibrate", "--csv", "x"],
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
