//! Every skeleton while its control changes it: from its own bodies, and from another thread as
//! fast as possible.
//!
//! `SINEW_STRESS_SECONDS` is the duration of the second kind (default: one second); with
//! `SINEW_DEEP=1` there are at least a million changes.

use sinew_policy::chunk::Schedule;
use sinew_sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use crate::data::IntoItems;
use crate::loops::{Kind, Meter, Options, fold, fold_blocks, for_each, map, scan, try_for_each};
use crate::source::LoopMemory;
use crate::{Control, Stopped};
use proptest::prelude::*;
use sinew_core::{Cancelled, Mapping, Pool, Worker, run};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// More workers than most machines here have processors, so that some are late.
const WORKERS: usize = 5;

static POOL: LazyLock<Pool> = LazyLock::new(|| Pool::builder().threads(WORKERS).build().unwrap());

/// Every schedule of the table but `Auto`, with small and larger numbers.
static SCHEDULES: LazyLock<Vec<Schedule>> = LazyLock::new(|| {
    let all = [1, 3, 13].into_iter().flat_map(Schedule::every);
    all.filter(|schedule| *schedule != Schedule::Auto).collect()
});

/// A change of threads, schedule or mapping, one that is taken back, or none. Mappings, which take
/// 100 µs, are rare.
fn change(control: &Control, random: u64) {
    let which = (random >> 16) as usize;
    match random % 64 {
        0..16 => control.set_threads(1 + which % (WORKERS + 2)),
        16..32 => control.set_schedule(SCHEDULES[which % SCHEDULES.len()]),
        33 => control.set_threads(None),
        34 => control.set_schedule(None),
        35 => control.set_mapping(None).unwrap(),
        32 => control
            .set_mapping(&[Mapping::Compact, Mapping::None, Mapping::Scatter][which % 3])
            .unwrap(),
        _ => {}
    }
}

/// [`change`] from a body, chosen by the item.
fn change_at(control: &Control, seed: u64, item: usize) {
    change(control, fastrand::Rng::with_seed(seed ^ (item as u64) << 20).u64(..));
}

fn with(schedule: usize, control: &Control) -> Options<'_> {
    Options { schedule: SCHEDULES[schedule], control: Some(control), ..Options::default() }
}

/// An element that counts how many there are.
#[derive(Debug)]
struct Counted<'c>(&'c AtomicUsize, usize);

