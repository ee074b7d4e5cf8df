//! `sinew-lab demo`: the machine, all applications on real input, a loop that is changed while it
//! runs, a table, and a final sentence that says whether all results were right.
//!
//! All input is prepared before the first run, so an unreadable folder ends the demo at once.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use sinew_apps::{App, Options, Problem, Record, Size};
use sinew_console::{Failure, Table, output};
use sinew_topology::{Limits, Machine, render};

use crate::contention;
use crate::measure::{Measurement, Plan, measure, percent, seconds, waiting_share};
use crate::pool::{PoolArgs, build};
use crate::progress::Progress;
use crate::timeline;

/// Medians of three runs, or fewer for slow applications: a quarter of a minute in all.
const PLAN: Plan = Plan { repeat: 3, budget: Duration::from_millis(500) };

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    pub(crate) pool: PoolArgs,
    /// Size of the applications [default: of each the size that takes some tenths of a second]
    #[arg(long, value_enum)]
    pub(crate) size: Option<NamedSize>,
    /// The folder whose words are counted [default: the sources that cargo has downloaded]
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
}

/// The sizes that every application has.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum NamedSize {
    /// Some milliseconds
    Tiny,
    /// Well below a second
    Small,
    /// The published parameters
    Full,
}

impl From<NamedSize> for Size {
    fn from(size: NamedSize) -> Self {
        match size {
            NamedSize::Tiny => Self::Tiny,
            NamedSize::Small => Self::Small,
            NamedSize::Full => Self::Full,
        }
    }
}

/// An application and its measurement.
struct Entry {
    app: &'static App,
    problem: Box<dyn Problem>,
}

pub(crate) fn perform(args: &DemoArgs) -> Result<(), Failure> {
    let pool = build(&args.pool)?;
    let entries = prepare(args)?;
    // The demo continues without a reader: its exit status says whether all results were right.
    let greeted = output::print(&greeting(pool.max_threads()));
    let progress = Progress::new();
    let mut results = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let title =
            format!("[{}/{}] {} {}", at + 1, entries.len(), entry.app.name, entry.problem.size());
        let result = measure(&*entry.problem, &Record::default(), &pool, PLAN, |stage, round| {
            progress.now(&format!("{title}: {} {}/{}", stage.name(), round + 1, PLAN.repeat));
        });
        progress.done(&format!(
            "{title}: {} serial, {} parallel",
            seconds(result.serial_s()),
            seconds(result.parallel_s())
        ));
        results.push(result);
    }
    drop(progress);
    let changed = timeline::show(&pool, planned(args));
    conclude(&entries, &results, &changed, greeted)?;
    changed
}

/// Planned duration of the loop that is changed.
fn planned(args: &DemoArgs) -> Duration {
    Duration::from_millis(if matches!(args.size, Some(NamedSize::Tiny)) { 100 } else { 900 })
}

/// Prints the table and the final sentence; fails if a result was wrong.
fn conclude(
    entries: &[Entry],
    results: &[Measurement],
    changed: &Result<(), Failure>,
    greeted: std::io::Result<()>,
) -> Result<(), Failure> {
    let wrong = entries.iter().zip(results).filter_map(|(entry, result)| {
        Some(format!("{}: {}", entry.app.name, result.verdict.as_ref().err()?))
    });
    let changed = changed.as_ref().err().and_then(Failure::wrong);
    let wrong: Vec<String> = wrong.chain(changed.map(str::to_owned)).collect();
    let mut table = table(entries, results);
    table.extend(contention::remark(waiting_share(results)).map(|remark| format!("\n{remark}\n")));
    if wrong.is_empty() {
        let printed =
            output::print(&format!("\n{table}\nAll {} answers are right.\n", results.len()));
        return Ok(greeted.and(printed)?);
    }
    // A wrong result is more important than a closed output.
    let _ = output::print(&format!(
        "\n{table}\n{} of {} answers are WRONG.\n",
        wrong.len(),
        results.len()
    ));
    Err(Failure::Wrong(wrong.join("; ")))
}

fn prepare(args: &DemoArgs) -> Result<Vec<Entry>, Failure> {
    let entry = |app: &'static App| {
        let size = args.size.map_or_else(|| app.demo.parse().unwrap_or_default(), Size::from);
        // Other applications that read a file have formats of their own.
        let path = args.path.clone().filter(|_| app.name == "wordcount");
        let options = Options { size, path, ..Options::default() };
        Ok(Entry { app, problem: app.prepare(&options).map_err(Failure::usage)? })
    };
    sinew_apps::all().iter().map(entry).collect()
}

/// The first line about the machine; `sinew topo` prints the others.
fn greeting(workers: usize) -> String {
    let machine = render(Machine::host(), &Limits::read());
    let line = machine.lines().next().unwrap_or_default();
    format!("{line}\nworkers: {workers}\n")
}

const TITLES: [&str; 11] = [
    "application",
    "size",
    "serial",
    "parallel",
    "speed-up",
    "steals",
    "chunks",
    "working",
    "searching",
    "parked",
    "answer",
];

fn table(entries: &[Entry], results: &[Measurement]) -> String {
    let mut table = Table::new(&TITLES);
    for (entry, result) in entries.iter().zip(results) {
        table.row(row(entry, result));
    }
    table.render()
}

fn row(entry: &Entry, result: &Measurement) -> Vec<String> {
    let shares = result.shares();
    let mark = if result.verdict.is_ok() { "" } else { "WRONG: " };
    vec![
        entry.app.name.to_owned(),
        entry.problem.size(),
        seconds(result.serial_s()),
        seconds(result.parallel_s()),
        format!("{:.2}", result.speed_up()),
        result.steals().to_string(),
        result.chunks().to_string(),
        percent(shares.working),
        percent(shares.searching),
        percent(shares.parked),
        format!("{mark}{}", result.answer),
    ]
}
