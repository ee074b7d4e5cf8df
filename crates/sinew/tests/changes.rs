//! Every skeleton, while another thread changes it at the highest rate through its control and its
//! pool's, and while it is cancelled and panics: each item runs exactly once, nothing is leaked, no
//! participant is left behind.
//!
//! `SINEW_STRESS_SECONDS` is the duration (default: one second); `SINEW_DEEP` makes it
//! go on until there were a million changes.

mod counted;

use counted::Counted;
use fastrand::Rng;
use sinew::prelude::*;
use sinew::stm::TVar;
use sinew::{Step, Victims, divide_and_conquer};
use sinew_sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// More workers than most machines here have processors, so that some are late.
const WORKERS: usize = 5;

static POOL: LazyLock<Pool> = LazyLock::new(|| Pool::builder().threads(WORKERS).build().unwrap());

/// Every schedule, with small numbers.
static SCHEDULES: LazyLock<Vec<Schedule>> =
    LazyLock::new(|| [1, 3, 13].into_iter().flat_map(Schedule::every).collect());

/// Two for each time that the pool has cancelled what it ran; odd while it is at it.
static CANCELLATIONS: AtomicUsize = AtomicUsize::new(0);

/// A change to a skeleton at one of its items.
#[derive(Clone, Copy)]
struct Fate<'c> {
    control: &'c Control,
    at: Option<usize>,
    panics: bool,
}

impl<'c> Fate<'c> {
    fn draw(control: &'c Control, items: usize, random: &mut Rng) -> Self {
        let at = (random.u32(..3) == 0).then(|| random.usize(..items.max(1)));
        Self { control, at, panics: random.bool() }
    }

    fn meet(self, item: usize) {
        if self.at != Some(item) {
            return;
        }
        if self.panics {
            std::panic::resume_unwind(Box::new(item));
        }
        self.control.cancel();
    }
}

/// Visits of each item.
struct Visits(Vec<AtomicU32>);

impl Visits {
    fn new(n: usize) -> Self {
        Self((0..n).map(|_| AtomicU32::new(0)).collect())
    }

    fn visit(&self, item: usize) {
        assert_eq!(self.0[item].fetch_add(1, Ordering::Relaxed), 0, "item {item} comes again");
    }

    fn assert_all(&self) {
        assert!(
            self.0.iter().all(|visits| visits.load(Ordering::Relaxed) == 1),
            "an item never came"
        );
    }
}

fn streams(fate: Fate<'_>, n: usize, random: &mut Rng) -> Result<(), Cancelled> {
    let (alive, visits, bound) = (AtomicUsize::new(0), Visits::new(n), 1 + random.usize(..12));
    let mut order = Vec::new();
    let pipeline = sinew::pipeline(0..n).bound(bound);
    let ended = if random.bool() {
        let stages = pipeline.serial(|item| Counted::new(&alive, item)).parallel(|counted| {
            fate.meet(counted.1);
            visits.visit(counted.1);
            assert!(alive.load(Ordering::Relaxed) <= bound);
            counted
        });
        stages.control(fate.control).for_each(|counted| order.push(counted.1))
    } else {
        let work = |item| {
            fate.meet(item);
            visits.visit(item);
            Counted::new(&alive, item)
        };
        sinew::farm(0..n, work).control(fate.control).collect_unordered().map(|mut made| {
            made.sort_by_key(|counted| counted.1);
            order.extend(made.iter().map(|counted| counted.1));
        })
    };
    assert_eq!(alive.load(Ordering::Relaxed), 0, "items were leaked, or dropped twice");
    assert!(order.iter().copied().eq(0..order.len()), "a gap: {order:?}");
    if ended.is_ok() {
        assert_eq!(order.len(), n);
        visits.assert_all();
    }
    ended
}

fn stencils(fate: Fate<'_>, n: usize, random: &mut Rng) -> Result<(), Cancelled> {
    let (rows, columns, sweeps) = (1 + n / 40, 40, random.usize(..6));
    let mut grid = vec![0_u32; rows * columns];
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let step = |around: sinew::Neighbourhood<'_, u32, 2, 1>| {
            let [row, column] = around.point();
            fate.meet(row * columns + column);
            around[[0, 0]].max(around[[0, 1]]).min(around[[-1, 0]]) + 1
        };
        stencil(&mut grid, [rows, columns])
            .edge(Edge::Periodic)
            .sweeps(sweeps)
            .control(fate.control)
            .run(step)
    }));
    // Whole sweeps, whatever happened.
    assert!(grid.iter().all(|&cell| cell == grid[0]) && grid[0] as usize <= sweeps, "{grid:?}");
    let ended = ended.unwrap_or_else(|payload| std::panic::resume_unwind(payload));
    assert!(ended.is_err() || grid[0] as usize == sweeps);
    ended
}

