//! Transactions: what one costs where nobody is in the way, and whether readers scale; beside locks that do the same.
//!
//! Rounds of everything are interleaved, so that a slow moment of the machine hits all alike. The figures are medians of the
//! rounds. On two threads each does all of it, on the same variables: readers that scale need no longer than alone.

use super::{Line, Unit};
use crate::problem::Scale;
use sinew_stm::{TVar, atomically};
use sinew_sync::CachePadded;
use sinew_sync::clock::now_ns;
use std::hint::black_box;
use std::sync::{Barrier, Mutex, RwLock};
use std::thread;

/// Variables of the long transaction.
const MANY: usize = 100;

/// Rounds of which the median counts.
const ROUNDS: usize = 21;

/// Something that is done again and again on one thread.
struct Row<'a> {
    what: &'static str,
    /// Operations of one call.
    operations: u32,
    run: Box<dyn Fn() + Sync + 'a>,
    bar: Option<(f64, &'static str)>,
}

impl<'a> Row<'a> {
    fn new(what: &'static str, operations: usize, run: impl Fn() + Sync + 'a) -> Self {
        let operations = u32::try_from(operations).unwrap_or(u32::MAX);
        Self { what, operations, run: Box::new(run), bar: None }
    }

    fn at_most(mut self, limit: f64, bar: &'static str) -> Self {
        self.bar = Some((limit, bar));
        self
    }

    /// Nanoseconds for each operation, over `calls` calls.
    fn time(&self, calls: u32) -> f64 {
        let start = now_ns();
        (0..calls).for_each(|_| (self.run)());
        (now_ns() - start) as f64 / f64::from(calls) / f64::from(self.operations)
    }

    /// Nanoseconds that each of two threads needs for an operation while the other does the same.
    fn time_of_two(&self, calls: u32) -> f64 {
        let start = Barrier::new(2);
        let timed = || {
            start.wait();
            self.time(calls)
        };
        thread::scope(|s| {
            let other = s.spawn(timed);
            let own = timed();
            (own + other.join().expect("a thread that only calls what has been called before")) / 2.0
        })
    }
}

/// Measures everything in this room.
pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let vars: Vec<CachePadded<TVar<u64>>> = (0..MANY as u64).map(|n| CachePadded(TVar::new(n))).collect();
    let mutexes: Vec<CachePadded<Mutex<u64>>> =
        (0..MANY as u64).map(|n| CachePadded(Mutex::new(n))).collect();
    let locks: Vec<CachePadded<RwLock<u64>>> =
        (0..MANY as u64).map(|n| CachePadded(RwLock::new(n))).collect();
    #[cfg(feature = "fast-stm")]
    let rivals: Vec<fast_stm::TVar<u64>> = (0..MANY as u64).map(fast_stm::TVar::new).collect();
    let mut rows = ours(&vars);
    rows.extend(with_locks(&mutexes, &locks));
    #[cfg(feature = "fast-stm")]
    rows.extend(with_fast_stm(&rivals));
    let times = interleaved(&rows, scale, Row::time);
    let of_two = interleaved(&rows, scale, Row::time_of_two);
    Ok(rows.iter().zip(times.iter().zip(of_two)).map(|(row, (one, two))| line(row, *one, two)).collect())
}

fn ours(vars: &[CachePadded<TVar<u64>>]) -> Vec<Row<'_>> {
    let (a, b) = (&vars[0], &vars[1]);
    let sum = || atomically(|tx| vars.iter().try_fold(0, |sum: u64, var| Ok(sum.wrapping_add(var.get(tx)?))));
    let swap = || {
        atomically(|tx| {
            let (x, y) = (a.get(tx)?, b.get(tx)?);
            a.set(tx, y)?;
            b.set(tx, x)
        });
    };
    vec![
        Row::new("sinew: a read of 100 in a transaction", MANY, move || drop_box(sum()))
            .at_most(3.0, "at most 3 ns"),
        Row::new("sinew: a transaction of 1 read", 1, || drop_box(atomically(|tx| a.get(tx))))
            .at_most(12.0, "at most 12 ns"),
        Row::new("sinew: 2 reads and 2 writes", 1, swap).at_most(25.0, "at most 25 ns"),
    ]
}

fn with_locks<'a>(
    mutexes: &'a [CachePadded<Mutex<u64>>],
    locks: &'a [CachePadded<RwLock<u64>>],
) -> Vec<Row<'a>> {
    let value = |mutex: &Mutex<u64>| *mutex.lock().expect("nobody panics here");
    let swap = || {
        let mut a = mutexes[0].lock().expect("nobody panics here");
        let mut b = mutexes[1].lock().expect("nobody panics here");
        std::mem::swap(&mut *a, &mut *b);
    };
    let read_all = || {
        let guards: [_; MANY] = std::array::from_fn(|i| locks[i].read().expect("nobody panics here"));
        drop_box(guards.iter().map(|guard| **guard).fold(0, u64::wrapping_add));
    };
    vec![
        Row::new("std: 1 value under a Mutex", 1, move || drop_box(value(&mutexes[0]))),
        Row::new("std: 2 values exchanged under 2 Mutexes", 1, swap),
        Row::new("std: a read of 100 under 100 RwLocks", MANY, read_all),
    ]
}

#[cfg(feature = "fast-stm")]
fn with_fast_stm(vars: &[fast_stm::TVar<u64>]) -> Vec<Row<'_>> {
    use fast_stm::atomically;
    let (a, b) = (&vars[0], &vars[1]);
    let sum =
        || atomically(|tx| vars.iter().try_fold(0, |sum: u64, var| Ok(sum.wrapping_add(var.read(tx)?))));
    let swap = || {
        atomically(|tx| {
            let (x, y) = (a.read(tx)?, b.read(tx)?);
            a.write(tx, y)?;
            b.write(tx, x)
        });
    };
    vec![
        Row::new("fast-stm: a read of 100 in a transaction", MANY, move || drop_box(sum())),
        Row::new("fast-stm: a transaction of 1 read", 1, || drop_box(atomically(|tx| a.read(tx)))),
        Row::new("fast-stm: 2 reads and 2 writes", 1, swap),
    ]
}

fn drop_box(value: u64) {
    black_box(value);
}

/// The median of each row's times.
fn interleaved<'a>(rows: &[Row<'a>], scale: Scale, time: impl Fn(&Row<'a>, u32) -> f64) -> Vec<f64> {
    let calls = |row: &Row<'_>| scale.pick(200_000, 100) / row.operations.min(scale.pick(100, 10));
    let mut times = vec![Vec::new(); rows.len()];
    for _ in 0..scale.pick(ROUNDS, 3) {
        for (row, times) in rows.iter().zip(&mut times) {
            times.push(time(row, calls(row)));
        }
    }
    times.into_iter().map(median).collect()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn line(row: &Row<'_>, one: f64, two: f64) -> Line {
    let figures = vec![("one thread", one), ("two threads, each", two)];
    let line = Line { what: row.what.to_owned(), figures, unit: Unit::Ns, bars: Vec::new() };
    match row.bar {
        Some((limit, bar)) => line.at_most("one thread", limit, bar),
        None => line,
    }
}
