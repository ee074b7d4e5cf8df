//! The applications with transactions: serially, by hand, as worklists, and tuned, interleaved:
//! `bench stamp`.
//!
//! Each application is prepared once for each of its versions. A round runs all of them one after
//! the other, in an order of its own, and ratios are taken within rounds. Transactions by hand are
//! run twice in each round: how far two runs of the same thing are apart is the noise.
//!
//! | file | contents |
//! |---|---|
//! | [`options`] | the command line |
//! | [`inputs`] | which applications, and how large |
//! | [`rounds`] | versions, and running them in turn |
//! | [`suite`] | the suite's own programs in C |
//! | [`figures`] | medians, ratios and bars |
//! | [`output`] | the table |

mod figures;
pub(crate) mod inputs;
mod options;
mod output;
pub(crate) mod rounds;
mod suite;

pub(crate) use options::Options;

use crate::machine::Machine;
use crate::output::ReportFile;
use figures::{Entry, averages};
use rounds::Rounds;
use serde::Serialize;
use suite::Suite;

/// Everything that one run found out.
#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    size: String,
    applications: Vec<Entry>,
}

/// Everything that `bench stamp` does; an error comes with the exit status it deserves.
///
/// # Errors
///
/// Status 2: a report that cannot be written, a pool that cannot be built, or programs of the suite
/// that cannot. Status 1: a wrong result.
pub(crate) fn run(options: &Options) -> Result<(), (String, u8)> {
    let file = ReportFile::create(options.json.as_deref())?;
    let suite = options.suite.as_deref().zip(options.tinystm.as_deref());
    let suite = suite.map(|(suite, tinystm)| Suite::build(suite, tinystm)).transpose();
    let suite = suite.map_err(|why| (why, 2))?;
    let machine = Machine::here();
    machine.print();
    let mut report = Report { machine, size: options.size().to_string(), applications: Vec::new() };
    let mut wrong = Vec::new();
    let inputs = inputs::all(options.size(), options.maps());
    for input in inputs.filter(|input| options.runs(input)) {
        let (threads, rounds) = (options.threads(), options.rounds());
        let rounds = Rounds::run(&input, &threads, rounds, suite.as_ref());
        let rounds = rounds.map_err(|why| (why, 2))?;
        wrong.extend(rounds.wrong.iter().cloned());
        let entry = Entry::of(&input, &rounds);
        output::print(&entry);
        report.applications.push(entry);
    }
    output::print_averages(&averages(&report.applications));
    file.write(&report)?;
    if wrong.is_empty() { Ok(()) } else { Err((wrong.join("\n"), 1)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, FromArgMatches};

    fn parse(words: &[&str]) -> Options {
        let command = Options::augment_args(clap::Command::new("stamp"));
        let words = std::iter::once("stamp").chain(words.iter().copied());
        Options::from_arg_matches(&command.try_get_matches_from(words).unwrap()).unwrap()
    }

    /// Catches: an application or version that cannot be run, and a figure that is missing.
    #[test]
    fn every_application_is_run_in_every_version() {
        let report = tempfile::NamedTempFile::new().unwrap();
        let path = report.path().to_str().unwrap();
        run(&parse(&["--size", "tiny", "--rounds", "1", "--json", path])).unwrap();
        let json: serde_json::Value =
            serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let applications = json["applications"].as_array().unwrap();
        assert_eq!(applications.len(), 7);
        for application in applications {
            let rows = application["rows"].as_array().unwrap();
            assert_eq!(rows.len(), 1 + 2 * 4, "{application}");
            assert!(
                rows.iter().all(|row| row["wall"]["median"].as_f64().unwrap() > 0.0),
                "{application}"
            );
        }
    }

    /// Catches: structures that are not those of the command line, and an application that has no
    /// others.
    #[test]
    fn only_applications_with_other_structures_run_with_them() {
        let options = parse(&["--maps", "balanced", "--size", "tiny"]);
        let chosen: Vec<_> = inputs::all(options.size(), options.maps()).collect();
        assert_eq!(
            chosen.iter().map(|input| input.app).collect::<Vec<_>>(),
            ["intruder", "vacation"]
        );
        for input in chosen {
            assert_eq!(Rounds::run(&input, &[1], 1, None).unwrap().wrong, [""; 0]);
        }
    }

    /// Catches: names that choose nothing, or everything.
    #[test]
    fn names_choose_applications() {
        let options = parse(&["kmeans", "yada", "--size", "tiny"]);
        let inputs = inputs::all(options.size(), options.maps());
        let chosen = inputs.filter(|input| options.runs(input)).count();
        assert_eq!(chosen, 3);
    }
}
