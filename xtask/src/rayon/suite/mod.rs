//! The published tests of rayon and rayon-core, run against either rayon-core; and those of rayon's
//! iterators, run against Sinew's.
//!
//! | file | contents |
//! |---|---|
//! | [`generate`] | a workspace with rayon's sources and a package made of rayon-core's tests |
//! | [`examples`] | the examples in a documentation, as a module of such a package |
//! | [`iterators`] | a package of rayon's tests and examples of iterators, for Sinew's |
//! | [`cut`] | the tests that cannot run, each with its reason |
//! | [`libtest`] | what a run of `cargo test` printed, as numbers and names |
//!
//! A group is one `cargo test`. It passes if everything in it passes, if every test that was
//! started ended, and if there were as many as there should be: a run of nothing proves nothing.

mod cut;
mod examples;
mod generate;
mod iterators;
mod libtest;

use super::side::{RAYON, Side, cargo_in, folder};
use super::watchdog::{self, Ending, Outputs};
use super::{files, upstream};
use libtest::Report;
use sinew_console::Table;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// One `cargo test` may take this long.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// The build before them may take this long.
const BUILD_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Lines of a log that are shown if it does not tell what failed.
const TAIL: usize = 40;

/// One run of `cargo test`.
struct Group {
    name: &'static str,
    /// The workspace.
    workspace: Workspace,
    /// The package and its target.
    arguments: &'static [&'static str],
    /// Tests that the pinned release has on 64-bit Linux; other machines may add to them.
    at_least: usize,
}

/// The workspaces that are generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Workspace {
    /// rayon, and the tests of rayon-core, with either rayon-core.
    RayonCore,
    /// The tests and examples of rayon's iterators, with Sinew's iterators or rayon's.
    Iterators,
}

impl Workspace {
    /// The folder for `side`.
    fn place(self, side: Side) -> PathBuf {
        let kind = match self {
            Self::RayonCore => "tests",
            Self::Iterators => "iterators",
        };
        folder().join(kind).join(side.name())
    }

    /// Generates the workspace, and prints what it is built with.
    fn generate(self, side: Side, sources: &upstream::Sources) -> Result<(), String> {
        let place = self.place(side);
        match self {
            Self::RayonCore => {
                let version = upstream::version(side)?;
                generate::workspace(&place, side, &version, sources)?;
                upstream::check_resolved(&place, side, sources)?;
                println!("rayon {RAYON} with rayon-core {version} ({})", side.name());
            }
            Self::Iterators => {
                iterators::package(&place, side, sources)?;
                println!("tests of the iterators of rayon {RAYON} ({})", side.name());
            }
        }
        Ok(())
    }
}

const GROUPS: [Group; 7] = [
    Group {
        name: "rayon-unit",
        workspace: Workspace::RayonCore,
        arguments: &["--package", "rayon", "--lib"],
        at_least: 218,
    },
    Group {
        name: "rayon-integration",
        workspace: Workspace::RayonCore,
        arguments: &["--package", "rayon", "--test", "*"],
        at_least: 115,
    },
    Group {
        name: "rayon-examples",
        workspace: Workspace::RayonCore,
        arguments: &["--package", "rayon", "--doc"],
        at_least: 246,
    },
    Group {
        name: "core-unit",
        workspace: Workspace::RayonCore,
        arguments: &["--package", generate::CORE, "--lib"],
        at_least: 99,
    },
    Group {
        name: "core-integration",
        workspace: Workspace::RayonCore,
        arguments: &["--package", generate::CORE, "--test", "*"],
        at_least: 11,
    },
    Group {
        name: "core-examples",
        workspace: Workspace::RayonCore,
        arguments: &["--package", generate::CORE, "--doc"],
        at_least: 27,
    },
    Group { name: "iterators", workspace: Workspace::Iterators, arguments: &[], at_least: 222 },
];

/// The names of the groups, for the command line.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().map(|group| group.name)
}

