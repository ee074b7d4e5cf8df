//! `sinew exec`: programs nobody rewrote, within a share of the machine.

use std::ffi::OsString;

use clap::{Args, FromArgMatches};

use crate::failure::Failure;
use crate::values::{cores, weight};

/// Arguments of `exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// Also lower the teams of OpenMP's parallel regions to the share, where nothing shows that the
    /// program relies on their size: for programs that ask for it in each region, or leave the
    /// division of work to OpenMP
    #[arg(long)]
    pub(crate) malleable: bool,
    /// The command's part of the machine in proportion to others', from 0.01 to 100
    #[arg(long, value_name = "WEIGHT", default_value = "1", allow_negative_numbers = true, value_parser = weight)]
    pub(crate) weight: f64,
    /// Cores that the command should have at least, as long as there are enough for all
    #[arg(long, value_name = "CORES", default_value = "1", allow_negative_numbers = true, value_parser = cores)]
    pub(crate) min: usize,
    /// Cores that the command may have at most [default: all]
    #[arg(long, value_name = "CORES", allow_negative_numbers = true, value_parser = cores)]
    pub(crate) max: Option<usize>,
    /// Say on standard error what is set, what is left alone, and why
    #[arg(long)]
    pub(crate) verbose: bool,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// The arguments of `exec`, where these words are right: a command waits for that, and the whole
/// parser first describes all other subcommands. `None`: the whole parser says what there is.
pub(crate) fn arguments_of(words: impl Iterator<Item = OsString>) -> Option<ExecArgs> {
    let mut words = words.peekable();
    words.peek().filter(|word| *word == "exec")?;
    let line = ExecArgs::augment_args(clap::Command::new("exec"));
    ExecArgs::from_arg_matches(&line.try_get_matches_from(words).ok()?).ok()
}

/// Becomes the command.
///
/// # Errors
///
/// The command line asks for something impossible; the command cannot be run, with the exit status
/// that shells give.
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

/// Says that it cannot.
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
