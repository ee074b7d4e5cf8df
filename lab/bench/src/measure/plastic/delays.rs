//! The delay until a change takes effect.
//!
//! A change has taken effect when the first item begins whose participant works under it. If the
//! number of threads has changed, exactly that number must work. All of the pool's workers have
//! threads of their own: external threads are not pinned, and so would follow a mapping without
//! moving.
//!
//! Changes come from a thread outside, which sleeps in between, and from the loop's own bodies. The
//! outside thread takes a core from a worker whenever it wakes, as any thread would on a machine
//! whose cores are all busy. The bodies measure only the loop. All changes of one kind are made to
//! one loop, so a cost that grows with the number of changes shows.

use crate::measure::line::{Line, Unit};
use crate::problem::Scale;
use crate::runtimes::sinew::{Control, ParIter, Pool, Schedule, over};
use crate::statistics::median;
use sinew::Mapping;
use sinew_sync::atomic::{AtomicU64, Ordering, spin_loop};
use sinew_sync::clock::now_ns;
use sinew_sync::lock::Mutex;
use std::thread;
use std::time::Duration;

/// Slices are cut to this, unless a single item takes longer.
const SLICE_NS: u64 = 50_000;

/// The greatest delay of a change beyond the current slice.
const BEYOND_NS: u64 = 50_000;

pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let pool = Pool::builder().external_slot(false).build().map_err(|error| error.to_string())?;
    let mut lines = Vec::new();
    for (grain_ns, grain) in [(1_000, "1 µs"), (10_000, "10 µs"), (100_000, "100 µs")] {
        for (kind, what) in
            [(Kind::Threads, "threads"), (Kind::Schedule, "schedule"), (Kind::Mapping, "mapping")]
        {
            for (caller, by) in [(Caller::Outside, ""), (Caller::Body, " by a body")] {
                let delays = delays(&pool, scale.pick(10_000, 5), grain_ns, kind, caller);
                lines.extend(verdict(
                    format!("{what} changed{by}, items of {grain}"),
                    delays,
                    grain_ns,
                ));
            }
        }
    }
    Ok(lines)
}

/// So many delays of a change of the number of threads, made by bodies of 10 µs on a pool of at
/// least two workers.
pub(crate) fn of_threads(pool: &Pool, wanted: usize) -> Vec<f64> {
    delays(pool, wanted, 10_000, Kind::Threads, Caller::Body)
}

/// All percentiles, and the median on a line of its own, as there is a bar for it too.
fn verdict(what: String, delays: Vec<f64>, grain_ns: u64) -> Vec<Line> {
    let limit = (SLICE_NS.max(grain_ns) + BEYOND_NS) as f64;
    let median = median(&delays).map(|median| {
        let line = Line::single(format!("{what}: usually"), "median", median, Unit::Ns);
        line.at_most("median", limit, "at most a slice and 50 µs")
    });
    let all = Line::percentiles(what, delays)
        .map(|line| line.at_most("99 %", 1e6, "at most 1 ms in 99 %"));
    all.into_iter().chain(median).collect()
}

/// The setting to change.
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
    Schedule::Guided { min: 1 },
    Schedule::Factoring { min: 1 },
    Schedule::Stealing,
];

impl Kind {
    /// Makes a change of a loop on which `threads` threads may work.
    fn change(self, control: &Control, threads: usize, random: usize) {
        match self {
            Self::Threads => {
                control.set_threads(1 + random % threads);
            }
            Self::Schedule => control.set_schedule(SCHEDULES[random % SCHEDULES.len()]),
            Self::Mapping => {
                let cpu = sinew_topology::current_cpu().unwrap_or(0);
                let mappings = [
                    Mapping::Compact,
                    Mapping::None,
                    Mapping::Scatter,
                    Mapping::Explicit(vec![cpu]),
                ];
                // This thread runs there: it is allowed.
                let _ = control.set_mapping(&mappings[random % mappings.len()]);
            }
        }
    }
}

/// The thread that makes the changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Caller {
    Outside,
    Body,
}

/// No body is to make a change.
const NEVER: u64 = u64::MAX;