/// Runs the groups called `only`, or all of them, against the rayon-core of `side`.
///
/// # Errors
///
/// The tests cannot be fetched or built, or a group did not pass; what failed is printed.
pub(super) fn run(side: Side, only: &[String]) -> Result<(), String> {
    let chosen: Vec<&Group> = GROUPS
        .iter()
        .filter(|group| only.is_empty() || only.iter().any(|name| name == group.name))
        .collect();
    if chosen.is_empty() {
        return Ok(());
    }
    let sources = upstream::sources()?;
    let mut ended = Vec::new();
    for workspace in [Workspace::RayonCore, Workspace::Iterators] {
        let place = workspace.place(side);
        let groups: Vec<&Group> =
            chosen.iter().copied().filter(|group| group.workspace == workspace).collect();
        if !groups.is_empty() {
            workspace.generate(side, &sources)?;
            build(&place)?;
        }
        for group in groups {
            ended.push((group, run_group(&place, group)?));
        }
    }
    summary(&ended);
    let failed: Vec<&str> = ended
        .iter()
        .filter(|(_, outcome)| !outcome.complaints.is_empty())
        .map(|(group, _)| group.name)
        .collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("rayon tests: {} did not pass", failed.join(", ")))
    }
}

/// Builds all tests at once, so that a test's time is its own.
fn build(place: &Path) -> Result<(), String> {
    let log = log_file(place, "build");
    let start = Instant::now();
    let ending = cargo_test(place, &["--workspace", "--no-run"], &log, BUILD_LIMIT)?;
    println!("{:<18} {:>7.1} s", "build", start.elapsed().as_secs_f64());
    if ending.is_success() {
        return Ok(());
    }
    println!("{}", libtest::tail(&files::text(&log)?, TAIL));
    let why = if ending == Ending::Killed { "took too long to build" } else { "do not build" };
    Err(format!("the tests {why}: {}", log.display()))
}

/// The outcome of a group.
struct Outcome {
    report: Report,
    took: Duration,
    /// Why it did not pass; none if it did.
    complaints: Vec<String>,
}

fn run_group(place: &Path, group: &Group) -> Result<Outcome, String> {
    let log = log_file(place, group.name);
    let start = Instant::now();
    let ending = cargo_test(place, group.arguments, &log, LIMIT)?;
    let took = start.elapsed();
    let text = files::text(&log)?;
    let report = libtest::read(&text);
    let complaints = complaints(group, &report, ending);
    println!(
        "{:<18} {:>7.1} s  {} of {} passed",
        group.name,
        took.as_secs_f64(),
        report.passed,
        report.found
    );
    if !complaints.is_empty() {
        let end = libtest::tail(&text, TAIL);
        println!("{}", if report.details.is_empty() { &end } else { &report.details });
        complaints.iter().for_each(|complaint| println!("{}: {complaint}", group.name));
        println!("{}: all of its output is in {}", group.name, log.display());
    }
    Ok(Outcome { report, took, complaints })
}

fn cargo_test(
    place: &Path,
    arguments: &[&str],
    log: &Path,
    limit: Duration,
) -> Result<Ending, String> {
    let mut cargo = cargo_in(place, &folder().join("tests/target"));
    cargo.args(["test", "--no-fail-fast"]).args(arguments);
    watchdog::run(&mut cargo, Outputs::together(log)?, limit)
}

fn log_file(place: &Path, name: &str) -> PathBuf {
    place.join("log").join(format!("{name}.txt"))
}

/// Everything that keeps a group from passing.
fn complaints(group: &Group, report: &Report, ending: Ending) -> Vec<String> {
    let mut found = Vec::new();
    if ending == Ending::Killed {
        let last = report.last.as_deref().unwrap_or("none");
        found.push(format!(
            "killed after {} minutes; the last test to end: {last}",
            LIMIT.as_secs() / 60
        ));
    }
    found.extend(
        report.hanging.iter().map(|name| format!("{name} ran for over a minute and did not end")),
    );
    found.extend(report.failures.iter().map(|name| format!("{name} failed")));
    found.extend(report.crashes.iter().cloned());
    let ended = report.passed + report.failed + report.ignored;
    if ended < report.found {
        found.push(format!("{} tests were started and did not end", report.found - ended));
    }
    if report.found < group.at_least {
        found.push(format!(
            "only {} tests were found, at least {} are known",
            report.found, group.at_least
        ));
    }
    if found.is_empty() && !(ending.is_success() && report.failed == 0) {
        found.push("cargo test failed".to_owned());
    }
    found
}