impl<'c> Counted<'c> {
    fn new(alive: &'c AtomicUsize, value: usize) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(alive, value)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn assert_at_rest(control: &Control) {
    let at_rest = control.snapshot();
    assert_eq!((at_rest.loops, at_rest.working), (0, 0), "{at_rest:?}");
    assert!(control.places().all_free(), "a place that was not released");
}

/// The end of a loop over each item's visits: all of them exactly once, or, if it was cancelled, at
/// most once.
fn assert_visits(ended: Result<(), Cancelled>, visits: &[AtomicU32]) {
    let visits: Vec<_> = visits.iter().map(|visits| visits.load(Ordering::Relaxed)).collect();
    match ended {
        Ok(()) => assert!(visits.iter().all(|&visits| visits == 1), "{visits:?}"),
        Err(Cancelled) => assert!(visits.iter().all(|&visits| visits <= 1), "{visits:?}"),
    }
}

fn unvisited(n: usize) -> Vec<AtomicU32> {
    (0..n).map(|_| AtomicU32::new(0)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Catches: an item that a change loses or repeats, in any skeleton; results or partial
    /// results in the wrong order; progress that is not counted.
    #[test]
    fn each_item_is_visited_once_whatever_is_changed(
        n in 0..1_500_usize,
        seed in any::<u64>(),
        schedule in 0..SCHEDULES.len(),
    ) {
        let control = Control::new();
        let options = with(schedule, &control);
        let visits = unvisited(n);
        let ended = POOL.run(|w| {
            for_each(w, 0..n, &options, |item| {
                change_at(&control, seed, item);
                visits[item].fetch_add(1, Ordering::Relaxed);
            })
        });
        prop_assert_eq!(ended, Ok(()));
        assert_visits(ended, &visits);
        let step = |item| {
            change_at(&control, seed + 1, item);
            item
        };
        prop_assert_eq!(POOL.run(|w| map(w, 0..n, &options, step)), Ok((0..n).collect::<Vec<_>>()));
        let push = |mut list: Vec<usize>, item| {
            list.push(step(item));
            list
        };
        let list = POOL.run(|w| fold(w, 0..n, &options, Vec::new, push, |a, b| [a, b].concat()));
        prop_assert_eq!(list, Ok((0..n).collect::<Vec<_>>()));
        let snapshot = control.snapshot();
        prop_assert_eq!((snapshot.done, snapshot.total), (3 * n as u64, 3 * n as u64));
        assert_at_rest(&control);
    }

    /// Catches: the same for skeletons that run in two passes or over blocks.
    #[test]
    fn prefixes_and_blocks_are_exact_whatever_is_changed(
        n in 0..600_usize,
        seed in any::<u64>(),
        schedule in 0..SCHEDULES.len(),
    ) {
        let control = Control::new();
        let options = with(schedule, &control);
        let ones = vec![1_usize; n];
        let add = |a: usize, b: usize| {
            change_at(&control, seed, a);
            a + b
        };
        let sums = POOL.run(|w| {
            scan(w, (&ones).into_items(), &options, (Kind::Inclusive, None), 0, |&one| one, add)
        });
        prop_assert_eq!(sums, Ok((1..=n).collect::<Vec<_>>()));
        let area = |sum, [rows, columns]: [std::ops::Range<usize>; 2]| {
            change_at(&control, seed, rows.start);
            sum + rows.len() * columns.len()
        };
        let sum = POOL
            .run(|w| fold_blocks(w, [0..n / 7, 0..31], [2, 5], &options, || 0, area, |a, b| a + b));
        prop_assert_eq!(sum, Ok(n / 7 * 31));
        assert_at_rest(&control);
    }

    /// Catches: a cancelled loop that says it was done, or the other way round; an output that
    /// leaks or frees what was never written.
    #[test]
    fn a_cancelled_loop_leaves_nothing_behind(
        n in 1..1_500_usize,
        at in any::<prop::sample::Index>(),
        seed in any::<u64>(),
        schedule in 0..SCHEDULES.len(),
    ) {
        let (control, at, alive, done) =
            (Control::new(), at.index(n), AtomicUsize::new(0), AtomicUsize::new(0));
        let made = POOL.run(|w| {
            map(w, 0..n, &with(schedule, &control), |item| {
                change_at(&control, seed, item);
                if item == at {
                    control.cancel();
                }
                done.fetch_add(1, Ordering::Relaxed);
                Counted::new(&alive, item)
            })
        });
        match made {
            Ok(made) => prop_assert!(made.iter().map(|counted| counted.1).eq(0..n)),
            Err(Cancelled) => prop_assert!(done.into_inner() < n),
        }
        prop_assert_eq!(alive.load(Ordering::Relaxed), 0);
        prop_assert!(
            POOL.run(|w| for_each(w, 0..n, &with(schedule, &control), |_| panic!(
                "a loop after the end"
            )))
            .is_err()
        );
        assert_at_rest(&control);
    }

    /// Catches: a panic or an error that a change swallows, and elements that leak on either
    /// way.
    #[test]
    fn panics_and_errors_come_out_whatever_is_changed(
        n in 1..1_500_usize,
        bad in any::<prop::sample::Index>(),
        seed in any::<u64>(),
        schedule in 0..SCHEDULES.len(),
    ) {
        let (control, bad, alive) = (Control::new(), bad.index(n), AtomicUsize::new(0));
        let options = with(schedule, &control);
        let body = |item| {
            change_at(&control, seed, item);
            if item == bad { Err(item) } else { Ok(Counted::new(&alive, item)) }
        };
        prop_assert_eq!(
            POOL.run(|w| try_for_each(w, 0..n, &options, |item| body(item).map(drop))),
            Err(Stopped::Failed(bad))
        );
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            POOL.run(|w| {
                map(w, 0..n, &options, |item| {
                    body(item).unwrap_or_else(|item| std::panic::resume_unwind(Box::new(item)))
                })
            })
        }));
        let payload = panicked.unwrap_err();
        prop_assert_eq!(payload.downcast_ref(), Some(&bad));
        prop_assert_eq!(alive.load(Ordering::Relaxed), 0);
        assert_at_rest(&control);
    }
}

