//! The output of `--profile`: breakdowns of the workers' time, work and span, and task sizes.

use serde::Serialize;
use sinew::profile::{Bounds, Profile, WorkerProfile};
use sinew_console::Table;

use crate::measure::{percent, seconds};

/// A profile as text, printed below the other lines. The `runs` parallel runs on `workers` workers
/// took `parallel_s` seconds each, the serial version `serial_s`.
pub(crate) fn text(profile: &Profile, runs: usize, serial_s: f64, parallel_s: f64) -> String {
    let runs = runs.max(1) as f64;
    let parts = [
        "  profile, of all runs together".to_owned(),
        tasks(profile),
        spans(profile),
        bounds(profile, runs, parallel_s),
        indent(&breakdown(profile, runs * serial_s)),
        indent(&functions(profile)),
        indent(&workers(profile)),
    ];
    parts.join("\n") + "\n"
}

fn indent(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    format!("\n{}", lines.join("\n"))
}

fn tasks(profile: &Profile) -> String {
    let tasks = profile.tasks();
    let interval =
        |ticks: f64| format!("{} ({ticks:.0} cycles)", seconds(profile.nanoseconds(ticks) / 1e9));
    format!(
        "    tasks     {} spawned, {} inlined, {} stolen, {} from outside, {} mailed\n    \
         task      {} on average\n    steal     {}",
        tasks.spawned,
        tasks.inlined,
        tasks.stolen,
        tasks.injected,
        tasks.mailed,
        interval(profile.task_granularity()),
        profile.steal_interval().map_or_else(
            || "none".to_owned(),
            |ticks| format!("one every {} of work", interval(ticks))
        ),
    )
}

fn spans(profile: &Profile) -> String {
    let at = |burden: usize| {
        format!(
            "    span      {} at a burden of {} cycles: parallelism {:.1}",
            seconds(profile.seconds(profile.span(burden))),
            profile.burdens()[burden],
            profile.parallelism(burden)
        )
    };
    let spans: Vec<String> = (0..profile.burdens().len()).map(at).collect();
    format!("    work      {}\n{}", seconds(profile.seconds(profile.work())), spans.join("\n"))
}

fn bounds(profile: &Profile, runs: f64, parallel_s: f64) -> String {
    let workers = profile.workers().len();
    let bounds = per_run(profile, runs);
    let excess = bounds.excess(parallel_s);
    let verdict = match excess {
        e if e > 0.0 => format!("{} above", percent(e)),
        e if e < 0.0 => format!("{} below", percent(-e)),
        _ => "within".to_owned(),
    };
    format!(
        "    bounds    {} to {} a run on {workers} workers by work and span; it took {}: {verdict}",
        seconds(bounds.lower),
        seconds(bounds.upper),
        seconds(parallel_s),
    )
}

fn per_run(profile: &Profile, runs: f64) -> Bounds {
    profile.bounds(profile.workers().len()).scaled(1.0 / runs)
}

fn share(part: u64, whole: u64) -> String {
    percent(part as f64 / whole.max(1) as f64)
}

fn breakdown(profile: &Profile, serial_s: f64) -> String {
    let breakdown = profile.breakdown();
    let mut table = Table::new(&["time", "outside joins", "inside joins", "share", "x serial"]);
    let rows = breakdown.iter().chain([("of it parked", breakdown.parked)]);
    for (name, split) in rows {
        table.row(vec![
            name.to_owned(),
            seconds(profile.seconds(split.outside)),
            seconds(profile.seconds(split.inside)),
            share(split.total(), breakdown.total()),
            format!("{:.3}", profile.seconds(split.total()) / serial_s.max(f64::MIN_POSITIVE)),
        ]);
    }
    table.render()
}

fn functions(profile: &Profile) -> String {
    let functions = profile.functions();
    let whole = profile.breakdown().total();
    let mut table = Table::new(&["function", "calls", "time", "a call", "share"]);
    for (name, function) in functions.iter() {
        let a_call = function.time.checked_div(function.calls);
        table.row(vec![
            name.to_owned(),
            function.calls.to_string(),
            seconds(profile.seconds(function.time)),
            a_call.map_or_else(|| "-".to_owned(), |ticks| seconds(profile.seconds(ticks))),
            share(function.time, whole),
        ]);
    }
    let attempts = functions.attempts;
    let ratio =
        attempts.ratio().map_or_else(String::new, |ratio| format!(" ({ratio:.4} for each)"));
    format!(
        "{}attempts to steal: {} successful, {} failed{ratio}; mailed tasks: {}\n",
        table.render(),
        attempts.successful,
        attempts.failed,
        functions.mailed
    )
}

