//! `sinew exec`: programs nobody rewrote, within a share of the machine.

use crate::args::ExecArgs;
use crate::failure::Failure;

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
        terms: sinew_exec::Terms { weight: args.weight, min: args.min },
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