/// Catches: loops that share a control and mix up their plans, or wait for each other.
#[test]
fn nested_loops_follow_one_control() {
    let control = Control::new();
    let (options, visits) = (with(5, &control), unvisited(40 * 50));
    let ended = POOL.run(|w| {
        for_each(w, 0..40_usize, &options, |row| {
            change_at(&control, 7, row);
            run(|w| {
                for_each(w, 0..50_usize, &options, |column| {
                    change_at(&control, 8, row * column);
                    visits[row * 50 + column].fetch_add(1, Ordering::Relaxed);
                })
            })
            .unwrap();
        })
    });
    assert_visits(ended, &visits);
    assert_eq!(control.snapshot().total, 40 + 40 * 50);
    assert_at_rest(&control);
}

/// Catches: surplus participants that do not leave.
#[test]
fn surplus_participants_leave_at_their_next_slice() {
    let (control, inside, late) = (Control::new(), AtomicUsize::new(0), AtomicUsize::new(0));
    let options = with(1, &control);
    let changed = AtomicBool::new(false);
    let ended = POOL.run(|w| {
        for_each(w, 0..20_000_usize, &options, |item| {
            let others = inside.fetch_add(1, Ordering::AcqRel);
            if changed.load(Ordering::Acquire) && others > 0 {
                late.fetch_add(1, Ordering::Relaxed);
            }
            if item == 500 {
                control.set_threads(1);
                changed.store(true, Ordering::Release);
            }
            inside.fetch_sub(1, Ordering::AcqRel);
        })
    });
    assert_eq!(ended, Ok(()));
    // Each may be in a slice, and in another if the lock is held just then.
    assert!(late.load(Ordering::Relaxed) <= 4 * WORKERS, "{late:?} slices beside another's");
}

/// Catches: no participant that recruits others when the number rises, and others that are
/// recruited but find nothing.
#[test]
fn participants_are_recruited_when_the_number_rises() {
    let control = Control::new();
    control.set_threads(1);
    let (here, helped) = (std::thread::current().id(), AtomicBool::new(false));
    let ended = POOL.run(|w| {
        for_each(w, 0..100_usize, &with(1, &control), |item| {
            if std::thread::current().id() != here {
                helped.store(true, Ordering::Release);
            } else if item == 10 {
                assert!(!helped.load(Ordering::Acquire), "a participant beyond the maximum");
                control.set_threads(2);
            } else if item > 10 {
                while !helped.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
            }
        })
    });
    assert_eq!(ended, Ok(()));
}

/// Catches: a schedule that is set and not followed. Under the static one no participant takes from
/// a share with an active owner, and here each owner waits for the others.
#[test]
fn a_new_schedule_takes_the_rest_of_an_owners_share() {
    let control = Control::new();
    control.set_threads(2);
    let (n, changed, done) = (1_000_usize, AtomicBool::new(false), AtomicUsize::new(0));
    let ended = POOL.run(|w| {
        for_each(w, 0..n, &with(0, &control), |_| {
            if !changed.swap(true, Ordering::AcqRel) {
                control.set_schedule(Schedule::Dynamic { chunk: 1 });
                // All but the eighth of a share that this participant has claimed.
                while done.load(Ordering::Acquire) < n - n / 16 - 1 {
                    std::thread::yield_now();
                }
            }
            done.fetch_add(1, Ordering::AcqRel);
        })
    });
    assert_eq!(ended, Ok(()));
}

