//! Whole runs under random schedules (shuttle): threads, mapping and settings change, everything is
//! cancelled, units panic; with planted bugs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sinew_loops::Control as Handle;
use sinew_stm::{TArray, TVar, atomically};
use sinew_sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use sinew_sync::lock::{Condvar, Mutex};
use sinew_sync::plant::Bug;

use super::*;
use crate::shuttle::{Changers, explore, explore_pauses, hunt, hunt_pauses};

/// Units at the beginning. Each adds another one.
const UNITS: usize = 5;

/// Settings that differ in everything.
fn settings(number: usize) -> Settings {
    match number % 4 {
        0 => Settings::baseline(1),
        1 => Settings::baseline(3).stealing(true).swap_after(Some(1)),
        2 => Settings::baseline(2).coalescing(true).lifespan(10),
        _ => Settings::baseline(1).stealing(true).lifespan(100),
    }
}

/// Orders that differ in the kind of list; the last has several buckets.
fn order(number: usize) -> Order<usize> {
    match number % 3 {
        0 => Order::Lifo,
        1 => Order::Fifo,
        _ => Order::priority(|&unit| unit as u64 % 3),
    }
}

/// A list that is changed while it runs, and what has become of its units.
struct Trial {
    control: Handle,
    changers: Changers,
    runs: [AtomicU32; 2 * UNITS],
    sum: TVar<u64>,
    /// Whether some unit panics.
    is_sick: AtomicBool,
}

impl Trial {
    fn new() -> Self {
        Self {
            control: Handle::new(),
            changers: Changers::default(),
            runs: std::array::from_fn(|_| AtomicU32::new(0)),
            sum: TVar::new(0),
            is_sick: AtomicBool::new(false),
        }
    }

    fn list(&self, first: usize) -> Worklist<usize> {
        let list = (0..UNITS).collect::<Worklist<_>>().speculative().control(&self.control);
        list.tune(Tuning::Fixed(settings(first)))
    }

    /// Runs the list; `at` is called for each unit after its commit. One panics, if `panics` says
    /// so, in the middle of its transaction.
    fn run(&self, list: &mut Worklist<usize>, at: impl Fn(usize) + Sync) -> Report {
        let report = list.run_fold(
            |tx, &unit, more| {
                // Added by every attempt, and by helpers, so that those that do not count would
                // show.
                more.extend((unit < UNITS).then_some(unit + UNITS));
                self.sum.modify(tx, |sum| sum + 1)?;
                if unit == 3 && self.is_sick.load(Ordering::Relaxed) {
                    std::panic::resume_unwind(Box::new(unit));
                }
                Ok(unit)
            },
            |(): &mut (), unit| {
                self.runs[unit].fetch_add(1, Ordering::Relaxed);
                at(unit);
            },
        );
        report.unwrap()
    }

    /// Catches: a unit that is lost or run twice, and a worker that is still there.
    fn assert_whole(&self, left: &Worklist<usize>) {
        let mut runs: Vec<u32> =
            self.runs.iter().map(|runs| runs.load(Ordering::Relaxed)).collect();
        let done: u32 = runs.iter().sum();
        for &unit in &left.units {
            runs[unit] += 1;
        }
        // A unit's additions are in the list as soon as the unit has run.
        let (first, added) = runs.split_at(UNITS);
        assert!(first.iter().all(|&runs| runs == 1), "{runs:?}");
        let ran = |unit: usize| self.runs[unit].load(Ordering::Relaxed);
        assert!((0..UNITS).all(|unit| added[unit] == ran(unit)), "{runs:?}");
        assert_eq!(self.sum.load(), u64::from(done));
        assert_eq!(self.control.snapshot().working, 0);
    }
}

fn change_everything() {
    (0..4).for_each(|first| change_everything_in(order(0), first));
}

/// The same with buckets.
fn change_everything_in_other_orders() {
    (0..4).for_each(|first| change_everything_in(order(1 + first), first));
    (0..4).for_each(|first| change_everything_in(order(2), first));
}

