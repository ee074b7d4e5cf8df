#![forbid(unsafe_code)]
//! Sinew beside other runtimes, interleaved in one run: `cargo run --release -p bench -- --help`.
//!
//! | file | contents |
//! |---|---|
//! | [`cli`] | the command line |
//! | [`problem`] | problems, cases, forms and bars, as data |
//! | [`problems`] | a folder for each problem, in it a file for each runtime |
//! | [`runtimes`] | how each runtime is started, and kept quiet while others are measured |
//! | [`mod@compare`] | interleaved rounds |
//! | [`statistics`], [`bars`] | medians, ratios within rounds, verdicts |
//! | [`table`], [`report`], [`machine`] | output, as text and as JSON |
//! | [`output`] | standard output, and the file that `--json` names |
//! | [`instructions`], [`listing`] | figures that repeat: callgrind and objdump |
//! | [`mod@measure`] | latencies, idling, memory, transactions |
//! | [`stamp`] | the applications with transactions, by hand and as worklists |
//! | [`scale`] | all that depends on the number of threads, in a run of limited length |
//! | [`programs`] | rayon programs on Sinew beside the same on upstream's rayon |
//!
//! `rivals/` holds the programs in C++, `rayon/` those that use rayon.

mod bars;
mod cli;
mod compare;
mod instructions;
mod listing;
mod machine;
mod measure;
mod output;
mod problem;
mod problems;
mod programs;
mod report;
mod runtimes;
mod scale;
mod stamp;
mod statistics;
mod table;
mod work;

use clap::Parser;
use cli::{Cli, Command};
use compare::{Comparison, Options};
use machine::Machine;
use output::{ReportFile, say};
use problem::{Form, Problem, Runtime};
use report::{Entry, Report};
use runtimes::lace::Lace;
use runtimes::process::Rival;
use std::cell::RefCell;
use std::process::ExitCode;
use std::rc::Rc;

/// A rival's process, shared by all forms that run in it.
type SharedRival = Rc<RefCell<Rival>>;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match (&cli.child, &cli.command) {
        (Some(arguments), _) => instructions::child(arguments).map_err(|why| (why, 1)),
        (None, Some(Command::Programs(options))) => programs::run(options),
        (None, Some(Command::CoordProgram(arguments))) => {
            measure::coord::run_program(arguments).map_err(|why| (why, 1))
        }
        (None, Some(Command::Scale(options))) => scale::run(options),
        (None, Some(Command::ScaleCells(options))) => scale::run_cells(options),
        (None, Some(Command::ScaleBinary(options))) => scale::make_binary(options),
        (None, Some(Command::Stamp(options))) => stamp::run(options),
        (None, None) => run(&cli),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err((why, status)) => {
            eprintln!("bench: {why}");
            ExitCode::from(status)
        }
    }
}

/// Everything the command line asks for; an error comes with the exit status it deserves.
fn run(cli: &Cli) -> Result<(), (String, u8)> {
    let file = ReportFile::create(cli.json.as_deref())?;
    let machine = Machine::here();
    machine.print();
    let lace = cli.lace.as_deref().map(Lace::at).transpose().map_err(|why| (why, 2))?;
    let (rivals, skipped) = rivals(cli, lace.as_ref());
    let mut report = Report {
        machine,
        threads: cli.threads(),
        rounds: cli.rounds(),
        skipped,
        comparisons: Vec::new(),
        measurements: Vec::new(),
        instructions: Vec::new(),
    };
    let wrong = compare(cli, &rivals, &mut report);
    measure(cli, &mut report);
    file.write(&report)?;
    if wrong.is_empty() { Ok(()) } else { Err((wrong.join("\n"), 1)) }
}

/// Starts the rivals that run in processes of their own; prints the missing ones with the reasons.
fn rivals(cli: &Cli, lace: Option<&Lace>) -> (Vec<SharedRival>, Vec<String>) {
    let (mut rivals, mut skipped) = (Vec::new(), Vec::new());
    if !problems::ALL.iter().any(|problem| cli.compares(problem.name)) {
        return (rivals, skipped);
    }
    if cfg!(not(feature = "fork-union")) && cli.invites(Runtime::ForkUnion) {
        skipped.push(
            "fork_union: built without it (`--features fork-union`, needs a C++ compiler)"
                .to_owned(),
        );
    }
    let started = Runtime::RIVALS
        .into_iter()
        .filter(|(_, runtime)| !runtime.is_here() && cli.invites(*runtime))
        .map(|(name, runtime)| Rival::start(runtime).map_err(|why| format!("{name}: {why}")))
        .chain(lace.into_iter().flat_map(Lace::start));
    for rival in started {
        match rival {
            Ok(rival) => rivals.push(Rc::new(RefCell::new(rival))),
            Err(why) => skipped.push(why),
        }
    }
    for line in &skipped {
        say!("skipped: {line}");
    }
    (rivals, skipped)
}

/// Compares the requested problems; returns the wrong results.
fn compare(cli: &Cli, rivals: &[SharedRival], report: &mut Report) -> Vec<String> {
    let mut wrong = Vec::new();
    let options = Options::new(cli.threads(), cli.rounds(), cli.scale());
    for problem in problems::ALL.iter().filter(|problem| cli.compares(problem.name)) {
        let forms = forms(problem, cli, rivals);
        for case in (problem.cases)(cli.scale()) {
            let comparison = Comparison::run(problem, case, &forms, options);
            let verdicts = bars::verdicts(&comparison);
            table::print(&comparison, &verdicts);
            wrong.extend(report::wrong_answers(&comparison));
            report.comparisons.push(Entry::of(&comparison, verdicts));
        }
    }
    wrong
}

/// All forms of `problem`: serial, ours, and the rivals that take part.
fn forms(problem: &Problem, cli: &Cli, rivals: &[SharedRival]) -> Vec<Form> {
    let mut forms = vec![Form::serial("serial", problem.serial)];
    forms.extend((problem.forms)().into_iter().filter(|form| cli.invites(form.runtime)));
    let rivals = rivals.iter().filter(|rival| rival.borrow().solves(problem));
    forms.extend(rivals.map(|rival| Rival::form(rival, problem.name)));
    forms
}

/// Takes the measurements that were asked for; what this machine cannot measure is skipped with its
/// reason.
fn measure(cli: &Cli, report: &mut Report) {
    let skip = |report: &mut Report, why: String| {
        say!("  skipped: {why}");
        report.skipped.push(why);
    };
    for measure in measure::ALL.iter().filter(|measure| cli.measures(measure.name)) {
        match measure.run(cli.scale()) {
            Ok(measurement) => report.measurements.push(measurement),
            Err(why) => skip(report, format!("{}: {why}", measure.name)),
        }
    }
    if cli.instructions {
        match instructions::count(
            |problem| cli.counts(problem.name),
            |runtime| cli.invites(runtime),
        ) {
            Ok(counts) => report.instructions = counts,
            Err(why) => skip(report, why),
        }
    }
    if cli.listing
        && let Err(why) = listing::print()
    {
        skip(report, why);
    }
}
