//! The time of a short call from outside while all workers are in long loops.
//!
//! Two workers, or threads of the other runtime, run two loops of items of some 100 ns. A third
//! thread sleeps for a random time, makes a call of 20 such items, and measures how long it takes.
//! A plain loop is a call of 100,000 items, and the next one follows at once, because a worker of
//! rayon takes a call only when it has no task left. A loop under a control does not end.
//!
//! tokio runs a call as a blocking task, which has a thread of its own: the operating system
//! divides the cores among the threads.

use super::line::Line;
use crate::problem::Scale;
use crate::runtimes::sinew::{Control, Pool, Worker, over};
use crate::runtimes::{rayon as rayon_runtime, sinew};
use ::sinew::iter::ParIter;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use sinew_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sinew_sync::clock::now_ns;
use std::hint::black_box;
use std::thread;
use std::time::Duration;

/// Items of a plain loop, and of a call.
const LONG: u64 = 100_000;
const SHORT: u64 = 20;

/// The longest pause between two calls.
const PAUSE_NS: u64 = 500_000;

/// A deadline that does not pass.
const LATE: Duration = Duration::from_secs(60);

/// Makes all measurements of this file.
pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let pool = sinew::pool(2)?;
    let mut lines = Vec::new();
    let short = |_: &Worker| over(0..SHORT).map(item).reduce(|| 0, u64::wrapping_add);
    let run = || pool.run(short);
    // An error would be a call that waits for a minute; its time shows that.
    let by_deadline = || pool.call().timeout(LATE).run(short).unwrap_or_default();
    for (call, how) in [(&run as &dyn Fn() -> u64, ""), (&by_deadline, ", with a deadline")] {
        lines.extend(line(&format!("Sinew, plain loops{how}"), beside_plain(&pool, scale, call)));
        let samples = beside_controlled(&pool, scale, call);
        lines.extend(line(&format!("Sinew, loops under a control{how}"), samples));
    }
    lines.extend(line("rayon", beside_rayon(scale)?));
    #[cfg(feature = "tokio")]
    lines.extend(line("tokio, blocking tasks", beside_tokio(scale)?));
    Ok(lines)
}

fn line(what: &str, samples: Vec<f64>) -> Option<Line> {
    let line = Line::percentiles(format!("a call beside two loops: {what}"), samples)?;
    Some(line.at_most("99 %", 1e6, "at most 1 ms in 99 %"))
}

/// One item: a value that takes some 100 ns.
fn item(item: u64) -> u64 {
    (0..64).fold(item, |value, _| black_box(value.wrapping_mul(6_364_136_223_846_793_005) + 1))
}

fn sink(value: u64) {
    black_box(item(value));
}

/// Makes calls while two threads are at `work`, which returns soon once its flag is set.
fn beside(scale: Scale, work: impl Fn(&AtomicBool) + Sync, call: &dyn Fn() -> u64) -> Vec<f64> {
    let (over, begun) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                // Relaxed, here and below: flags and counts alone.
                begun.fetch_add(1, Ordering::Relaxed);
                work(&over);
            });
        }
        while begun.load(Ordering::Relaxed) < 2 {
            thread::yield_now();
        }
        let mut random = fastrand::Rng::with_seed(7);
        let mut sample = || {
            thread::sleep(Duration::from_nanos(random.u64(..PAUSE_NS)));
            let began = now_ns();
            black_box(call());
            (now_ns() - began) as f64
        };
        // The first ones find the loops as they begin.
        (0..scale.pick(20, 1)).for_each(|_| _ = sample());
        let samples = (0..scale.pick(2_000, 5)).map(|_| sample()).collect();
        over.store(true, Ordering::Relaxed);
        samples
    })
}

fn beside_plain(pool: &Pool, scale: Scale, call: &dyn Fn() -> u64) -> Vec<f64> {
    let work = |is_over: &AtomicBool| {
        while !is_over.load(Ordering::Relaxed) {
            pool.run(|_| over(0..LONG).for_each(sink));
        }
    };
    beside(scale, work, call)
}

fn beside_controlled(pool: &Pool, scale: Scale, call: &dyn Fn() -> u64) -> Vec<f64> {
    let control = Control::new();
    let work = |is_over: &AtomicBool| {
        let item = |value: usize| {
            sink(value as u64);
            if is_over.load(Ordering::Relaxed) {
                control.cancel();
            }
        };
        let _cancelled = pool.run(|_| over(0..usize::MAX).control(&control).for_each(item));
    };
    beside(scale, work, call)
}

fn beside_rayon(scale: Scale) -> Result<Vec<f64>, String> {
    let pool = rayon_runtime::pool(2)?;
    let work = |is_over: &AtomicBool| {
        while !is_over.load(Ordering::Relaxed) {
            pool.install(|| (0..LONG).into_par_iter().for_each(sink));
        }
    };
    let call =
        || pool.install(|| (0..SHORT).into_par_iter().map(item).reduce(|| 0, u64::wrapping_add));
    Ok(beside(scale, work, &call))
}

#[cfg(feature = "tokio")]
fn beside_tokio(scale: Scale) -> Result<Vec<f64>, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let over = std::sync::Arc::new(AtomicBool::new(false));
    for _ in 0..2 {
        let over = std::sync::Arc::clone(&over);
        runtime.spawn_blocking(move || {
            while !over.load(Ordering::Relaxed) {
                (0..LONG).for_each(sink);
            }
        });
    }
    let call = || {
        let task = runtime.spawn_blocking(|| (0..SHORT).map(item).fold(0, u64::wrapping_add));
        runtime.block_on(task).unwrap_or_default()
    };
    let samples = beside(scale, |_| (), &call);
    over.store(true, Ordering::Relaxed);
    Ok(samples)
}
