//! `sinew-lab run`: measures one application and checks its results.

use std::path::PathBuf;
use std::slice;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use sinew::{Schedule, StealsAt};
use sinew_apps::{App, Options, Record, Size, last_recording};
use sinew_console::{Failure, output, unknown};

use crate::contention;
use crate::files::ResultFile;
use crate::measure::{Measurement, Plan, Shares, measure, percent, seconds, waiting_share};
use crate::pool::{Kept, PoolArgs, SCHEDULING, build_with};
use crate::profile;
use crate::progress::Progress;
use crate::trace;
use crate::values::{count, schedule};
use crate::worklist::{self, WorklistArgs};

/// The heading of the options about profiles.
const PROFILES: &str = "Profiles";

const EXAMPLES: &str = "\
Examples:
  sinew-lab run fib --size 30 --threads 2 --repeat 5
  sinew-lab run heat --size small --schedule dynamic:64 --profile
  sinew-lab run kmeans --size small --tune auto --json
  sinew-lab run nqueens --size 10 --ranks 4";

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// The application; see `sinew-lab list`
    pub(crate) name: String,
    /// tiny, small, full or the application's own notation; see `sinew-lab list`
    #[arg(long, value_name = "SIZE", default_value = "full", allow_negative_numbers = true)]
    pub(crate) size: String,
    #[arg(
        long,
        help_heading = SCHEDULING,
        value_name = "SCHEDULE",
        value_parser = schedule,
        help = format!("Schedule of loops: {}", Schedule::usage())
    )]
    pub(crate) schedule: Option<Schedule>,
    #[command(flatten)]
    pub(crate) pool: PoolArgs,
    /// Run it over so many ranks, each with a pool of its own: the processes that mpirun has
    /// started, or threads of this one, of one worker by default. For uts, nqueens, wordcount and
    /// jacobi
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = count,
        conflicts_with_all = [
            "schedule", "profile", "record", "tune", "by_hand", "pages", "tuner_path", "contention",
            "shuffle", "alpha", "beta", "longest_lifespan",
        ]
    )]
    pub(crate) ranks: Option<usize>,
    /// Number of runs; times are medians
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        allow_negative_numbers = true,
        value_parser = count
    )]
    pub(crate) repeat: usize,
    /// The input folder or file, for applications that read one
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Also print how the workers' time divides, by both breakdowns, and how parallel the
    /// application is; a task costs about 100 ns more
    #[arg(long, help_heading = PROFILES)]
    pub(crate) profile: bool,
    /// Write a timeline of the workers' activities to this file, for ui.perfetto.dev; profiles as
    /// --profile does
    #[arg(long, help_heading = PROFILES, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Write the task graph, with the work of each task, to this file, for `sinew-lab sim
    /// graph:FILE`; implies a profile and one run
    #[arg(long, help_heading = PROFILES, value_name = "FILE", conflicts_with = "repeat")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) worklist: WorklistArgs,
}

pub(crate) fn perform(args: RunArgs) -> Result<(), Failure> {
    let app = find(&args.name)?;
    refuse_one_file_for_two(&args)?;
    let trace = args.trace.as_deref().map(ResultFile::create).transpose()?;
    let recording = args.record.as_deref().map(ResultFile::create).transpose()?;
    let kept = Kept {
        profile: args.profile,
        timeline: trace.is_some(),
        recording: recording.is_some(),
        mapping: worklist::mapping(app),
    };
    let pool = build_with(&args.pool, &kept)?;
    let size: Size = args.size.parse().unwrap_or_default();
    let path_file = worklist::check(app, &args.worklist, pool.max_threads())?;
    let tuning = args.worklist.conditions.tuning(args.worklist.tune)?;
    warn_of_useless_options(app, &args);
    let record = Record::default();
    record.place(args.worklist.pages);
    let options = Options {
        size,
        schedule: args.schedule,
        path: args.path,
        by_hand: args.worklist.by_hand,
        tuning,
        contention: args.worklist.conditions.contention(),
        shuffled: args.worklist.conditions.shuffled(),
        maps: args.worklist.maps.unwrap_or_default(),
        record: record.clone(),
    };
    let problem = app.prepare(&options).map_err(Failure::usage)?;
    let plan = Plan { repeat: args.repeat, budget: Duration::MAX };
    let progress = Progress::new();
    let result = measure(&*problem, &record, &pool, plan, |stage, round| {
        progress.now(&format!(
            "{} {}: {} {}/{}",
            app.name,
            problem.size(),
            stage.name(),
            round + 1,
            args.repeat
        ));
    });
    drop(progress);
    let text = if args.json {
        json(app, &problem.size(), &result)?
    } else {
        text(app, &problem.size(), &result)
    };
    let printed = output::print(&text);
    let path_written =
        path_file.map_or(Ok(()), |file| file.write(&worklist::path(&result.worklists)));
    let trace_written = trace.map_or(Ok(()), |file| file.write(&trace::json(app.name, &pool)?));
    let graph = || last_recording(&pool).to_string();
    let recording_written = recording.map_or(Ok(()), |file| file.write(&graph()));
    // A wrong result is more important than a closed output.
    result
        .verdict
        .map_err(|wrong| Failure::Wrong(format!("{}: wrong answer: {wrong}", app.name)))?;
    path_written?;
    trace_written?;
    recording_written?;
    Ok(printed?)
}

pub(crate) fn find(name: &str) -> Result<&'static App, Failure> {
    let names: Vec<&str> = sinew_apps::all().iter().map(|app| app.name).collect();
    sinew_apps::find(name).ok_or_else(|| Failure::Usage(unknown("application", name, &names)))
}

