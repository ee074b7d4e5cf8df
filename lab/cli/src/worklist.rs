//! Options and output of `run` about worklists: `--tune`, `--by-hand`, `--pages`, `--tuner-path`,
//! and those of `conditions`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use sinew::Mapping;
use sinew::worklist::{Pages, Settings, Tuning, mapping_for};
use sinew_apps::{App, Maps, Recorded, Transactions};
use sinew_console::{Failure, output};

use crate::conditions::{ConditionArgs, WORKLISTS};
use crate::files::ResultFile;
use crate::measure::seconds;

/// Arguments of `run` about worklists.
#[derive(Debug, Args)]
pub(crate) struct WorklistArgs {
    /// Run the version with hand-written transactions instead of the worklist, if there is one
    #[arg(long, help_heading = WORKLISTS, conflicts_with_all = ["tune", "tuner_path"])]
    pub(crate) by_hand: bool,
    /// Tuning of worklists: auto (by throughput), published (the published autotuner), or settings
    /// such as "2 threads, stealing, helpers 100, coalescing, swap 2" [default: all threads,
    /// stealing]
    #[arg(long, help_heading = WORKLISTS, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) tune: Option<Tuning>,
    /// NUMA placement of the pages that a worklist's workers touch first: first-touch, cyclic or
    /// bind-local [default: cyclic, and bind-local once units add units]
    #[arg(long, help_heading = WORKLISTS, value_name = "PAGES", conflicts_with = "by_hand")]
    pub(crate) pages: Option<Pages>,
    /// Write the tuner's steps, epoch by epoch, to this CSV file; needs --tune auto or published
    #[arg(long, help_heading = WORKLISTS, value_name = "FILE")]
    pub(crate) tuner_path: Option<PathBuf>,
    /// Structures in which maps are kept, in the serial version and in transactions: hashed, or
    /// balanced trees and lists as in the suite STAMP (intruder, vacation) [default: hashed]
    #[arg(long, help_heading = WORKLISTS, value_name = "MAPS",
        value_parser = PossibleValuesParser::new(Maps::NAMES).try_map(|name| name.parse::<Maps>()))]
    pub(crate) maps: Option<Maps>,
    #[command(flatten)]
    pub(crate) conditions: ConditionArgs,
}

/// Checks the options about worklists before anything runs, and opens the file for the path.
///
/// # Errors
///
/// More threads than workers, a path without a tuner, or a path that is not writable.
pub(crate) fn check(
    app: &App,
    args: &WorklistArgs,
    workers: usize,
) -> Result<Option<ResultFile>, Failure> {
    if let Some(Tuning::Fixed(settings)) = args.tune.filter(|_| app.has_worklist) {
        check_settings(settings, workers).map_err(Failure::Usage)?;
    }
    let Some(path) = &args.tuner_path else { return Ok(None) };
    if !app.has_worklist {
        return Err(Failure::Usage(format!(
            "{} has no worklist, so there is no --tuner-path",
            app.name
        )));
    }
    if !matches!(args.tune, Some(Tuning::Auto | Tuning::AutoWith(_))) {
        return Err(Failure::usage(
            "--tuner-path needs --tune auto or --tune published: nothing else has a tuner",
        ));
    }
    ResultFile::create(path).map(Some)
}

/// Checks that `workers` workers can run a list with these settings.
fn check_settings(settings: Settings, workers: usize) -> Result<(), String> {
    let Settings { threads, lifespan, .. } = settings;
    if threads > workers {
        return Err(format!(
            "--tune asks for {threads} threads, the pool has {workers} workers: use at most \
             {workers}, or --threads {threads}"
        ));
    }
    if lifespan > 0 && threads == workers {
        return Err(format!(
            "--tune asks for {settings}, and none of the pool's {workers} workers is left to \
             help: use fewer threads, or --threads {}",
            2 * threads
        ));
    }
    Ok(())
}

pub(crate) fn warn_of_useless_options(app: &App, args: &WorklistArgs) {
    let options = [
        (args.tune.is_some(), "--tune"),
        (args.by_hand, "--by-hand"),
        (args.pages.is_some(), "--pages"),
    ];
    for (given, option) in options.into_iter().chain(args.conditions.given()) {
        if given && !app.has_worklist {
            output::note(&format!(
                "sinew-lab: note: {} has no worklist, so {option} changes nothing",
                app.name
            ));
        }
    }
    if args.maps.is_some() && !app.has_maps() {
        output::note(&format!(
            "sinew-lab: note: {} has one form of its data, so --maps changes nothing",
            app.name
        ));
    }
}

/// The default mapping of an application with a worklist, also for its hand-written version.
pub(crate) fn mapping(app: &App) -> Option<Mapping> {
    app.has_worklist.then(|| mapping_for(sinew_topology::Machine::host()))
}

