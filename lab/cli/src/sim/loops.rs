//! Loops under each schedule: a row for each number of workers, schedule and sweep.
//!
//! A claim costs as much as an attempt, because the cache line is often in another core's cache;
//! taking iterations from another worker costs a steal in addition.

use sinew_console::Failure;
use sinew_sim::workload::IterationCosts;
use sinew_sim::{Duration, Loop, LoopMemory, LoopReport, Program};

use super::args::SimArgs;
use super::rows::{Rows, failed, micros};
use super::setup;
use super::watch::Watch;

const TITLES: [&str; 11] = [
    "workers",
    "schedule",
    "sweep",
    "ran as",
    "time us",
    "speed-up",
    "of bound",
    "chunks",
    "longest us",
    "steals",
    "trace",
];

pub(super) fn rows(name: &str, args: &SimArgs, watch: &Watch) -> Result<Rows, Failure> {
    let Program::Loop(iterations, shape) = name.parse::<Program>().map_err(Failure::usage)? else {
        return Err(Failure::Usage(format!(
            "`{name}` is no loop, so --schedule changes nothing: write for example loop:10000,heavy"
        )));
    };
    let workers = setup::workers(args)?;
    let (claim, steal) = prices(args)?;
    let setup = |workers, schedule| Loop {
        workers,
        schedule,
        claim,
        steal,
        slow: args.slow.clone(),
        seed: args.seed,
    };
    let of = |workers: usize| args.schedule.iter().map(move |&schedule| (workers, schedule));
    let loops: Vec<Loop> = workers
        .iter()
        .flat_map(|&workers| of(workers))
        .map(|(workers, schedule)| setup(workers, schedule))
        .collect();
    // Checked before anything runs.
    loops.iter().try_for_each(|setup| setup.check().map_err(Failure::usage))?;
    watch.say("drawing the iterations");
    let costs = IterationCosts::new(iterations, shape, args.leaf, args.seed);
    let mut rows = Rows::new(&TITLES);
    for (at, setup) in loops.iter().enumerate() {
        if !sweep(setup, &costs, args.sweeps, (at, loops.len()), watch, &mut rows)? {
            break;
        }
    }
    Ok(rows)
}

/// A row for each run of a loop with memory. Returns whether all were run.
fn sweep(
    setup: &Loop,
    costs: &IterationCosts,
    sweeps: usize,
    (at, all): (usize, usize),
    watch: &Watch,
    rows: &mut Rows,
) -> Result<bool, Failure> {
    let mut memory = LoopMemory::default();
    for sweep in 0..sweeps {
        let title = format!("{} workers, {}, sweep {}", setup.workers, setup.schedule, sweep + 1);
        let goes_on = watch.run(at * sweeps + sweep, all * sweeps, &title);
        let report = setup.run_again(costs, &mut memory, goes_on).map_err(failed)?;
        rows.push(row(setup, sweep + 1, costs, &report));
        if !report.is_whole || watch.has_enough() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The costs of a claim, and of taking iterations from another worker.
fn prices(args: &SimArgs) -> Result<(Duration, Duration), Failure> {
    let costs = setup::costs(args)?;
    Ok((costs.attempt, costs.steal))
}

fn row(setup: &Loop, sweep: usize, costs: &IterationCosts, report: &LoopReport) -> Vec<String> {
    let share = report.work.div_ceil(setup.workers as u64);
    let bound = share.max(costs.longest()).max(1);
    vec![
        setup.workers.to_string(),
        setup.schedule.to_string(),
        sweep.to_string(),
        report.ran.to_string(),
        format!("{:.3}", micros(report.time)),
        format!("{:.2}", report.work as f64 / report.time.max(1) as f64),
        format!("{:.3}", report.time as f64 / bound as f64),
        report.chunks.to_string(),
        format!("{:.3}", micros(report.longest_chunk)),
        report.steals.to_string(),
        format!("{:016x}", report.trace),
    ]
}