fn sorts(fate: Fate<'_>, n: usize, random: &mut Rng) -> Result<(), Cancelled> {
    let alive = AtomicUsize::new(0);
    let mut numbers: Vec<usize> = (0..n * 20).collect();
    random.shuffle(&mut numbers);
    let mut elements: Vec<_> =
        numbers.into_iter().map(|number| Counted::new(&alive, number)).collect();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        over(&mut elements).control(fate.control).sort_by(|a, b| {
            fate.meet(a.1);
            a.1.cmp(&b.1)
        })
    }));
    let mut there: Vec<_> = elements.iter().map(|element| element.1).collect();
    let sorted = there.is_sorted();
    there.sort_unstable();
    assert!(there.into_iter().eq(0..n * 20), "elements were lost or doubled");
    drop(elements);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
    let ended = ended.unwrap_or_else(|payload| std::panic::resume_unwind(payload));
    assert!(ended.is_err() || sorted);
    ended
}

fn problems(fate: Fate<'_>, n: usize) -> Result<(), Cancelled> {
    let (alive, visits) = (AtomicUsize::new(0), Visits::new(n));
    let step = |range: std::ops::Range<usize>| {
        if range.len() > 1 {
            let middle = range.start + range.len() / 2;
            return Step::Split(range.start..middle, middle..range.end);
        }
        range.clone().for_each(|item| {
            fate.meet(item);
            visits.visit(item);
        });
        Step::Solved(vec![Counted::new(&alive, range.len())])
    };
    let combine = |mut left: Vec<_>, mut right: Vec<_>| {
        left.append(&mut right);
        left
    };
    let ended = divide_and_conquer(0..n).control(fate.control).run(step, combine).map(|all| {
        assert_eq!(all.iter().map(|solved| solved.1).sum::<usize>(), n);
        visits.assert_all();
    });
    assert_eq!(alive.load(Ordering::Relaxed), 0);
    ended
}

fn units(fate: Fate<'_>, n: usize, random: &mut Rng) -> Result<(), Cancelled> {
    let n = n.max(1);
    let visits = Visits::new(n + 1);
    let mut list = Worklist::from(vec![1]).control(fate.control);
    let children = |unit: usize| [2 * unit, 2 * unit + 1].into_iter().filter(|&child| child <= n);
    let sum = TVar::new(0_usize);
    let report = if random.bool() {
        list.run_plain(|&unit, more| {
            fate.meet(unit);
            visits.visit(unit);
            more.extend(children(unit));
        })
    } else {
        list.run_adding(|tx, unit, more| {
            fate.meet(*unit);
            more.extend(children(*unit));
            sum.modify(tx, |sum| sum + unit)
        })
    };
    let report = report.unwrap();
    let whole = report.commits as usize == n;
    assert_eq!(report.cancelled, !list.is_empty());
    assert!(report.cancelled || whole);
    if report.cancelled { Err(Cancelled) } else { Ok(()) }
}

fn nested(fate: Fate<'_>, n: usize, random: &mut Rng) -> Result<(), Cancelled> {
    let seed = random.u64(..);
    let inner = |row: usize| {
        let mut random = Rng::with_seed(seed ^ row as u64);
        let fate = Fate { at: None, ..fate };
        match row % 3 {
            0 => streams(fate, row, &mut random),
            1 => stencils(fate, row, &mut random),
            _ => problems(fate, row),
        }
    };
    let rows = over(0..n.min(30))
        .schedule(SCHEDULES[random.usize(..SCHEDULES.len())])
        .control(fate.control);
    let done = rows.map(|row| {
        fate.meet(row);
        inner(row)
    });
    done.collect::<Vec<_>>()?.into_iter().collect()
}

/// A loop without a cancellation.
fn free(fate: Fate<'_>, n: usize) -> Result<(), Cancelled> {
    let (alive, visits) = (AtomicUsize::new(0), Visits::new(n));
    let fate = Fate { at: fate.at.filter(|_| fate.panics), ..fate };
    let made = over(0..n).map(|item| {
        fate.meet(item);
        visits.visit(item);
        Counted::new(&alive, item)
    });
    let made: Vec<_> = made.collect();
    assert!(made.iter().map(|counted| counted.1).eq(0..n));
    visits.assert_all();
    drop(made);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
    Ok(())
}

