//! The cost of a control and of metrics, and the gain of a change: beside the same loop without, in
//! turn.

use crate::measure::line::Line;
use crate::measure::pairs;
use crate::problem::Scale;
use crate::runtimes::sinew::{Control, ParIter, Pool, Schedule, over};
use ::sinew::iter::LoopOptions;
use sinew_apps::collatz::{Workload, apply};
use std::hint::black_box;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// The schedule of the experiments with metrics and changes.
const CHUNKS: Schedule = Schedule::Dynamic { chunk: 1_000 };

pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let pool = Pool::builder().build().map_err(|error| error.to_string())?;
    let mut lines = Vec::new();
    for (steps, items) in [(20, 100_000), (2_000, 1_000)] {
        lines.extend(unused(&pool, scale, steps, items));
    }
    for (tasks, repeats, schedule) in
        [(100_000, 100, CHUNKS), (10_000, 1_000, Schedule::Dynamic { chunk: 1 })]
    {
        lines.extend(metrics(&pool, scale, tasks / scale.pick(1, 50), repeats, schedule));
    }
    lines.extend(switched(&pool, scale)?);
    Ok(lines)
}

/// A control that is not used.
fn unused(pool: &Pool, scale: Scale, steps: u32, items: usize) -> Option<Line> {
    let item = |number: usize| {
        black_box(
            (0..steps)
                .fold(number as u64, |sum, step| black_box(sum.wrapping_mul(31) + u64::from(step))),
        );
    };
    let control = Control::new();
    let plain = || pool.run(|_| over(0..items).for_each(item));
    let controlled =
        || pool.run(|_| over(0..items).control(&control).for_each(item)).unwrap_or_default();
    let what = format!("a control that nobody uses, {items} items of {steps} steps");
    pairs::compare(what, scale.pick(500, 2), plain, controlled, (1.01, "at most 1 % more"))
}

/// The measured breakdown of each thread.
fn metrics(
    pool: &Pool,
    scale: Scale,
    tasks: usize,
    repeats: u32,
    schedule: Schedule,
) -> Option<Line> {
    let workload = Workload::uniform(tasks, repeats);
    let tasks_of = || over(workload.tasks());
    let plain = || {
        let answers = tasks_of().schedule(schedule).map_array(workload.table(), apply);
        pool.run(|_| drop(answers.collect::<Vec<_>>()));
    };
    let metered = || {
        let answers = tasks_of().metrics().schedule(schedule).map_array(workload.table(), apply);
        pool.run(|_| drop(answers.collect::<Vec<_>>()));
    };
    let what = format!("metrics of each thread, {tasks} tasks of {repeats} repeats, {schedule}");
    pairs::compare(what, scale.pick(60, 2), plain, metered, (1.01, "at most 1 % more"))
}

/// Heavy tasks first: a loop that begins under static and is switched, beside one that is dynamic
/// from the beginning. The bar is a throughput of 0.98.
fn switched(pool: &Pool, scale: Scale) -> Result<Option<Line>, String> {
    let (tasks, heavy, light) = scale.pick((100_000, 1_000, 10), (2_000, 100, 1));
    let workload = Workload::biased(tasks, heavy, light, pool.max_threads().max(2));
    let tasks_of = || over(workload.tasks());
    let dynamic = || -> Vec<u64> {
        let answers = tasks_of().schedule(CHUNKS).map_array(workload.table(), apply);
        pool.run(|_| answers.collect())
    };
    workload.check(&dynamic()).map_err(|wrong| wrong.to_string())?;
    let after = scale.pick(Duration::from_millis(1), Duration::from_micros(10));
    let switched = || {
        let (control, (end, ended)) = (&Control::new(), channel::<()>());
        thread::scope(|s| {
            s.spawn(move || {
                // Whether the time has come or the loop is over: a change does no harm.
                let _ = ended.recv_timeout(after);
                control.set_schedule(CHUNKS);
            });
            let tasks = tasks_of().control(control).schedule(Schedule::Static);
            let answers = tasks.map_array(workload.table(), apply);
            let answers = pool.run(|_| answers.collect::<Vec<_>>());
            drop(end);
            answers.unwrap_or_default()
        })
    };
    workload.check(&switched()).map_err(|wrong| wrong.to_string())?;
    let what = format!("heavy tasks first: static, dynamic after {after:?}");
    let bar = (1.0 / 0.98, "at least 0.98 of the throughput under dynamic");
    Ok(pairs::compare(what, scale.pick(40, 2), || drop(dynamic()), || drop(switched()), bar))
}
