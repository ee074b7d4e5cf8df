//! `sinew sim`: programs on machines that are not there.
//!
//! | file | what lives there |
//! |---|---|
//! | `runs` | a row for each number of workers under each victim policy; the figure on sampling |
//! | `worklist` | transactional worklists |
//! | `programs` | programs that share machines |
//! | `measured` | programs as `sinew top` shows them |
//! | `domains` | queues for parts of the machine |
//! | `calibrate` | what the scheduler's operations cost on the machine at hand |
//! | `crowding` | how much longer work takes while another core works, too |
//! | `loops` | loops under each schedule |
//! | `validate` | simulated and real runs side by side |
//! | `quiet` | real runs that nothing disturbed |
//! | `setup` | what the arguments say about machine and costs |
//! | `options` | which of them count for what, and which were given in vain |
//! | `prices` | costs on the command line |
//! | `watch` | progress, the time that is left, and Ctrl-C |
//!
//! Ctrl-C ends the run that is under way, and what is known by then is printed and written; a calibration ends with nothing.

mod calibrate;
mod crowding;
mod domains;
mod loops;
mod measured;
mod options;
mod prices;
mod programs;
mod quiet;
mod runs;
mod setup;
mod validate;
mod watch;
mod worklist;

use std::fmt::Write;
use std::path::Path;

use crate::args::SimArgs;
use crate::failure::Failure;
use crate::output;
use crate::table::Table;
use options::Kind;
pub(crate) use prices::{Price, price};
use watch::Watch;

/// The name of the figure among the programs.
const SAMPLING: &str = "sampling";
/// What is no program of tasks.
const PROGRAMS: &str = "programs";
const WORKLIST: &str = "worklist";
const DOMAINS: &str = "domains";

pub(crate) fn perform(args: &SimArgs) -> Result<(), Failure> {
    if args.calibrate.is_some() {
        return calibrate::perform(args);
    }
    let kind = Kind::of(args).ok_or_else(|| {
        Failure::Usage("a program is needed, or --calibrate or --validate (see sinew sim --help)".into())
    })?;
    options::check(args, kind)?;
    let watch = Watch::new()?;
    let name = args.program.as_deref().unwrap_or_default();
    let rows = match kind {
        Kind::Validate => validate::rows(args, &watch)?,
        Kind::Sampling => runs::figure(args, &watch)?,
        Kind::Programs => programs::rows(args, &watch)?,
        Kind::Domains => domains::rows(name, args, &watch)?,
        Kind::Worklist => worklist::rows(name, args, &watch)?,
        Kind::Loop => loops::rows(name, args, &watch)?,
        Kind::Tasks | Kind::Graph => runs::rows(name, args, &watch)?,
    };
    // Not sooner, so that what cannot be done is one line.
    options::useless(args, kind).iter().for_each(|line| output::note(&format!("sinew: note: {line}")));
    output::print(&rows.render())?;
    if let Some(path) = &args.csv {
        rows.write_csv(path)?;
    }
    match watch.has_enough() {
        true => Err(Failure::Wrong("stopped before the end: what is shown is what was known by then".into())),
        false => Ok(()),
    }
}

/// Whether a program is of this kind, with or without numbers behind.
fn is(kind: &str, name: &str) -> bool {
    name.split(':').next() == Some(kind)
}

/// Titles, and the rows below them; lines of text below all.
struct Rows {
    titles: &'static [&'static str],
    rows: Vec<Vec<String>>,
    remarks: Vec<String>,
}

impl Rows {
    fn new(titles: &'static [&'static str]) -> Self {
        Self { titles, rows: Vec::new(), remarks: Vec::new() }
    }

    fn render(&self) -> String {
        let mut table = Table::new(self.titles);
        self.rows.iter().for_each(|row| table.row(row.clone()));
        let remarks: String = self.remarks.iter().map(|line| format!("{line}\n")).collect();
        table.render() + &remarks
    }

    /// Policies have commas in their names, so every cell is quoted.
    fn write_csv(&self, path: &Path) -> Result<(), Failure> {
        let mut text = self.titles.join(",") + "\n";
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|cell| format!("\"{cell}\"")).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", cells.join(","));
        }
        std::fs::write(path, text)
            .map_err(|error| Failure::Unwritten(format!("cannot write {}: {error}", path.display())))
    }
}

/// A text file that the command line names.
fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::Usage(format!("cannot read {}: {error}", path.display())))
}

/// An error about the contents of a file, with its name.
fn in_file(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("{}: {error}", path.display()))
}

/// An error of a run.
fn failed(error: sinew_sim::workload::RunError) -> Failure {
    match error {
        sinew_sim::workload::RunError::Setup(error) => Failure::usage(error),
        sinew_sim::workload::RunError::Violation(violation) => Failure::Wrong(violation.to_string()),
    }
}

/// Picoseconds as microseconds.
fn micros(time: u64) -> f64 {
    time as f64 / 1e6
}
