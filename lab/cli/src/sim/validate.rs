//! `sinew-lab sim --validate`: simulated and real runs of applications side by side.
//!
//! Predicted is the speed-up on two workers, from measurements on one worker and of the machine:
//!
//! | input | source |
//! |---|---|
//! | the tasks, and their work | recorded in a pool for two workers of which one works: loops are cut as for two, without contention. The shortest time of each stretch of work in some recordings counts, because disturbances make it longer |
//! | costs of scheduling | [`calibrate`], or a file |
//! | slow-down of work beside other work | the application in two pools of one worker at once, each with its own data, compared with one alone ([`crowding`](super::crowding)) |
//!
//! The real runs, on one worker and on two, take turns with these and are not recorded. All of them
//! run on threads of pools, because memory comes to a process' first thread in other ways.
//! Disturbed runs do not count, and if hardly any run was undisturbed, neither does the row
//! ([`quiet`](super::quiet)). Of the runs that count the one at a quarter of the way from the
//! shortest to the longest is taken, because unobserved disturbances make a run longer as well. The
//! simulated times are mostly shorter than the real ones, by a sixth and more if tasks are small:
//! they consist of the shortest times of each stretch. Predicted is their ratio.
//!
//! A run takes some 50 ms or more, so the arrival of the second worker and unobserved disturbances
//! make no difference. It is one call, because between two calls the caller uses a worker's core.

use std::time::Duration;

use sinew::profile::{Graph, Profiler};
use sinew::{Pool, PoolBuilder};
use sinew_apps::{Options, Problem, Size, last_recording};
use sinew_console::Failure;
use sinew_sim::workload::Recorded;
use sinew_sim::{Activity, Costs, Idle, Report, Setup, Simulation};

use super::args::SimArgs;
use super::crowding::at_once;
use super::quiet::{ENOUGH, Real, Rounds, Threads};
use super::rows::Rows;
use super::watch::Watch;
use super::{calibrate, prices, setup};

