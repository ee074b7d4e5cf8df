//! The command line of `bench programs`.

use super::builds::Provider;
use super::catalogue::{self, Entry, Kind};
use super::rounds::Plan;
use clap::Args;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Rayon programs on Sinew's rayon-core, or on Sinew's iterators, beside the same programs on
/// upstream's rayon.
///
/// A table for each number of threads: times of one run, Sinew's divided by upstream's round by
/// round, and the same for upstream against itself, which is the noise. Processor time is that of
/// the whole process, until its pool is at rest. Both are compiled with loops that begin at cache
/// lines. Bars are printed as met or missed, for information; the exit status is 1 only after a
/// program that failed.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Programs to run, separated by commas (default: all).
    #[arg(long, value_name = "PROGRAM", value_delimiter = ',', value_parser = known)]
    only: Option<Vec<String>>,
    /// Threads of the pools, separated by commas: a table for each number.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2")]
    threads: Vec<NonZero<u16>>,
    /// Rounds; every program runs once on each core in each (default: 15, or 1 with --tiny).
    #[arg(long, value_name = "N")]
    rounds: Option<NonZero<u16>>,
    /// Compute next to nothing: shows that everything works, and no figure worth keeping.
    #[arg(long)]
    tiny: bool,
    /// Keep the machine busy meanwhile, with N processes that compute all the time (one without N).
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1")]
    pub(super) loaded: Option<u16>,
    /// Write everything, with every single time, to this file.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Compare upstream with itself: what is noise here?
    #[arg(long, conflicts_with = "core")]
    pub(super) same: bool,
    /// Replace rayon by Sinew's iterators, and show the hand-written loops; adds small everyday
    /// chains.
    #[arg(long, conflicts_with_all = ["core", "same"])]
    pub(super) chains: bool,
    /// The folder of the rayon-core to compare with upstream's (default: compat/rayon-core).
    #[arg(long, value_name = "FOLDER")]
    core: Option<PathBuf>,
    /// Count instructions of a run on one thread with valgrind, and take no times.
    #[arg(long)]
    pub(super) instructions: bool,
    /// Print the names of the programs with a line about each.
    #[arg(long)]
    pub(super) list: bool,
    /// The work of the processes of --loaded.
    #[arg(long, hide = true)]
    pub(super) spin: bool,
}

/// Accepts the name of a program. All of them would be too many to list in a message.
fn known(name: &str) -> Result<String, String> {
    let known = catalogue::ALL.iter().any(|entry| entry.name == name);
    if known {
        Ok(name.to_owned())
    } else {
        Err("there is no such program; --list prints all".to_owned())
    }
}

impl Options {
    /// Whether a program is to be run: its name was given, or no name was. The everyday chains are
    /// left out where neither a name nor `--chains` asks for them.
    pub(super) fn runs(&self, entry: &Entry) -> bool {
        match &self.only {
            Some(only) => only.iter().any(|given| given == entry.name),
            None => self.chains || entry.kind != Kind::Chain,
        }
    }

    pub(super) fn threads(&self) -> Vec<usize> {
        self.threads.iter().map(|threads| usize::from(threads.get())).collect()
    }

    /// Whether the figures are worth holding against the bars.
    pub(super) fn has_bars(&self) -> bool {
        !self.tiny && !self.same
    }

    /// The rival of upstream.
    ///
    /// # Errors
    ///
    /// One line: an invalid value.
    pub(super) fn rival(&self) -> Result<Provider, String> {
        match (self.same, self.chains) {
            (true, _) => Ok(Provider::Upstream),
            (_, true) => Ok(Provider::Chains),
            _ => self.core().map(Provider::Core),
        }
    }

