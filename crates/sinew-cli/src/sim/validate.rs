//! `sinew sim --validate`: simulated and real runs of applications side by side.
//!
//! What is predicted is the speed-up on two workers, from what one worker does and from the machine:
//!
//! | from | how |
//! |---|---|
//! | the tasks, and how long each works | recorded in a pool for two of which one works: it cuts loops as two would, and nobody is in anybody's way. Of some recordings the shortest time of each stretch of work counts, as what disturbs a run makes it longer |
//! | what scheduling costs | [`calibrate`], or a file |
//! | how much longer work takes beside other work | the application in two pools of one worker at once, each with its own data, against the same alone ([`crowding`]) |
//!
//! Runs whose threads waited for a core do not count, unless nearly all do, which is said. Of all runs that count the one at a quarter of the way from the shortest to the longest is taken, as what disturbs a run makes it longer. The real thing runs on one worker and on two in turn with these, without being recorded; all of it on threads of pools, since memory comes to a process' first thread by other ways. Of several recordings the shortest time of each stretch of work counts, so the simulated times are mostly
//! shorter than the real ones, where tasks are small by a sixth and more; what is predicted is their ratio.

use std::time::Duration;

use sinew::profile::Graph;
use sinew::{Builder, Pool};
use sinew_apps::{Options, Problem, Size};
use sinew_sim::workload::Recorded;
use sinew_sim::{Activity, Costs, Idle, Report, Setup, Simulation, Wait};

use super::crowding::at_once;
use super::watch::Watch;
use super::{Rows, calibrate, prices};
use crate::args::SimArgs;
use crate::contention;
use crate::failure::Failure;

