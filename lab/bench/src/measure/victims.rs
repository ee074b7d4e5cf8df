//! The cost of victim policies: a failed attempt to steal under each, and a program that hardly
//! steals.
//!
//! The attempts are made by one worker of sixteen on a described machine of four packages. The
//! others are blocked in tasks, with nothing to steal, so they do not disturb. An attempt includes
//! its share of the round and of the search: the looks at the own queues and at the pool's. Rules
//! that look at several workers before an attempt cost that on top.

use super::line::{Line, Unit};
use crate::problem::Scale;
use crate::runtimes::sinew::{Pool, Worker};
use crate::statistics::median;
use sinew_core::{Mapping, Victims};
use std::sync::{Arc, Barrier};
use std::time::Instant;

const WORKERS: usize = 16;
const MACHINE: &str = "package:4 l3:1 l2:2 core:2";

/// Every policy that has a name.
fn policies() -> impl Iterator<Item = Victims> {
    Victims::all().iter().copied()
}

/// Measures attempts, then fib.
pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let machine = MACHINE.parse().map_err(|error| format!("{MACHINE}: {error}"))?;
    let builder = Pool::builder().machine(machine).mapping(Mapping::Compact).threads(WORKERS);
    let pool = builder.build().map_err(|error| error.to_string())?;
    let mut lines = attempts(&pool, scale);
    drop(pool);
    lines.extend(fibs(scale)?);
    Ok(lines)
}

/// A failed attempt under each policy.
fn attempts(pool: &Pool, scale: Scale) -> Vec<Line> {
    let (inside, released) = (Arc::new(Barrier::new(WORKERS)), Arc::new(Barrier::new(WORKERS)));
    for _ in 1..WORKERS {
        let (inside, released) = (Arc::clone(&inside), Arc::clone(&released));
        pool.spawn(move |_| {
            inside.wait();
            released.wait();
        });
    }
    pool.run(|w| {
        inside.wait();
        let lines = policies().map(|victims| failed_attempt(pool, w, victims, scale)).collect();
        released.wait();
        lines
    })
}

fn failed_attempt(pool: &Pool, w: &Worker, victims: Victims, scale: Scale) -> Line {
    const BAR: &str = "at most 100 ns, and what the policy looks at";
    pool.set_victims(victims);
    let sample = |rounds: u64| {
        let (before, start) = (w.counters().failed_steals, Instant::now());
        for _ in 0..rounds {
            w.yield_now();
        }
        let attempts = w.counters().failed_steals - before;
        start.elapsed().as_nanos() as f64 / attempts.max(1) as f64
    };
    let median = median_of(scale.pick(101, 3), || sample(scale.pick(200, 3)));
    let line = Line::single(format!("a failed attempt, {victims}"), "each", median, Unit::Ns);
    // Those that look at one worker an attempt; the rows of the others say what looking costs.
    let looks_at_one = matches!(victims, Victims::Random | Victims::Set { .. } | Victims::Nearest);
    if looks_at_one { line.at_most("each", 100.0, BAR) } else { line }
}

/// fib on two workers under each policy, interleaved.
fn fibs(scale: Scale) -> Result<Vec<Line>, String> {
    let pool = crate::runtimes::sinew::pool(2)?;
    let n = scale.pick(30, 10);
    let mut samples: Vec<Vec<f64>> = policies().map(|_| Vec::new()).collect();
    for _ in 0..scale.pick(21, 2) {
        for (victims, samples) in policies().zip(&mut samples) {
            pool.set_victims(victims);
            let start = Instant::now();
            std::hint::black_box(pool.run(|w| fib(w, n)));
            samples.push(start.elapsed().as_nanos() as f64);
        }
    }
    // If other programs run as well, the fastest is more significant.
    let line = |(victims, samples): (Victims, Vec<f64>)| {
        let what = format!("fib({n}) on two workers, {victims}");
        let fastest = samples.iter().copied().fold(f64::INFINITY, f64::min);
        let figures = vec![("fastest", fastest), ("median", median(&samples).unwrap_or(f64::NAN))];
        Line { what, figures, unit: Unit::Ns, bars: Vec::new() }
    };
    Ok(policies().zip(samples).map(line).collect())
}

fn fib(w: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    a + b
}

fn median_of(samples: usize, mut sample: impl FnMut() -> f64) -> f64 {
    let samples: Vec<f64> = (0..samples).map(|_| sample()).collect();
    median(&samples).unwrap_or(f64::NAN)
}
