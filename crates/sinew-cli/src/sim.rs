//! `sinew sim`: a program on a machine that is not there.
//!
//! A row for each number of workers under each victim policy. Ctrl-C ends the run that is under way, and what is known by then is printed and written.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use sinew::Victims;
use sinew_sim::figure::{Figure, FigureError, Point};
use sinew_sim::workload::{Program, RunError};
use sinew_sim::{Activity, Costs, Idle, MOST_WORKERS, NS, Progress as Step, Report, Setup};
use sinew_sync::atomic::{AtomicBool, Ordering};
use sinew_topology::Machine;

use crate::args::SimArgs;
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;
use crate::table::Table;

/// The name of the figure among the programs.
const SAMPLING: &str = "sampling";

const TITLES: [&str; 13] = [
    "workers",
    "victims",
    "time us",
    "speed-up",
    "of bound",
    "attempts",
    "steals",
    "samples",
    "works %",
    "searches %",
    "waits %",
    "parks %",
    "trace",
];

const FIGURE: [&str; 8] =
    ["workers", "samples", "time us", "attempts", "steals", "time rel", "attempts rel", "steals rel"];

pub(crate) fn perform(args: &SimArgs) -> Result<(), Failure> {
    let stop = stop_at_ctrl_c()?;
    let rows = match args.program.as_str() {
        SAMPLING => figure(args, &stop)?,
        name => runs(name.parse().map_err(Failure::usage)?, args, &stop)?,
    };
    output::print(&table(&rows).render())?;
    if let Some(path) = &args.csv {
        write_csv(path, &rows)?;
    }
    // Relaxed: nothing is published by it.
    match stop.load(Ordering::Relaxed) {
        true => Err(Failure::Wrong("stopped before the end: what is shown is what was known by then".into())),
        false => Ok(()),
    }
}

/// Titles, and the rows below them.
struct Rows {
    titles: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

/// A word that becomes true when the user has had enough.
fn stop_at_ctrl_c() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let word = Arc::clone(&stop);
    // Relaxed: nothing is published by it.
    ctrlc::set_handler(move || word.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Wrong(format!("cannot listen for Ctrl-C: {error}")))?;
    Ok(stop)
}

fn figure(args: &SimArgs, stop: &AtomicBool) -> Result<Rows, Failure> {
    let usual = Figure::paper(args.runs);
    let workers = if args.workers.is_empty() { usual.workers.clone() } else { args.workers.clone() };
    let figure = Figure { workers, seed: args.seed, ..usual };
    let points = figure.compute(|| !stop.load(Ordering::Relaxed)).map_err(|error| match error {
        FigureError::Setup(error) => Failure::usage(error),
        FigureError::Violation(violation) => Failure::Wrong(violation.to_string()),
    })?;
    Ok(Rows { titles: &FIGURE, rows: points.iter().map(figure_row).collect() })
}

fn figure_row(point: &Point) -> Vec<String> {
    let mut row = vec![point.workers.to_string(), point.samples.to_string()];
    row.extend([point.time / 1e3 / NS as f64, point.attempts, point.steals].map(|mean| format!("{mean:.1}")));
    let relative = point.relative;
    row.extend([relative.time, relative.attempts, relative.steals].map(|ratio| format!("{ratio:.3}")));
    row
}

fn runs(program: Program, args: &SimArgs, stop: &AtomicBool) -> Result<Rows, Failure> {
    let victims = if args.victims.is_empty() { vec![Victims::Random] } else { args.victims.clone() };
    let setup = setup(args)?;
    let workers = if args.workers.is_empty() { vec![setup.workers] } else { args.workers.clone() };
    let setups: Vec<Setup> = workers
        .iter()
        .flat_map(|&workers| victims.iter().map(move |&victims| (workers, victims)))
        .map(|(workers, victims)| Setup { workers, victims, ..setup.clone() })
        .collect();
    // Said before anything is run.
    setups.iter().try_for_each(|setup| setup.check().map_err(Failure::usage))?;
    let progress = Progress::new();
    let mut rows = Vec::new();
    for (at, setup) in setups.iter().enumerate() {
        let title = format!("[{}/{}] {} workers, {}", at + 1, setups.len(), setup.workers, setup.victims);
        progress.done(&title);
        let goes_on = |step: &Step| {
            progress.now(&format!("{title}: {} tasks, {:.1} us", step.tasks, micros(step.time)));
            !stop.load(Ordering::Relaxed)
        };
        let report = program.run(args.leaf, setup.clone(), goes_on).map_err(failed)?;
        rows.push(row(setup, &report));
        if !report.is_whole || stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(Rows { titles: &TITLES, rows })
}

fn failed(error: RunError) -> Failure {
    match error {
        RunError::Setup(error) => Failure::usage(error),
        RunError::Violation(violation) => Failure::Wrong(violation.to_string()),
    }
}

/// What all runs have in common.
fn setup(args: &SimArgs) -> Result<Setup, Failure> {
    let machine: Option<Machine> =
        args.machine.as_deref().map(str::parse).transpose().map_err(Failure::usage)?;
    let workers = machine.as_ref().map_or(2, |machine| machine.pus().len()).min(MOST_WORKERS);
    let mut costs = if args.free { Costs::ZERO } else { Costs::usual() };
    if machine.is_none() {
        (costs.factors, costs.refill) = (Vec::new(), Vec::new());
    }
    for (name, cost) in &args.costs {
        costs.set(name, *cost);
    }
    let idle = if args.spin { Idle::Spin } else { Idle::Park { rounds: 4 } };
    Ok(Setup { machine, costs, idle, wait: args.wait, seed: args.seed, ..Setup::new(workers) })
}

fn micros(time: u64) -> f64 {
    time as f64 / 1e3 / NS as f64
}

fn row(setup: &Setup, report: &Report) -> Vec<String> {
    let counts = &report.counts;
    let of_bound = report.time as f64 / report.bounds().lower.max(1.0);
    let shares = [Activity::Works, Activity::Searches, Activity::Waits, Activity::Parks];
    let mut row = vec![
        setup.workers.to_string(),
        setup.victims.to_string(),
        format!("{:.3}", micros(report.time)),
        format!("{:.2}", report.speedup()),
        format!("{of_bound:.3}"),
        counts.attempts.to_string(),
        counts.steals.to_string(),
        counts.samples.to_string(),
    ];
    row.extend(shares.map(|activity| format!("{:.1}", 100.0 * report.share(activity))));
    row.push(format!("{:016x}", report.trace));
    row
}

fn table(rows: &Rows) -> Table {
    let mut table = Table::new(rows.titles);
    rows.rows.iter().for_each(|row| table.row(row.clone()));
    table
}

/// Policies have commas in their names, so every cell is quoted.
fn write_csv(path: &Path, rows: &Rows) -> Result<(), Failure> {
    let mut text = rows.titles.join(",") + "\n";
    for row in &rows.rows {
        let cells: Vec<String> = row.iter().map(|cell| format!("\"{cell}\"")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", cells.join(","));
    }
    std::fs::write(path, text)
        .map_err(|error| Failure::Unwritten(format!("cannot write {}: {error}", path.display())))
}
