//! `sinew sim --validate`: simulated and real runs of applications side by side.
//!
//! What is predicted is the speed-up on two workers, from what one worker does and from the
//! machine:
//!
//! | from | how |
//! |---|---|
//! | the tasks, and how long each works | recorded in a pool for two of which one works: it cuts loops as two would, and nobody is in anybody's way. Of some recordings the shortest time of each stretch of work counts, as what disturbs a run makes it longer |
//! | what scheduling costs | [`calibrate`], or a file |
//! | how much longer work takes beside other work | the application in two pools of one worker at once, each with its own data, against the same alone ([`crowding`](super::crowding)) |
//!
//! The real thing runs on one worker and on two in turn with these, without being recorded; all of
//! it on threads of pools, since memory comes to a process' first thread by other ways. Runs that
//! something disturbed do not count, and where hardly one was not, the row does not
//! ([`quiet`](super::quiet)). Of those that count the one at a quarter of the way from the shortest
//! to the longest is taken, as what nobody sees of a disturbance makes a run longer, too. The
//! simulated times are mostly shorter than the real ones, where tasks are small by a sixth and
//! more, since they are made of the shortest times of each stretch; what is predicted is their
//! ratio.
//!
//! A run takes some 50 ms or more, so that the moment in which the second worker comes, or a
//! disturbance that nobody sees, makes no difference. It is one call: between two, the caller takes
//! a worker's core.

use std::time::Duration;

use sinew::profile::{Graph, Profiler};
use sinew::{Pool, PoolBuilder};
use sinew_apps::{Options, Problem, Size};
use sinew_sim::workload::Recorded;
use sinew_sim::{Activity, Costs, Idle, Report, Setup, Simulation};

use super::args::SimArgs;
use super::crowding::at_once;
use super::quiet::{Crew, ENOUGH, Real, Rounds};
use super::rows::Rows;
use super::watch::Watch;
use super::{calibrate, prices, setup};
use crate::failure::Failure;

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

/// Joins of every grain, loops, scopes, and serial parts; runs of some 50 to 200 ms on one worker
/// of a machine of today.
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

/// What is predicted no worse than this is predicted well.
const BAR: f64 = 0.10;

/// How long a worker of the runtime spins before it parks, as long as it knows nothing better: 40
/// us. On two workers a round is one attempt.
const SPIN_PS: f64 = 40e6;

/// How often an application is recorded, and about what part of the time for it that takes.
const RECORDINGS: usize = 8;
const RECORDED: f64 = 0.15;

/// What was measured of an application.
struct Measured {
    one: Real,
    two: Real,
    /// By what one worker is slower beside another one.
    crowding: f64,
    counts: bool,
    /// How many runs were undisturbed of the kind that has the fewest, and of how many, in words.
    undisturbed: String,
}

/// What came of one application.
struct Compared {
    row: Vec<String>,
    error: f64,
    counts: bool,
}

/// Is told how much of an application is done, from 0 to 1; returns whether to go on.
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

/// What is said below the table, by the errors of the rows, as far as they count.
fn remarks(errors: &[Option<f64>]) -> Vec<String> {
    let counted: Vec<f64> = errors.iter().copied().flatten().collect();
    let (of, all, percent) = (counted.len(), errors.len(), BAR * 100.0);
    let well = counted.iter().filter(|error| error.abs() <= BAR).count();
    let mut lines = Vec::new();
    if of < all {
        lines.push(format!(
            "* given up: fewer than {ENOUGH} runs of a kind had their cores to themselves, so this row does not count: try again when \
             nothing else runs"
        ));
    }
    lines.push(match (of, all - of) {
        (0, _) => "no speed-up counts".to_owned(),
        (_, 0) => format!("{well} of {of} speed-ups on two workers are predicted within {percent:.0} %"),
        (_, out) => format!(
            "{well} of the {of} speed-ups on two workers that count are predicted within {percent:.0} %; {out} do not count"
        ),
    });
    lines
}

/// Nothing if the user has had enough.
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

/// A pool that keeps no seat for guests: its threads do all the work, and one of them can be the
/// only one.
fn pool(threads: usize, record: bool) -> Result<Pool, Failure> {
    let mut builder = PoolBuilder::new().threads(threads).external_slot(false);
    if record {
        builder = builder.observer(Profiler::new().record(true));
    }
    builder.build().map_err(Failure::usage)
}

