//! The command line.

use crate::measure;
use crate::problem::{Runtime, Scale};
use crate::problems;
use crate::programs;
use crate::scale;
use crate::stamp;
use clap::builder::PossibleValue;
use clap::{Parser, Subcommand};
use std::num::NonZero;
use std::path::PathBuf;

/// Sinew beside serial code, rayon, chili, fork_union, OpenMP and oneTBB, interleaved in one run.
///
/// A table for each problem: the median of the rounds, its spread (width of the middle half), the
/// speed-up over serial, and the time relative to Sinew's with as many threads, taken round by
/// round. Rows called "sinew again" show the noise. Bars are printed as PASS or MISS, for
/// information; the exit status is 1 only after a wrong result.
///
/// OpenMP, oneTBB and libsinew (Sinew in C++) need a C++ compiler called c++ when the program runs;
/// fork_union needs one when it is built, with `--features fork-union`. A missing rival is skipped,
/// with the reason.
#[derive(Debug, Parser)]
#[command(name = "bench", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Problems to compare, or measurements to take (default: all problems).
    #[arg(value_name = "PROBLEM", value_parser = names())]
    names: Vec<String>,
    /// Threads of the teams beside those of one thread (default: one a core).
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<u16>>,
    /// Rounds; every contender runs once in each (default: 11, or 2 with --tiny).
    #[arg(long, value_name = "N")]
    rounds: Option<NonZero<u16>>,
    /// Compute next to nothing: shows that everything works, and no figure worth keeping.
    #[arg(long)]
    tiny: bool,
    /// Write everything, with every single time, to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Rivals that take part, separated by commas (default: all; `none` for Sinew alone).
    #[arg(long, value_name = "RIVALS", value_delimiter = ',', value_parser = rivals())]
    rivals: Option<Vec<String>>,
    /// A checkout or an installation of Lace (github.com/trolando/lace), which then runs fib, built
    /// by gcc and by clang.
    #[arg(long, value_name = "PATH")]
    pub(crate) lace: Option<PathBuf>,
    /// Count instructions per operation with valgrind; alone, no times are taken.
    #[arg(long)]
    pub(crate) instructions: bool,
    /// Print the instructions of a join that is not stolen, by objdump; alone, no times are taken.
    #[arg(long)]
    pub(crate) listing: bool,
    /// The run of a child under valgrind: problem, form, number of the case, and its result.
    #[arg(long, num_args = 4, hide = true)]
    pub(crate) child: Option<Vec<String>>,
}

/// The other modes of this program.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Programs(programs::Options),
    /// A program of `bench coord`.
    #[command(hide = true)]
    CoordProgram(measure::coord::Arguments),
    Scale(scale::Options),
    /// A process that runs cells of `bench scale`.
    #[command(hide = true)]
    ScaleCells(scale::CellOptions),
    /// Makes the binary of `cargo xtask scale`.
    #[command(hide = true)]
    ScaleBinary(scale::PackOptions),
    Stamp(stamp::Options),
}

fn names() -> Vec<PossibleValue> {
    let problems = problems::ALL.iter().map(|problem| (problem.name, problem.about));
    let measurements = measure::ALL.iter().map(|measure| (measure.name, measure.about));
    problems.chain(measurements).map(|(name, about)| PossibleValue::new(name).help(about)).collect()
}

fn rivals() -> Vec<&'static str> {
    Runtime::RIVALS.iter().map(|(name, _)| *name).chain(["none"]).collect()
}

impl Cli {
    pub(crate) fn scale(&self) -> Scale {
        if self.tiny { Scale::Tiny } else { Scale::Full }
    }

    pub(crate) fn rounds(&self) -> usize {
        self.rounds.map_or(self.scale().pick(11, 2), |rounds| usize::from(rounds.get()))
    }

    pub(crate) fn threads(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.map_or_else(all, |threads| usize::from(threads.get()))
    }

    /// Whether a problem or runtime is selected: its name was given, or no name was.
    pub(crate) fn compares(&self, problem: &str) -> bool {
        let only_counts = self.instructions || self.listing;
        if self.names.is_empty() {
            !only_counts
        } else {
            self.names.iter().any(|name| name == problem)
        }
    }

    /// Whether instructions of this problem are counted.
    pub(crate) fn counts(&self, problem: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| name == problem)
    }

    /// Whether this measurement was named.
    pub(crate) fn measures(&self, measure: &str) -> bool {
        self.names.iter().any(|name| name == measure)
    }

    /// Whether this rival takes part; ours and the serial program always do.
    pub(crate) fn invites(&self, runtime: Runtime) -> bool {
        let named = |(name, known): &(&str, Runtime)| {
            let listed = |rivals: &Vec<String>| rivals.iter().any(|rival| rival == name);
            *known == runtime && self.rivals.as_ref().is_none_or(listed)
        };
        matches!(runtime, Runtime::Serial | Runtime::Sinew) || Runtime::RIVALS.iter().any(named)
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: a bad help text.
    use super::*;

    fn parse(words: &[&str]) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(std::iter::once("bench").chain(words.iter().copied()))
    }

    #[test]
    fn without_names_all_problems_are_compared_and_nothing_is_measured() {
        let cli = parse(&[]).expect("no argument is needed");
        assert!(cli.compares("fib") && !cli.measures("idle") && cli.invites(Runtime::Tbb));
    }

    #[test]
    fn names_select_what_is_compared_and_measured() {
        let cli = parse(&["fib", "idle"]).expect("known names");
        assert!(cli.compares("fib") && !cli.compares("loops") && cli.measures("idle"));
    }

    #[test]
    fn counting_alone_takes_no_times() {
        let cli = parse(&["--instructions"]).expect("a known option");
        assert!(!cli.compares("fib") && cli.counts("fib"));
        let cli = parse(&["fib", "--instructions"]).expect("a known option");
        assert!(cli.compares("fib") && cli.counts("fib") && !cli.counts("skynet"));
    }

    #[test]
    fn rivals_are_those_that_were_named() {
        let cli = parse(&["--rivals", "rayon,tbb"]).expect("known rivals");
        assert!(
            cli.invites(Runtime::Rayon)
                && !cli.invites(Runtime::Chili)
                && cli.invites(Runtime::Sinew)
        );
        assert!(!parse(&["--rivals", "none"]).expect("nobody").invites(Runtime::Rayon));
    }

    #[test]
    fn bad_values_are_refused_with_status_2() {
        for words in
            [["--threads", "0"], ["--rounds", "0"], ["--rivals", "cilk"], ["fib", "nothing"]]
        {
            let error = parse(&words).expect_err("a bad value");
            assert_eq!(error.exit_code(), 2, "{words:?}");
            assert!(error.to_string().contains(words[1]), "{words:?}: {error}");
        }
    }
}
