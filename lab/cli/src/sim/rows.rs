//! The results of simulations as rows of a table, and their errors.

use std::io;
use std::path::Path;

use sinew_sim::RunError;

use sinew_console::{Failure, Table};

/// A table, and lines of text below it.
pub(super) struct Rows {
    pub(super) table: Table,
    pub(super) remarks: Vec<String>,
}

impl Rows {
    pub(super) fn new(titles: &[&str]) -> Self {
        Self { table: Table::new(titles), remarks: Vec::new() }
    }

    pub(super) fn push(&mut self, cells: Vec<String>) {
        self.table.row(cells);
    }

    pub(super) fn render(&self) -> String {
        let remarks: String = self.remarks.iter().map(|line| format!("{line}\n")).collect();
        self.table.render() + &remarks
    }

    /// The table as comma-separated values, titles first.
    pub(super) fn to_csv(&self) -> io::Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for cells in self.table.records() {
            writer.write_record(cells)?;
        }
        let bytes = writer.into_inner().map_err(|error| error.into_error())?;
        String::from_utf8(bytes).map_err(io::Error::other)
    }
}

/// An error in the contents of a file, with its name.
pub(super) fn in_file(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("{}: {error}", path.display()))
}

/// An error of a run.
pub(super) fn failed(error: RunError) -> Failure {
    match error {
        RunError::Setup(error) => Failure::usage(error),
        RunError::Violation(violation) => Failure::Wrong(violation.to_string()),
    }
}

/// Picoseconds as microseconds.
pub(super) fn micros(time: u64) -> f64 {
    time as f64 / 1e6
}
