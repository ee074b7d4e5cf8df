//! Loops under each schedule: a row for each number of workers and each schedule.
//!
//! A claim costs what it costs to get to a victim, since the line is another core's as often as not; iterations of another worker cost a steal besides.

use sinew_sim::workload::{IterationCosts, Program};
use sinew_sim::{Duration, Loop, LoopReport};

use super::watch::Watch;
use super::{Rows, failed, micros};
use crate::args::SimArgs;
use crate::failure::Failure;

const TITLES: [&str; 8] =
    ["workers", "schedule", "time us", "speed-up", "of bound", "chunks", "longest us", "steals"];

pub(super) fn rows(name: &str, args: &SimArgs, watch: &Watch) -> Result<Rows, Failure> {
    let Program::Loop(iterations, shape) = name.parse::<Program>().map_err(Failure::usage)? else {
        return Err(Failure::Usage(format!(
            "`{name}` is no loop, so --schedule changes nothing: write for example loop:10000,heavy"
        )));
    };
    let costs = IterationCosts::new(iterations, shape, args.leaf, args.seed);
    let workers = if args.workers.is_empty() { vec![2] } else { args.workers.clone() };
    let mut rows = Rows::new(&TITLES);
    for &workers in &workers {
        for &schedule in &args.schedule {
            if watch.has_enough() {
                return Ok(rows);
            }
            watch.say(&format!("{workers} workers, {schedule}"));
            let (claim, steal) = prices(args)?;
            let setup = Loop { workers, schedule, claim, steal, seed: args.seed };
            let report = setup.run(&costs).map_err(failed)?;
            rows.rows.push(row(&setup, &costs, &report));
        }
    }
    Ok(rows)
}

/// Of a claim, and of iterations of another worker.
fn prices(args: &SimArgs) -> Result<(Duration, Duration), Failure> {
    let costs = super::setup::costs(args)?;
    Ok((costs.attempt, costs.steal))
}

fn row(setup: &Loop, costs: &IterationCosts, report: &LoopReport) -> Vec<String> {
    let share = report.work.div_ceil(setup.workers as u64);
    let bound = share.max(costs.longest()).max(1);
    vec![
        setup.workers.to_string(),
        setup.schedule.to_string(),
        format!("{:.3}", micros(report.time)),
        format!("{:.2}", report.work as f64 / report.time.max(1) as f64),
        format!("{:.3}", report.time as f64 / bound as f64),
        report.chunks.to_string(),
        format!("{:.3}", micros(report.longest_chunk)),
        report.steals.to_string(),
    ]
}
