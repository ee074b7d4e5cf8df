//! How soon a change takes effect.
//!
//! A change counts as followed when the first chunk begins whose participant works under it and, where the number of threads has changed, when just so
//! many work. The thread that makes the changes sleeps in between, and makes the next one when the last is followed. All of the pool's workers have threads of
//! their own: guests are not pinned, and so would follow a mapping without moving.

use super::{Line, Unit};
use crate::problem::Scale;
use crate::runtimes::sinew::{Control, Pool, Schedule, over};
use crate::statistics::quantile;
use sinew::Mapping;
use sinew_sync::atomic::{AtomicU64, Ordering, spin_loop};
use sinew_sync::clock::now_ns;
use std::thread;
use std::time::Duration;

/// Slices are cut to this, unless a single item takes longer.
const SLICE_NS: u64 = 50_000;

/// What a change may take beyond the slice under way.
const BEYOND_NS: u64 = 50_000;

pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let pool = Pool::builder().guest_seat(false).build().map_err(|error| error.to_string())?;
    let mut lines = Vec::new();
    for (grain_ns, grain) in [(1_000, "1 µs"), (10_000, "10 µs"), (100_000, "100 µs")] {
        for (kind, what) in
            [(Kind::Threads, "threads"), (Kind::Schedule, "schedule"), (Kind::Mapping, "mapping")]
        {
            let delays = delays(&pool, scale, grain_ns, kind);
            lines.extend(judge(format!("{what} changed, items of {grain}"), delays, grain_ns));
        }
    }
    Ok(lines)
}

/// All percentiles, and the median on a line of its own, as there is a bar for it too.
fn judge(what: String, mut delays: Vec<f64>, grain_ns: u64) -> Vec<Line> {
    delays.sort_by(f64::total_cmp);
    let limit = (SLICE_NS.max(grain_ns) + BEYOND_NS) as f64;
    let median = quantile(&delays, 0.5).map(|median| {
        let line = Line::single(format!("{what}: usually"), "median", median, Unit::Ns);
        line.at_most("median", limit, "at most a slice and 50 µs")
    });
    let all = Line::percentiles(what, delays).map(|line| line.at_most("99 %", 1e6, "at most 1 ms in 99 %"));
    all.into_iter().chain(median).collect()
}

/// What is changed.
#[derive(Clone, Copy)]
enum Kind {
    Threads,
    Schedule,
    Mapping,
}

const SCHEDULES: [Schedule; 6] = [
    Schedule::Static,
    Schedule::Dynamic { chunk: 1 },
    Schedule::Dynamic { chunk: 64 },
    Schedule::Tapered { min: 1 },
    Schedule::Factoring { min: 1 },
    Schedule::Stealing,
];

impl Kind {
    fn change(self, control: &Control, random: usize) {
        match self {
            Self::Threads => {
                control.set_threads(1 + random % thread::available_parallelism().map_or(1, usize::from));
            }
            Self::Schedule => control.set_schedule(SCHEDULES[random % SCHEDULES.len()]),
            Self::Mapping => {
                let cpu = sinew_topology::current_cpu().unwrap_or(0);
                let mappings =
                    [Mapping::Compact, Mapping::None, Mapping::Scatter, Mapping::Explicit(vec![cpu])];
                // This thread runs there: it is allowed.
                let _ = control.set_mapping(&mappings[random % mappings.len()]);
            }
        }
    }
}

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
            Kind::Schedule | Kind::Mapping => true,
        };
        if now.followed >= number
            && in_effect
            && self.number.compare_exchange(number, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            self.followed_ns.store(now_ns(), Ordering::Relaxed);
        }
    }

    /// Makes it, and answers how long it took to be followed; `None` if the loop ended before, or nothing was changed.
    fn make(&self, control: &Control, kind: Kind, random: u64) -> Option<f64> {
        self.followed_ns.store(0, Ordering::Relaxed);
        let before = control.snapshot();
        self.number.store(before.changes + 1, Ordering::Relaxed);
        let began = now_ns();
        kind.change(control, random as usize);
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
