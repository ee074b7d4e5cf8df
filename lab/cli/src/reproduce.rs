//! `sinew-lab reproduce`: published experiments, repeated and reported.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use sinew::{Mapping, Pool};
use sinew_console::{Failure, output, unknown};
use sinew_reproduce::config::{self, Queued};
use sinew_reproduce::runner::{Step, describe};
use sinew_reproduce::{
    Exhibit, Experiment, Failure as Failed, Origin, Outcome, Scale, Setting, all, exhibits, find,
    reproduce, reproduction,
};
use sinew_topology::{Limits, Machine};

use crate::conditions::ConditionArgs;
use crate::entries::{Entry, heading, render};
use crate::files::ResultFile;
use crate::progress::Progress;
use crate::values::{count, seed};

/// Arguments of `reproduce`.
#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// The experiment; see --list [default: all experiments]
    pub(crate) experiment: Option<String>,
    /// List the experiments, and all tables and figures of the publications
    #[arg(long)]
    pub(crate) list: bool,
    /// Write a page about all tables and figures from the results in the folder of --out; runs
    /// nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "experiment", "list", "config", "size", "threads", "mapping", "per_package", "repeat",
        "seed"
    ])]
    pub(crate) page: Option<PathBuf>,
    /// Run the experiments listed in this TOML file: [[experiment]] with name, size, threads,
    /// mapping, per_package, repeat, seed, out, worklists and parameters, as
    /// `parameters = { tasks = 5000 }`; [defaults] for all
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "experiment", "list", "size", "out", "threads", "mapping", "per_package", "repeat",
            "seed", "contention", "shuffle", "alpha", "beta", "longest_lifespan"
        ]
    )]
    pub(crate) config: Option<PathBuf>,
    /// Size of the experiment
    #[arg(long, value_enum, default_value = "default")]
    pub(crate) size: NamedScale,
    /// The folder for results; each experiment has a folder of its name in it
    #[arg(long, value_name = "DIR", default_value = "reproduced")]
    pub(crate) out: PathBuf,
    /// Numbers of workers, such as 1,2,4; 1 is always added [default: powers of two, up to the
    /// number of processors that the process may use]
    #[arg(
        long,
        value_name = "N,N",
        value_delimiter = ',',
        allow_negative_numbers = true,
        value_parser = count
    )]
    pub(crate) threads: Vec<usize>,
    /// Mapping of workers to processors in all pools, except where a case is about a mapping: none,
    /// compact, scatter, or a list of processors such as 0,2,4-7 [default: each experiment's own]
    #[arg(long, value_name = "MAPPING")]
    pub(crate) mapping: Option<Mapping>,
    /// N workers on one package, on two, and so on up to all packages
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = count,
        conflicts_with_all = ["threads", "mapping"]
    )]
    pub(crate) per_package: Option<usize>,
    /// Number of repetitions [default: 5, 10 for openskel, 50 for plastic at size full, and 1 at
    /// size quick]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub(crate) repeat: Option<usize>,
    /// Random seed for the order of the cases in a round
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        allow_negative_numbers = true,
        value_parser = seed
    )]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) conditions: ConditionArgs,
}

/// The size of an experiment.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum NamedScale {
    /// Some seconds: shows mechanics, not values
    Quick,
    /// Some minutes on two cores
    Default,
    /// The published sizes, which may take hours
    Full,
}

impl From<NamedScale> for Scale {
    fn from(size: NamedScale) -> Self {
        match size {
            NamedScale::Quick => Self::Quick,
            NamedScale::Default => Self::Default,
            NamedScale::Full => Self::Full,
        }
    }
}

pub(crate) fn perform(args: &ReproduceArgs) -> Result<(), Failure> {
    if args.list {
        return list(args.experiment.as_deref());
    }
    if let Some(page) = &args.page {
        return write_page(page, &args.out);
    }
    let origin = Origin::here(command_line());
    let queue = queue(args, origin.processors)?;
    // Checked before anything runs, so that the error does not appear once per case.
    for Setting { threads, mapping, .. } in queue.iter().map(|queued| &queued.setting) {
        let most = threads.iter().copied().max().unwrap_or(1);
        let mapping = mapping.clone().unwrap_or_default();
        Pool::builder().threads(most).mapping(mapping).build().map_err(Failure::usage)?;
    }
    let (mut wrong, mut printed) = (Vec::new(), Ok(()));
    for Queued { experiment, setting, out } in queue {
        let outcome = one(&experiment, &setting, &origin, &out)?;
        // Without a reader the other experiments still run: their results are in folders.
        printed = printed.and(output::print(&format!("{}\n", outcome.text)));
        wrong.extend(outcome.results.wrong);
    }
    // Wrong results are more important than a closed output.
    if wrong.is_empty() {
        Ok(printed?)
    } else {
        Err(Failure::Wrong(format!("wrong answers: {}", wrong.join("; "))))
    }
}

