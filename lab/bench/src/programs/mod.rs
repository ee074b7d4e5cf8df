//! Rayon programs on Sinew's rayon-core, or on Sinew's iterators, beside the same programs on
//! upstream's rayon: `bench programs`.
//!
//! The programs are in `lab/bench/rayon`, a workspace of its own, which is built twice: with
//! upstream's packages, and with one of them replaced. Three servers run per number of threads:
//! upstream, Sinew, and upstream once more, whose difference from the first is the noise. Each
//! round visits every program on all three.
//!
//! | file | contents |
//! |---|---|
//! | [`catalogue`] | the names, shared with the programs |
//! | [`options`] | the command line |
//! | [`builds`] | the builds |
//! | [`server`] | a process that runs programs when asked |
//! | [`rounds`] | interleaving |
//! | [`verdicts`] | ratios and bars |
//! | [`output`] | tables and the report |
//! | [`instructions`] | instructions, which repeat |
//! | [`load`] | other work for the machine |

pub(crate) mod builds;
#[path = "../../rayon/src/catalogue.rs"]
pub(crate) mod catalogue;
mod instructions;
mod load;
mod options;
mod output;
mod rounds;
pub(crate) mod server;
mod verdicts;

pub(crate) use options::Options;

use crate::machine::Machine;
use crate::output::{ReportFile, say};
use builds::{Build, Provider};
use catalogue::Entry;
use load::Load;
use output::{Report, Table};
use rounds::{Plan, Row, Runner};

/// Everything that `bench programs` does; an error comes with the exit status it deserves.
///
/// # Errors
///
/// Status 2: a report that cannot be written, or no rayon-core to compare with. Status 1: the
/// programs do not build, or one of them failed.
pub(crate) fn run(options: &Options) -> Result<(), (String, u8)> {
    if options.spin {
        load::spin();
    }
    if options.list {
        catalogue::ALL.iter().for_each(|entry| say!("{:<16}{}", entry.name, entry.about));
        return Ok(());
    }
    let other = options.rival().map_err(|why| (why, 2))?;
    let file = ReportFile::create(options.json.as_deref())?;
    let mut report = Report::new(Machine::here(), options);
    report.machine.print();
    let wrong = fill(&mut report, options, &other).map_err(|why| (why, 1))?;
    file.write(&report)?;
    if wrong.is_empty() { Ok(()) } else { Err((wrong.join("\n"), 1)) }
}

/// Builds, measures and prints; returns a line for each program that failed.
fn fill(report: &mut Report, options: &Options, other: &Provider) -> Result<Vec<String>, String> {
    let upstream = Build::of(&Provider::Upstream)?;
    let other = Build::of(other)?;
    let entries: Vec<&'static Entry> =
        catalogue::ALL.iter().filter(|entry| options.runs(entry)).collect();
    if options.instructions {
        match instructions::count(&entries, [&upstream, &other], options.chains) {
            Ok(counts) => report.instructions = counts,
            Err(why) => report.skip(why),
        }
        return Ok(Vec::new());
    }
    let mut wrong = Vec::new();
    for threads in options.threads() {
        let load = Load::start(options.loaded.unwrap_or(0))?;
        let rows = measure([&upstream, &other], &entries, options.plan(), threads)?;
        drop(load);
        wrong.extend(rows.iter().filter_map(|row| output::fault_line(row, threads)));
        let table = Table::new(threads, rows, options.has_bars());
        table.print(if options.same { "same" } else { "sinew" }, options.chains);
        report.tables.push(table);
    }
    Ok(wrong)
}

fn measure(
    [upstream, other]: [&Build; 2],
    entries: &[&'static Entry],
    plan: Plan,
    threads: usize,
) -> Result<Vec<Row>, String> {
    let counted =
        |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let [threads_text, rounds, programs] =
        [(threads, "thread"), (plan.rounds, "round"), (entries.len(), "program")]
            .map(|(count, what)| counted(count, what));
    say!("\n{threads_text}, {rounds}, {programs}");
    let runners = [
        Runner::new(upstream, threads)?,
        Runner::new(other, threads)?,
        Runner::new(upstream, threads)?,
    ];
    Ok(rounds::run(runners, entries, plan))
}
