//! Latencies of observation: a pushed task, the next task of a victim, a loop.
//!
//! All measurements use two workers. "Warm" means that the thief has just been searching; "parked",
//! that it has been left alone long enough to park. Every wait here has an end, so that a lost
//! wake-up shows as a long time and not as a hang.

use super::line::Line;
use crate::problem::Scale;
use crate::runtimes::sinew::{ParIter, Pool, Worker, over};
use sinew_core::Fences;
use sinew_sync::atomic::{AtomicU64, Ordering, spin_loop};
use sinew_sync::clock::now_ns;
use std::hint::black_box;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The longest that anything here waits for another thread.
const LIMIT: Duration = Duration::from_millis(50);

/// Long enough for an idle worker to have parked.
const LONG: Duration = Duration::from_millis(2);

/// The owner's action after it has pushed a task.
#[derive(Clone, Copy)]
enum Owner {
    Computes,
    Blocks,
}

/// Whether the thief has parked when the task is pushed.
#[derive(Clone, Copy)]
enum Thief {
    Warm,
    Parked,
}

/// Makes all measurements of this file.
pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for (fences, note) in [(Fences::Auto, ""), (Fences::Full, ", full fences")] {
        let pool =
            Pool::builder().threads(2).fences(fences).build().map_err(|error| error.to_string())?;
        lines.extend(taken(&pool, scale, note));
        lines.extend(steals(&pool, scale, note));
        if fences == Fences::Auto {
            lines.extend(loops(&pool, scale));
        }
    }
    Ok(lines)
}

/// Takes `samples`, with a pause before each if the thief is to be parked.
fn series(thief: Thief, scale: Scale, mut sample: impl FnMut() -> f64) -> Vec<f64> {
    let count = match thief {
        Thief::Warm => scale.pick(10_000, 20),
        Thief::Parked => scale.pick(500, 3),
    };
    let paused = |_| {
        if matches!(thief, Thief::Parked) {
            thread::sleep(LONG);
        }
        sample()
    };
    (0..count).map(paused).collect()
}

/// The time from pushing a task to its first instruction on another worker.
fn taken(pool: &Pool, scale: Scale, note: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for (owner, does) in [(Owner::Computes, "computes"), (Owner::Blocks, "blocks")] {
        for (thief, is) in [(Thief::Warm, "warm"), (Thief::Parked, "parked")] {
            let samples = pool.run(|w| series(thief, scale, || pushed_to_taken(w, owner)));
            let what = format!("pushed to taken, owner {does}, thief {is}{note}");
            let line = Line::percentiles(what, samples);
            lines.extend(line.map(|line| line.at_most("99 %", 1e6, "at most 1 ms in 99 %")));
        }
    }
    lines
}

fn pushed_to_taken(w: &Worker, owner: Owner) -> f64 {
    let taken = AtomicU64::new(0);
    let (tell, told) = mpsc::channel();
    let pushed = now_ns();
    let wait = |_: &Worker| match owner {
        // Relaxed: only the time itself is read, here and after the join.
        Owner::Computes => until(|| taken.load(Ordering::Relaxed) != 0),
        // An error means that no thief came in time; the task then runs here, late, as its time
        // shows.
        Owner::Blocks => drop(told.recv_timeout(LIMIT)),
    };
    let task = |_: &Worker| {
        taken.store(now_ns(), Ordering::Relaxed);
        // An error means that the owner has stopped waiting.
        let _ = tell.send(());
    };
    w.join(wait, task);
    taken.load(Ordering::Relaxed).saturating_sub(pushed) as f64
}

/// Computes until `done`, or until the limit.
fn until(done: impl Fn() -> bool) {
    let start = now_ns();
    while !done() && Duration::from_nanos(now_ns() - start) < LIMIT {
        spin_loop();
    }
}

/// Time between the starts of a victim's tasks on a thief, less the task itself: what each steal
/// costs.
///
/// The victim pushes a chain of tasks that only note the time, and computes until all of them ran.
/// The median is a steal from the public part; the tail shows the exposures that make more tasks
/// public.
fn steals(pool: &Pool, scale: Scale, note: &str) -> Option<Line> {
    let what = format!("a steal beyond its task{note}");
    let line = Line::percentiles(what, steal_gaps(pool, scale.pick(50, 2)));
    line.map(|line| line.at_most("median", 300.0, "at most 300 ns"))
}

