//! `sinew-lab sim --calibrate`: measures the costs of scheduling on this machine.
//!
//! | cost | how it is measured |
//! |---|---|
//! | spawn, join | a tree of joins on one worker compared with the same calls without joins; half of the difference each |
//! | attempt, sample, publish | the transfer of a cache line between two threads, one way |
//! | steal | from the push of a task to its beginning on a searching worker, less an attempt |
//! | exposure | a heavy fence while another thread of the program runs, where the system has one |
//! | wake | from the push of a task to its beginning on a parked worker, less the same on a searching one |
//!
//! Each measurement takes the value at a tenth of the way from the shortest of many to the longest,
//! because disturbances make it longer. The result is the median of the consistent measurements. If
//! other programs of the machine use the second core, no measurement may be consistent; then the
//! output says so. A comment gives the slow-down of a memory copy beside another one, because
//! contention depends on the program. Distances and refills are the usual ones: one machine shows
//! only one set of distances.

use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::{Duration as Wall, Instant};

use signal_hook::consts::SIGINT;
use signal_hook::flag;
use sinew::{Pool, PoolBuilder, Worker};
use sinew_console::{Failure, INTERRUPTED, output};
use sinew_sim::{Costs, Duration};
use sinew_sync::atomic::{AtomicBool, AtomicU64, Ordering, spin_loop};
use sinew_sync::clock::now_ns;
use sinew_sync::fence;

use super::args::SimArgs;
use super::crowding::{self, low};
use crate::files::ResultFile;

/// Number of measurements of each cost.
const ROUNDS: usize = 200;
/// Time after which a worker is surely parked.
const NAP: Wall = Wall::from_millis(3);
/// Transfers of a line that are timed together.
const GAME: u64 = 32;
/// The size of the tree of joins.
const FIB: u64 = 22;
/// This many consistent measurements suffice, and no measurement begins after the greatest number.
const WANTED: usize = 3;
const MOST: usize = 6;
/// A searching worker gets a task within this time, 100 us; otherwise it did not have its core.
const LATE_NS: f64 = 1e5;
/// A heavy fence takes more than this many transfers of a line; a full fence of one core takes at
/// most one.
const FENCE_LINES: f64 = 2.0;

pub(super) fn perform(args: &SimArgs) -> Result<(), Failure> {
    let file =
        args.calibrate.as_ref().and_then(Option::as_deref).map(ResultFile::create).transpose()?;
    // Half a calibration is useless.
    flag::register_conditional_shutdown(SIGINT, INTERRUPTED, Arc::new(AtomicBool::new(true)))
        .map_err(|error| Failure::Wrong(format!("cannot listen for Ctrl-C: {error}")))?;
    output::note("measuring what the scheduler costs");
    let (Calibrated { costs, doubt }, crowding) = (measure()?, crowding::of_memory());
    let doubt = doubt.map_or_else(String::new, |doubt| format!("# do not trust these: {doubt}\n"));
    let text = format!(
        "{costs}{doubt}# work that memory limits takes {crowding:.2} times as long while two \
         cores do it: for such a program, `contention {crowding:.2}`\n"
    );
    match file {
        None => Ok(output::print(&text)?),
        Some(file) => file.write(&text),
    }
}

/// All costs, and the reason not to trust them, if there is one.
pub(super) struct Calibrated {
    pub(super) costs: Costs,
    pub(super) doubt: Option<String>,
}

/// The results of one measurement, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Found {
    /// A spawn and its join.
    join: f64,
    /// The transfer of a line, one way.
    line: f64,
    /// A heavy fence, if the system has one.
    fence: Option<f64>,
    /// From a push to the task's beginning on a searching worker and on a parked one.
    awake: f64,
    asleep: f64,
}

/// Measures, and reports inconsistent results on standard error.
pub(super) fn measure() -> Result<Calibrated, Failure> {
    let pool = |threads| PoolBuilder::new().threads(threads).build().map_err(Failure::usage);
    let (one, two) = (pool(1)?, pool(2)?);
    let found = settled(|| Found::measure(&one, &two));
    let doubt = found.doubt();
    if let Some(doubt) = &doubt {
        output::complain("sinew-lab", &format!("note: do not trust these costs: {doubt}"));
    }
    Ok(Calibrated { costs: found.costs(), doubt })
}