const TITLES: [&str; 19] = [
    "application",
    "undisturbed",
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

/// An application and its size.
struct Case {
    name: &'static str,
    size: &'static str,
}

const fn case(name: &'static str, size: &'static str) -> Case {
    Case { name, size }
}

/// Joins of every grain, loops, scopes and serial parts; runs of some 50 to 200 ms on one worker of
/// a present-day machine.
const CASES: [Case; 8] = [
    case("nqueens", "12"),
    case("uts", "T3"),
    case("multisort", "65536x32"),
    case("strassen", "256x64"),
    case("quicksort", "small"),
    case("matmul", "1000"),
    case("heat", "1448"),
    case("ssf", "12x512"),
];

/// The greatest error of a good prediction.
const BAR: f64 = 0.10;

/// Spin time of a runtime worker before it parks, before it has learned a window: 40 us. On two
/// workers a round is one attempt.
const SPIN_PS: f64 = 40e6;

/// Number of recordings of an application, and their approximate share of its time.
const RECORDINGS: usize = 8;
const RECORDED: f64 = 0.15;

/// The measurements of an application.
struct Measured {
    one: Real,
    two: Real,
    /// Slow-down of one worker beside another one.
    crowding: f64,
    counts: bool,
    /// Number of undisturbed runs of the kind with the fewest, and the number of runs, as text.
    undisturbed: String,
}

/// The comparison of one application.
struct Compared {
    row: Vec<String>,
    error: f64,
    counts: bool,
}

/// Called with the completed share of an application, from 0 to 1; returns whether to continue.
type GoesOn<'g> = dyn FnMut(f64) -> bool + 'g;

pub(super) fn rows(args: &SimArgs, watch: &Watch) -> Result<Rows, Failure> {
    watch.say("measuring what the scheduler costs");
    let costs = match &args.cost_file {
        Some(_) => setup::costs(args)?,
        None => {
            let mut costs = calibrate::measure()?.costs;
            prices::set_costs(&args.costs, &mut costs);
            costs
        }
    };
    let mut rows = Rows::new(&TITLES);
    let mut errors = Vec::new();
    for (at, case) in CASES.iter().enumerate() {
        if watch.has_enough() {
            break;
        }
        let title = format!("[{}/{}] {}", at + 1, CASES.len(), case.name);
        let Some(compared) = compare(case, &costs, args.runs as usize, &mut watch.share(&title))?
        else {
            break;
        };
        rows.push(compared.row);
        errors.push(Some(compared.error).filter(|_| compared.counts));
    }
    rows.remarks = remarks(&errors);
    Ok(rows)
}

/// The lines below the table, from the errors of the rows that count.
fn remarks(errors: &[Option<f64>]) -> Vec<String> {
    let counted: Vec<f64> = errors.iter().copied().flatten().collect();
    let (of, all, percent) = (counted.len(), errors.len(), BAR * 100.0);
    let well = counted.iter().filter(|error| error.abs() <= BAR).count();
    let mut lines = Vec::new();
    if of < all {
        lines.push(format!(
            "* given up: fewer than {ENOUGH} runs of a kind had their cores to themselves, so this \
             row does not count: try again when nothing else runs"
        ));
    }
    lines.push(match (of, all - of) {
        (0, _) => "no speed-up counts".to_owned(),
        (_, 0) => format!(
            "{well} of {of} speed-ups on two workers are predicted within \
            {percent:.0} %"
        ),
        (_, out) => format!(
            "{well} of the {of} speed-ups on two workers that count are predicted within \
             {percent:.0} %; {out} do not count"
        ),
    });
    lines
}

/// `None` if the user has interrupted.
fn compare(
    case: &Case,
    costs: &Costs,
    runs: usize,
    goes_on: &mut GoesOn<'_>,
) -> Result<Option<Compared>, Failure> {
    let app = crate::run::find(case.name)?;
    let size: Size = case.size.parse().unwrap_or_default();
    let problem = app.prepare(&Options { size, ..Options::default() }).map_err(Failure::usage)?;
    let Some(graph) = record(&*problem, goes_on)? else { return Ok(None) };
    let Some(measured) = measure(&*problem, runs, goes_on)? else { return Ok(None) };
    let (factors, refill, contention) = (Vec::new(), Vec::new(), vec![measured.crowding]);
    let costs = Costs { factors, refill, contention, ..costs.clone() };
    let graph = Recorded::new(&graph);
    let mut simulate = |workers| simulate(&graph, workers, &costs, goes_on);
    let (one, two) = (simulate(1)?, simulate(2)?);
    Ok(one.zip(two).map(|(one, two)| compared(case.name, &measured, &one, &two)))
}

fn compared(name: &str, measured: &Measured, sim_one: &Report, sim_two: &Report) -> Compared {
    let Measured { one, two, crowding, counts, undisturbed } = measured;
    let (real_speed, sim_speed) =
        (one.time / two.time, sim_one.time as f64 / sim_two.time.max(1) as f64);
    let error = sim_speed / real_speed - 1.0;
    let mut row = vec![format!("{name}{}", if *counts { "" } else { " *" }), undisturbed.clone()];
    let times = [one.time, sim_one.time as f64 / 1e12, two.time, sim_two.time as f64 / 1e12];
    row.extend(times.map(|time| format!("{:.3}", time * 1e3)));
    row.extend([*crowding, real_speed, sim_speed].map(|ratio| format!("{ratio:.2}")));
    row.push(format!("{:+.1}", error * 100.0));
    let steals = sim_two.counts.steals as f64;
    row.extend([two.steals, steals].map(|steals| format!("{steals:.0}")));
    row.push(match two.steals > 0.0 {
        true => format!("{:+.0}", (steals / two.steals - 1.0) * 100.0),
        false => "-".to_owned(),
    });
    let both = two.shares.into_iter().zip(shares(sim_two));
    row.extend(
        both.flat_map(|(real, sim)| [real, sim].map(|share| format!("{:.0}", share * 100.0))),
    );
    Compared { row, error, counts: *counts }
}

fn shares(report: &Report) -> [f64; 3] {
    let share = |activities: [Activity; 2]| {
        activities.map(|activity| report.share(activity)).iter().sum::<f64>()
    };
    [
        share([Activity::Works, Activity::Schedules]),
        report.share(Activity::Searches),
        share([Activity::Waits, Activity::Parks]),
    ]
}

/// A pool without slots for external threads: its own threads do all the work, and one of them can
/// be the only one.
fn pool(threads: usize, record: bool) -> Result<Pool, Failure> {
    let mut builder = PoolBuilder::new().threads(threads).external_slot(false);
    if record {
        builder = builder.observer(Profiler::new().record(true));
    }
    builder.build().map_err(Failure::usage)
}

/// The work without disturbances; `None` if the user has interrupted.
fn record(problem: &dyn Problem, goes_on: &mut GoesOn<'_>) -> Result<Option<Graph>, Failure> {
    let pool = pool(2, true)?;
    pool.control().set_threads(1);
    // The first run has cold caches.
    problem.parallel(&pool);
    let mut least: Option<Graph> = None;
    for at in 0..RECORDINGS {
        if !goes_on(RECORDED * at as f64 / RECORDINGS as f64) {
            return Ok(None);
        }
        // The recording restarts here.
        drop(Profiler::of(&pool).and_then(Profiler::take_recording));
        problem.parallel(&pool);
        let next = last_recording(&pool);
        least = Some(match least {
            None => next,
            Some(least) => shorter(least, next),
        });
    }
    Ok(least)
}

/// For each stretch of work the shorter time.
fn shorter(least: Graph, next: Graph) -> Graph {
    match least.least(&next) {
        Some(least) => least,
        // The loop was cut differently.
        None if next.work() < least.work() => next,
        None => least,
    }
}

/// Measures one worker, one beside another one, and two, in turns; `None` if the user has
/// interrupted.
fn measure(
    problem: &dyn Problem,
    runs: usize,
    goes_on: &mut GoesOn<'_>,
) -> Result<Option<Measured>, Failure> {
    let (lone, two) = ([pool(1, false)?, pool(1, false)?], pool(2, false)?);
    let threads = [
        Threads::of(&[&lone[0]]),
        Threads::of(&[&lone[1]]),
        Threads::of(&[&lone[0], &lone[1]]),
        Threads::of(&[&two]),
    ];
    let round = |number: usize| {
        let at = number % 2;
        [
            watched(&threads[at], || call(problem, &lone[at])),
            watched(&threads[2], || mean(&at_once(|number| call(problem, &lone[number])))),
            watched(&threads[3], || call(problem, &two)),
        ]
    };
    // The first round has cold caches.
    round(0);
    let mut rounds = Rounds::new(runs);
    while !rounds.are_over() {
        if !goes_on(RECORDED + (1.0 - RECORDED) * rounds.share()) {
            return Ok(None);
        }
        rounds.add(round(rounds.done));
    }
    let Some([one, both, two]) = rounds.quarters() else { return Ok(None) };
    let crowding = (both.time / one.time.max(f64::MIN_POSITIVE)).max(1.0);
    let undisturbed = match rounds.is_known {
        true => format!("{} of {}", rounds.least(), rounds.done),
        // The system does not report waiting times.
        false => "unknown".to_owned(),
    };
    Ok(Some(Measured { one, two, crowding, counts: rounds.count(), undisturbed }))
}

/// A run with its workers' lost time, as a share of its duration.
fn watched(watched: &Threads, run: impl FnOnce() -> Real) -> (Real, Option<f64>) {
    let (run, lost) = watched.watch(run);
    (run, lost.map(|lost| lost.as_secs_f64() / run.time.max(f64::MIN_POSITIVE)))
}

fn call(problem: &dyn Problem, pool: &Pool) -> Real {
    let run = problem.parallel(pool);
    let counters = run.counters;
    let all = run.wall.max(Duration::from_nanos(1)).as_nanos() as f64 * pool.max_threads() as f64;
    let [searches, waits] =
        [counters.searching_ns, counters.parked_ns + counters.blocked_ns].map(|ns| ns as f64 / all);
    Real {
        time: run.wall.as_secs_f64(),
        steals: (counters.stolen + counters.leapfrogged + counters.stolen_waiting) as f64,
        shares: [(1.0 - searches - waits).max(0.0), searches, waits],
    }
}

fn mean(runs: &[Real]) -> Real {
    let mean =
        |what: &dyn Fn(&Real) -> f64| runs.iter().map(what).sum::<f64>() / runs.len().max(1) as f64;
    Real {
        time: mean(&|run| run.time),
        steals: mean(&|run| run.steals),
        shares: [0, 1, 2].map(|part| mean(&|run| run.shares[part])),
    }
}

/// `None` if the user has interrupted.
fn simulate(
    graph: &Recorded,
    workers: usize,
    costs: &Costs,
    goes_on: &mut GoesOn<'_>,
) -> Result<Option<Report>, Failure> {
    let idle =
        Idle::Park { rounds: (SPIN_PS / costs.attempt.mean().max(1.0)).clamp(1.0, 1e6) as u32 };
    let costs = costs.clone();
    let setup = Setup { costs, idle, ..Setup::new(workers) };
    let simulation = Simulation::new(setup, graph).map_err(Failure::usage)?;
    let report = simulation.run_while(|_| goes_on(1.0));
    let report = report.map_err(|violation| Failure::Wrong(violation.to_string()))?;
    Ok(Some(report).filter(|report| report.is_whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a disturbed row that counts as a good or a bad prediction.
    #[test]
    fn rows_that_do_not_count_are_counted_out() {
        let lines = remarks(&[Some(0.02), None, Some(-0.3), Some(0.1)]);
        assert!(lines[0].starts_with("* given up"), "{lines:?}");
        assert_eq!(
            lines[1],
            "2 of the 3 speed-ups on two workers that count are predicted within 10 %; 1 do not \
             count"
        );
        assert_eq!(
            remarks(&[Some(0.0)]),
            ["1 of 1 speed-ups on two workers are predicted within 10 %"]
        );
        assert_eq!(remarks(&[None, None]).last().map(String::as_str), Some("no speed-up counts"));
    }

    /// Catches: a size that an application does not accept.
    #[test]
    fn every_case_is_an_application_of_a_size_that_it_takes() {
        for case in CASES {
            let app = crate::run::find(case.name).unwrap_or_else(|_| panic!("{}", case.name));
            let size: Size = case.size.parse().unwrap_or_else(|_| panic!("{}", case.size));
            assert!(app.prepare(&Options { size, ..Options::default() }).is_ok(), "{}", case.name);
        }
    }

    /// Catches: an application that continues after an interrupt at any of its steps.
    #[test]
    fn an_application_ends_at_its_next_step_when_nobody_wants_more() {
        let case = Case { name: "nqueens", size: "4" };
        for steps in 0..RECORDINGS + ENOUGH {
            let mut left = steps;
            let mut goes_on = |_: f64| {
                let goes_on = left > 0;
                left = left.saturating_sub(1);
                goes_on
            };
            let compared = compare(&case, &Costs::usual(), 1, &mut goes_on);
            assert!(matches!(compared, Ok(None)), "{steps} steps");
        }
    }

    /// Catches: progress that decreases or exceeds 1; a row with a missing cell.
    #[test]
    fn an_application_that_nobody_stops_has_a_row() {
        let mut shares = vec![0.0];
        let mut goes_on = |share: f64| {
            shares.push(share);
            true
        };
        let case = Case { name: "nqueens", size: "6" };
        let Ok(Some(compared)) = compare(&case, &Costs::usual(), 1, &mut goes_on) else {
            panic!("no row")
        };
        assert_eq!(compared.row.len(), TITLES.len());
        assert_eq!(compared.row[0].ends_with('*'), !compared.counts);
        assert!(
            shares.is_sorted() && shares.iter().all(|share| (0.0..=1.0).contains(share)),
            "{shares:?}"
        );
    }
}
