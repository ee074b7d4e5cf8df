//! The command lines of `bench scale` and of the modes that it needs.

use super::subject::{Group, Subject, levels};
use crate::problem::Scale;
use clap::Args;
use sinew_topology::Limits;
use std::num::NonZero;
use std::path::PathBuf;

/// Everything that depends on the number of threads, in one run of limited length: on 1, 2, 4, …
/// and all threads.
///
/// Writes NAME.json after each subject, so that an interrupted run keeps what it has, and NAME.html
/// with curves and tables. The binary that `cargo xtask scale --out FILE` makes needs nothing else,
/// and adds OpenMP and rayon programs. The exit status is 1 only after a wrong answer.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The files to write, without their endings.
    #[arg(long, value_name = "NAME", default_value = "scale")]
    out: PathBuf,
    /// Seconds that it may take. A cell that runs at the end is finished.
    #[arg(long, value_name = "N", default_value = "510")]
    seconds: NonZero<u32>,
    /// Rounds of each subject at most (default: as many as there is time for).
    #[arg(long, value_name = "N")]
    rounds: Option<NonZero<u32>>,
    /// Subjects by the beginning of their names, or groups by a part, separated by commas (default:
    /// all).
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Option<Vec<String>>,
    /// Numbers of threads, separated by commas (default: 1, 2, 4, … and as many as this process may
    /// use).
    #[arg(long, value_name = "N", value_delimiter = ',')]
    threads: Option<Vec<NonZero<u16>>>,
    /// Compute next to nothing: shows that everything works, and no figure worth keeping.
    #[arg(long)]
    pub(super) tiny: bool,
    /// Print the names of all subjects.
    #[arg(long)]
    pub(super) list: bool,
}

/// The command line of a process that runs cells.
#[derive(Debug, Args)]
pub(crate) struct CellOptions {
    #[arg(long)]
    pub(super) tiny: bool,
}

/// The command line of the mode that makes the binary for other machines.
#[derive(Debug, Args)]
pub(crate) struct PackOptions {
    /// The file to write.
    #[arg(long, value_name = "FILE")]
    pub(super) out: PathBuf,
    /// The target for which this binary was built, and the parts are.
    #[arg(long, value_name = "TRIPLE")]
    pub(super) target: String,
}

impl Options {
    pub(super) fn scale(&self) -> Scale {
        if self.tiny { Scale::Tiny } else { Scale::Full }
    }

    pub(super) fn budget_s(&self) -> u32 {
        self.seconds.get()
    }

    pub(super) fn rounds(&self) -> u32 {
        self.rounds.map_or(u32::MAX, NonZero::get)
    }

    /// The file with this ending.
    pub(super) fn file(&self, ending: &str) -> PathBuf {
        let mut name = self.out.clone().into_os_string();
        name.push(ending);
        name.into()
    }

    /// In ascending order, each once.
    pub(super) fn threads(&self, limits: &Limits) -> Vec<usize> {
        let all = || levels(limits.effective_threads());
        self.threads.as_ref().map_or_else(all, |given| {
            let mut threads: Vec<usize> =
                given.iter().map(|threads| usize::from(threads.get())).collect();
            threads.sort_unstable();
            threads.dedup();
            threads
        })
    }

    /// Those that were asked for.
    ///
    /// # Errors
    ///
    /// One line: a name that is part of none.
    pub(super) fn chosen(&self, subjects: Vec<Subject>) -> Result<Vec<Subject>, String> {
        let Some(only) = &self.only else { return Ok(subjects) };
        let is_part = |subject: &Subject, part: &String| {
            subject.name.starts_with(part.as_str()) || subject.group.name().contains(part.as_str())
        };
        if let Some(part) = only.iter().find(|part| !subjects.iter().any(|one| is_part(one, part)))
        {
            let groups = Group::ALL.map(Group::name).join(", ");
            return Err(format!(
                "no subject begins with `{part}`; --list prints all; groups: {groups}"
            ));
        }
        let is_chosen = |subject: &Subject| only.iter().any(|part| is_part(subject, part));
        Ok(subjects.into_iter().filter(is_chosen).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::subjects;
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn parse(line: &str) -> Result<Options, clap::Error> {
        let words = ["bench", "scale"].into_iter().chain(line.split_whitespace());
        Cli::try_parse_from(words).map(|cli| match cli.command {
            Some(Command::Scale(options)) => options,
            _ => panic!("the subcommand was given"),
        })
    }

    #[test]
    fn names_choose_subjects_and_groups() {
        let chosen = |line: &str| parse(line).unwrap().chosen(subjects::all(Scale::Full, 1));
        let all = chosen("").unwrap().len();
        let sorts = chosen("--only sort").unwrap();
        assert!(sorts.len() > 1 && sorts.len() < all, "{sorts:?}");
        assert_eq!(chosen("--only uts,worklists").unwrap().len(), 2 + 6);
        let why = chosen("--only uts,nothing").unwrap_err();
        assert!(why.contains("`nothing`") && why.contains("worklists"), "{why}");
    }

    #[test]
    fn threads_are_those_that_were_given_in_ascending_order() {
        let options = parse("--threads 4,1,4,2 --out a/b --seconds 10").unwrap();
        assert_eq!(options.threads(&Limits::read()), [1, 2, 4]);
        assert_eq!(options.file(".json"), PathBuf::from("a/b.json"));
        for line in ["--threads 0", "--seconds 0", "--rounds 0", "--threads many"] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }
}