const TITLES: [&str; 18] = [
    "application",
    "1 real ms",
    "1 sim ms",
    "2 real ms",
    "2 sim ms",
    "crowding",
    "speed-up real",
    "speed-up sim",
    "error %",
    "steals real",
    "steals sim",
    "steals error %",
    "works % real",
    "works % sim",
    "searches % real",
    "searches % sim",
    "waits % real",
    "waits % sim",
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

/// How long a worker of the runtime spins before it parks, as long as it knows nothing better: 40 us. On two workers a round is one attempt.
const SPIN_PS: f64 = 40e6;

/// A run whose threads were without a core for a larger share of its time is disturbed.
const DISTURBED: f64 = 0.02;

/// So many undisturbed runs say what all would.
const ENOUGH: usize = 3;

/// How often an application is recorded.
const RECORDINGS: usize = 8;

/// One application on some workers.
struct Real {
    time: f64,
    /// For how long its threads had no core, as a share of that; 0 where nobody counts it.
    waited: f64,
    steals: f64,
    shares: Shares,
}

/// Parts of the workers' time: working and scheduling, searching, waiting in joins or asleep.
#[derive(Clone, Copy)]
struct Shares([f64; 3]);

/// What was measured.
struct Measured {
    one: Real,
    two: Real,
    /// By what one worker is slower beside another one.
    crowding: f64,
    was_disturbed: bool,
}

pub(super) fn rows(args: &SimArgs, watch: &Watch) -> Result<Rows, Failure> {
    watch.say("measuring what the scheduler costs");
    let costs = match &args.cost_file {
        Some(_) => super::setup::costs(args)?,
        None => {
            let mut costs = calibrate::measure()?.costs;
            prices::set_costs(args, &mut costs);
            costs
        }
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
    if rows.rows.iter().any(|row| row[0].ends_with('*')) {
        rows.remarks
            .push("* hardly a run had its cores to itself: other programs are measured as well".to_owned());
    }
    rows.remarks
        .push(format!("{well} of {all} speed-ups on two workers are predicted within {:.0} %", BAR * 100.0));
    Ok(rows)
}

fn compare(name: &str, size: &str, costs: &Costs, runs: u64) -> Result<(Vec<String>, f64), Failure> {
    let app = crate::run::find(name)?;
    let size: Size = size.parse().unwrap_or_default();
    let problem = app.prepare(&Options { size, ..Options::default() }).map_err(Failure::usage)?;
    let graph = Recorded::new(&record(&*problem)?);
    let Measured { one, two, crowding, was_disturbed } = measure(&*problem, runs)?;
    let costs =
        Costs { factors: Vec::new(), refill: Vec::new(), contention: vec![crowding], ..costs.clone() };
    let [sim_one, sim_two] = [simulate(&graph, 1, &costs)?, simulate(&graph, 2, &costs)?];
    let (real_speed, sim_speed) = (one.time / two.time, sim_one.time as f64 / sim_two.time.max(1) as f64);
    let error = sim_speed / real_speed - 1.0;
    let mut row = vec![format!("{name}{}", if was_disturbed { " *" } else { "" })];
    let times = [one.time, sim_one.time as f64 / 1e12, two.time, sim_two.time as f64 / 1e12];
    row.extend(times.map(|time| format!("{:.3}", time * 1e3)));
    row.extend([crowding, real_speed, sim_speed].map(|ratio| format!("{ratio:.2}")));
    row.push(format!("{:+.1}", error * 100.0));
    let steals = sim_two.counts.steals as f64;
    row.extend([two.steals, steals].map(|steals| format!("{steals:.0}")));
    row.push(match two.steals > 0.0 {
        true => format!("{:+.0}", (steals / two.steals - 1.0) * 100.0),
        false => "-".to_owned(),
    });
    let both = two.shares.0.into_iter().zip(shares(&sim_two).0);
    row.extend(both.flat_map(|(real, sim)| [real, sim].map(|share| format!("{:.0}", share * 100.0))));
    Ok((row, error))
}

fn shares(report: &Report) -> Shares {
    let share =
        |activities: [Activity; 2]| activities.map(|activity| report.share(activity)).iter().sum::<f64>();
    Shares([
        share([Activity::Works, Activity::Schedules]),
        report.share(Activity::Searches),
        share([Activity::Waits, Activity::Parks]),
    ])
}

/// A pool that keeps no seat for guests: its threads do all the work, and one of them can be the only one.
fn pool(threads: usize, record: bool) -> Result<Pool, Failure> {
    Builder::new().threads(threads).guest_seat(false).record(record).build().map_err(Failure::usage)
}

/// What is worked when nothing disturbs it.
fn record(problem: &dyn Problem) -> Result<Graph, Failure> {
    let pool = pool(2, true)?;
    pool.set_workers(1);
    // The first run finds cold caches.
    problem.parallel(&pool);
    let recording = || {
        pool.take_recording();
        problem.parallel(&pool);
        crate::run::measured(&pool)
    };
    let mut least = recording();
    for _ in 1..RECORDINGS {
        let next = recording();
        least = match least.least(&next) {
            Some(least) => least,
            // A loop that was cut in another way.
            None if next.work() < least.work() => next,
            None => least,
        };
    }
    Ok(least)
}

/// On one worker, on one beside another one, and on two, in turns.
fn measure(problem: &dyn Problem, runs: u64) -> Result<Measured, Failure> {
    let (lone, two) = ([pool(1, false)?, pool(1, false)?], pool(2, false)?);
    let (mut ones, mut twos, mut both) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=runs.max(1) as usize {
        let one = alone(|| run(problem, &lone[round % 2]));
        let crowded = alone(|| mean(at_once(|number| run(problem, &lone[number]))));
        let two = alone(|| run(problem, &two));
        // The first round finds cold caches.
        if round > 0 {
            ones.push(one);
            both.push(crowded);
            twos.push(two);
        }
    }
    let was_disturbed = [&ones, &both, &twos].iter().any(|runs| undisturbed(runs) < ENOUGH);
    let (one, two, both) = (quiet(ones), quiet(twos), quiet(both));
    let crowding = (both.time / one.time.max(f64::MIN_POSITIVE)).max(1.0);
    Ok(Measured { one, two, crowding, was_disturbed })
}

/// With how long this process' threads had no core meanwhile.
fn alone(run: impl FnOnce() -> Real) -> Real {
    let before = contention::waited();
    let run = run();
    let waited = contention::waited().zip(before).map(|(after, before)| after.saturating_sub(before));
    Real { waited: waited.unwrap_or_default().as_secs_f64() / run.time.max(f64::MIN_POSITIVE), ..run }
}

/// The first of both, with their mean time.
fn mean([first, second]: [Real; 2]) -> Real {
    Real { time: (first.time + second.time) / 2.0, ..first }
}

fn undisturbed(runs: &[Real]) -> usize {
    runs.iter().filter(|run| run.waited <= DISTURBED).count()
}

fn run(problem: &dyn Problem, pool: &Pool) -> Real {
    let run = problem.parallel(pool);
    let counters = run.counters;
    let all = run.wall.max(Duration::from_nanos(1)).as_nanos() as f64 * pool.max_workers() as f64;
    let [searches, waits] =
        [counters.searching_ns, counters.parked_ns + counters.blocked_ns].map(|ns| ns as f64 / all);
    Real {
        time: run.wall.as_secs_f64(),
        waited: 0.0,
        steals: (counters.stolen + counters.leapfrogged + counters.stolen_waiting) as f64,
        shares: Shares([(1.0 - searches - waits).max(0.0), searches, waits]),
    }
}

/// Of the undisturbed runs, if there are enough, the one at a quarter of the way from the shortest to the longest.
fn quiet(mut runs: Vec<Real>) -> Real {
    if undisturbed(&runs) >= ENOUGH {
        runs.retain(|run| run.waited <= DISTURBED);
    }
    runs.sort_by(|a, b| a.time.total_cmp(&b.time));
    let quarter = runs.len() / 4;
    runs.swap_remove(quarter)
}

fn simulate(graph: &Recorded, workers: usize, costs: &Costs) -> Result<Report, Failure> {
    let idle = Idle::Park { rounds: (SPIN_PS / costs.attempt.mean().max(1.0)).clamp(1.0, 1e6) as u32 };
    let setup = Setup { costs: costs.clone(), wait: Wait::Leapfrog, idle, ..Setup::new(workers) };
    let simulation = Simulation::new(setup, graph).map_err(Failure::usage)?;
    simulation.run().map_err(|violation| Failure::Wrong(violation.to_string()))
}