/// The tuner's steps, as CSV.
pub(crate) fn path(recorded: &Recorded) -> String {
    recorded.path.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// The lines about worklists, or about transactions without worklists: averages per run.
pub(crate) fn text(
    recorded: &Recorded,
    transactions: Transactions,
    runs: usize,
    workers: usize,
) -> String {
    let runs = (runs as u64).max(1);
    if recorded.runs > 0 {
        return listed(recorded, runs, workers);
    }
    match (transactions.commits, transactions.aborts) {
        (0, 0) => String::new(),
        (commits, aborts) => {
            format!(
                "  by hand   {} commits, {} aborts of transactions\n",
                commits / runs,
                aborts / runs
            )
        }
    }
}

fn listed(recorded: &Recorded, runs: u64, workers: usize) -> String {
    let a_run = |count: u64| count / runs;
    let mut text = format!(
        "  worklist  {} commits, {} aborts, {} pauses, {} stalls, {} steals, {} swaps, {} \
         coalesced, {} words ahead\n",
        a_run(recorded.commits),
        a_run(recorded.aborts),
        a_run(recorded.pauses),
        a_run(recorded.stalls),
        a_run(recorded.steals),
        a_run(recorded.swaps),
        a_run(recorded.coalesced),
        a_run(recorded.words_ahead),
    );
    if let Some(settings) = recorded.settings {
        text += &format!(
            "  settings  {settings}{}\n",
            if recorded.path.is_some() { ", at the end" } else { "" }
        );
    }
    if let Some(path) = &recorded.path {
        let settled = path.settling().map_or_else(
            || "did not settle".to_owned(),
            |settling| {
                let took = seconds(settling.counts.elapsed_ns as f64 / 1e9);
                format!("settled after {} epochs, {took}", settling.epochs)
            },
        );
        let spent = seconds(recorded.tuning.as_secs_f64() / runs as f64);
        let shares = recorded.tuning_cost(workers).map(|cost| {
            let settling = cost
                .settling
                .map_or_else(String::new, |share| format!("{:.2} % of the run, ", share * 100.0));
            format!(" ({settling}{:.3} % of the processor time)", cost.processor * 100.0)
        });
        let shares = shares.unwrap_or_default();
        text += &format!("  tuner     {settled}; {spent} of processor time{shares}\n");
    }
    text
}

/// The fields of `--json` about worklists. Times are in seconds; totals over all runs.
#[derive(Serialize)]
pub(crate) struct Report {
    transactions_committed: u64,
    transactions_aborted: u64,
    worklist: Option<Listed>,
}

#[derive(Serialize)]
struct Listed {
    counters: serde_json::Map<String, serde_json::Value>,
    elapsed_s: f64,
    tuning_s: f64,
    settings: Option<String>,
    settled_after_epochs: Option<u64>,
    settled_after_s: Option<f64>,
}

pub(crate) fn json(recorded: &Recorded, transactions: Transactions) -> Option<Report> {
    let Transactions { commits, aborts } = transactions;
    let worklist = (recorded.runs > 0).then(|| {
        let settling = recorded.path.as_ref().and_then(|path| path.settling());
        let counters = recorded.counters().into_iter();
        Listed {
            counters: counters.map(|(name, count)| (name.to_owned(), count.into())).collect(),
            elapsed_s: recorded.elapsed.as_secs_f64(),
            tuning_s: recorded.tuning.as_secs_f64(),
            settings: recorded.settings.map(|settings| settings.to_string()),
            settled_after_epochs: settling.map(|settling| settling.epochs),
            settled_after_s: settling.map(|settling| settling.counts.elapsed_ns as f64 / 1e9),
        }
    });
    let any = worklist.is_some() || transactions.attempts() > 0;
    any.then_some(Report {
        transactions_committed: commits,
        transactions_aborted: aborts,
        worklist,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: helpers that are asked for and silently never run, and settings that are refused
    /// though they can run.
    #[test]
    fn settings_that_the_pool_cannot_run_are_refused() {
        let error = |settings: Settings| check_settings(settings, 2).err().unwrap_or_default();
        assert_eq!([1, 2].map(|threads| error(Settings::baseline(threads))), ["", ""]);
        assert!(error(Settings::baseline(3)).contains("use at most 2, or --threads 3"));
        assert_eq!(error(Settings::baseline(1).lifespan(10)), "");
        let no_helper = error(Settings::baseline(2).lifespan(10));
        assert!(no_helper.contains("none of the pool's 2 workers is left to help"), "{no_helper}");
        assert!(no_helper.contains("2 threads, helpers 10") && no_helper.contains("--threads 4"));
    }
}
