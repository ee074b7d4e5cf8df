//! Loops that are changed while they run: how soon a change takes effect, and what a control costs that nobody uses.
//!
//! A change counts as followed when the first chunk begins whose participant works under it and, where the number of threads has changed, when just so
//! many work. The thread that makes the changes sleeps in between, and makes the next one when the last is followed.

use super::{Line, Unit};
use crate::problem::Scale;
use crate::runtimes::sinew::{Control, Pool, Schedule, over};
use crate::statistics::quantile;
use sinew_sync::atomic::{AtomicU64, Ordering, spin_loop};
use sinew_sync::clock::now_ns;
use std::hint::black_box;
use std::thread;
use std::time::Duration;

/// Measures everything in this room.
pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let pool = Pool::builder().build().map_err(|error| error.to_string())?;
    let mut lines = Vec::new();
    for (grain_ns, grain) in [(1_000, "1 µs"), (10_000, "10 µs"), (100_000, "100 µs")] {
        for (kind, what) in [(Kind::Threads, "threads"), (Kind::Schedule, "schedule")] {
            let what = format!("{what} changed, items of {grain}");
            let line = Line::percentiles(what, delays(&pool, scale, grain_ns, kind));
            lines.extend(line.map(|line| line.at_most("99 %", 1e6, "at most 1 ms in 99 %")));
        }
    }
    for (steps, items) in [(20, 100_000), (2_000, 1_000)] {
        lines.extend(unused(&pool, scale, steps, items));
    }
    Ok(lines)
}

/// What is changed.
#[derive(Clone, Copy)]
enum Kind {
    Threads,
    Schedule,
}

const SCHEDULES: [Schedule; 6] = [
    Schedule::Static,
    Schedule::Dynamic { chunk: 1 },
    Schedule::Dynamic { chunk: 64 },
    Schedule::Tapered { min: 1 },
    Schedule::Factoring { min: 1 },
    Schedule::Stealing,
];

/// A change under way.
#[derive(Default)]
struct Change {
    /// How many changes there are with it; 0 if none is under way.
    number: AtomicU64,
    /// When the first chunk under it began.
    followed_ns: AtomicU64,
}

impl Change {
    /// A chunk begins.
    fn look(&self, control: &Control, kind: Kind) {
        // Relaxed, here and below: the exchange decides who is first, and only times are handed over.
        let number = self.number.load(Ordering::Relaxed);
        if number == 0 {
            return;
        }
        let now = control.snapshot();
        let in_effect = match kind {
            Kind::Threads => now.threads == Some(now.working),
            Kind::Schedule => true,
        };
        if now.followed >= number
            && in_effect
            && self.number.compare_exchange(number, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            self.followed_ns.store(now_ns(), Ordering::Relaxed);
        }
    }

    /// Makes it, and answers how long it took to be followed; `None` if the loop ended before.
    fn make(&self, control: &Control, kind: Kind, random: u64) -> Option<f64> {
        self.followed_ns.store(0, Ordering::Relaxed);
        let before = control.snapshot();
        self.number.store(before.changes + 1, Ordering::Relaxed);
        let began = now_ns();
        match kind {
            Kind::Threads => control
                .set_threads(1 + random as usize % thread::available_parallelism().map_or(1, usize::from)),
            Kind::Schedule => control.set_schedule(SCHEDULES[random as usize % SCHEDULES.len()]),
        }
        if control.snapshot().changes == before.changes {
            self.number.store(0, Ordering::Relaxed);
            return None;
        }
        while self.followed_ns.load(Ordering::Relaxed) == 0 {
            if control.snapshot().loops == 0 {
                return None;
            }
            thread::sleep(Duration::from_micros(100));
        }
        Some(self.followed_ns.load(Ordering::Relaxed).saturating_sub(began) as f64)
    }
}

/// From the call to the first chunk under the new setting.
fn delays(pool: &Pool, scale: Scale, grain_ns: u64, kind: Kind) -> Vec<f64> {
    let changes = scale.pick(10_000, 5);
    let (control, change) = (Control::new(), Change::default());
    thread::scope(|s| {
        let changer = s.spawn(|| {
            while control.snapshot().working == 0 {
                thread::sleep(Duration::from_micros(100));
            }
            let mut random = fastrand::Rng::with_seed(grain_ns);
            let mut delays = Vec::with_capacity(changes);
            while delays.len() < changes {
                thread::sleep(Duration::from_micros(random.u64(..300)));
                delays.extend(change.make(&control, kind, random.u64(..)));
            }
            control.cancel();
            delays
        });
        let item = |_| {
            change.look(&control, kind);
            let began = now_ns();
            while now_ns() - began < grain_ns {
                spin_loop();
            }
        };
        // Endless: it is cancelled when all changes are made.
        let _cancelled = pool.run(|_| over(0..usize::MAX).control(&control).for_each(item));
        changer.join().unwrap_or_default()
    })
}

/// The time of a loop with a control beside that of the same loop without.
fn unused(pool: &Pool, scale: Scale, steps: u32, items: usize) -> Option<Line> {
    let item = |number: usize| {
        black_box(
            (0..steps).fold(number as u64, |sum, step| black_box(sum.wrapping_mul(31) + u64::from(step))),
        );
    };
    let control = Control::new();
    let plain = || pool.run(|_| over(0..items).for_each(item));
    let controlled = || pool.run(|_| over(0..items).control(&control).for_each(item)).is_ok();
    let mut ratios: Vec<f64> = (0..scale.pick(500, 2))
        .map(|_| {
            let (first, second) = (timed(plain), timed(controlled));
            second / first
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let ratio = quantile(&ratios, 0.5)?;
    let what = format!("a control that nobody uses, {items} items of {steps} steps");
    Some(Line::single(what, "ratio", ratio, Unit::Number).at_most("ratio", 1.01, "at most 1 % more"))
}

fn timed<R>(run: impl Fn() -> R) -> f64 {
    let start = now_ns();
    black_box(run());
    (now_ns() - start) as f64
}
