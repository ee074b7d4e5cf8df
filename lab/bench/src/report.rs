//! Reports for programs: the same figures as the tables, with every single time, as JSON.

use crate::bars::{Verdict, against_ours, noise, per_operation, speed_up};
use crate::compare::{Comparison, Fault, Series};
use crate::instructions::Count;
use crate::machine::Machine;
use crate::measure::Measurement;
use crate::statistics::Summary;
use serde::Serialize;

/// Everything that one run of the program found out.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) threads: usize,
    pub(crate) rounds: usize,
    /// Rivals that did not take part, each with the reason.
    pub(crate) skipped: Vec<String>,
    pub(crate) comparisons: Vec<Entry>,
    pub(crate) measurements: Vec<Measurement>,
    pub(crate) instructions: Vec<Count>,
}

/// One comparison.
#[derive(Debug, Serialize)]
pub(crate) struct Entry {
    problem: &'static str,
    case: &'static str,
    operations: u64,
    unit: &'static str,
    /// The relative difference of two series of the same program.
    noise: f64,
    rows: Vec<RowEntry>,
    bars: Vec<Verdict>,
}

/// One row of a comparison.
#[derive(Debug, Serialize)]
struct RowEntry {
    name: &'static str,
    threads: usize,
    ns: Vec<u64>,
    ns_per_operation: Option<Summary>,
    speed_up: Option<Summary>,
    against_sinew: Option<Summary>,
    fault: Option<String>,
}

impl Entry {
    /// The entry of a comparison with its verdicts.
    pub(crate) fn of(comparison: &Comparison, bars: Vec<Verdict>) -> Self {
        let row = |series: &Series| RowEntry {
            name: series.name,
            threads: series.threads,
            ns: series.ns.clone(),
            ns_per_operation: per_operation(comparison, series),
            speed_up: speed_up(comparison, series),
            against_sinew: against_ours(comparison, series),
            fault: series.fault.as_ref().map(crate::table::fault_line),
        };
        Self {
            problem: comparison.problem.name,
            case: comparison.case.label,
            operations: comparison.case.operations,
            unit: comparison.problem.unit,
            noise: noise(comparison),
            rows: comparison.series.iter().map(row).collect(),
            bars,
        }
    }
}

/// The wrong results among the rows of a comparison, a line each.
pub(crate) fn wrong_answers(comparison: &Comparison) -> Vec<String> {
    let wrong = |series: &&Series| matches!(series.fault, Some(Fault::Wrong { .. }));
    let line = |series: &Series| {
        let fault = series.fault.as_ref().map(crate::table::fault_line).unwrap_or_default();
        format!(
            "{} ({}) by {}: {fault}",
            comparison.problem.name, comparison.case.label, series.name
        )
    };
    comparison.series.iter().filter(wrong).map(line).collect()
}