/// Catches: a pool's limit that its loops do not keep to, or from which they do not come back.
#[test]
fn a_loop_keeps_to_the_limit_of_its_pool() {
    let pool = Pool::builder().threads(3).build().unwrap();
    let (control, inside, late) = (Control::new(), AtomicUsize::new(0), AtomicUsize::new(0));
    let (here, helped) = (std::thread::current().id(), AtomicBool::new(false));
    let lowered = AtomicBool::new(false);
    let ended = pool.run(|w| {
        for_each(w, 0..20_000_usize, &with(1, &control), |item| {
            let others = inside.fetch_add(1, Ordering::AcqRel);
            match item {
                300 => {
                    pool.control().set_threads(1);
                    lowered.store(true, Ordering::Release);
                }
                10_000 => {
                    lowered.store(false, Ordering::Release);
                    helped.store(false, Ordering::Release);
                    pool.control().set_threads(3);
                }
                _ if lowered.load(Ordering::Acquire) => {
                    late.fetch_add(usize::from(others > 0), Ordering::Relaxed);
                }
                10_001.. if std::thread::current().id() != here => {
                    helped.store(true, Ordering::Release);
                }
                15_000.. => {
                    while !helped.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                }
                _ => {}
            }
            inside.fetch_sub(1, Ordering::AcqRel);
        })
    });
    assert_eq!(ended, Ok(()));
    assert!(late.load(Ordering::Relaxed) <= 12, "{late:?} slices beside another's");
}

/// Catches: a memory that a controlled loop takes and does not return.
#[test]
fn a_controlled_loop_without_changes_saves_to_its_memory() {
    let (control, memory) = (Control::new(), LoopMemory::new());
    let options = Options { memory: Some(&memory), ..with(6, &control) };
    for _ in 0..3 {
        assert_eq!(POOL.run(|w| for_each(w, 0..5_000_usize, &options, |_| ())), Ok(()));
    }
    assert!(format!("{memory:?}").contains("Some"), "{memory:?}");
}

/// Catches: a thread whose times do not add up, a task that is counted twice or not at all, and
/// time from before the loop.
#[test]
fn the_times_and_tasks_of_all_threads_add_up_whatever_is_changed() {
    for seed in 0..20 {
        let (control, meter) = (Control::new(), Meter::new(WORKERS));
        let options = Options { meter: Some(&meter), ..with(seed % SCHEDULES.len(), &control) };
        let ended = POOL.run(|w| {
            for_each(w, 0..2_000_usize, &options, |item| change_at(&control, seed as u64, item))
        });
        let metrics = meter.read();
        assert_eq!((ended, metrics.tasks()), (Ok(()), 2_000));
        for thread in &metrics.threads {
            assert_eq!(thread.run, thread.work + thread.overhead + thread.blocked);
            assert!(thread.worker < WORKERS && thread.tasks <= 2_000);
            assert!(thread.work.is_zero() == (thread.tasks == 0), "{thread:?}");
        }
    }
}

/// Changes `control` as fast as possible while `work` runs.
fn under_fire(seed: u64, control: &Control, work: impl FnOnce() + Send) {
    let over = AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            let mut random = fastrand::Rng::with_seed(seed);
            while !over.load(Ordering::Relaxed) {
                change(control, random.u64(..));
                (0..random.u32(..200)).for_each(|_| std::hint::spin_loop());
            }
        });
        let ended = catch_unwind(AssertUnwindSafe(work));
        over.store(true, Ordering::Relaxed);
        ended.unwrap();
    });
}

/// One loop of a random kind, which may be cancelled or panic, and may have loops within it.
fn any_loop(w: &Worker, control: &Control, random: &mut fastrand::Rng) {
    let (n, options) = (random.usize(..4_000), with(random.usize(..SCHEDULES.len()), control));
    let alive = AtomicUsize::new(0);
    let end_at = (random.u32(..4) == 0).then(|| random.usize(..4_000));
    let (panics, nests, kind) = (random.bool(), random.u32(..4) == 0, random.u32(..6));
    let result = catch_unwind(AssertUnwindSafe(|| {
        let meet = |item| {
            if end_at == Some(item) {
                if panics {
                    std::panic::resume_unwind(Box::new(item));
                }
                control.cancel();
            }
        };
        let body = |item| {
            meet(item);
            let inner = if nests && item % 64 == 0 {
                loop_within(&options, &alive, item % 300)
            } else {
                Vec::new()
            };
            (Counted::new(&alive, item), inner)
        };
        match kind {
            0 => folded(w, n, &options, &alive, &meet),
            1 => summed(w, n, &options, &meet),
            2 => in_blocks(w, n, &options, &meet),
            _ => map(w, 0..n, &options, body).map(|made| {
                assert!(made.iter().map(|(counted, _)| counted.1).eq(0..n));
            }),
        }
    }));
    match result {
        Ok(Ok(())) => {}
        Ok(Err(Cancelled)) => assert!(control.is_cancelled()),
        Err(payload) => assert_eq!(payload.downcast_ref::<usize>().copied(), end_at),
    }
    assert_eq!(alive.load(Ordering::Relaxed), 0, "elements leaked, or were dropped twice");
}