    /// The folder of the other rayon-core.
    fn core(&self) -> Result<PathBuf, String> {
        let ours = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../compat/rayon-core");
        let folder = self.core.clone().unwrap_or_else(ours);
        let needed = |why: String| {
            format!(
                "--core {} is not the folder of a crate named rayon-core: {why}",
                folder.display()
            )
        };
        let manifest = folder.join("Cargo.toml");
        let read = std::fs::read_to_string(&manifest);
        let text =
            read.map_err(|error| needed(format!("its Cargo.toml cannot be read ({error})")))?;
        if !text.lines().any(|line| line.replace(' ', "") == "name=\"rayon-core\"") {
            return Err(needed("its Cargo.toml names another one".to_owned()));
        }
        folder.canonicalize().map_err(|error| needed(error.to_string()))
    }

    pub(super) fn plan(&self) -> Plan {
        Plan {
            tiny: self.tiny,
            loops: self.chains,
            rounds: self
                .rounds
                .map_or(if self.tiny { 1 } else { 15 }, |rounds| usize::from(rounds.get())),
            sample: if self.tiny { Duration::ZERO } else { Duration::from_millis(20) },
        }
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: a bad help text.
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn parse(line: &str) -> Result<Options, clap::Error> {
        let words = ["bench", "programs"].into_iter().chain(line.split_whitespace());
        Cli::try_parse_from(words).map(|cli| match cli.command {
            Some(Command::Programs(options)) => options,
            _ => panic!("the subcommand was given"),
        })
    }

    #[test]
    fn without_options_all_programs_run_on_one_and_on_two_threads() {
        let options = parse("").expect("no option is needed");
        assert!(runs(&options, "sieve") && runs(&options, "idle") && options.loaded.is_none());
        assert_eq!((options.threads(), options.plan().rounds), (vec![1, 2], 15));
    }

    fn runs(options: &Options, name: &str) -> bool {
        let entry = catalogue::ALL.iter().find(|entry| entry.name == name);
        options.runs(entry.expect("a known name"))
    }

    #[test]
    fn everyday_chains_run_where_they_are_asked_for() {
        for (line, runs_them) in [("", false), ("--chains", true), ("--only chain-sum", true)] {
            let options = parse(line).expect("known options");
            assert_eq!(runs(&options, "chain-sum"), runs_them, "{line}");
        }
        assert_eq!(parse("--chains").expect("known").rival(), Ok(Provider::Chains));
        assert_eq!(parse("--same").expect("known").rival(), Ok(Provider::Upstream));
    }

    #[test]
    fn lists_are_separated_by_commas() {
        let options = parse("--only sieve,idle --threads 3,4 --tiny").expect("known names");
        assert!(runs(&options, "sieve") && runs(&options, "idle") && !runs(&options, "tsp"));
        assert_eq!((options.threads(), options.plan().rounds), (vec![3, 4], 1));
    }

    #[test]
    fn load_without_a_number_is_one_process() {
        assert_eq!(parse("--loaded").expect("a known option").loaded, Some(1));
        assert_eq!(parse("--loaded 3 --tiny").expect("a known option").loaded, Some(3));
    }

    #[test]
    fn a_folder_without_a_rayon_core_is_named_with_what_must_be_there() {
        let core =
            |folder: &str| parse(&format!("--core {folder}")).expect("a folder is given").core();
        assert!(parse("").expect("no option is needed").core().is_ok());
        for (folder, why) in
            [("/nowhere", "its Cargo.toml cannot be read"), (env!("CARGO_MANIFEST_DIR"), "another")]
        {
            let text = core(folder).expect_err("there is none");
            let begin = format!("--core {folder} is not the folder of a crate named rayon-core: ");
            assert!(
                text.starts_with(&begin) && text.contains(why) && !text.contains('\n'),
                "{text}"
            );
        }
    }

    #[test]
    fn bad_values_are_refused_with_status_2() {
        for line in [
            "--threads 0",
            "--rounds none",
            "--only siev",
            "--loaded much",
            "sieve",
            "--same --core x",
            "--chains --same",
        ] {
            let error = parse(line).expect_err("a bad value");
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }
}
