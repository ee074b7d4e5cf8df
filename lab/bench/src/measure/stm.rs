//! Transactions: the cost of one without conflicts, and the scaling of readers, beside locks that
//! do the same.
//!
//! Rounds of everything are interleaved, so that a slow moment of the machine hits all alike, and
//! in each round one thread and two follow one another. The figures are medians of the rounds. On
//! two threads each does all of it, on the same variables: readers that scale need no longer than
//! alone. The slow-down of plain loads in this case depends on the machine, whose cores may share
//! units.

mod maps;

use super::line::{Line, Unit};
use crate::problem::Scale;
use crate::statistics::Summary;
use sinew_stm::{TVar, atomically};
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::clock::now_ns;
use std::hint::black_box;
use std::sync::{Barrier, Mutex, RwLock};
use std::thread;

/// Variables of the long transaction.
const MANY: usize = 100;

/// Rounds of which the median counts.
const ROUNDS: usize = 21;

/// The greatest slow-down of each of two readers relative to one alone: together they do 1.9 times
/// as much.
const SCALES: f64 = 2.0 / 1.9;

/// Something that is done again and again, on one thread or on two.
struct Row<'a> {
    what: &'static str,
    /// Operations of one call.
    operations: u32,
    run: Box<dyn Fn() + Sync + 'a>,
    bar: Option<(f64, &'static str)>,
    reads_only: bool,
}

impl<'a> Row<'a> {
    fn new(what: &'static str, operations: usize, run: impl Fn() + Sync + 'a) -> Self {
        let operations = u32::try_from(operations).unwrap_or(u32::MAX);
        Self { what, operations, run: Box::new(run), bar: None, reads_only: false }
    }

    fn at_most(mut self, limit: f64, bar: &'static str) -> Self {
        self.bar = Some((limit, bar));
        self
    }

    fn reads_only(mut self) -> Self {
        self.reads_only = true;
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
            (own + other.join().expect("a thread that only calls what has been called before"))
                / 2.0
        })
    }
}

/// Makes all measurements of this file.
pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let vars: Vec<CachePadded<TVar<u64>>> =
        (0..MANY as u64).map(|n| CachePadded(TVar::new(n))).collect();
    let mutexes: Vec<CachePadded<Mutex<u64>>> =
        (0..MANY as u64).map(|n| CachePadded(Mutex::new(n))).collect();
    let locks: Vec<CachePadded<RwLock<u64>>> =
        (0..MANY as u64).map(|n| CachePadded(RwLock::new(n))).collect();
    #[cfg(feature = "fast-stm")]
    let rivals: Vec<fast_stm::TVar<u64>> = (0..MANY as u64).map(fast_stm::TVar::new).collect();
    let plain: Vec<CachePadded<AtomicU64>> =
        (0..MANY as u64).map(|n| CachePadded(AtomicU64::new(n))).collect();
    let maps = maps::Maps::new();
    let mut rows = vec![with_loads(&plain)];
    rows.extend(ours(&vars));
    rows.extend(with_locks(&mutexes, &locks));
    rows.extend(maps.rows());
    #[cfg(feature = "fast-stm")]
    rows.extend(with_fast_stm(&rivals));
    let times = interleaved(&rows, scale);
    let mut lines: Vec<Line> =
        rows.iter().zip(&times).map(|(row, times)| line(row, times)).collect();
    let readers = rows.iter().zip(&times).filter(|(row, _)| row.reads_only);
    lines.extend(readers.map(|(row, times)| scaling(row, times)));
    Ok(lines)
}

fn with_loads(values: &[CachePadded<AtomicU64>]) -> Row<'_> {
    let sum =
        || values.iter().fold(0, |sum: u64, value| sum.wrapping_add(value.load(Ordering::Acquire)));
    Row::new("plain: a load of 100", MANY, move || drop_box(sum())).reads_only()
}

fn ours(vars: &[CachePadded<TVar<u64>>]) -> Vec<Row<'_>> {
    let (a, b) = (&vars[0], &vars[1]);
    let sum = || {
        atomically(|tx| vars.iter().try_fold(0, |sum: u64, var| Ok(sum.wrapping_add(var.get(tx)?))))
    };
    let swap = || {
        atomically(|tx| {
            let (x, y) = (a.get(tx)?, b.get(tx)?);
            a.set(tx, y)?;
            b.set(tx, x)
        });
    };
    vec![
        Row::new("sinew: a read of 100 in a transaction", MANY, move || drop_box(sum()))
            .at_most(3.0, "at most 3 ns")
            .reads_only(),
        Row::new("sinew: a transaction of 1 read", 1, || drop_box(atomically(|tx| a.get(tx))))
            .at_most(12.0, "at most 12 ns")
            .reads_only(),
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
        let guards: [_; MANY] =
            std::array::from_fn(|i| locks[i].read().expect("nobody panics here"));
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
    let sum = || {
        atomically(|tx| {
            vars.iter().try_fold(0, |sum: u64, var| Ok(sum.wrapping_add(var.read(tx)?)))
        })
    };
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

/// Times of one round, for each operation: of one thread, and of each of two.
type Round = [f64; 2];

/// All rounds of each row.
fn interleaved(rows: &[Row<'_>], scale: Scale) -> Vec<Vec<Round>> {
    let calls = |row: &Row<'_>| scale.pick(200_000, 100) / row.operations.min(scale.pick(100, 10));
    let mut times = vec![Vec::new(); rows.len()];
    for _ in 0..scale.pick(ROUNDS, 3) {
        for (row, times) in rows.iter().zip(&mut times) {
            times.push([row.time(calls(row)), row.time_of_two(calls(row))]);
        }
    }
    times
}

fn median(rounds: &[Round], figure: impl Fn(&Round) -> f64) -> f64 {
    Summary::of(rounds.iter().map(figure)).map_or(f64::NAN, |summary| summary.median)
}

fn line(row: &Row<'_>, rounds: &[Round]) -> Line {
    let (one, two) = (median(rounds, |round| round[0]), median(rounds, |round| round[1]));
    let line =
        Line::pair(row.what.to_owned(), ("one thread", one), ("two threads, each", two), Unit::Ns);
    match row.bar {
        Some((limit, bar)) => line.at_most("one thread", limit, bar),
        None => line,
    }
}

/// The slow-down of each of two threads relative to one alone.
fn scaling(row: &Row<'_>, rounds: &[Round]) -> Line {
    const NAME: &str = "each of two, of one's time";
    let line = Line::single(
        row.what.to_owned(),
        NAME,
        median(rounds, |round| round[1] / round[0]),
        Unit::Number,
    );
    if row.bar.is_none() {
        line
    } else {
        line.at_most(NAME, SCALES, "at least 1.9 times as much together")
    }
}
