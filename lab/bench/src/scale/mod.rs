//! Measurements by the number of threads, on any machine: `bench scale`.
//!
//! A subject is measured in blocks: every contender with every team once, so ratios are taken
//! within rounds. Blocks follow one another until the time is over. Cells run in processes of their
//! own, so that a crash or a hang loses one of them; every answer is compared. The file of results
//! is written after each block.
//!
//! | file | contents |
//! |---|---|
//! | [`options`] | the command lines |
//! | [`subject`], [`subjects`] | what is measured; all of it |
//! | [`schedule`] | which block is next: pure |
//! | [`runner`] | blocks, and the comparison of answers |
//! | [`processes`], [`serve`] | the processes that run cells, and what they are told |
//! | [`results`], [`bars`] | what was found out; what was wanted |
//! | [`page`] | the page |
//! | [`parts`], [`pack`] | programs inside of the binary; making such a binary |

mod bars;
mod options;
mod pack;
mod page;
mod parts;
mod processes;
mod results;
mod runner;
mod schedule;
mod serve;
mod subject;
mod subjects;

pub(crate) use options::{CellOptions, Options, PackOptions};

use crate::output::say;
use crate::problem::{Sample, Scale, ns_since};
use crate::work;
use processes::{Failure, Processes, Run};
use results::{Measured, Results};
use runner::{Clock, Runner};
use sinew_reproduce::{Origin, ResultFile};
use sinew_topology::{Level, Limits, Machine};
use std::path::Path;
use std::time::Instant;
use subject::{Contender, Subject};

/// Everything that `bench scale` does; an error comes with the exit status it deserves.
///
/// # Errors
///
/// Status 2: a name that does not exist, or files that cannot be written. Status 1: a wrong answer.
pub(crate) fn run(options: &Options) -> Result<(), (String, u8)> {
    let steps_per_us = work::steps_for_ns(100_000) / 100;
    let subjects = subjects::all(options.scale(), steps_per_us.max(1));
    if options.list {
        subjects.iter().for_each(|subject| say!("{}: {}", subject.group.name(), subject.name));
        return Ok(());
    }
    let subjects = options.chosen(subjects).map_err(|why| (why, 2))?;
    let done = measure(options, subjects).map_err(|why| (why, 2))?;
    let wrong = done.wrong();
    if wrong.is_empty() { Ok(()) } else { Err((wrong.join("\n"), 1)) }
}

/// Runs cells for another process until its input ends.
///
/// # Errors
///
/// As [`run`].
pub(crate) fn run_cells(options: &CellOptions) -> Result<(), (String, u8)> {
    serve::run(if options.tiny { Scale::Tiny } else { Scale::Full }).map_err(|why| (why, 1))
}

/// Makes a binary for other machines.
///
/// # Errors
///
/// As [`run`].
pub(crate) fn make_binary(options: &PackOptions) -> Result<(), (String, u8)> {
    pack::run(options).map_err(|why| (why, 1))
}

/// The processes, with the time since they began.
struct Live {
    began: Instant,
    processes: Processes,
}

impl Clock for Live {
    fn now_ns(&self) -> u64 {
        ns_since(self.began)
    }
}

impl Run for Live {
    fn run(
        &mut self,
        subject: &Subject,
        contender: &Contender,
        threads: usize,
    ) -> Result<Sample, Failure> {
        self.processes.run(subject, contender, threads)
    }
}

fn measure(options: &Options, mut subjects: Vec<Subject>) -> Result<Results, String> {
    let began = Instant::now();
    let limits = Limits::read();
    let processes = Processes::new(options.tiny, limits.effective_threads())?;
    let left_out = leave_out(&mut subjects, &processes);
    let mut run = Results {
        machine: machine(&limits),
        threads: options.threads(&limits),
        budget_s: f64::from(options.budget_s()),
        elapsed_s: 0.0,
        is_complete: false,
        left_out,
        bars: Vec::new(),
        subjects: Vec::new(),
    };
    run.machine.iter().chain(&run.left_out).for_each(|line| say!("{line}"));
    write(options, &run)?;
    let budget_ns = u64::from(options.budget_s()) * 1_000_000_000;
    let mut runner = Runner::new(subjects, &run.threads, budget_ns).at_most(options.rounds());
    let mut live = Live { began, processes };
    while let Some(one) = runner.step(&mut live) {
        eprintln!("{:4.0} s  {}, round {}", began.elapsed().as_secs_f64(), one.name, one.rounds);
        let measured = runner.measured().map(Measured::clone).collect();
        run = so_far(Results { subjects: measured, ..run }, began);
        write_json(options, &run)?;
    }
    run = so_far(Results { subjects: runner.into_measured(), is_complete: true, ..run }, began);
    write(options, &run)?;
    print(options, &run);
    Ok(run)
}

