//! Pools with many more workers than CPUs: all of them start, work, sleep, and follow a limit.

use numa_protocol::{Outcome, Shape};
use sinew::iter::ParIter;
use sinew_core::{Mapping, Pool, Worker};

use crate::check::{Check, Verdict, same};
use crate::workers::{pool, survey};

pub(crate) const CHECKS: &[Check] = &[
    Check { name: "crowded/64-workers-work-and-follow-a-limit", run: |shape| check(64, shape) },
    Check { name: "crowded/256-workers-work-and-follow-a-limit", run: |shape| check(256, shape) },
];

/// Twice, so that the second round begins with workers that have slept.
fn check(workers: usize, _: &Shape) -> Verdict {
    let pool = pool(workers, &Mapping::Scatter)?;
    for _ in 0..2 {
        reaches_all(&pool, workers)?;
        same("fib", &pool.run(|worker| fib(worker, 18)), &2584)?;
        let limit = workers / 8;
        pool.control().set_threads(limit);
        same("the limit", &pool.threads(), &limit)?;
        same("fib below the limit", &pool.run(|worker| fib(worker, 18)), &2584)?;
        same("a sum", &sum(&pool, 10_000), &49_995_000)?;
        pool.control().set_threads(None);
        same("no limit", &pool.threads(), &workers)?;
    }
    Ok(Outcome::Passed)
}

/// A broadcast runs once on each worker.
fn reaches_all(pool: &Pool, workers: usize) -> Result<(), String> {
    let slots: Vec<usize> = survey(pool).iter().map(|seen| seen.slot).collect();
    same("the workers of a broadcast", &slots, &(0..workers).collect())
}

fn fib(worker: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join(|worker| fib(worker, n - 1), |worker| fib(worker, n - 2));
    a + b
}

fn sum(pool: &Pool, numbers: usize) -> usize {
    pool.run(|_| sinew::over(0..numbers).sum())
}