/// Two results in one file would replace each other.
fn refuse_one_file_for_two(args: &RunArgs) -> Result<(), Failure> {
    let files = [
        ("--trace", &args.trace),
        ("--record", &args.record),
        ("--tuner-path", &args.worklist.tuner_path),
    ];
    let named = files.iter().filter_map(|(option, file)| Some((option, file.as_ref()?)));
    for (option, file) in named.clone() {
        if let Some((other, _)) =
            named.clone().find(|(other, same)| *other != option && *same == file)
        {
            let file = file.display();
            return Err(Failure::Usage(format!(
                "`{file}` is named by {option} and {other}: give two files"
            )));
        }
    }
    Ok(())
}

fn warn_of_useless_options(app: &App, args: &RunArgs) {
    worklist::warn_of_useless_options(app, &args.worklist);
    if args.schedule.is_some() && !app.loops {
        output::note(&format!(
            "sinew-lab: note: {} has no loops, so --schedule changes nothing",
            app.name
        ));
    }
    if args.path.is_some() && !app.reads_files {
        output::note(&format!(
            "sinew-lab: note: {} reads no files, so --path changes nothing",
            app.name
        ));
    }
}

fn text(app: &App, size: &str, result: &Measurement) -> String {
    let Shares { working, searching, parked } = result.shares();
    let [working, searching, parked] = [working, searching, parked].map(percent);
    let mut lines = vec![
        format!(
            "{} ({size}), workers: {}, runs: {}",
            app.name,
            result.workers,
            result.parallel.len()
        ),
        format!("  serial    {}", seconds(result.serial_s())),
        format!("  parallel  {}", seconds(result.parallel_s())),
        format!("  speed-up  {:.2}", result.speed_up()),
        format!("  steals    {}, chunks of loops: {}", result.steals(), result.chunks()),
        format!("  time      {working} working, {searching} searching, {parked} parked"),
        format!(
            "  answer    {} ({})",
            result.answer,
            if result.verdict.is_ok() { "right" } else { "WRONG" }
        ),
    ];
    lines.splice(5..5, details_of_steals(result));
    let remark = contention::remark(waiting_share(slice::from_ref(result)));
    let mut text: String = lines.into_iter().map(|line| line + "\n").collect();
    text += &worklist::text(
        &result.worklists,
        result.transactions,
        result.parallel.len(),
        result.workers,
    );
    text.extend(remark.map(|remark| remark + "\n"));
    if let Some(measured) = &result.profile {
        text +=
            &profile::text(measured, result.parallel.len(), result.serial_s(), result.parallel_s());
    }
    text
}

/// Distances of victims, if they vary, and the share of back-outs, if there were any.
fn details_of_steals(result: &Measurement) -> Vec<String> {
    let (counters, mut lines) = (&result.counters, Vec::new());
    if counters.by_distance().count() > 1 {
        let at = |at: StealsAt| format!("{}: {} of {}", at.distance, at.steals, at.attempts);
        let levels: Vec<String> = counters.by_distance().map(at).collect();
        lines.push(format!("  distances {} attempts in all runs", levels.join(", ")));
    }
    if counters.backed_out > 0 {
        let share = counters.backed_out as f64 / counters.steals().max(1) as f64;
        lines.push(format!("  back-outs {} of the number of steals", percent(share)));
    }
    lines
}

/// Steals from victims at one distance.
#[derive(Serialize)]
struct AtDistance {
    distance: usize,
    attempts: u64,
    steals: u64,
}

impl From<StealsAt> for AtDistance {
    fn from(StealsAt { distance, attempts, steals, .. }: StealsAt) -> Self {
        Self { distance, attempts, steals }
    }
}

/// The output of `--json`. Times are in seconds; counters are totals over all runs.
#[derive(Serialize)]
struct Report<'a> {
    application: &'a str,
    size: &'a str,
    workers: usize,
    serial_s: Vec<f64>,
    parallel_s: Vec<f64>,
    serial_median_s: f64,
    parallel_median_s: f64,
    speed_up: f64,
    shares: Shares,
    waited_for_cores_s: Option<f64>,
    counters: serde_json::Map<String, serde_json::Value>,
    steals_by_distance: Vec<AtDistance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<profile::Report>,
    #[serde(flatten)]
    transactions: Option<worklist::Report>,
    answer: &'a str,
    right: bool,
}

fn json(app: &App, size: &str, result: &Measurement) -> Result<String, Failure> {
    let report = Report {
        application: app.name,
        size,
        workers: result.workers,
        serial_s: result.serial.iter().map(Duration::as_secs_f64).collect(),
        parallel_s: result.parallel.iter().map(Duration::as_secs_f64).collect(),
        serial_median_s: result.serial_s(),
        parallel_median_s: result.parallel_s(),
        speed_up: result.speed_up(),
        shares: result.shares(),
        waited_for_cores_s: result.waited.map(|waited| waited.as_secs_f64()),
        counters: result
            .counters
            .iter()
            .map(|(name, count)| (name.to_owned(), count.into()))
            .collect(),
        steals_by_distance: result.counters.by_distance().map(AtDistance::from).collect(),
        profile: result
            .profile
            .as_ref()
            .map(|measured| profile::json(measured, result.parallel.len())),
        transactions: worklist::json(&result.worklists, result.transactions),
        answer: &result.answer,
        right: result.verdict.is_ok(),
    };
    let json =
        serde_json::to_string_pretty(&report).map_err(|error| Failure::Output(error.into()))?;
    Ok(json + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: worklist threads that are not pinned, and threads of other applications that are.
    #[test]
    fn applications_with_worklists_sit_by_the_rule_for_them() {
        let rule = sinew::worklist::mapping_for(sinew_topology::Machine::host());
        let mapping = |name| worklist::mapping(find(name).unwrap());
        assert_eq!([mapping("yada"), mapping("fib")], [Some(rule), None]);
    }
}
