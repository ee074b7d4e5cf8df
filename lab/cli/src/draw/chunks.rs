//! Which worker runs which iterations of an uneven loop, under several schedules.
//!
//! The body of the loop notes its worker, so adjacent chunks of a worker are one span. Each loop
//! runs several times; the picture has the run of the median time.

use std::time::{Duration, Instant};

use sinew::iter::ParIter;
use sinew::prelude::*;
use sinew_apps::collatz::{Workload, apply};
use sinew_console::Failure;
use sinew_reproduce::report::{Form, Plot, Series, Span};
use sinew_sync::atomic::{AtomicUsize, Ordering};

use super::workers;
use crate::measure::seconds;

const ITERATIONS: usize = 256;
/// The repetitions of the last iteration: about a quarter of a millisecond.
const HEAVIEST: u32 = 20_000;
/// Runs of each schedule; an odd number.
const RUNS: usize = 9;

const SCHEDULES: [Schedule; 6] = [
    Schedule::Static,
    Schedule::Dynamic { chunk: 16 },
    Schedule::Dynamic { chunk: 4 },
    Schedule::Guided { min: 4 },
    Schedule::Factoring { min: 4 },
    Schedule::Stealing,
];

/// A run: its time, and the worker of each iteration.
struct Run {
    time: Duration,
    takers: Vec<usize>,
}

/// A row for each schedule, and a colour for each worker.
pub(super) fn plot(pool: &Pool) -> Result<Plot, Failure> {
    let workload = Workload::rising(ITERATIONS, HEAVIEST);
    let runs = SCHEDULES.map(|schedule| median(pool, &workload, schedule));
    let runs: Vec<Run> = runs.into_iter().collect::<Result<_, _>>()?;
    let row = |(schedule, run): (&Schedule, &Run)| {
        let usual = if *schedule == Schedule::default() { " (default)" } else { "" };
        format!("{schedule}{usual}, {}", seconds(run.time.as_secs_f64()))
    };
    let title = format!("The iterations that each worker takes, by schedule: {}", workers(pool));
    let plot = Plot::new("chunks", title, Form::Spans)
        .axes("iteration; the last one takes 256 times as long as the first", "")
        .over(SCHEDULES.iter().zip(&runs).map(row).collect());
    let series = |worker| Series::of_spans(format!("worker {worker}"), spans(&runs, worker));
    Ok((0..pool.max_threads()).map(series).fold(plot, Plot::with))
}

fn median(pool: &Pool, workload: &Workload, schedule: Schedule) -> Result<Run, Failure> {
    let mut runs: Vec<Run> =
        (0..RUNS).map(|_| run(pool, workload, schedule)).collect::<Result<_, _>>()?;
    runs.sort_by_key(|run| run.time);
    Ok(runs.swap_remove(RUNS / 2))
}

fn run(pool: &Pool, workload: &Workload, schedule: Schedule) -> Result<Run, Failure> {
    let takers: Vec<AtomicUsize> = (0..ITERATIONS).map(|_| AtomicUsize::new(0)).collect();
    let began = Instant::now();
    let answers: Vec<u64> = pool.run(|_| {
        let tasks = workload.tasks().par_iter().zip(&takers).schedule(schedule);
        let answer = |(task, taker): (_, &AtomicUsize)| {
            // Relaxed: read after the loop.
            taker.store(sinew::run(|w| w.index()), Ordering::Relaxed);
            apply(task, workload.table())
        };
        tasks.map(answer).collect()
    });
    let time = began.elapsed();
    let checked = workload.check(&answers);
    checked.map_err(|wrong| Failure::Wrong(format!("a loop under {schedule}: {wrong}")))?;
    let taken = |taker: &AtomicUsize| taker.load(Ordering::Relaxed);
    Ok(Run { time, takers: takers.iter().map(taken).collect() })
}

/// The iterations of this worker, with a row for each run.
fn spans(runs: &[Run], worker: usize) -> Vec<Span> {
    let taken = |(row, run): (usize, &Run)| {
        let iterations = (0..run.takers.len()).filter(|&at| run.takers[at] == worker);
        iterations.map(|at| Span { row, from: at as f64, to: (at + 1) as f64 }).collect::<Vec<_>>()
    };
    runs.iter().enumerate().flat_map(taken).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: iterations of another worker or in the row of another schedule, and a span that
    /// ends one iteration too early.
    #[test]
    fn every_iteration_is_in_the_spans_of_its_worker() {
        let run = |takers: &[usize]| Run { time: Duration::ZERO, takers: takers.to_vec() };
        let runs = [run(&[0, 0, 1, 0]), run(&[1, 0, 0, 0])];
        let span = |row, from, to| Span { row, from, to };
        let of = |worker| Series::of_spans("", spans(&runs, worker)).spans;
        assert_eq!(of(0), [span(0, 0.0, 2.0), span(0, 3.0, 4.0), span(1, 1.0, 4.0)]);
        assert_eq!(of(1), [span(0, 2.0, 3.0), span(1, 0.0, 1.0)]);
    }
}
