//! The task graph of a real run, to be simulated on a machine that is not here.
//!
//! It is recorded in a pool with as many workers as the machine has, of which one works: loops are
//! cut as for all of them, without contention. Of some recordings the shortest time of each stretch
//! of work counts, because disturbances make it longer.

use sinew::profile::{Graph, Profiler};
use sinew::{Pool, StackKind};
use sinew_policy::graph::{Call, Token};
use sinew_sim::workload::Recorded;
use sinew_sim::{Report, Setup, Simulation};

use super::Subject;
use crate::failure::Failure;

/// Number of recordings; the first one of all has cold caches.
const RECORDINGS: usize = 3;

/// Records the graph of a parallel run, cut for `workers` workers.
///
/// # Errors
///
/// An impossible pool, or a wrong result.
pub(crate) fn record(subject: &Subject, workers: usize) -> Result<Graph, Failure> {
    let builder = Pool::builder().threads(workers.max(2)).external_slot(false);
    let builder = builder.stack(StackKind::Split).observer(Profiler::new().record(true));
    let pool = builder.build().map_err(Failure::impossible)?;
    pool.control().set_threads(1);
    subject.parallel(&pool)?;
    let mut least: Option<Graph> = None;
    for _ in 0..RECORDINGS {
        // The recording restarts here.
        drop(Profiler::of(&pool).and_then(Profiler::take_recording));
        subject.parallel(&pool)?;
        let next = last_run(&pool);
        least = Some(least.map_or_else(|| next.clone(), |least| shorter(least, &next)));
    }
    Ok(least.unwrap_or_default())
}

/// The last run, between two calls that gather all workers.
fn last_run(pool: &Pool) -> Graph {
    let graph = Profiler::of(pool).and_then(Profiler::take_recording).unwrap_or_default();
    let run = graph.calls().iter().rev().nth(1);
    Graph::new(run.and_then(|call| Call::new(0, call.tokens().to_vec())).into_iter().collect())
}

/// For each stretch of work the shorter time; of two that were cut differently the shorter one.
fn shorter(least: Graph, next: &Graph) -> Graph {
    let next_is_less = next.work() < least.work();
    least.least(next).unwrap_or(if next_is_less { next.clone() } else { least })
}

/// The graph with all work multiplied by `factor`.
pub(crate) fn scaled(graph: &Graph, factor: f64) -> Graph {
    with_work(graph, |work| (work as f64 * factor) as u64)
}

/// The graph with each stretch of work as long as their mean.
pub(crate) fn even(graph: &Graph) -> Graph {
    let tokens = graph.calls().iter().flat_map(|call| call.tokens());
    let stretches = tokens.filter(|token| matches!(token, Token::Work(_))).count() as u64;
    let mean = graph.work() / stretches.max(1);
    with_work(graph, |_| mean)
}

fn with_work(graph: &Graph, change: impl Fn(u64) -> u64) -> Graph {
    let token = |token: &Token| match *token {
        Token::Work(work) => Token::Work(change(work)),
        other => other,
    };
    let call = |call: &Call| Call::new(0, call.tokens().iter().map(token).collect());
    Graph::new(graph.calls().iter().filter_map(call).collect())
}

/// Simulates a recording.
///
/// # Errors
///
/// An impossible setup, or an error of the simulator.
pub(crate) fn simulate(graph: &Recorded, setup: Setup) -> Result<Report, Failure> {
    let simulation = Simulation::new(setup, graph).map_err(Failure::impossible)?;
    simulation.run().map_err(|violation| Failure::Wrong(violation.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a recording of the gathering of the workers, or of half of the run; work that is
    /// not scaled, or not evened out.
    #[test]
    fn a_run_is_recorded_with_all_of_its_tasks_for_more_workers_than_there_are() {
        let subject = Subject::prepare("stress", "5x3", None).unwrap();
        let graph = record(&subject, 8).unwrap();
        let forks = |graph: &Graph| {
            let tokens = graph.calls().iter().flat_map(|call| call.tokens());
            tokens.filter(|token| **token == Token::Fork).count()
        };
        assert_eq!(forks(&graph), 3 * 31);
        let tenfold = scaled(&graph, 10.0);
        assert_eq!((forks(&tenfold), tenfold.work()), (3 * 31, 10 * graph.work()));
        let even: Graph = "sinew graph 1\n0: 5(1|12)6\nend 1\n".parse().unwrap();
        assert_eq!(super::even(&even).to_string(), "sinew graph 1\n0: 6(6|6)6\nend 1\n");
        let report = simulate(&Recorded::new(&tenfold), Setup::new(8)).unwrap();
        assert_eq!(report.work, tenfold.work());
        assert!(report.is_whole && report.counts.steals > 0, "{report:?}");
    }
}
