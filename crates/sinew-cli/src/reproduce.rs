//! `sinew reproduce`: published experiments, repeated and reported.

use std::path::Path;

use sinew::Pool;
use sinew_reproduce::runner::{Step, describe};
use sinew_reproduce::{Experiment, Failure as Failed, Origin, Outcome, Setting, all, find, reproduce};

use crate::args::ReproduceArgs;
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;
use crate::suggest::unknown;
use crate::table::Table;

pub(crate) fn perform(args: &ReproduceArgs) -> Result<(), Failure> {
    let experiments = chosen(args.experiment.as_deref())?;
    if args.list {
        return list(&experiments);
    }
    let origin = Origin::here(command_line());
    let usual = setting(args, origin.processors);
    // Said before anything is run, rather than of each case.
    Pool::builder().threads(usual.most_workers()).build().map_err(Failure::usage)?;
    let mut wrong = Vec::new();
    for experiment in experiments {
        let repeat = args.repeat.unwrap_or(experiment.usual_repeat(usual.scale));
        let setting = Setting { repeat, ..usual.clone() };
        wrong.extend(print(one(experiment, &setting, &origin, &args.out)?)?);
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Failure::Wrong(format!("wrong answers: {}", wrong.join("; "))))
    }
}

/// The one that is named, or all.
fn chosen(name: Option<&str>) -> Result<Vec<&'static dyn Experiment>, Failure> {
    let Some(name) = name else { return Ok(all().to_vec()) };
    let names: Vec<&str> = all().iter().map(|experiment| experiment.about().name).collect();
    let found = find(name).ok_or_else(|| Failure::Usage(unknown("experiment", name, &names)))?;
    Ok(vec![found])
}

fn list(experiments: &[&dyn Experiment]) -> Result<(), Failure> {
    let mut table = Table::new(&["experiment", "what it shows", "source"]);
    for about in experiments.iter().map(|experiment| experiment.about()) {
        table.row(vec![about.name.into(), about.title.into(), about.source.into()]);
    }
    Ok(output::print(&table.render())?)
}

fn setting(args: &ReproduceArgs, processors: usize) -> Setting {
    let usual = Setting::new(args.size.into(), processors);
    let mut threads = if args.threads.is_empty() { usual.threads } else { args.threads.clone() };
    threads.push(1);
    threads.sort_unstable();
    threads.dedup();
    Setting { threads, seed: args.seed, ..usual }
}

/// Runs one, with its progress on standard error.
pub(crate) fn one(
    experiment: &dyn Experiment,
    setting: &Setting,
    origin: &Origin,
    out: &Path,
) -> Result<Outcome, Failure> {
    let name = experiment.about().name;
    output::note(&format!("{name}: results so far are in {}", out.join(name).display()));
    let progress = Progress::new();
    Ok(reproduce(experiment, setting, origin, out, |step| show(&progress, name, step))?)
}

/// Prints a report; answers what was wrong.
fn print(outcome: Outcome) -> Result<Vec<String>, Failure> {
    let printed = output::print(&format!("{}\n", outcome.text));
    // Wrong answers matter more than a reader who has gone.
    if outcome.results.wrong.is_empty() {
        printed?;
    }
    Ok(outcome.results.wrong)
}

fn show(progress: &Progress, experiment: &str, step: &Step<'_>) {
    let Step { block, blocks, name, round, rounds, labels } = step;
    let title = format!("{experiment} [{block}/{blocks}] {name}");
    if *round == 0 {
        progress.done(&title);
        progress.now(&title);
    } else {
        progress.now(&format!("{title}, {round}/{rounds}: {}", describe(labels)));
    }
}

/// As it was typed, as far as that can be told.
pub(crate) fn command_line() -> String {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    words.collect::<Vec<_>>().join(" ")
}

impl From<Failed> for Failure {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Output { .. } => Self::Unwritten(failed.to_string()),
            Failed::Wrong(why) => Self::Wrong(why),
            other => Self::Usage(other.to_string()),
        }
    }
}