/// Lists of the items, put together in order.
fn folded(
    w: &Worker,
    n: usize,
    options: &Options<'_>,
    alive: &AtomicUsize,
    meet: &(dyn Fn(usize) + Sync),
) -> Result<(), Cancelled> {
    let push = |mut list: Vec<_>, item| {
        meet(item);
        list.push(Counted::new(alive, item));
        list
    };
    let join = |mut list: Vec<_>, mut next: Vec<_>| {
        list.append(&mut next);
        list
    };
    fold(w, 0..n, options, Vec::new, push, join).map(|list| {
        assert!(list.iter().map(|counted| counted.1).eq(0..n));
    })
}

/// The prefixes of as many ones.
fn summed(
    w: &Worker,
    n: usize,
    options: &Options<'_>,
    meet: &(dyn Fn(usize) + Sync),
) -> Result<(), Cancelled> {
    let (ones, met) = (vec![1_usize; n], AtomicUsize::new(0));
    let add = |a: usize, b: usize| {
        // Relaxed: any sum may be the one that ends it.
        meet(met.fetch_add(1, Ordering::Relaxed));
        a + b
    };
    scan(w, (&ones).into_items(), options, (Kind::Inclusive, None), 0, |&one| one, add).map(
        |sums| {
            assert!(sums.into_iter().eq(1..=n));
        },
    )
}

/// The area of blocks, each of which counts for its first row.
fn in_blocks(
    w: &Worker,
    n: usize,
    options: &Options<'_>,
    meet: &(dyn Fn(usize) + Sync),
) -> Result<(), Cancelled> {
    let area = |sum, [rows, columns]: [std::ops::Range<usize>; 2]| {
        meet(rows.start);
        sum + rows.len() * columns.len()
    };
    fold_blocks(w, [0..n, 0..9], [7, 4], options, || 0, area, |a, b| a + b)
        .map(|sum| assert_eq!(sum, 9 * n))
}

/// A loop over `n` items inside another one, under the same control.
fn loop_within<'c>(options: &Options<'_>, alive: &'c AtomicUsize, n: usize) -> Vec<Counted<'c>> {
    let made = run(|w| map(w, 0..n, options, |item| Counted::new(alive, item)));
    let Ok(made) = made else { return Vec::new() };
    assert!(made.iter().map(|counted| counted.1).eq(0..n));
    made
}

/// Whether to go on: for `SINEW_STRESS_SECONDS` (default 1), and with `SINEW_DEEP` until there were
/// a million changes.
fn keep_changing(began: Instant, changes: u64) -> bool {
    let seconds = std::env::var("SINEW_STRESS_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1.0);
    let is_deep = std::env::var_os("SINEW_DEEP").is_some();
    began.elapsed() < Duration::from_secs_f64(seconds) || (is_deep && changes < 1_000_000)
}

/// Catches: a change between any two steps of a participant, under which an item is lost or
/// repeated, or the loop does not end.
#[test]
fn loops_are_exact_while_another_thread_changes_them() {
    let began = Instant::now();
    let (mut random, mut changes) = (fastrand::Rng::with_seed(6), 0);
    while keep_changing(began, changes) {
        let control = Control::new();
        let seed = random.u64(..);
        under_fire(seed, &control, || {
            for _ in 0..20 {
                POOL.run(|w| any_loop(w, &control, &mut random));
            }
        });
        assert_at_rest(&control);
        changes += control.snapshot().changes;
    }
    println!("{changes} changes");
}
