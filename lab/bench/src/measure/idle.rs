//! The cost of an idle pool: processor time of this process while a pool that has just worked is
//! left alone.
//!
//! The main thread sleeps meanwhile, so what the kernel counts belongs to the pool. Ten
//! milliseconds are let pass first, in which a pool may still search.

use super::line::{Line, Unit};
use crate::problem::Scale;
use crate::runtimes::{chili, rayon, sinew};
use std::fs;
use std::thread;
use std::time::Duration;

/// After this long without work a pool is idle.
const IDLE_AFTER: Duration = Duration::from_millis(10);

/// Measures pools of four workers of every runtime.
pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let time = Duration::from_millis(scale.pick(1_000, 20));
    processor_ns()?;
    let ours = sinew::pool(4)?;
    ours.run(|w| w.join(|_| (), |_| ()));
    // The figure includes looking at the counters, some 50 µs.
    let bar = "nothing (at most 0.2 ms)";
    let mut lines = vec![line("sinew", time)?.at_most("processor time", 2e5, bar)];
    drop(ours);
    let pool = rayon::pool(4)?;
    pool.join(|| (), || ());
    lines.push(line("rayon", time)?);
    drop(pool);
    let pool = chili::pool(4)?;
    pool.scope().join(|_| (), |_| ());
    lines.push(line("chili", time)?);
    drop(pool);
    #[cfg(feature = "fork-union")]
    {
        let mut pool = crate::runtimes::fork_union::pool(4)?;
        drop(pool.for_n(4, |_| ()));
        lines.push(line("fork_union", time)?);
    }
    Ok(lines)
}

/// The processor time of this process in `time`, in nanoseconds.
pub(crate) fn used_ns(time: Duration) -> Result<u64, String> {
    thread::sleep(IDLE_AFTER);
    let before = processor_ns()?;
    thread::sleep(time);
    Ok(processor_ns()?.saturating_sub(before))
}

fn line(name: &str, time: Duration) -> Result<Line, String> {
    let used = used_ns(time)? as f64;
    Ok(Line::single(
        format!("{name}, {} ms of doing nothing", time.as_millis()),
        "processor time",
        used,
        Unit::Ns,
    ))
}

/// Nanoseconds that the threads of this process have run.
fn processor_ns() -> Result<u64, String> {
    let tasks = fs::read_dir("/proc/self/task").map_err(|_| "no /proc/self/task on this system")?;
    let run = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    // A thread that ends while we look has nothing to say.
    let times: Vec<u64> = tasks.flatten().filter_map(run).collect();
    if times.is_empty() {
        Err("the kernel keeps no schedstat".to_owned())
    } else {
        Ok(times.iter().sum())
    }
}
