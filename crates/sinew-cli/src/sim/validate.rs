//! `sinew sim --validate`: simulated and real runs of applications side by side.
//!
//! Each application is recorded once on two workers; its graph is simulated with one and two workers and the costs of the machine at hand, and the real thing runs
//! with one and two workers in turn, without being recorded. The recording is made while the profile slows tasks down, so times of fine tasks come out long; what is predicted
//! is the ratio.

use std::time::Duration;

use sinew::{Builder, Pool};
use sinew_apps::{Options, Problem, Size};
use sinew_sim::workload::Recorded;
use sinew_sim::{Activity, Costs, Idle, Report, Setup, Simulation, Wait};

use super::watch::Watch;
use super::{Rows, calibrate};
use crate::args::SimArgs;
use crate::failure::Failure;
use crate::measure::seconds;

const TITLES: [&str; 11] = [
    "application",
    "1 real",
    "1 sim",
    "2 real",
    "2 sim",
    "speed-up real",
    "sim",
    "error %",
    "steals real",
    "sim",
    "working real / sim %",
];

/// Joins of every grain, loops, scopes, and serial parts.
const APPLICATIONS: [(&str, &str); 8] = [
    ("nqueens", "10"),
    ("uts", "small"),
    ("multisort", "small"),
    ("strassen", "small"),
    ("quicksort", "small"),
    ("matmul", "small"),
    ("heat", "small"),
    ("ssf", "small"),
];

/// What is predicted no worse than this is predicted well.
const BAR: f64 = 0.10;

/// One application on some workers.
struct Real {
    time: f64,
    steals: f64,
    working: f64,
}

pub(super) fn rows(args: &SimArgs, watch: &Watch) -> Result<Rows, Failure> {
    watch.say("measuring what the scheduler costs");
    let costs = match &args.cost_file {
        Some(_) => super::setup::costs(args)?,
        None => calibrate::measure()?,
    };
    let mut rows = Rows::new(&TITLES);
    let (mut well, mut all) = (0, 0);
    for (at, (name, size)) in APPLICATIONS.iter().enumerate() {
        if watch.has_enough() {
            break;
        }
        watch.say(&format!("[{}/{}] {name}", at + 1, APPLICATIONS.len()));
        let (row, error) = compare(name, size, &costs, args.runs)?;
        rows.rows.push(row);
        all += 1;
        well += usize::from(error.abs() <= BAR);
    }
    rows.remarks
        .push(format!("{well} of {all} speed-ups on two workers are predicted within {:.0} %", BAR * 100.0));
    Ok(rows)
}

fn compare(name: &str, size: &str, costs: &Costs, runs: u64) -> Result<(Vec<String>, f64), Failure> {
    let app = crate::run::find(name)?;
    let size: Size = size.parse().unwrap_or_default();
    let problem = app.prepare(&Options { size, ..Options::default() }).map_err(Failure::usage)?;
    let graph = record(&*problem)?;
    let [one, two] = real(&*problem, runs)?;
    let [sim_one, sim_two] = [simulate(&graph, 1, costs)?, simulate(&graph, 2, costs)?];
    let (real_speed, sim_speed) = (one.time / two.time, sim_one.time as f64 / sim_two.time.max(1) as f64);
    let error = sim_speed / real_speed - 1.0;
    let picoseconds = |time: u64| seconds(time as f64 / 1e12);
    let row = vec![
        name.to_owned(),
        seconds(one.time),
        picoseconds(sim_one.time),
        seconds(two.time),
        picoseconds(sim_two.time),
        format!("{real_speed:.2}"),
        format!("{sim_speed:.2}"),
        format!("{:+.1}", error * 100.0),
        format!("{:.0}", two.steals),
        sim_two.counts.steals.to_string(),
        format!("{:.0} / {:.0}", two.working * 100.0, working(&sim_two) * 100.0),
    ];
    Ok((row, error))
}

fn working(report: &Report) -> f64 {
    report.share(Activity::Works) + report.share(Activity::Schedules)
}

fn pool(threads: usize, record: bool) -> Result<Pool, Failure> {
    Builder::new().threads(threads).record(record).build().map_err(Failure::usage)
}

fn record(problem: &dyn Problem) -> Result<Recorded, Failure> {
    let pool = pool(2, true)?;
    // The first run finds cold caches and sleeping workers.
    problem.parallel(&pool);
    problem.parallel(&pool);
    Ok(Recorded::new(&crate::run::measured(&pool)))
}

/// On one worker and on two, in turns.
fn real(problem: &dyn Problem, runs: u64) -> Result<[Real; 2], Failure> {
    let pools = [pool(1, false)?, pool(2, false)?];
    let mut found: [Vec<Real>; 2] = Default::default();
    for _ in 0..runs.max(1) {
        for (pool, found) in pools.iter().zip(&mut found) {
            found.push(run(problem, pool));
        }
    }
    Ok(found.map(middle))
}

fn run(problem: &dyn Problem, pool: &Pool) -> Real {
    let run = problem.parallel(pool);
    let counters = run.counters;
    let idle = counters.searching_ns + counters.parked_ns + counters.blocked_ns;
    let all = run.wall.max(Duration::from_nanos(1)).as_nanos() as f64 * pool.max_workers() as f64;
    Real {
        time: run.wall.as_secs_f64(),
        steals: (counters.stolen + counters.leapfrogged + counters.stolen_waiting) as f64,
        working: (1.0 - idle as f64 / all).max(0.0),
    }
}

/// The run of the median time.
fn middle(mut runs: Vec<Real>) -> Real {
    runs.sort_by(|a, b| a.time.total_cmp(&b.time));
    let middle = runs.len() / 2;
    runs.swap_remove(middle)
}

fn simulate(graph: &Recorded, workers: usize, costs: &Costs) -> Result<Report, Failure> {
    let costs = Costs { factors: Vec::new(), refill: Vec::new(), ..costs.clone() };
    // As the runtime does it: two workers never park while there is work.
    let setup = Setup { costs, wait: Wait::Deeper, idle: Idle::Park { rounds: 40 }, ..Setup::new(workers) };
    let simulation = Simulation::new(setup, graph).map_err(Failure::usage)?;
    simulation.run().map_err(|violation| Failure::Wrong(violation.to_string()))
}
