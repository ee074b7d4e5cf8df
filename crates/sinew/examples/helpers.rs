//! Where a helper thread pays: one worker, whose units wait for memory.
//!
//! Each unit follows a chain of cells through a large array, from a start of its own, and adds the
//! end of the chain to a sum. A helper loads the cells of the units that come next, and its worker
//! finds them in a cache. That needs a cache that both share: the example first prints how long a
//! cache line takes from one thread to another and back. Two workers are shown as well; a helper is
//! for programs that cannot use them, such as those whose units must run in order.
//!
//! ```text
//! cargo run --release --features transactions --example helpers [MEGABYTES [ROUNDS]]
//! ```
//!
//! The array should be several times as large as the last cache. The example prints the time for
//! each unit: medians of the rounds, whose variants take turns.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Instant;

use sinew::Pool;
use sinew::stm::{TArray, TVar};
use sinew::worklist::{Settings, Tuning, Worklist};

const UNITS: u64 = 20_000;
/// Cells in the chain of one unit.
const STEPS: u64 = 20;

/// A number that looks random.
fn mix(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ mixed >> 29
}

/// The place of the cell after one with the value `value`.
fn next(value: u64, unit: u64, step: u64, cells: usize) -> usize {
    (mix(value ^ unit << 20 ^ step) % cells as u64) as usize
}

/// Runs the units, and returns the nanoseconds for each, and their sum.
fn time(pool: &Pool, cells: &TArray<u64>, settings: Settings) -> (f64, u64) {
    let sum = TVar::new(0_u64);
    let mut list: Worklist<u64> = (0..UNITS).collect();
    list = list.speculative().tune(Tuning::Fixed(settings));
    let start = Instant::now();
    let report = pool.run(|_| {
        list.run(|tx, &unit| {
            let before = sum.get(tx)?;
            let mut value = 0;
            for step in 0..STEPS {
                value = cells.get(tx, next(value, unit, step, cells.len()))?;
            }
            sum.set(tx, before.wrapping_add(value))
        })
    });
    let elapsed = start.elapsed().as_nanos() as f64 / UNITS as f64;
    assert_eq!(report.expect("the list has units").commits, UNITS);
    (elapsed, sum.load())
}

/// Nanoseconds for a cache line from one thread to another and back.
fn round_trip() -> f64 {
    const TRIPS: u64 = 20_000;
    let line = AtomicU64::new(0);
    let wait_for = |value| {
        while line.load(SeqCst) != value {
            std::hint::spin_loop();
        }
    };
    std::thread::scope(|s| {
        s.spawn(|| {
            for trip in 0..TRIPS {
                wait_for(2 * trip + 1);
                line.store(2 * trip + 2, SeqCst);
            }
        });
        let start = Instant::now();
        for trip in 0..TRIPS {
            line.store(2 * trip + 1, SeqCst);
            wait_for(2 * trip + 2);
        }
        start.elapsed().as_nanos() as f64 / TRIPS as f64
    })
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse().expect("a number"));
    let megabytes: usize = numbers.next().unwrap_or(8);
    let rounds: usize = numbers.next().unwrap_or(3);
    // A cell is a value and its record.
    let cells = TArray::from_fn(megabytes << 16, |place| mix(place as u64));
    let variants = [
        ("one worker", 1, Settings::baseline(1)),
        ("one worker and its helper", 2, Settings::baseline(1).lifespan(1_000)),
        ("two workers", 2, Settings::baseline(2)),
    ];
    let pools = variants.map(|(_, threads, _)| {
        Pool::builder().threads(threads).build().expect("a pool of one or two workers")
    });
    let mut times = [const { Vec::new() }; 3];
    let (mut sums, mut trips) = (Vec::new(), Vec::new());
    for _ in 0..rounds.max(1) {
        trips.push(round_trip());
        for (at, (_, _, settings)) in variants.into_iter().enumerate() {
            let (elapsed, sum) = time(&pools[at], &cells, settings.stealing(true));
            times[at].push(elapsed);
            sums.push(sum);
        }
    }
    assert!(sums.iter().all(|sum| *sum == sums[0]), "all variants run all units: {sums:?}");
    println!("a cache line, there and back {:6.0} ns", median(&mut trips));
    for ((name, ..), times) in variants.iter().zip(&mut times) {
        println!("{name:<26} {:8.0} ns a unit", median(times));
    }
}