/// The experiments to run: those in the file, or those on the command line.
fn queue(args: &ReproduceArgs, processors: usize) -> Result<Vec<Queued>, Failure> {
    if let Some(file) = &args.config {
        return config::read(file, processors).map_err(failed);
    }
    let usual = Setting::new(args.size.into(), processors);
    let usual = match args.per_package {
        Some(each) => {
            usual.per_package(each, Machine::host(), Limits::read().allowed()).map_err(failed)?
        }
        None => Setting { mapping: args.mapping.clone(), ..usual.workers(&args.threads) },
    };
    let usual = Setting { seed: args.seed, worklists: args.conditions.worklists()?, ..usual };
    let queued = |experiment: Experiment| {
        let repeat = args.repeat.unwrap_or(experiment.usual_repeat(usual.scale));
        Queued { experiment, setting: Setting { repeat, ..usual.clone() }, out: args.out.clone() }
    };
    Ok(chosen(args.experiment.as_deref())?.into_iter().map(queued).collect())
}

/// The named experiment, or all of them.
fn chosen(name: Option<&str>) -> Result<Vec<Experiment>, Failure> {
    let Some(name) = name else { return Ok(all()) };
    let names: Vec<&str> = all().iter().map(|experiment| experiment.about.name).collect();
    let found = find(name).ok_or_else(|| Failure::Usage(unknown("experiment", name, &names)))?;
    Ok(vec![found])
}

fn list(name: Option<&str>) -> Result<(), Failure> {
    let experiments = chosen(name)?;
    let entry = |Experiment { about, .. }: &Experiment| {
        let remark = format!("from {}", about.source());
        Entry { name: about.name, description: about.title, remark }
    };
    let entries: Vec<Entry> = experiments.iter().map(entry).collect();
    Ok(output::print(&format!("{}{}", render(&entries), list_exhibits(name)))?)
}

/// The tables and figures of the publications, a list each: all of them, or those that one
/// experiment repeats.
fn list_exhibits(experiment: Option<&str>) -> String {
    let exhibits = exhibits();
    let mut text = String::new();
    for publication in exhibits.chunk_by(|one, next| one.publication == next.publication) {
        let is_listed = |exhibit: &&Exhibit| {
            experiment.is_none_or(|experiment| exhibit.experiments().contains(&experiment))
        };
        let entry = |exhibit: &Exhibit| {
            let remark = match exhibit.reason() {
                Some(why) => format!("none: {why}"),
                None => format!("by {}", exhibit.experiments().join(", ")),
            };
            (exhibit.label.clone(), exhibit.subject.clone(), remark)
        };
        let all: Vec<_> = publication.iter().filter(is_listed).map(entry).collect();
        let entry = |(name, description, remark)| Entry { name, description, remark };
        let entries: Vec<Entry<'_>> =
            all.iter().map(|(name, subject, by)| entry((name, subject, by.clone()))).collect();
        if !entries.is_empty() {
            let title = heading(&format!("{}:", publication[0].publication));
            text += &format!("\n{title}\n{}", render(&entries));
        }
    }
    text
}

/// Writes the page about the results that lie in a folder.
fn write_page(page: &Path, out: &Path) -> Result<(), Failure> {
    let file = ResultFile::create(page)?;
    file.write(&reproduction(out, &command_line()).map_err(failed)?)
}

/// Runs as one of several programs, controlled by the process that measures them.
pub(crate) fn program() -> Result<(), Failure> {
    let input = BufReader::new(std::io::stdin());
    sinew_reproduce::run_program(input, std::io::stdout()).map_err(failed)
}

/// Runs one experiment, with its progress on standard error.
pub(crate) fn one(
    experiment: &Experiment,
    setting: &Setting,
    origin: &Origin,
    out: &Path,
) -> Result<Outcome, Failure> {
    let name = experiment.about.name;
    let progress = Progress::new();
    let mut told = false;
    let now = |step: &Step<'_>| {
        // Printed only now, so that a folder that is not writable produces one line.
        if !std::mem::replace(&mut told, true) {
            let quick = match setting.scale {
                Scale::Quick => "; size quick shows mechanics, not values",
                _ => "",
            };
            let folder = out.join(name);
            output::note(&format!("{name}: results so far are in {}{quick}", folder.display()));
        }
        show(&progress, name, step);
    };
    reproduce(experiment, setting, origin, out, now).map_err(failed)
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

/// The command line as it was typed, as far as it can be reconstructed.
pub(crate) fn command_line() -> String {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    words.collect::<Vec<_>>().join(" ")
}

/// The failure of an experiment as one of the command.
pub(crate) fn failed(failed: Failed) -> Failure {
    match failed {
        Failed::Output { .. } => Failure::Unwritten(failed.to_string()),
        Failed::Wrong(why) => Failure::Wrong(why),
        other => Failure::Usage(other.to_string()),
    }
}