/// The medians of the consistent measurements, or of all if none is consistent.
fn settled(mut measure: impl FnMut() -> Found) -> Found {
    let (mut sound, mut all) = (Vec::new(), Vec::new());
    while sound.len() < WANTED && all.len() < MOST {
        let found = measure();
        all.push(found);
        sound.extend(found.doubt().is_none().then_some(found));
    }
    let of = if sound.is_empty() { all } else { sound };
    let median = |what: fn(&Found) -> f64| {
        let mut values: Vec<f64> = of.iter().map(what).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let fence = of.iter().all(|found| found.fence.is_some());
    Found {
        join: median(|found| found.join),
        line: median(|found| found.line),
        fence: fence.then(|| median(|found| found.fence.unwrap_or_default())),
        awake: median(|found| found.awake),
        asleep: median(|found| found.asleep),
    }
}

impl Found {
    fn measure(one: &Pool, two: &Pool) -> Self {
        Self {
            join: join_ns(one),
            line: line_ns(),
            fence: fence_ns(),
            awake: handover_ns(two, ROUNDS, false),
            asleep: handover_ns(two, ROUNDS / 10, true),
        }
    }

    /// The reason why the results are inconsistent.
    fn doubt(&self) -> Option<String> {
        let Self { line, fence, awake, asleep, .. } = *self;
        if awake > LATE_NS {
            return Some(format!(
                "a worker that searched got its task after {:.0} us, so it did not have a core",
                awake / 1e3
            ));
        }
        if asleep <= awake {
            return Some(
                "a worker that slept got its task sooner than one that searched".to_owned(),
            );
        }
        let fence = fence.filter(|fence| *fence <= FENCE_LINES * line)?;
        Some(format!(
            "a fence on all cores took {fence:.0} ns, and a line from one to the other {line:.0} ns"
        ))
    }

    fn costs(&self) -> Costs {
        let ns = |value: f64| Duration::Fixed((value.max(0.0) * 1e3) as u64);
        let usual = Costs::usual();
        Costs {
            spawn: ns(self.join / 2.0),
            join: ns(self.join / 2.0),
            attempt: ns(self.line),
            steal: ns((self.awake - self.line).max(self.line)),
            sample: ns(self.line),
            publish: ns(self.line),
            // Without such a fence thieves never expose.
            exposure: self.fence.map_or(usual.exposure, ns),
            wake: ns(self.asleep - self.awake),
            ..usual
        }
    }
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

/// The transfer of a line between two threads, one way.
fn line_ns() -> f64 {
    let ball = AtomicU64::new(0);
    let passes = 400 * GAME;
    let play = |mine: u64| {
        let (mut games, mut began) = (Vec::new(), Instant::now());
        for turn in (mine..passes).step_by(2) {
            // Acquire and Release: no other data is published.
            let mut looks = 0_u32;
            while ball.load(Ordering::Acquire) != turn {
                spin_loop();
                looks += 1;
                if looks.is_multiple_of(1 << 14) {
                    // The other thread may be waiting for this core.
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

/// A heavy fence beside a computing thread, if the system has one.
fn fence_ns() -> Option<f64> {
    // A pool registers for the fence on a thread of its own, and does not wait for it. Without
    // registration every fence is that of one core.
    if !fence::register() {
        return None;
    }
    let (begun, over) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        // Acquire: pairs with the stores below.
        scope.spawn(|| {
            begun.store(1, Ordering::Release);
            while over.load(Ordering::Acquire) == 0 {
                spin_loop();
            }
        });
        while begun.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        let fences = repeat(ROUNDS, || timed(fence::heavy));
        over.store(1, Ordering::Release);
        Some(low(fences))
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

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: Found =
        Found { join: 1.2, line: 28.0, fence: Some(700.0), awake: 266.0, asleep: 60_000.0 };

    /// Catches: a fence that is measured before its registration, and so is that of one core.
    #[test]
    fn the_fence_is_asked_for_before_it_is_measured() {
        let found = fence_ns();
        assert_eq!(
            (found.is_some(), fence::is_asymmetric()),
            (fence::register(), fence::register())
        );
    }

    /// Catches: inconsistent costs without a warning.
    #[test]
    fn values_that_contradict_each_other_are_named() {
        assert_eq!(SOUND.doubt(), None);
        assert_eq!(Found { fence: None, ..SOUND }.doubt(), None);
        for (found, says) in [
            (Found { line: 29.7, awake: 851_089.0, asleep: 851_000.0, ..SOUND }, "851 us"),
            (Found { asleep: 200.0, ..SOUND }, "slept"),
            (Found { fence: Some(30.0), ..SOUND }, "30 ns"),
        ] {
            let doubt = found.doubt().expect(says);
            assert!(doubt.contains(says) && !doubt.contains('\n'), "{doubt}");
        }
    }

    /// Catches: a disturbed measurement that decides although others are consistent, or an endless
    /// repetition if none is.
    #[test]
    fn disturbed_measurements_are_repeated_and_left_out() {
        let disturbed = Found { awake: 851_089.0, asleep: 851_000.0, ..SOUND };
        let mut order =
            [disturbed, Found { line: 20.0, ..SOUND }, disturbed, SOUND, SOUND].into_iter();
        assert_eq!(settled(|| order.next().expect("no sixth measurement")), SOUND);
        let mut asked = 0;
        let count = || {
            asked += 1;
            disturbed
        };
        assert_eq!((settled(count), asked), (disturbed, MOST));
    }

    /// Catches: swapped costs.
    #[test]
    fn costs_are_what_was_found() {
        let costs = SOUND.costs();
        assert_eq!((costs.attempt, costs.steal), (Duration::ns(28), Duration::ns(238)));
        assert_eq!((costs.exposure, costs.wake), (Duration::ns(700), Duration::ns(59_734)));
        assert_eq!(Found { fence: None, ..SOUND }.costs().exposure, Costs::usual().exposure);
    }
}