fn summary(ended: &[(&Group, Outcome)]) {
    let mut table = Table::new(&["tests", "found", "passed", "failed", "ignored", "seconds"]);
    let mut row = |name: &str, report: &Report, took: Duration| {
        let Report { found, passed, ignored, .. } = *report;
        let counts = [found, passed, found.saturating_sub(passed + ignored), ignored];
        let counts = counts.map(|count| count.to_string());
        let seconds = format!("{:.1}", took.as_secs_f64());
        table.row([name.to_owned()].into_iter().chain(counts).chain([seconds]).collect());
    };
    for (group, outcome) in ended {
        row(group.name, &outcome.report, outcome.took);
    }
    let all = ended.iter().fold(Report::default(), |sum, (_, outcome)| sum.and(&outcome.report));
    row("all", &all, ended.iter().map(|(_, outcome)| outcome.took).sum());
    print!("\n{}", table.render());
    println!("\nignored by their authors: {}", list(&all.ignored_names));
    for workspace in [Workspace::RayonCore, Workspace::Iterators] {
        if ended.iter().any(|(group, _)| group.workspace == workspace) {
            left_out(workspace);
        }
    }
}

/// Prints the tests that the groups of a workspace leave out.
fn left_out(workspace: Workspace) {
    let (what, cuts, files) = match workspace {
        Workspace::RayonCore => ("because they look inside rayon-core", &cut::CUTS[..], &[][..]),
        Workspace::Iterators => {
            ("of the tests of iterators", &iterators::CUTS[..], &iterators::FILES[..])
        }
    };
    println!("cut, {what}: {}", cuts.len() + files.len());
    for cut in cuts {
        println!("  {} {}: {}", cut.file, cut.part, cut.reason);
    }
    for (file, reason) in files {
        println!("  {file}: {reason}");
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    //! Blind to: what cargo and libtest really print, which the command itself meets.
    use super::*;

    const GROUP: Group =
        Group { name: "glass", workspace: Workspace::Iterators, arguments: &[], at_least: 2 };

    #[cfg(unix)]
    fn ended(code: i32) -> Ending {
        use std::os::unix::process::ExitStatusExt;
        Ending::Exited(std::process::ExitStatus::from_raw(code << 8))
    }

    fn passing() -> Report {
        Report { found: 2, passed: 1, ignored: 1, ..Report::default() }
    }

    #[cfg(unix)]
    #[test]
    fn a_group_passes_if_all_that_should_be_there_passed_or_was_ignored() {
        assert_eq!(complaints(&GROUP, &passing(), ended(0)), [""; 0]);
        assert_eq!(complaints(&GROUP, &passing(), ended(101)), ["cargo test failed"]);
    }

    #[cfg(unix)]
    #[test]
    fn too_few_tests_and_tests_that_did_not_end_are_told() {
        let few = Report { found: 1, passed: 1, ..Report::default() };
        assert_eq!(
            complaints(&GROUP, &few, ended(0)),
            ["only 1 tests were found, at least 2 are known"]
        );
        let lost = Report { found: 5, passed: 2, ..Report::default() };
        assert_eq!(complaints(&GROUP, &lost, ended(101)), ["3 tests were started and did not end"]);
    }

    #[test]
    fn a_killed_group_names_the_last_test_and_those_that_hang() {
        let report = Report {
            hanging: vec!["stuck".to_owned()],
            last: Some("fine".to_owned()),
            ..passing()
        };
        let told = complaints(&GROUP, &report, Ending::Killed);
        assert_eq!(told.len(), 2);
        assert!(
            told[0].ends_with("the last test to end: fine") && told[1].starts_with("stuck ran"),
            "{told:?}"
        );
    }

    #[test]
    fn every_group_has_a_name_of_its_own() {
        let mut all: Vec<&str> = names().collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), GROUPS.len());
    }
}
