//! Parsing a command line. The parser's messages take several lines and are shortened to one.

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::failure::Failure;
use crate::output;
use crate::suggest::unknown;

/// Parses the command line of this process. Help and version are printed, and end the process.
///
/// # Errors
///
/// The command line is wrong; the failure is one line. Or the help cannot be printed.
pub fn parse<L: Parser>() -> Result<L, Failure> {
    match L::try_parse() {
        Ok(line) => Ok(line),
        Err(message)
            if matches!(message.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) =>
        {
            output::print(&message.render().to_string())?;
            std::process::exit(0)
        }
        Err(error) => Err(Failure::Usage(explain::<L>(&error))),
    }
}

/// Describes a wrong command line in one line.
pub fn explain<L: Parser>(error: &clap::Error) -> String {
    let line = L::command();
    let shown = line.get_subcommands().filter(|command| !command.is_hide_set());
    let names: Vec<&str> = shown.map(clap::Command::get_name).collect();
    let program = line.get_name();
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return format!("a command is needed: {} (see {program} --help)", any_of(&names));
    }
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(name)) => unknown("command", name, &names),
        _ => shorten(&error.render().to_string(), program),
    }
}

/// `a, b or c`.
fn any_of(names: &[&str]) -> String {
    match names {
        [names @ .., last] if !names.is_empty() => format!("{} or {last}", names.join(", ")),
        _ => names.concat(),
    }
}

/// The error message of the parser without the usage after it.
fn shorten(message: &str, program: &str) -> String {
    let lines = message.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let lines: Vec<&str> = lines
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        .collect();
    let line = lines.join("; ").replace(":; ", ": ").replace("; [", " [");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    if line.contains("--help") { line.to_owned() } else { format!("{line} (see {program} --help)") }
}

#[cfg(test)]
mod tests {
    //! Blind to: the messages of real commands; their own tests cover those.
    use super::*;

    /// A command line with two commands and an option.
    #[derive(Debug, Parser)]
    #[command(name = "tool", version)]
    enum Line {
        Run {
            #[arg(long)]
            threads: Option<u8>,
        },
        List,
    }

    /// Catches: a message of several lines, without the wrong word, or with the wrong program.
    #[test]
    fn a_wrong_command_line_becomes_one_line() {
        let message = |words: &[&str]| {
            explain::<Line>(&Line::try_parse_from(["tool"].iter().chain(words)).unwrap_err())
        };
        assert_eq!(message(&[]), "a command is needed: run or list (see tool --help)");
        assert!(message(&["rnu"]).contains("did you mean `run`"));
        let line = message(&["run", "--threads", "many"]);
        assert!(line.starts_with("invalid value 'many'") && !line.contains('\n'), "{line}");
        assert!(line.contains("--help"), "{line}");
    }

    #[test]
    fn names_are_joined_by_commas_and_an_or() {
        assert_eq!(any_of(&[]), "");
        assert_eq!(any_of(&["a"]), "a");
        assert_eq!(any_of(&["a", "b", "c"]), "a, b or c");
    }
}
