//! `sinew-lab demo`: the machine, all applications on real input, a loop that is changed while it
//! runs, a table, and a final sentence that says whether all results were right.
//!
//! All input is prepared before the first run, so an unreadable folder ends the demo at once. An
//! interrupt prints the table of the applications so far.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{io, process};

use clap::{Args, ValueEnum};
use sinew_apps::{App, Options, Problem, Record, Size};
use sinew_console::{Failure, INTERRUPTED, Table, output};
use sinew_sync::lock::Mutex;
use sinew_topology::{Limits, Machine, render};

use crate::contention;
use crate::interrupt::at_interrupt;
use crate::measure::{Measurement, Plan, measure, percent, seconds, waiting_share};
use crate::pool::{PoolArgs, build};
use crate::progress::{self, Progress};
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
    let done = Arc::new(Mutex::new(Done::new(entries.len())));
    end_early(&done)?;
    // The demo continues without a reader: its exit status says whether all results were right.
    let greeted = output::print(&greeting(pool.max_threads()));
    let progress = Progress::new();
    for (at, entry) in entries.iter().enumerate() {
        let title =
            format!("[{}/{}] {} {}", at + 1, entries.len(), entry.app.name, entry.problem.size());
        let result = measure(&*entry.problem, &Record::default(), &pool, PLAN, |stage, round| {
            progress.now(&format!("{title}: {} {}/{}", stage.name(), round + 1, PLAN.repeat));
        });
        let times = (seconds(result.serial_s()), seconds(result.parallel_s()));
        done.lock().add(entry, result);
        progress.done(&format!("{title}: {} serial, {} parallel", times.0, times.1));
    }
    drop(progress);
    let changed = timeline::show(&pool, planned(args));
    done.lock().conclude(&changed, greeted)?;
    changed
}

/// Prints the results so far and ends the process when it is interrupted.
fn end_early(done: &Arc<Mutex<Done>>) -> Result<(), Failure> {
    let done = Arc::clone(done);
    at_interrupt(move || {
        // Held until the end of the process: the demo prints nothing more.
        let done = done.lock();
        if !done.is_concluded {
            progress::clear();
            // A failure to print has no other output to go to.
            let _ = output::print(&done.so_far());
            process::exit(if done.wrong.is_empty() { INTERRUPTED } else { 1 })
        }
    })
}

/// Planned duration of the loop that is changed.
fn planned(args: &DemoArgs) -> Duration {
    Duration::from_millis(if matches!(args.size, Some(NamedSize::Tiny)) { 100 } else { 900 })
}

/// The applications that were measured.
#[derive(Debug)]
struct Done {
    /// The number of all applications.
    all: usize,
    table: Table,
    results: Vec<Measurement>,
    /// The errors of wrong results.
    wrong: Vec<String>,
    /// Whether the table was printed.
    is_concluded: bool,
}

impl Done {
    fn new(all: usize) -> Self {
        let (results, wrong) = (Vec::new(), Vec::new());
        Self { all, table: Table::new(&TITLES), results, wrong, is_concluded: false }
    }

    fn add(&mut self, entry: &Entry, result: Measurement) {
        self.table.row(row(entry, &result));
        let wrong = result.verdict.as_ref().err();
        self.wrong.extend(wrong.map(|wrong| format!("{}: {wrong}", entry.app.name)));
        self.results.push(result);
    }

    /// The table, and a remark if other programs disturbed the measurements.
    fn text(&self) -> String {
        let remark = contention::remark(waiting_share(&self.results));
        self.table.render() + &remark.map_or_else(String::new, |remark| format!("\n{remark}\n"))
    }

    /// The output of an interrupted demo.
    fn so_far(&self) -> String {
        let (done, all) = (self.results.len(), self.all);
        let head = format!("Interrupted after {done} of {all} applications");
        match (done, self.wrong.len()) {
            (0, _) => format!("\n{head}.\n"),
            (_, 0) => format!("\n{}\n{head}: their answers are right.\n", self.text()),
            (_, wrong) => {
                let list = self.wrong.join("; ");
                format!("\n{}\n{head}: {wrong} answers are WRONG: {list}.\n", self.text())
            }
        }
    }

    /// Prints the table and the final sentence; fails if a result was wrong.
    fn conclude(
        &mut self,
        changed: &Result<(), Failure>,
        greeted: io::Result<()>,
    ) -> Result<(), Failure> {
        self.is_concluded = true;
        let changed = changed.as_ref().err().and_then(Failure::wrong);
        self.wrong.extend(changed.map(str::to_owned));
        let (table, all) = (self.text(), self.results.len());
        if self.wrong.is_empty() {
            let printed = output::print(&format!("\n{table}\nAll {all} answers are right.\n"));
            return Ok(greeted.and(printed)?);
        }
        // A wrong result is more important than a closed output.
        let wrong = self.wrong.len();
        let _ = output::print(&format!("\n{table}\n{wrong} of {all} answers are WRONG.\n"));
        Err(Failure::Wrong(self.wrong.join("; ")))
    }
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

#[cfg(test)]
mod tests {
    //! Blind to: a demo with results; it runs in the tests of the command.
    use super::*;

    /// Catches: a table without rows, and answers that are called right although there are none.
    #[test]
    fn an_interrupt_before_the_first_result_prints_no_table() {
        assert_eq!(Done::new(3).so_far(), "\nInterrupted after 0 of 3 applications.\n");
    }
}