fn change_everything_in(order: Order<usize>, first: usize) {
    let trial = Trial::new();
    let mut list = trial.list(first).order(order);
    let handle = list.settings_handle();
    let report = trial.run(&mut list, |unit| match unit {
        0 | 7 | 8 => trial.changers.start(&trial.control, unit),
        2 | 4 | 5 => {
            let handle = handle.clone();
            trial.changers.run(move || handle.set(settings(first + unit / 2)));
        }
        _ => {}
    });
    assert_eq!((report.commits, report.added, list.len()), (2 * UNITS as u64, UNITS as u64, 0));
    trial.assert_whole(&list);
    let Trial { changers, .. } = trial;
    changers.join();
}

/// Catches: a unit that is lost or runs twice when workers and helpers come, go, move and change
/// their lists; a run that ends while units are left, or never.
#[test]
fn shuttle_every_unit_commits_once_while_everything_changes() {
    explore(change_everything);
}

/// Catches: the same in other orders.
#[test]
fn shuttle_every_unit_commits_once_in_any_order() {
    explore(change_everything_in_other_orders);
}

/// Runs in rounds, most of which end before the list is empty. Half of the units come later.
fn rounds_while_everything_changes() {
    for first in 0..4 {
        let (trial, sum) = (Trial::new(), TVar::new(0));
        let mut list = Worklist::new().order(order(first)).speculative().control(&trial.control);
        list = list.tune(Tuning::Fixed(settings(first)));
        let handle = list.settings_handle();
        let work = Functions::new(
            |tx, &unit: &usize, more: &mut More<usize>| {
                more.extend((unit < UNITS).then_some(unit + UNITS));
                sum.modify(tx, |sum| sum + 1).map(|()| unit)
            },
            |(): &mut (), unit| {
                trial.runs[unit].fetch_add(1, Ordering::Relaxed);
                if unit == 2 {
                    let handle = handle.clone();
                    trial.changers.run(move || handle.set(settings(first + 1)));
                }
            },
        );
        let pool = sinew_core::Pool::builder().threads(3).build().unwrap();
        let most = std::time::Duration::from_micros(20 * first as u64);
        let report = list.run_in_rounds(&pool, &work, |rounds| {
            for part in [0..UNITS / 2, UNITS / 2..UNITS] {
                rounds.extend(part.collect());
                while rounds.run(most) != Round::Idle {}
            }
        });
        assert_eq!((report.unwrap().commits, list.len()), (2 * UNITS as u64, 0));
        assert_eq!(sum.load(), 2 * UNITS as u64);
        assert!(trial.runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
        trial.changers.join();
    }
}

/// Catches: a unit that is lost or runs twice at the end of a round, a round that ends the run
/// while units are left, and rounds without end.
#[test]
fn shuttle_every_unit_commits_once_in_rounds() {
    explore(rounds_while_everything_changes);
}

#[test]
#[should_panic]
fn shuttle_finds_a_run_that_ends_while_units_are_left() {
    hunt(Bug::ForgottenLeaver, change_everything);
}

#[test]
#[should_panic(expected = "left == right")]
fn shuttle_finds_a_run_that_ends_by_the_hint() {
    hunt(Bug::HintDecides, change_everything_in_other_orders);
}

/// Catches: a unit that neither ran nor is left, or both, when a run is cancelled or a unit
/// panics; and one that cannot be run again.
#[test]
fn shuttle_what_has_not_run_is_left() {
    explore(|| {
        for first in 0..6 {
            let trial = Trial::new();
            let mut list = trial.list(first).order(order(first));
            trial.is_sick.store(true, Ordering::Relaxed);
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                trial.run(&mut list, |unit| {
                    if unit == 1 {
                        trial.changers.start(&trial.control, first);
                    }
                })
            }));
            assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&3_usize));
            trial.assert_whole(&list);
            trial.is_sick.store(false, Ordering::Relaxed);
            let report = trial.run(&mut list, |unit| {
                if unit % 2 == 0 {
                    let control = trial.control.clone();
                    trial.changers.run(move || control.cancel());
                }
            });
            trial.assert_whole(&list);
            assert_eq!(report.cancelled, !list.is_empty());
            let Trial { changers, .. } = trial;
            changers.join();
        }
    });
}

