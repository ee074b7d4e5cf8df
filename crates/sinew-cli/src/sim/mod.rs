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
//! Ctrl-C ends the run that is under way, and what is known by then is printed and written; a
//! calibration ends with nothing.

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

use std::path::Path;

use crate::args::SimArgs;
use crate::failure::Failure;
use crate::output::{self, ResultFile, read};
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
    let kind = Kind::of(args).ok_or_else(|| {
        Failure::Usage(
            "a program is needed, or --calibrate or --validate (see sinew sim --help)".into(),
        )
    })?;
    options::check(args, kind)?;
    let note = || {
        let lines = options::useless(args, kind);
        lines.iter().for_each(|line| output::note(&format!("sinew: note: {line}")));
    };
    if kind == Kind::Calibrate {
        note();
        return calibrate::perform(args);
    }
    let csv = args.csv.as_deref().map(ResultFile::create).transpose()?;
    let watch = Watch::new()?;
    let name = args.program.as_deref().unwrap_or_default();
    let rows = match kind {
        Kind::Validate | Kind::Calibrate => validate::rows(args, &watch)?,
        Kind::Sampling => runs::figure(args, &watch)?,
        Kind::Programs => programs::rows(args, &watch)?,
        Kind::Domains => domains::rows(name, args, &watch)?,
        Kind::Worklist => worklist::rows(name, args, &watch)?,
        Kind::Loop => loops::rows(name, args, &watch)?,
        Kind::Tasks | Kind::Graph => runs::rows(name, args, &watch)?,
    };
    // Not sooner, so that what cannot be done is one line.
    note();
    // The file is written even if nobody reads the table.
    let printed = output::print(&rows.render());
    csv.map_or(Ok(()), |file| file.write(&rows.table.to_csv()?))?;
    printed?;
    match watch.has_enough() {
        true => Err(Failure::Wrong(
            "stopped before the end: what is shown is what was known by then".into(),
        )),
        false => Ok(()),
    }
}

/// Whether a program is of this kind, with or without numbers behind.
fn is(kind: &str, name: &str) -> bool {
    name.split(':').next() == Some(kind)
}

/// A table, and lines of text below it.
struct Rows {
    table: Table,
    remarks: Vec<String>,
}

impl Rows {
    fn new(titles: &[&str]) -> Self {
        Self { table: Table::new(titles), remarks: Vec::new() }
    }

    fn push(&mut self, cells: Vec<String>) {
        self.table.row(cells);
    }

    fn render(&self) -> String {
        let remarks: String = self.remarks.iter().map(|line| format!("{line}\n")).collect();
        self.table.render() + &remarks
    }
}

/// An error about the contents of a file, with its name.
fn in_file(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("{}: {error}", path.display()))
}

/// An error of a run.
fn failed(error: sinew_sim::workload::RunError) -> Failure {
    match error {
        sinew_sim::workload::RunError::Setup(error) => Failure::usage(error),
        sinew_sim::workload::RunError::Violation(violation) => {
            Failure::Wrong(violation.to_string())
        }
    }
}

/// Picoseconds as microseconds.
fn micros(time: u64) -> f64 {
    time as f64 / 1e6
}