/// One skeleton of a random kind, which may be cancelled or panic.
fn any_skeleton(control: &Control, random: &mut Rng) {
    let n = random.usize(..600);
    let (fate, before) = (Fate::draw(control, n, random), CANCELLATIONS.load(Ordering::SeqCst));
    let result = catch_unwind(AssertUnwindSafe(|| {
        POOL.run(|_| match random.u32(..8) {
            0 | 1 => streams(fate, n, random),
            2 => stencils(fate, n, random),
            3 => sorts(fate, n, random),
            4 => problems(fate, n),
            5 => units(fate, n, random),
            6 => free(fate, n),
            _ => nested(fate, n, random),
        })
    }));
    match result {
        Ok(Ok(())) => {}
        Ok(Err(Cancelled)) => {
            let by_pool = before % 2 == 1 || CANCELLATIONS.load(Ordering::SeqCst) != before;
            assert!(control.is_cancelled() || by_pool);
        }
        Err(payload) => match payload.downcast_ref::<usize>() {
            Some(item) => assert_eq!(Some(*item), fate.at),
            None => std::panic::resume_unwind(payload),
        },
    }
}

/// A change by the control, or, less often, by the pool's. Returns whether it was by the pool's.
/// Mappings, which take 100 µs, are rare, and so is what ends the skeletons.
fn change(control: &Control, random: &mut Rng) -> bool {
    let (threads, schedule) =
        (1 + random.usize(..WORKERS + 2), SCHEDULES[random.usize(..SCHEDULES.len())]);
    let which = random.u32(..512);
    match which {
        0..192 => control.set_threads(threads),
        192..383 => control.set_schedule(schedule),
        383 => {
            control
                .set_mapping([&Mapping::Compact, &Mapping::None, &Mapping::Scatter][threads % 3])
                .unwrap();
        }
        384..448 => {
            POOL.control().set_threads(threads);
        }
        448..500 => POOL.control().set_schedule(random.bool().then_some(schedule)),
        500..510 => {
            POOL.control()
                .set_victims([Victims::Random, Victims::MostLoaded { every: 2 }][threads % 2]);
        }
        510 => {
            CANCELLATIONS.fetch_add(1, Ordering::SeqCst);
            POOL.control().cancel();
            CANCELLATIONS.fetch_add(1, Ordering::SeqCst);
        }
        _ => POOL.control().set_mapping([&Mapping::None, &Mapping::Compact][threads % 2]).unwrap(),
    }
    which >= 384
}

/// Uses `control`, and the pool's, as fast as it can while `work` runs. Returns how often it has
/// used the pool's.
fn under_fire(seed: u64, control: &Control, work: impl FnOnce()) -> u64 {
    let over = AtomicBool::new(false);
    std::thread::scope(|s| {
        let changer = s.spawn(|| {
            let (mut random, mut by_pool) = (Rng::with_seed(seed), 0);
            while !over.load(Ordering::Relaxed) {
                by_pool += u64::from(change(control, &mut random));
                (0..random.u32(..200)).for_each(|_| std::hint::spin_loop());
            }
            by_pool
        });
        let ended = catch_unwind(AssertUnwindSafe(work));
        over.store(true, Ordering::Relaxed);
        ended.unwrap_or_else(|payload| std::panic::resume_unwind(payload));
        changer.join().unwrap()
    })
}

/// Catches: a change between any two steps of a participant, under which an item is lost or
/// repeated, or the skeleton does not end.
#[test]
fn skeletons_are_exact_while_another_thread_changes_them() {
    let seconds = std::env::var("SINEW_STRESS_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1.0);
    let wanted = if std::env::var_os("SINEW_DEEP").is_some() { 1_000_000 } else { 0 };
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let (mut random, mut changes, mut told) = (Rng::with_seed(6), 0, 0);
    while Instant::now() < end || changes < wanted {
        let control = Control::new();
        let (calls, seed) = (Arc::new(AtomicUsize::new(0)), random.u64(..));
        if random.bool() {
            let calls = calls.clone();
            control.on_progress(Duration::ZERO, move |_| {
                calls.fetch_add(1, Ordering::Relaxed);
            });
        }
        changes += under_fire(seed, &control, || {
            (0..10).for_each(|_| any_skeleton(&control, &mut random));
        });
        let now = control.snapshot();
        assert_eq!(
            (now.loops, now.working, POOL.control().snapshot().running),
            (0, 0, 0),
            "{now:?}"
        );
        changes += now.changes;
        told += calls.load(Ordering::Relaxed);
    }
    println!("{changes} changes, progress told {told} times");
    assert!(told > 0);
}