/// The changes of one loop, one after the other.
struct Changes<'c> {
    control: &'c Control,
    kind: Kind,
    caller: Caller,
    threads: usize,
    wanted: usize,
    /// The number of changes including the current one; 0 if there is none.
    number: AtomicU64,
    began_ns: AtomicU64,
    /// When a body is to make the next.
    due_ns: AtomicU64,
    record: Mutex<Record>,
}

struct Record {
    delays: Vec<f64>,
    random: fastrand::Rng,
}

impl Record {
    fn pause_ns(&mut self) -> u64 {
        self.random.u64(..300_000)
    }
}

impl<'c> Changes<'c> {
    fn new(
        control: &'c Control,
        kind: Kind,
        caller: Caller,
        threads: usize,
        wanted: usize,
    ) -> Self {
        let record =
            Record { delays: Vec::with_capacity(wanted), random: fastrand::Rng::with_seed(6) };
        Self {
            control,
            kind,
            caller,
            threads,
            wanted,
            number: AtomicU64::new(0),
            began_ns: AtomicU64::new(0),
            due_ns: AtomicU64::new(if caller == Caller::Body { 0 } else { NEVER }),
            record: Mutex::new(record),
        }
    }

    /// An item begins.
    fn look(&self) {
        // Relaxed, here and below: exchanges decide which thread is first, and only times are
        // passed on.
        let number = self.number.load(Ordering::Relaxed);
        if number > 0 && self.is_followed(number) && is_first(&self.number, number, 0) {
            self.note();
        }
        let due = self.due_ns.load(Ordering::Relaxed);
        if due != NEVER && now_ns() >= due && is_first(&self.due_ns, due, NEVER) && !self.make() {
            self.due_ns.store(due, Ordering::Relaxed);
        }
    }

    fn is_followed(&self, number: u64) -> bool {
        let now = self.control.snapshot();
        let in_effect = match self.kind {
            Kind::Threads => now.threads == Some(now.working),
            Kind::Schedule | Kind::Mapping => true,
        };
        now.changes_applied >= number && in_effect
    }

    /// The change under way is followed.
    fn note(&self) {
        let now = now_ns();
        let mut record = self.record.lock();
        record.delays.push(now.saturating_sub(self.began_ns.load(Ordering::Relaxed)) as f64);
        if record.delays.len() == self.wanted {
            self.control.cancel();
        } else if self.caller == Caller::Body {
            self.due_ns.store(now + record.pause_ns(), Ordering::Relaxed);
        }
    }

    /// Makes a change, unless the one that is drawn is none.
    fn make(&self) -> bool {
        let random = self.record.lock().random.usize(..);
        let before = self.control.snapshot();
        self.began_ns.store(now_ns(), Ordering::Relaxed);
        self.number.store(before.changes + 1, Ordering::Relaxed);
        self.kind.change(self.control, self.threads, random);
        let is_one = self.control.snapshot().changes > before.changes;
        if !is_one {
            self.number.store(0, Ordering::Relaxed);
        }
        is_one
    }

    /// Makes all of them, from a thread outside the loop.
    fn make_all(&self) {
        while !self.control.is_cancelled() {
            let pause_ns = self.record.lock().pause_ns();
            thread::sleep(Duration::from_nanos(pause_ns));
            let now = self.control.snapshot();
            if now.working > 0 && self.number.load(Ordering::Relaxed) == 0 {
                self.make();
            }
        }
    }
}

fn is_first(word: &AtomicU64, seen: u64, next: u64) -> bool {
    word.compare_exchange(seen, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

/// The time from the call to the first item under the new setting.
fn delays(pool: &Pool, wanted: usize, grain_ns: u64, kind: Kind, caller: Caller) -> Vec<f64> {
    let control = Control::new();
    let changes = Changes::new(&control, kind, caller, pool.max_threads(), wanted);
    thread::scope(|s| {
        if caller == Caller::Outside {
            s.spawn(|| changes.make_all());
        }
        let item = |_| {
            changes.look();
            let began = now_ns();
            while now_ns() - began < grain_ns {
                spin_loop();
            }
        };
        // Endless: it is cancelled when all changes are made.
        let _cancelled = pool.run(|_| over(0..usize::MAX).control(&control).for_each(item));
    });
    changes.record.into_inner().delays
}