/// The costs of the steals of so many chains.
pub(crate) fn steal_gaps(pool: &Pool, chains: usize) -> Vec<f64> {
    let stamp = stamp_cost();
    let gaps = (0..chains).flat_map(|_| {
        let stamps: Vec<AtomicU64> = (0..CHAIN).map(|_| AtomicU64::new(0)).collect();
        pool.run(|w| chain(w, &stamps, &stamps));
        gaps(&stamps)
    });
    gaps.map(|gap| (gap - stamp).max(0.0)).collect()
}

/// So many times from the push of a task to its first instruction on the other worker of `pool`,
/// which has parked before each push if `is_parked`, while the owner computes.
pub(crate) fn taken_ns(pool: &Pool, is_parked: bool, count: usize) -> Vec<f64> {
    let sample = |w: &Worker| {
        if is_parked {
            thread::sleep(LONG);
        }
        pushed_to_taken(w, Owner::Computes)
    };
    pool.run(|w| (0..count).map(|_| sample(w)).collect())
}

/// Tasks of one victim.
pub(crate) const CHAIN: usize = 1_000;

fn chain(w: &Worker, left: &[AtomicU64], all: &[AtomicU64]) {
    // Relaxed: only the times themselves are read.
    let Some((first, rest)) = left.split_first() else {
        return until(|| all.iter().all(|stamp| stamp.load(Ordering::Relaxed) != 0));
    };
    w.join(|w| chain(w, rest, all), |_| first.store(now_ns(), Ordering::Relaxed));
}

/// Times between neighbours, in nanoseconds.
fn gaps(stamps: &[AtomicU64]) -> Vec<f64> {
    let mut times: Vec<u64> = stamps.iter().map(|stamp| stamp.load(Ordering::Relaxed)).collect();
    times.sort_unstable();
    times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect()
}

/// The cost of taking the time.
fn stamp_cost() -> f64 {
    let stamps: Vec<AtomicU64> = (0..CHAIN).map(|_| AtomicU64::new(now_ns())).collect();
    let gaps = gaps(&stamps);
    gaps.iter().sum::<f64>() / gaps.len() as f64
}

/// Loops of 2 and of 64 empty iterations from outside, and one whose two iterations must meet, so
/// that both workers take part. The shorter loop is offered to others at once; the longer one is
/// over before that would pay.
fn loops(pool: &Pool, scale: Scale) -> Vec<Line> {
    let empty = |n| pool.run(|_| over(0..n).for_each(drop_box));
    let meeting = || {
        let arrived = AtomicU64::new(0);
        pool.run(|_| over(0..2).for_each(|_| meet(&arrived)));
    };
    let mut lines = Vec::new();
    for (thief, is, limit, bar) in [
        (Thief::Warm, "warm", 500.0, "at most 0.5 µs in the median"),
        (Thief::Parked, "parked", 10_000.0, "at most 10 µs in the median"),
    ] {
        for n in [2, 64] {
            let samples = series(thief, scale, || timed(|| empty(n)));
            let line = Line::percentiles(format!("empty loop of {n}, pool {is}"), samples);
            lines.extend(line.map(|line| line.at_most("median", limit, bar)));
        }
        let what = format!("loop whose two iterations meet, pool {is}");
        lines.extend(Line::percentiles(what, series(thief, scale, || timed(meeting))));
    }
    lines
}

fn drop_box(i: i32) {
    black_box(i);
}

/// Waits until both iterations are here.
fn meet(arrived: &AtomicU64) {
    // Relaxed: only the number matters.
    arrived.fetch_add(1, Ordering::Relaxed);
    until(|| arrived.load(Ordering::Relaxed) == 2);
}

fn timed(run: impl Fn()) -> f64 {
    let start = now_ns();
    run();
    (now_ns() - start) as f64
}
