//! `join` by itself, on a thread of the pool.

use super::{inside, numbers};
use crate::work::{Scale, Work, work};
use std::hint::black_box;

pub(super) fn fib(scale: Scale) -> Box<dyn Work> {
    work(scale.pick(24, 12), |n| serial_fib(*n), |n| inside(|| parallel_fib(*n)))
}

fn serial_fib(n: u32) -> u64 {
    let (mut this, mut next) = (0, 1);
    for _ in 0..n {
        (this, next) = (next, this + next);
    }
    this
}

fn parallel_fib(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = rayon::join(|| parallel_fib(n - 1), || parallel_fib(n - 2));
    a + b
}

pub(super) fn empty(scale: Scale) -> Box<dyn Work> {
    let parallel = |joins: &u64| {
        inside(|| {
            let one = || {
                let (a, b) = rayon::join(|| black_box(0u64), || black_box(1));
                a + b
            };
            (0..*joins).map(|_| one()).sum()
        })
    };
    work(scale.pick(100_000, 100), |joins| *joins, parallel)
}

/// Joins in the first arms of joins, and how often all of them.
struct Deep {
    depth: u64,
    times: u64,
}

pub(super) fn deep(scale: Scale) -> Box<dyn Work> {
    work(
        Deep { depth: scale.pick(500, 50), times: scale.pick(200, 2) },
        |deep| deep.depth * deep.times,
        |deep| inside(|| (0..deep.times).map(|_| descend(deep.depth)).sum()),
    )
}

fn descend(depth: u64) -> u64 {
    if depth == 0 {
        return 0;
    }
    let (a, b) = rayon::join(|| descend(depth - 1), || black_box(1));
    a + b
}

/// Numbers that are added up serially.
const LEAF: usize = 64;

pub(super) fn sum(scale: Scale) -> Box<dyn Work> {
    work(
        numbers(scale.pick(1_000_000, 10_000)),
        |numbers| serial_sum(numbers),
        |numbers| inside(|| by_halves(numbers)),
    )
}

fn serial_sum(numbers: &[u32]) -> u64 {
    numbers.iter().map(|number| u64::from(*number)).sum()
}

fn by_halves(numbers: &[u32]) -> u64 {
    if numbers.len() <= LEAF {
        return serial_sum(numbers);
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (a, b) = rayon::join(|| by_halves(left), || by_halves(right));
    a + b
}
