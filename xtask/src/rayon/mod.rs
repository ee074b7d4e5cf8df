//! The drop-in under other people's tests and programs: `cargo xtask rayon`.
//!
//! `compat/rayon-core` claims that it can stand in for the published `rayon-core`. Two checks of
//! this claim: the tests of rayon's authors, and programs that use rayon, whose results must not
//! change by one byte. Nothing of theirs is kept in this repository: cargo fetches it, and what is
//! generated from it lies under `target/rayon`.
//!
//! | file | contents |
//! |---|---|
//! | [`suite`] | the published tests of rayon and rayon-core, run against the drop-in |
//! | [`programs`] | real programs, built with either rayon-core, their outputs compared |
//! | [`side`] | the two rayon-cores, and cargo for either |
//! | [`upstream`] | where cargo put the published sources, and which rayon-core a build resolved to |
//! | [`files`] | writing generated files and copying trees, leaving alone what is already right |
//! | [`watchdog`] | running a command that may hang |

mod files;
mod programs;
mod side;
mod suite;
mod upstream;
mod watchdog;

use clap::{Args, ValueEnum};
use side::Side;

/// The parts to check, and the rayon-core to use.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The parts to run (default: the tests, then the programs).
    #[arg(value_name = "WHAT")]
    what: Option<What>,
    /// Use the published rayon-core instead of the drop-in: this checks the check.
    #[arg(long)]
    upstream: bool,
    /// Only the groups of tests, or the programs, with this name; may be repeated.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// The published tests of rayon and rayon-core.
    Tests,
    /// Programs that use rayon, built with either rayon-core.
    Programs,
}

/// Runs what was asked for.
///
/// # Errors
///
/// A test failed or hung, fewer tests ran than there should be, a program's output differs, or
/// there was nothing to check.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let wants = |what| options.what.is_none_or(|wanted| wanted == what);
    let mut names: Vec<&str> = Vec::new();
    names.extend(suite::names().filter(|_| wants(What::Tests)));
    names.extend(programs::names().filter(|_| wants(What::Programs)));
    if let Some(unknown) = options.only.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(format!("there is no {unknown} to run, only {}", names.join(", ")));
    }
    let side = if options.upstream { Side::Upstream } else { Side::Ours };
    // Both run even if the first fails: what each finds is of use by itself.
    let tests = if wants(What::Tests) { suite::run(side, &options.only) } else { Ok(()) };
    let programs = if wants(What::Programs) { programs::run(side, &options.only) } else { Ok(()) };
    match (tests, programs) {
        (Err(tests), Err(programs)) => Err(format!("{tests}; {programs}")),
        (tests, programs) => tests.and(programs),
    }
}

/// Runs the published tests against the drop-in, for `cargo xtask ci`.
///
/// # Errors
///
/// As for [`run`].
pub(crate) fn tests() -> Result<(), String> {
    suite::run(Side::Ours, &[])
}

#[cfg(test)]
mod tests {
    //! Blind to: everything that needs a network, which the command itself meets.
    use super::*;

    #[test]
    fn a_name_that_is_not_of_the_chosen_kind_is_refused() {
        for (what, name) in
            [(None, "glass"), (Some(What::Tests), "sd"), (Some(What::Programs), "core-unit")]
        {
            let options = Options { what, upstream: true, only: vec![name.to_owned()] };
            let why = run(&options).expect_err("there is nothing to run");
            assert!(why.starts_with(&format!("there is no {name} to run, only ")), "{why}");
        }
    }
}