/// Units so short that more and more of them are run between two polls, from the last one
/// on. One of those that are taken at the first time panics.
fn panic_in_a_stretch() {
    const SICK: usize = 90;
    let runs: [AtomicU32; 100] = std::array::from_fn(|_| AtomicU32::new(0));
    let mut list = (0..runs.len())
        .collect::<Worklist<_>>()
        .tune(Tuning::Fixed(Settings::baseline(1).stealing(true)));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        list.run_fold(
            |_, &unit, _| {
                if unit == SICK { std::panic::resume_unwind(Box::new(unit)) } else { Ok(unit) }
            },
            |(): &mut (), unit| {
                runs[unit].fetch_add(1, Ordering::Relaxed);
            },
        )
    }));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&SICK));
    for &unit in &list.units {
        runs[unit].fetch_add(1, Ordering::Relaxed);
    }
    assert!(
        runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1),
        "run or left twice: {runs:?}"
    );
}

/// Catches: units of a batch that run again since a later one panicked, or are neither run nor
/// left.
#[test]
fn shuttle_a_panic_in_a_stretch_leaves_what_has_not_run() {
    explore(panic_in_a_stretch);
}

#[test]
#[should_panic(expected = "run or left twice")]
fn shuttle_finds_a_stretch_that_forgets_what_it_ran() {
    hunt(Bug::LostBatch, panic_in_a_stretch);
}

/// The two units before one that panics add a unit each. Those before are so short that batches are
/// longer than that; the panic is at each of some places of a batch.
fn panic_after_additions() {
    (60..64).for_each(panic_after_additions_at);
}

fn panic_after_additions_at(sick: usize) {
    const UNITS: usize = 90;
    let ran: [AtomicU32; UNITS] = std::array::from_fn(|_| AtomicU32::new(0));
    let mut list = (0..UNITS)
        .collect::<Worklist<_>>()
        .order(Order::Fifo)
        .tune(Tuning::Fixed(Settings::baseline(1).stealing(true)));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        list.run_adding(|_, &unit, more| {
            if unit == sick {
                std::panic::resume_unwind(Box::new(unit));
            }
            ran[unit % UNITS].fetch_add(1, Ordering::Relaxed);
            more.extend((unit + 2 >= sick).then_some(unit + UNITS));
            Ok(())
        })
    }));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&sick));
    let left = |unit| list.units.iter().filter(|left| **left == unit).count();
    for (unit, ran) in ran.iter().enumerate() {
        let ran = ran.load(Ordering::Relaxed) as usize;
        let added = ran * usize::from(unit + 2 >= sick);
        let expected = (1 - ran, added);
        assert_eq!((left(unit), left(unit + UNITS)), expected, "additions were lost: {unit}");
    }
}

/// Catches: units that a batch has added and a later panic drops.
#[test]
fn shuttle_a_panic_keeps_what_others_have_added() {
    explore(panic_after_additions);
}

#[test]
#[should_panic(expected = "additions were lost")]
fn shuttle_finds_a_batch_that_forgets_what_it_added() {
    hunt(Bug::LostAdditions, panic_after_additions);
}

/// A chain of units in either order, of which each waits for the one before. The run is kept alive,
/// so a wake-up that is lost is a deadlock.
fn chain_that_is_kept_alive() {
    const LENGTH: usize = 4;
    for first in 0..4 {
        let done: [TVar<bool>; LENGTH] = std::array::from_fn(|_| TVar::new(false));
        let units = (0..LENGTH).map(|unit| if first % 2 == 0 { unit } else { LENGTH - 1 - unit });
        let list = units.collect::<Worklist<_>>().speculative();
        let mut list = list.tune(Tuning::Fixed(settings(first)));
        let _keep_alive = list.keep_alive();
        let report = list.run(|tx, &unit| {
            if unit > 0 && !done[unit - 1].get(tx)? { tx.retry() } else { done[unit].set(tx, true) }
        });
        assert_eq!(report.map(|report| report.commits), Ok(LENGTH as u64));
    }
}

/// Catches: a wake-up that is lost between an attempt and the parking, or on its way to a worker.
#[test]
fn shuttle_units_that_wait_are_woken() {
    explore(chain_that_is_kept_alive);
    explore_pauses(chain_that_is_kept_alive);
}

#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_change_that_is_forgotten_since_it_came_before_the_parking() {
    hunt(Bug::ForgottenChange, chain_that_is_kept_alive);
}

#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_unit_that_is_woken_before_it_lies_in_its_slot() {
    hunt_pauses(Bug::EarlySet, chain_that_is_kept_alive);
}