fn workers(profile: &Profile) -> String {
    let mut table = Table::new(&[
        "worker",
        "spawned",
        "inlined",
        "stolen",
        "application",
        "steals",
        "search",
        "parked",
    ]);
    for (number, worker) in profile.workers().iter().enumerate() {
        let (tasks, breakdown) = (worker.tasks(), worker.breakdown());
        let time = |ticks| seconds(profile.seconds(ticks));
        table.row(vec![
            number.to_string(),
            tasks.spawned.to_string(),
            tasks.inlined.to_string(),
            tasks.stolen.to_string(),
            time(breakdown.application.total()),
            time(breakdown.steals.total()),
            time(breakdown.search.total()),
            time(breakdown.parked.total()),
        ]);
    }
    table.render()
}

/// A profile for `--json`. Times are in seconds, over all runs; cycles are ticks of the time-stamp
/// counter.
#[derive(Serialize)]
pub(crate) struct Report {
    work_s: f64,
    spans: Vec<Span>,
    bounds_a_run_s: [f64; 2],
    task_granularity_cycles: f64,
    steal_interval_cycles: Option<f64>,
    cycles_a_ns: f64,
    clock_cost_cycles: u64,
    total: Worker,
    workers: Vec<Worker>,
}

#[derive(Serialize)]
struct Span {
    burden_cycles: u64,
    span_s: f64,
    parallelism: f64,
}

#[derive(Serialize)]
struct Worker {
    elapsed_s: f64,
    spawned: u64,
    inlined: u64,
    stolen: u64,
    injected: u64,
    mailed: u64,
    attempts_successful: u64,
    attempts_failed: u64,
    breakdown: serde_json::Map<String, serde_json::Value>,
    functions: serde_json::Map<String, serde_json::Value>,
}

pub(crate) fn json(profile: &Profile, runs: usize) -> Report {
    let bounds = per_run(profile, runs.max(1) as f64);
    let span = |(at, &burden_cycles): (usize, &u64)| Span {
        burden_cycles,
        span_s: profile.seconds(profile.span(at)),
        parallelism: profile.parallelism(at),
    };
    Report {
        work_s: profile.seconds(profile.work()),
        spans: profile.burdens().iter().enumerate().map(span).collect(),
        bounds_a_run_s: [bounds.lower, bounds.upper],
        task_granularity_cycles: profile.task_granularity(),
        steal_interval_cycles: profile.steal_interval(),
        cycles_a_ns: profile.ticks_per_ns(),
        clock_cost_cycles: profile.clock_cost(),
        total: worker(profile, &profile.total()),
        workers: profile.workers().iter().map(|w| worker(profile, w)).collect(),
    }
}

fn worker(profile: &Profile, worker: &WorkerProfile) -> Worker {
    let (tasks, breakdown, functions) = (worker.tasks(), worker.breakdown(), worker.functions());
    let time = |ticks| profile.seconds(ticks);
    let mut times: serde_json::Map<_, _> = breakdown
        .iter()
        .chain([("parked", breakdown.parked)])
        .map(|(name, split)| {
            let (outside, inside) = (time(split.outside), time(split.inside));
            let split = serde_json::json!({ "outside_s": outside, "inside_s": inside });
            (name.to_owned(), split)
        })
        .collect();
    times.insert("away_s".to_owned(), time(breakdown.away).into());
    let functions_json = functions
        .iter()
        .map(|(name, function)| {
            (
                name.to_owned(),
                serde_json::json!({ "calls": function.calls, "time_s": time(function.time) }),
            )
        })
        .collect();
    Worker {
        elapsed_s: time(worker.elapsed()),
        spawned: tasks.spawned,
        inlined: tasks.inlined,
        stolen: tasks.stolen,
        injected: tasks.injected,
        mailed: tasks.mailed,
        attempts_successful: functions.attempts.successful,
        attempts_failed: functions.attempts.failed,
        breakdown: times,
        functions: functions_json,
    }
}