fn so_far(mut run: Results, began: Instant) -> Results {
    run.elapsed_s = began.elapsed().as_secs_f64();
    run.bars = bars::verdicts(&run);
    run
}

/// Takes contenders out that this binary cannot run; returns a line for each kind of them.
fn leave_out(subjects: &mut Vec<Subject>, processes: &Processes) -> Vec<String> {
    let mut left_out = vec!["tbb: not linked: no static library".to_owned()];
    let mut note = |line: &str| {
        if !left_out.iter().any(|known| known == line) {
            left_out.push(line.to_owned());
        }
    };
    if cfg!(not(feature = "fork-union")) {
        note("fork_union: built without it");
    }
    for subject in subjects.iter_mut() {
        subject.contenders.retain(|contender| {
            let has = processes.has(contender.place);
            if !has {
                note(match contender.place {
                    subject::Place::OpenMp { .. } => "openmp: not in this binary",
                    _ => "rayon programs: not in this binary",
                });
            }
            has
        });
    }
    subjects.retain(|subject| !subject.contenders.is_empty());
    if left_out.iter().any(|line| line.ends_with("in this binary")) {
        left_out.push("`cargo xtask scale --out FILE` makes a binary with all parts".to_owned());
    }
    left_out
}

/// The machine, and what this process may use of it.
fn machine(limits: &Limits) -> Vec<String> {
    let machine = Machine::host();
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    let mut lines = Origin::here(command).lines();
    let count = |level: Level| format!("{} {}", machine.count(level), level.name());
    let levels = machine.levels().iter().map(|level| count(*level));
    let levels: Vec<String> = levels.chain([count(Level::Pu)]).collect();
    lines.push(format!("levels: {}", levels.join(", ")));
    if machine.kinds().len() > 1 {
        let kinds = machine.kinds().iter().map(|kind| format!("{kind:?}"));
        lines.push(format!("kinds of cores: {}", kinds.collect::<Vec<_>>().join("; ")));
    }
    let quota =
        limits.quota().map_or("none".to_owned(), |quota| format!("{:.2} CPUs", quota.cpus()));
    lines.push(format!("allowed CPUs: {}; quota: {quota}", limits.allowed()));
    if let Ok(load) = std::fs::read_to_string("/proc/loadavg") {
        lines.push(format!("load before: {}", load.trim()));
    }
    lines
}

fn write(options: &Options, run: &Results) -> Result<(), String> {
    write_json(options, run)?;
    write_file(&options.file(".html"), page::html(run).as_bytes())
}

fn write_json(options: &Options, run: &Results) -> Result<(), String> {
    let text = serde_json::to_vec_pretty(run).map_err(|error| error.to_string())?;
    write_file(&options.file(".json"), &text)
}

/// A reader finds the earlier text or the later one, never half of it.
fn write_file(path: &Path, text: &[u8]) -> Result<(), String> {
    ResultFile::create(path)
        .and_then(|file| file.write(text))
        .map_err(|error| format!("cannot write `{}`: {error}", path.display()))
}

fn print(options: &Options, run: &Results) {
    for bar in &run.bars {
        let figure = |summary: Option<crate::statistics::Summary>| {
            crate::table::or_dash(summary, |summary| format!("{:.2}", summary.median))
        };
        let (measured, on_all) = (figure(bar.measured), figure(bar.on_all));
        let (what, bound, limit, verdict) = (bar.what, bar.bound, bar.limit, bar.verdict);
        say!("{what}, {bound} {limit}: {measured} on 16 threads ({verdict}), {on_all} on all");
    }
    say!("{} and {}", options.file(".json").display(), options.file(".html").display());
}