/// One unit waits for another, and no thread keeps the run alive. A thread outside changes a
/// neighbour of what is waited for, under the same record. The other unit lets it do that first.
fn a_stranger_takes_the_mark() {
    const MOST_TRIES: usize = 30;
    let (cells, changers) = (Arc::new(TArray::new(2, 0_u64)), Changers::default());
    let tries = AtomicUsize::new(0);
    let mut list = Worklist::from(vec![1, 0]).tune(Tuning::Fixed(settings(0)));
    let report = list.run(|tx, &unit| {
        if unit == 0 {
            return if cells.get(tx, 0)? == 0 { tx.retry() } else { Ok(()) };
        }
        let before = tries.fetch_add(1, Ordering::Relaxed);
        if before == 0 {
            let cells = Arc::clone(&cells);
            changers.run(move || atomically(|tx| cells.set(tx, 1, 7)));
        }
        if cells.get(tx, 1)? == 0 && before < MOST_TRIES {
            return tx.restart();
        }
        cells.set(tx, 0, 1)
    });
    assert_eq!(report.map(|report| report.commits), Ok(2));
    changers.join();
}

/// Catches: an error although the unit that waits could run, since a thread outside is about to
/// wake it.
#[test]
fn shuttle_a_run_ends_with_units_that_wait_only_if_none_can_run() {
    explore(a_stranger_takes_the_mark);
    explore_pauses(a_stranger_takes_the_mark);
}

#[test]
#[should_panic(expected = "Waiting")]
fn shuttle_finds_a_run_that_does_not_look_back() {
    hunt_pauses(Bug::NoLastRetry, a_stranger_takes_the_mark);
}

/// A list whose units wait for a thread outside, which keeps the run alive until it has made the
/// change.
fn a_thread_outside_makes_the_change() {
    let (go, changers) = (Arc::new(TVar::new(0_u64)), Changers::default());
    let mut list = (0..3).collect::<Worklist<u64>>().tune(Tuning::Fixed(settings(1)));
    let (theirs, keep_alive) = (Arc::clone(&go), list.keep_alive());
    changers.run(move || {
        (1..=2).for_each(|value| theirs.store(value));
        drop(keep_alive);
    });
    let report = list.run(|tx, &unit| if go.get(tx)? < unit { tx.retry() } else { Ok(()) });
    assert_eq!(report.map(|report| report.commits), Ok(3));
    changers.join();
}

/// Catches: a run that ends between the change and its wake-up, or sleeps although the last one has
/// gone that kept it alive.
#[test]
fn shuttle_a_run_that_is_kept_alive_sees_the_change() {
    explore(a_thread_outside_makes_the_change);
    explore_pauses(a_thread_outside_makes_the_change);
}

/// A unit waits; another changes that, and the third holds its worker until the first has run.
fn a_unit_holds_its_worker() {
    let (go, has_run, ran) = (TVar::new(false), Mutex::new(false), Condvar::new());
    let list = [2, 1, 0].into_iter().collect::<Worklist<_>>();
    let mut list = list.tune(Tuning::Fixed(Settings::baseline(2)));
    let report = list.run_fold(
        |tx, &unit, _| {
            match unit {
                0 if !go.get(tx)? => return tx.retry(),
                1 => {
                    let mut guard = has_run.lock();
                    while !*guard {
                        guard = ran.wait(guard);
                    }
                }
                2 => go.set(tx, true)?,
                _ => {}
            }
            Ok(unit)
        },
        |(): &mut (), unit| {
            if unit == 0 {
                *has_run.lock() = true;
                ran.notify_all();
            }
        },
    );
    assert_eq!(report.unwrap().commits, 3);
}

/// Catches: a unit that is woken while the other workers leave, and then waits for the end of the
/// unit that its worker runs (E3).
#[test]
fn shuttle_a_woken_unit_is_run_while_its_worker_is_held() {
    explore(a_unit_holds_its_worker);
    explore_pauses(a_unit_holds_its_worker);
}

#[test]
#[should_panic(expected = "deadlock")]
fn shuttle_finds_a_worker_that_leaves_units_that_were_woken() {
    hunt_pauses(Bug::ForgottenLeaver, a_unit_holds_its_worker);
}
