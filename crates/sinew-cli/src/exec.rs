//! `sinew exec`: runs an unmodified program within a share of the machine.

use std::ffi::OsString;

use clap::{Args, FromArgMatches, ValueHint};
use sinew_console::Failure;

use crate::values::{cores, weight};

/// Arguments of `exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// Also lower the teams of OpenMP's parallel regions to the share, unless the program visibly
    /// relies on their size. Do not use this for programs that read the team size in one region and
    /// rely on it in another
    #[arg(long)]
    pub(crate) malleable: bool,
    /// Weight of the command relative to other programs, from 0.01 to 100
    #[arg(
        long,
        value_name = "WEIGHT",
        default_value = "1",
        allow_negative_numbers = true,
        value_parser = weight
    )]
    pub(crate) weight: f64,
    /// Least number of cores for the command, as long as there are enough for all programs
    #[arg(
        long,
        value_name = "CORES",
        default_value = "1",
        allow_negative_numbers = true,
        value_parser = cores
    )]
    pub(crate) min: usize,
    /// Greatest number of cores for the command [default: all]
    #[arg(long, value_name = "CORES", allow_negative_numbers = true, value_parser = cores)]
    pub(crate) max: Option<usize>,
    /// Print to standard error which settings are changed, which are kept, and why
    #[arg(long)]
    pub(crate) verbose: bool,
    /// The command and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        value_name = "COMMAND",
        value_hint = ValueHint::CommandWithArguments
    )]
    pub(crate) command: Vec<OsString>,
}

/// The arguments of `exec` if these words are valid. The full parser describes all subcommands
/// first, which would delay the command. `None`: the full parser reports the error.
pub(crate) fn arguments_of(words: impl Iterator<Item = OsString>) -> Option<ExecArgs> {
    let mut words = words.peekable();
    words.peek().filter(|word| *word == "exec")?;
    let line = ExecArgs::augment_args(clap::Command::new("exec"));
    ExecArgs::from_arg_matches(&line.try_get_matches_from(words).ok()?).ok()
}

/// Replaces this process by the command.
///
/// # Errors
///
/// An impossible value on the command line; a command that cannot be run, with the exit status that
/// shells return.
#[cfg(target_os = "linux")]
pub(crate) fn perform(args: ExecArgs) -> Result<(), Failure> {
    if let Some(max) = args.max.filter(|max| *max < args.min) {
        return Err(Failure::usage(format!("`--min {}` is more than `--max {max}`", args.min)));
    }
    let mut words = args.command.into_iter();
    let command = sinew_exec::Command {
        program: words.next().unwrap_or_default(),
        arguments: words.collect(),
        share_request: sinew_exec::ShareRequest { weight: args.weight, min: args.min },
        max: args.max,
        malleable: args.malleable,
        verbose: args.verbose,
        library: None,
    };
    let failure = sinew_exec::exec(&command, sinew_exec::join_table);
    Err(Failure::NotRun(failure.status(), failure.to_string()))
}

/// Reports that this system is not supported.
///
/// # Errors
///
/// Always.
#[cfg(not(target_os = "linux"))]
pub(crate) fn perform(args: ExecArgs) -> Result<(), Failure> {
    let command =
        args.command.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    Err(Failure::NotRun(126, format!("{command}: exec needs Linux; run the command as it is")))
}
