//! `sinew sim --calibrate`: what the scheduler's operations cost on the machine at hand.
//!
//! | cost | how it is measured |
//! |---|---|
//! | spawn, join | a tree of joins on one worker against the same calls without joins, half of the difference each |
//! | attempt, sample, publish | a cache line that two threads hand to each other, one way |
//! | steal | from the push of a task to its beginning on another worker that searches, less an attempt |
//! | exposure | a heavy fence while another thread of the program runs |
//! | wake | from the push of a task to its beginning on another worker that sleeps, less the same where it searches |
//!
//! Each is the one at a tenth of the way from the shortest of many to the longest, as what disturbs a measurement makes it longer. How much longer a copy of memory takes beside another one is said in a comment, as it is a matter of the program whether that concerns it. Distances and refills are those that are usual: one machine at hand shows one set of distances only.

use std::hint::black_box;
use std::thread;
use std::time::{Duration as Wall, Instant};

use sinew::{Builder, Pool, Worker};
use sinew_sim::{Costs, Duration};
use sinew_sync::atomic::{AtomicU64, Ordering, spin_loop};
use sinew_sync::clock::now_ns;

use super::crowding::{self, low};
use crate::args::SimArgs;
use crate::failure::Failure;
use crate::output;

/// How often each is measured.
const ROUNDS: usize = 200;
/// A parked worker has been asleep for so long.
const NAP: Wall = Wall::from_millis(3);
/// Passes of a line that are timed together.
const GAME: u64 = 32;
/// The tree of joins.
const FIB: u64 = 22;

pub(super) fn perform(args: &SimArgs) -> Result<(), Failure> {
    let (costs, crowding) = (measure()?, crowding::of_memory());
    let text = format!(
        "{costs}# work that memory limits takes {crowding:.2} times as long while two cores do it: for such a program, `contention {crowding:.2}`\n"
    );
    match args.calibrate.as_ref().and_then(Option::as_ref) {
        None => Ok(output::print(&text)?),
        Some(path) => std::fs::write(path, text)
            .map_err(|error| Failure::Unwritten(format!("cannot write {}: {error}", path.display()))),
    }
}

/// All costs.
pub(super) fn measure() -> Result<Costs, Failure> {
    let pool = |threads| Builder::new().threads(threads).build().map_err(Failure::usage);
    let join = join_ns(&pool(1)?);
    let line = line_ns();
    let two = pool(2)?;
    let fence = fence_ns();
    let (awake, asleep) = (handover_ns(&two, ROUNDS, false), handover_ns(&two, ROUNDS / 10, true));
    let ns = |value: f64| Duration::Fixed((value.max(0.0) * 1e3) as u64);
    Ok(Costs {
        spawn: ns(join / 2.0),
        join: ns(join / 2.0),
        attempt: ns(line),
        steal: ns((awake - line).max(line)),
        sample: ns(line),
        publish: ns(line),
        exposure: ns(fence),
        wake: ns(asleep - awake),
        ..Costs::usual()
    })
}

fn repeat(rounds: usize, mut once: impl FnMut() -> f64) -> Vec<f64> {
    (0..rounds.max(1)).map(|_| once()).collect()
}

fn timed(what: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    what();
    begin.elapsed().as_secs_f64() * 1e9
}

/// A spawn and its join.
fn join_ns(pool: &Pool) -> f64 {
    let calls = calls(FIB) as f64;
    let joins = (calls - 1.0) / 2.0;
    let with = low(repeat(21, || timed(|| _ = black_box(pool.run(|w| joined(w, black_box(FIB)))))));
    let without = low(repeat(21, || timed(|| _ = black_box(plain(black_box(FIB))))));
    (with - without) / joins
}

fn calls(n: u64) -> u64 {
    if n < 2 { 1 } else { 1 + calls(n - 1) + calls(n - 2) }
}

fn joined(worker: &Worker, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join(|w| joined(w, n - 1), |w| joined(w, n - 2));
    a + b
}

#[inline(never)]
fn plain(n: u64) -> u64 {
    if n < 2 { n } else { plain(n - 1) + plain(n - 2) }
}

/// One way of a line between two threads.
fn line_ns() -> f64 {
    let ball = AtomicU64::new(0);
    let passes = 400 * GAME;
    let play = |mine: u64| {
        let (mut games, mut began) = (Vec::new(), Instant::now());
        for turn in (mine..passes).step_by(2) {
            // Acquire and Release: the ball is all there is.
            let mut looks = 0_u32;
            while ball.load(Ordering::Acquire) != turn {
                spin_loop();
                looks += 1;
                if looks.is_multiple_of(1 << 14) {
                    // The other one may be waiting for this core.
                    thread::yield_now();
                }
            }
            ball.store(turn + 1, Ordering::Release);
            if turn % GAME < 2 {
                games.push(began.elapsed().as_secs_f64() * 1e9 / GAME as f64);
                began = Instant::now();
            }
        }
        games
    };
    low(thread::scope(|scope| {
        scope.spawn(|| play(1));
        play(0)
    }))
}

/// A heavy fence beside a thread that computes.
fn fence_ns() -> f64 {
    let over = AtomicU64::new(0);
    thread::scope(|scope| {
        // Acquire: pairs with the store below.
        scope.spawn(|| {
            while over.load(Ordering::Acquire) == 0 {
                spin_loop();
            }
        });
        let fences = repeat(ROUNDS, || timed(sinew_sync::fence::heavy));
        over.store(1, Ordering::Release);
        low(fences)
    })
}

/// From a push to the task's beginning on the other worker.
fn handover_ns(pool: &Pool, rounds: usize, asleep: bool) -> f64 {
    let begun = AtomicU64::new(0);
    let once = |worker: &Worker| {
        if asleep {
            thread::sleep(NAP);
        }
        begun.store(0, Ordering::Relaxed);
        let pushed = now_ns();
        let wait = |_: &Worker| {
            // Acquire: pairs with the store below.
            let mut looks = 0_u32;
            while begun.load(Ordering::Acquire) == 0 {
                spin_loop();
                looks += 1;
                if looks.is_multiple_of(1 << 14) {
                    thread::yield_now();
                }
            }
        };
        worker.join(wait, |_: &Worker| begun.store(now_ns().max(1), Ordering::Release));
        begun.load(Ordering::Relaxed).saturating_sub(pushed) as f64
    };
    low(pool.run(|worker| repeat(rounds, || once(worker))))
}
