//! Trees of tasks: a row for each number of workers and victim policy; and the figure on sampling.

use std::path::Path;

use sinew::Victims;
use sinew_console::{Failure, read};
use sinew_sim::figure::{Figure, FigureError, Point};
use sinew_sim::workload::Recorded;
use sinew_sim::{Activity, NS, Program, Progress as Step, Report, RunError, Setup, Simulation};

use super::args::SimArgs;
use super::rows::{Rows, failed, in_file, micros};
use super::setup;
use super::watch::Watch;

const TITLES: [&str; 15] = [
    "workers",
    "victims",
    "time us",
    "speed-up",
    "of bound",
    "over greedy %",
    "attempts",
    "steals",
    "samples",
    "works %",
    "schedules %",
    "searches %",
    "waits %",
    "parks %",
    "trace",
];

const FIGURE: [&str; 8] = [
    "workers",
    "samples",
    "time us",
    "attempts",
    "steals",
    "time rel",
    "attempts rel",
    "steals rel",
];

/// The program to run.
enum What {
    Named(Program),
    Recorded(Box<Recorded>),
}

impl What {
    /// A program by name, or the recording in a file.
    fn new(name: &str) -> Result<Self, Failure> {
        match name.strip_prefix("graph:") {
            None => name.parse().map(Self::Named).map_err(Failure::usage),
            Some(path) => {
                recorded(Path::new(path)).map(|recorded| Self::Recorded(Box::new(recorded)))
            }
        }
    }

    fn run(
        &self,
        args: &SimArgs,
        setup: Setup,
        goes_on: impl FnMut(&Step) -> bool,
    ) -> Result<Report, RunError> {
        match self {
            Self::Named(program) => program.run(args.leaf, setup, goes_on),
            Self::Recorded(recorded) => {
                let simulation = Simulation::new(setup, &**recorded).map_err(RunError::Setup)?;
                simulation.run_while(goes_on).map_err(RunError::Violation)
            }
        }
    }
}

fn recorded(path: &Path) -> Result<Recorded, Failure> {
    read(path)?.parse().map(|graph| Recorded::new(&graph)).map_err(|error| in_file(path, error))
}

pub(super) fn figure(args: &SimArgs, watch: &Watch) -> Result<Rows, Failure> {
    let usual = Figure::paper(args.runs);
    let workers =
        if args.workers.is_empty() { usual.workers.clone() } else { args.workers.clone() };
    let figure = Figure { workers, seed: args.seed, ..usual };
    // Checked before anything runs.
    figure.check().map_err(Failure::usage)?;
    let points = figure.compute(watch.share("sampling")).map_err(|error| match error {
        FigureError::Setup(error) => Failure::usage(error),
        FigureError::Violation(violation) => Failure::Wrong(violation.to_string()),
    })?;
    let mut rows = Rows::new(&FIGURE);
    points.iter().for_each(|point| rows.push(figure_row(point)));
    Ok(rows)
}

fn figure_row(point: &Point) -> Vec<String> {
    let mut row = vec![point.workers.to_string(), point.samples.to_string()];
    row.extend(
        [point.time / 1e3 / NS as f64, point.attempts, point.steals]
            .map(|mean| format!("{mean:.1}")),
    );
    let relative = point.relative;
    row.extend(
        [relative.time, relative.attempts, relative.steals].map(|ratio| format!("{ratio:.3}")),
    );
    row
}

pub(super) fn rows(name: &str, args: &SimArgs, watch: &Watch) -> Result<Rows, Failure> {
    let what = What::new(name)?;
    let victims =
        if args.victims.is_empty() { vec![Victims::Random] } else { args.victims.clone() };
    let setup = setup::setup(args)?;
    let workers = if args.workers.is_empty() { vec![setup.workers] } else { args.workers.clone() };
    let setups: Vec<Setup> = workers
        .iter()
        .flat_map(|&workers| victims.iter().map(move |&victims| (workers, victims)))
        .map(|(workers, victims)| Setup { workers, victims, ..setup.clone() })
        .collect();
    // Checked before anything runs.
    setups.iter().try_for_each(|setup| setup.check().map_err(Failure::usage))?;
    let mut rows = Rows::new(&TITLES);
    for (at, setup) in setups.iter().enumerate() {
        let title = format!("{} workers, {}", setup.workers, setup.victims);
        let goes_on = watch.run(at, setups.len(), &title);
        let report = what.run(args, setup.clone(), goes_on).map_err(failed)?;
        rows.push(row(setup, &report));
        if !report.is_whole || watch.has_enough() {
            break;
        }
    }
    Ok(rows)
}

fn row(setup: &Setup, report: &Report) -> Vec<String> {
    let counts = &report.counts;
    let of_bound = report.time as f64 / report.bounds().lower.max(1.0);
    let mut row = vec![
        setup.workers.to_string(),
        setup.victims.to_string(),
        format!("{:.3}", micros(report.time)),
        format!("{:.2}", report.speedup()),
        format!("{of_bound:.3}"),
        // The excess over the bound of greedy scheduling without costs: T∞ + T1/p.
        format!("{:.1}", 100.0 * report.bounds().excess(report.time as f64).max(0.0)),
        counts.attempts.to_string(),
        counts.steals.to_string(),
        counts.samples.to_string(),
    ];
    row.extend(Activity::ALL.map(|activity| format!("{:.1}", 100.0 * report.share(activity))));
    row.push(format!("{:016x}", report.trace));
    row
}