/// What is worked when nothing disturbs it; nothing if the user has had enough.
fn record(problem: &dyn Problem, goes_on: &mut GoesOn<'_>) -> Result<Option<Graph>, Failure> {
    let pool = pool(2, true)?;
    pool.set_workers(1);
    // The first run finds cold caches.
    problem.parallel(&pool);
    let mut least: Option<Graph> = None;
    for at in 0..RECORDINGS {
        if !goes_on(RECORDED * at as f64 / RECORDINGS as f64) {
            return Ok(None);
        }
        // From here on the recording begins anew.
        drop(Profiler::of(&pool).and_then(Profiler::take_recording));
        problem.parallel(&pool);
        let next = crate::run::measured(&pool);
        least = Some(match least {
            None => next,
            Some(least) => shorter(least, next),
        });
    }
    Ok(least)
}

/// Of each stretch of work the shorter one.
fn shorter(least: Graph, next: Graph) -> Graph {
    match least.least(&next) {
        Some(least) => least,
        // A loop that was cut in another way.
        None if next.work() < least.work() => next,
        None => least,
    }
}

/// On one worker, on one beside another one, and on two, in turns; nothing if the user has had
/// enough.
fn measure(
    problem: &dyn Problem,
    runs: usize,
    goes_on: &mut GoesOn<'_>,
) -> Result<Option<Measured>, Failure> {
    let (lone, two) = ([pool(1, false)?, pool(1, false)?], pool(2, false)?);
    let crews = [
        Crew::of(&[&lone[0]]),
        Crew::of(&[&lone[1]]),
        Crew::of(&[&lone[0], &lone[1]]),
        Crew::of(&[&two]),
    ];
    let round = |number: usize| {
        let at = number % 2;
        [
            watched(&crews[at], || call(problem, &lone[at])),
            watched(&crews[2], || mean(&at_once(|number| call(problem, &lone[number])))),
            watched(&crews[3], || call(problem, &two)),
        ]
    };
    // The first one finds cold caches.
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
        // Nobody writes down here what workers wait for.
        false => "unknown".to_owned(),
    };
    Ok(Some(Measured { one, two, crowding, counts: rounds.count(), undisturbed }))
}

/// With how much its workers lost, as a share of the time that it took.
fn watched(crew: &Crew, run: impl FnOnce() -> Real) -> (Real, Option<f64>) {
    let (run, lost) = crew.watch(run);
    (run, lost.map(|lost| lost.as_secs_f64() / run.time.max(f64::MIN_POSITIVE)))
}

fn call(problem: &dyn Problem, pool: &Pool) -> Real {
    let run = problem.parallel(pool);
    let counters = run.counters;
    let all = run.wall.max(Duration::from_nanos(1)).as_nanos() as f64 * pool.max_workers() as f64;
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

/// Nothing if the user has had enough.
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

    /// Catches: a disturbed row that counts as predicted well, or as predicted badly.
    #[test]
    fn rows_that_do_not_count_are_counted_out() {
        let lines = remarks(&[Some(0.02), None, Some(-0.3), Some(0.1)]);
        assert!(lines[0].starts_with("* given up"), "{lines:?}");
        assert_eq!(
            lines[1],
            "2 of the 3 speed-ups on two workers that count are predicted within 10 %; 1 do not count"
        );
        assert_eq!(
            remarks(&[Some(0.0)]),
            ["1 of 1 speed-ups on two workers are predicted within 10 %"]
        );
        assert_eq!(remarks(&[None, None]).last().map(String::as_str), Some("no speed-up counts"));
    }

    /// Catches: a size that an application refuses, which would be taken for its usual one.
    #[test]
    fn every_case_is_an_application_of_a_size_that_it_takes() {
        for case in CASES {
            let app = crate::run::find(case.name).unwrap_or_else(|_| panic!("{}", case.name));
            let size: Size = case.size.parse().unwrap_or_else(|_| panic!("{}", case.size));
            assert!(app.prepare(&Options { size, ..Options::default() }).is_ok(), "{}", case.name);
        }
    }

    /// Catches: a user who waits for the end of an application that he has had enough of, at any
    /// of its steps.
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

    /// Catches: steps that are told backwards, or beyond the end; a row without a cell for each
    /// title.
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
