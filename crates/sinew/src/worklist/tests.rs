//! Whole runs, with real threads.

mod local;
mod order;
mod rounds;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use sinew_core::Pool;
use sinew_stm::{ContentionManager, TArray, TQueue, TVar};
use sinew_sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// More workers than cores, so that one is always interrupted in the middle.
const WORKERS: usize = 4;

fn pool() -> Pool {
    Pool::builder().threads(WORKERS).build().unwrap()
}

fn settings() -> impl Strategy<Value = Settings> {
    let swaps = proptest::option::of(1..4_u32);
    (1..=WORKERS, any::<bool>(), any::<bool>(), swaps, prop_oneof![Just(0), Just(1), Just(100)])
        .prop_map(|(threads, stealing, coalescing, swap_after, lifespan)| {
            let settings = Settings::baseline(threads).stealing(stealing).coalescing(coalescing);
            // Helpers need idle workers.
            let lifespan = if threads < WORKERS { lifespan } else { 0 };
            settings.swap_after(swap_after).lifespan(lifespan)
        })
}

/// A unit that counts itself, and adds units until they are small: its value halved, twice.
fn count(
    counts: &TArray<u64>,
    total: &TVar<u64>,
    list: &mut Worklist<usize>,
) -> Report<Vec<usize>> {
    list.run_fold(
        |tx, &unit, more| {
            // Added by every attempt, so that those that are given up would show.
            more.extend([unit / 2; 2].into_iter().filter(|&half| half > 0));
            total.modify(tx, |n| n + 1)?;
            counts.modify(tx, unit, |n| n + 1)?;
            Ok(unit)
        },
        |seen: &mut Vec<usize>, unit| seen.push(unit),
    )
    .unwrap()
}

/// How often each number is a unit, of these and all that they add.
fn expected(units: &[usize]) -> Vec<u64> {
    let mut counts = vec![0; 64];
    let mut left = units.to_vec();
    while let Some(unit) = left.pop() {
        counts[unit] += 1;
        left.extend([unit / 2; 2].into_iter().filter(|&half| half > 0));
    }
    counts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Catches: a unit that is lost or run twice, one that an aborted attempt added, and a result
    /// that is folded for an aborted attempt or twice. Under any settings, changed meanwhile, in a
    /// list that is filled again.
    #[test]
    fn every_unit_commits_once_under_any_settings(
        units in proptest::collection::vec(1..64_usize, 1..40),
        choices in proptest::collection::vec(settings(), 1..4),
    ) {
        let pool = pool();
        let mut list = Worklist::new().tune(Tuning::Fixed(choices[0])).speculative();
        let control = list.settings_handle();
        let (counts, total) = (TArray::new(64, 0_u64), TVar::new(0));
        let right = expected(&units);
        for round in 1..=2 {
            list.extend(units.iter().copied());
            let report = pool.run(|_| {
                std::thread::scope(|s| {
                    s.spawn(|| {
                        choices.iter().for_each(|&settings| {
                            control.set(settings);
                            std::thread::yield_now();
                        });
                    });
                    count(&counts, &total, &mut list)
                })
            });
            let commits: u64 = right.iter().sum();
            prop_assert_eq!((report.commits, total.load()), (commits, round * commits));
            prop_assert!(
                right.iter().enumerate().all(|(unit, n)| counts.load_all()[unit] == round * n)
            );
            let mut seen: Vec<usize> = report.locals.into_iter().flatten().collect();
            seen.sort_unstable();
            let runs = right
                .iter()
                .enumerate()
                .flat_map(|(unit, &n)| std::iter::repeat_n(unit, n as usize));
            prop_assert!(seen.into_iter().eq(runs));
            prop_assert_eq!(report.added, commits - units.len() as u64);
            prop_assert!(list.is_empty());
        }
    }
}

/// Catches: effects, results or additions of a unit in an attempt that another unit of the same
/// transaction aborts; and units that such attempts added. Every unit gives up twice, after it has
/// done everything else, so each attempt at a pair ends with the first, the second, or neither of
/// them. Several workers' units may conflict besides: neighbouring counts share a lock.
#[test]
fn a_pair_is_given_up_as_a_whole() {
    const UNITS: usize = 200;
    let pool = pool();
    for (threads, stealing, swap_after) in
        [(1, true, None), (1, false, Some(1)), (3, true, Some(1))]
    {
        let tries: Vec<AtomicUsize> = (0..2 * UNITS).map(|_| AtomicUsize::new(0)).collect();
        let counts = TArray::new(2 * UNITS, 0_u64);
        let choice =
            Settings::baseline(threads).stealing(stealing).coalescing(true).swap_after(swap_after);
        let mut list: Worklist<usize> = (0..UNITS).collect();
        list = list.tune(Tuning::Fixed(choice));
        let report = pool.run(|_| {
            list.run_fold(
                |tx, &unit, more| {
                    counts.modify(tx, unit, |n| n + 1)?;
                    more.extend((unit < UNITS).then_some(unit + UNITS));
                    if tries[unit].fetch_add(1, Ordering::Relaxed) < 2 {
                        tx.restart()
                    } else {
                        Ok(unit)
                    }
                },
                |seen: &mut Vec<usize>, unit| seen.push(unit),
            )
        });
        let report = report.unwrap();
        assert_eq!(counts.load_all(), [1; 2 * UNITS], "{choice}");
        let (aborts, given_up) = (report.aborts, 4 * UNITS as u64);
        assert!(aborts == given_up || threads > 1 && aborts > given_up, "{report:?}");
        assert!(report.coalesced > 0, "{report:?}");
        let mut seen: Vec<usize> = report.locals.into_iter().flatten().collect();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..2 * UNITS), "{choice}");
        assert_eq!((report.added, report.commits), (UNITS as u64, 2 * UNITS as u64), "{choice}");
    }
}

/// Catches: a unit of a long list, which is dealt in portions, that is lost or run twice: with
/// workers that come, leave and change between one list and many.
#[test]
fn a_long_list_is_run_once_whatever_changes() {
    const UNITS: usize = 20_000;
    let pool = pool();
    for round in 0..4_usize {
        let counts: Vec<AtomicUsize> = (0..UNITS).map(|_| AtomicUsize::new(0)).collect();
        let mut list: Worklist<usize> = (0..UNITS).collect();
        let control = list.settings_handle();
        let report = pool.run(|_| {
            list.run_plain(|&unit, _| {
                counts[unit].fetch_add(1, Ordering::Relaxed);
                if unit % 2_000 == 0 {
                    let change = round + unit / 2_000;
                    control.set(Settings::baseline(1 + change % WORKERS).stealing(change % 3 > 0));
                }
            })
        });
        assert_eq!(report.unwrap().commits, UNITS as u64);
        assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
    }
}

/// Catches: the same once in many runs, by chance: a second, a minute with `SINEW_DEEP=1`, or
/// `SINEW_STRESS_SECONDS`.
#[test]
fn no_unit_is_lost_or_doubled_however_long_it_goes_on() {
    let seconds = std::env::var("SINEW_STRESS_SECONDS").ok().and_then(|text| text.parse().ok());
    let deep = std::env::var_os("SINEW_DEEP").map(|_| 60.0);
    let end = Instant::now() + Duration::from_secs_f64(seconds.or(deep).unwrap_or(1.0));
    let pool = pool();
    let mut rng = fastrand::Rng::with_seed(5);
    let mut list = Worklist::new().speculative();
    while Instant::now() < end {
        let choice =
            Settings::baseline(rng.usize(1..=WORKERS)).stealing(rng.bool()).coalescing(rng.bool());
        let lifespan = if choice.threads < WORKERS { rng.choice([0, 1, 100]).unwrap() } else { 0 };
        let choice = choice.swap_after(rng.bool().then_some(1)).lifespan(lifespan);
        let (control, counts, total) =
            (list.settings_handle(), TArray::new(64, 0_u64), TVar::new(0));
        let units: Vec<usize> = (0..rng.usize(1..100)).map(|_| rng.usize(1..64)).collect();
        list.extend(units.iter().copied());
        let seen = pool.run(|_| {
            std::thread::scope(|s| {
                s.spawn(|| control.set(choice));
                count(&counts, &total, &mut list)
            })
        });
        let right = expected(&units);
        assert_eq!(counts.load_all(), right, "{choice}");
        assert_eq!(
            seen.locals.iter().map(Vec::len).sum::<usize>() as u64,
            right.iter().sum::<u64>(),
            "{choice}"
        );
    }
}

/// Catches: a tuner that is not fed, one that starts over at every refill, and a path that loses
/// epochs.
#[test]
fn a_tuner_is_fed_with_what_all_workers_count() {
    let (pool, sum) = (pool(), TVar::new(0_u64));
    let mut list = Worklist::new().tune(Tuning::Auto);
    let mut epochs = 0;
    for round in 1..=3 {
        list.extend(0..2_000_u64);
        let report = pool.run(|_| list.run(|tx, unit| sum.modify(tx, |sum| sum + unit))).unwrap();
        assert_eq!(sum.load(), round * 1_999_000);
        let path = report.path.unwrap();
        let seen = path.rows().iter().map(|row| row.epochs).sum::<u64>() + path.left_out();
        assert!(seen > epochs, "{seen} epochs after {epochs}");
        let counted: u64 = path.rows().iter().map(|row| row.counts.commits).sum();
        assert!(counted <= round * 2_000);
        epochs = seen;
    }
}

/// Catches: a worker that pauses under a manager that restarts at once, and one that does not under
/// a manager that pauses.
#[test]
fn the_contention_manager_decides_whether_a_worker_pauses() {
    let pool = pool();
    let report = |manager| {
        let failed: Vec<AtomicUsize> = (0..50).map(|_| AtomicUsize::new(0)).collect();
        let how = Transaction::new().manager(manager);
        let mut list = (0..failed.len()).collect::<Worklist<usize>>().transactions(how);
        pool.run(|_| {
            list.run(|tx, &unit| {
                let before = failed[unit].fetch_add(1, Ordering::Relaxed);
                if before < 3 { tx.restart() } else { Ok(()) }
            })
        })
        .unwrap()
    };
    for (manager, pauses) in [(ContentionManager::Suicide, 0), (ContentionManager::Backoff, 150)] {
        let report = report(manager);
        assert_eq!((report.aborts, report.pauses), (150, pauses), "{manager}");
    }
}

/// Catches: a worker's function that is called for each unit, never, or twice; and one that sees
/// another worker's state.
#[test]
fn what_a_worker_keeps_is_begun_updated_and_ended_once() {
    struct Calls<'a> {
        total: &'a TVar<u64>,
        log: Mutex<Vec<&'static str>>,
    }
    impl<'env> Work<'env> for Calls<'env> {
        type Unit = u64;
        type Value = u64;
        type Local = u64;

        fn init(&self, worker: usize) -> u64 {
            assert!(worker < WORKERS);
            self.log.lock().unwrap().push("init");
            0
        }
        fn process<'tx>(
            &self,
            _: &mut Tx<'tx, 'env>,
            unit: &u64,
            _: &mut u64,
            _: &mut More<u64>,
        ) -> TxResult<u64> {
            Ok(*unit)
        }
        fn fold(&self, local: &mut u64, value: u64) {
            *local += value;
        }
        fn update<'tx>(&self, tx: &mut Tx<'tx, 'env>, local: &u64) -> TxResult<()> {
            self.log.lock().unwrap().push("update");
            self.total.modify(tx, |total| total + local)
        }
        fn destroy(&self, local: &mut u64) {
            self.log.lock().unwrap().push("destroy");
            *local = 0;
        }
    }
    let (pool, total) = (pool(), TVar::new(0));
    let calls = Calls { total: &total, log: Mutex::default() };
    let report = pool.run(|_| (0..100).collect::<Worklist<u64>>().run_work(&calls)).unwrap();
    assert_eq!((total.load(), report.locals.iter().sum::<u64>()), (4_950, 0));
    let log = calls.log.into_inner().unwrap();
    for name in ["init", "update", "destroy"] {
        assert_eq!(log.iter().filter(|&&call| call == name).count(), report.locals.len(), "{name}");
    }
}

/// Catches: a panic that hangs the others or is lost, a unit that vanishes with it, and a list
/// that cannot be run again.
#[test]
fn a_panic_ends_the_run_and_leaves_the_other_units() {
    let (pool, sum) = (pool(), TVar::new(0_u64));
    for choice in
        [Settings::baseline(4), Settings::baseline(2).stealing(true).coalescing(true).lifespan(9)]
    {
        sum.store(0);
        let mut list: Worklist<u64> = (0..500).collect();
        list = list.tune(Tuning::Fixed(choice)).speculative();
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.run(|_| {
                list.run(|tx, &unit| {
                    sum.modify(tx, |sum| sum + unit)?;
                    if unit == 77 { std::panic::resume_unwind(Box::new("wanted")) } else { Ok(()) }
                })
            })
        }));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"wanted"));
        assert!((1..=500).contains(&list.len()));
        pool.run(|_| list.run(|tx, unit| sum.modify(tx, |sum| sum + unit))).unwrap();
        assert_eq!(sum.load(), 499 * 500 / 2);
    }
}

/// Catches: units of a batch that are run again or lost since a later one panicked, or its
/// fold did; and units that were added by one whose fold panics.
#[test]
fn a_panic_in_the_middle_of_many_short_units_leaves_those_that_have_not_run() {
    const UNITS: usize = 5_000;
    let (pool, counts) = (pool(), TArray::new(2 * UNITS, 0_u64));
    let list = (0..UNITS).collect::<Worklist<usize>>();
    let mut list = list.tune(Tuning::Fixed(Settings::baseline(1).stealing(true)));
    // In the order in which they are run. The units that the last of them has added are still to be
    // run.
    for (sick, in_fold, left) in
        [(3_001, false, 3_002), (2_002, true, 2_003), (1_001, false, 1_002)]
    {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            pool.run(|_| {
                list.run_fold(
                    |tx, &unit, more| {
                        counts.modify(tx, unit, |n| n + 1)?;
                        more.extend((unit == 2_002).then_some(unit + UNITS));
                        let is_sick = unit == sick && !in_fold;
                        if is_sick { std::panic::resume_unwind(Box::new(unit)) } else { Ok(unit) }
                    },
                    |(): &mut (), unit| {
                        if unit == sick {
                            std::panic::resume_unwind(Box::new(unit));
                        }
                    },
                )
            })
        }));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&sick));
        assert_eq!(list.len(), left, "{sick}");
    }
    pool.run(|_| list.run(|tx, &unit| counts.modify(tx, unit, |n| n + 1))).unwrap();
    let once = |unit: usize| u64::from(unit < UNITS || unit == 2_002 + UNITS);
    assert!(counts.load_all().into_iter().eq((0..2 * UNITS).map(once)));
}

/// Catches: a unit that waits for another that is behind it in the list, in the same local units,
/// or in the same transaction: even one worker gets through.
#[test]
fn a_unit_that_waits_lets_others_go_first() {
    for threads in 1..=2 {
        for coalescing in [false, true] {
            let choice = Settings::baseline(threads).stealing(true).coalescing(coalescing);
            let (queue, pool) = (TQueue::new(), pool());
            // Half of the units take what the other half puts there; the takers come first.
            let mut list =
                Worklist::from([[false; 50], [true; 50]].concat()).tune(Tuning::Fixed(choice));
            let report = pool.run(|_| {
                list.run(|tx, taker| match taker {
                    false => queue.push(tx, 1_u8),
                    true => match queue.pop(tx)? {
                        Some(_) => Ok(()),
                        None => tx.retry(),
                    },
                })
            });
            assert_eq!(report.unwrap().commits, 100);
        }
    }
}

/// Catches: a unit that others overtake for ever.
#[test]
fn a_long_unit_among_short_ones_commits() {
    let (pool, cells) = (pool(), TArray::new(64, 0_u64));
    let mut list: Worklist<usize> =
        (0..20_000).map(|unit| if unit % 1_000 == 0 { 64 } else { unit % 64 }).collect();
    list = list.tune(Tuning::Fixed(Settings::baseline(WORKERS)));
    let report = pool.run(|_| {
        list.run(|tx, &unit| match unit {
            64 => (0..64).try_for_each(|cell| cells.modify(tx, cell, |n| n + 1)),
            cell => cells.modify(tx, cell, |n| n + 1),
        })
    });
    assert_eq!(report.unwrap().commits, 20_000);
    assert_eq!(cells.load_all().iter().sum::<u64>(), 20 * 64 + 19_980);
}

/// Catches: an error that does not name the value or the way out.
#[test]
fn what_cannot_be_run_is_said() {
    let pool = pool();
    let error = |list: Worklist<u8>| {
        let mut list = list;
        pool.run(|_| list.run(|_, _| Ok(()))).unwrap_err().to_string()
    };
    let one = || Worklist::from(vec![1_u8]);
    assert!(error(Worklist::new()).contains("`push`"));
    assert!(error(one().tune(Tuning::Fixed(Settings::baseline(0)))).contains("0 threads"));
    let many = error(one().tune(Tuning::Fixed(Settings::baseline(9))));
    assert!(many.contains("9 threads") && many.contains("4 workers"), "{many}");
    let helped = Settings::baseline(1).lifespan(3);
    assert!(error(one().tune(Tuning::Fixed(helped))).contains("`speculative`"));
    let all_busy = Settings::baseline(WORKERS).lifespan(3);
    let no_helper = error(one().speculative().tune(Tuning::Fixed(all_busy)));
    assert!(no_helper.contains("4 workers, of which none is left to help"), "{no_helper}");
    let knobs = Knobs { alpha: 0.0, ..Knobs::default() };
    assert!(error(one().tune(Tuning::AutoWith(knobs))).contains("alpha is 0"));
}

/// Catches: a plain list that loses what units add.
#[test]
fn units_without_transactions_run_once_as_well() {
    let (pool, sum) = (pool(), Mutex::new(0));
    let mut list: Worklist<u64> = (1..100).collect();
    let report = pool.run(|_| {
        list.run_plain(|&unit, more| {
            *sum.lock().unwrap() += unit;
            more.extend((unit < 100).then_some(unit + 100));
        })
    });
    assert_eq!(report.unwrap().commits, 198);
    assert_eq!(sum.into_inner().unwrap(), 2 * 4_950 + 9_900);
}

/// Catches: a report that has helpers, though all workers ran units and none helped.
#[test]
fn settings_without_an_idle_worker_report_no_helpers() {
    let pool = pool();
    let lifespan = |threads| {
        let mut list: Worklist<u32> = (0..100).collect();
        list = list.speculative();
        list.settings_handle().set(Settings::baseline(threads).lifespan(10));
        pool.run(|_| list.run(|_, _| Ok(()))).unwrap().settings.lifespan
    };
    assert_eq!([WORKERS, WORKERS - 1].map(lifespan), [0, 10]);
}

/// Catches: a helper that is never given a unit, or reads nothing.
#[test]
fn helpers_read_ahead() {
    let (pool, cells) = (pool(), TArray::new(64, 0_u64));
    let settings = Settings::baseline(2).stealing(true).lifespan(100);
    let mut list = Worklist::new().speculative().tune(Tuning::Fixed(settings));
    let (mut units, mut words) = (0, 0);
    // A helper comes when it comes; runs are repeated until one has.
    while words == 0 {
        list.extend(0..2_000_usize);
        let report = pool.run(|_| {
            list.run(|tx, &unit| {
                (0..8).try_for_each(|cell| cells.modify(tx, (unit + cell) % 64, |n| n + 1))
            })
        });
        let report = report.unwrap();
        words += report.words_ahead;
        units += report.commits;
        assert!(report.ahead > 0 || report.words_ahead == 0);
    }
    assert_eq!(cells.load_all().iter().sum::<u64>(), 8 * units);
}

/// Catches: a helper's panic that reaches the run, an allocation of a helper that leaks, and a unit
/// of a helper that counts.
#[test]
fn what_goes_wrong_in_a_helper_changes_nothing() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    struct Wild;
    impl Wild {
        fn new() -> Self {
            ALIVE.fetch_add(1, Ordering::Relaxed);
            Self
        }
    }
    impl Drop for Wild {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }
    thread_local!(static IS_HELPER: std::cell::Cell<bool> = const { std::cell::Cell::new(true) });
    struct Nervous<'a>(&'a TArray<u64>);
    impl<'env> Work<'env> for Nervous<'env> {
        type Unit = Vec<usize>;
        type Value = Vec<Wild>;
        type Local = u64;

        fn init(&self, slot: usize) -> u64 {
            IS_HELPER.set(slot > 0);
            0
        }
        fn process<'tx>(
            &self,
            tx: &mut Tx<'tx, 'env>,
            unit: &Vec<usize>,
            _: &mut u64,
            more: &mut More<Vec<usize>>,
        ) -> TxResult<Vec<Wild>> {
            let mut made = Vec::new();
            for (step, &cell) in unit.iter().enumerate() {
                self.0.modify(tx, cell, |n| n + 1)?;
                made.push(Wild::new());
                if IS_HELPER.get() {
                    more.push(vec![63; 1_000]);
                    if step == cell % 8 {
                        std::panic::resume_unwind(Box::new(Wild::new()));
                    }
                }
            }
            Ok(made)
        }
        fn fold(&self, sum: &mut u64, made: Vec<Wild>) {
            *sum += made.len() as u64;
        }
    }
    // Slots keep their role, and each pool thread its slot's, only in a run of its own: threads of
    // their own know what they are.
    let cells = TArray::new(64, 0_u64);
    let settings = Settings::baseline(1).stealing(true).lifespan(1_000);
    let mut ahead = 0;
    while ahead < 100 {
        let pool = Pool::builder().threads(2).build().unwrap();
        let units: Vec<Vec<usize>> =
            (0..500).map(|unit| (0..8).map(|step| (unit + step) % 63).collect()).collect();
        let mut list = Worklist::from(units).speculative().tune(Tuning::Fixed(settings));
        let before: u64 = cells.load_all().iter().sum();
        let report = pool.run(|_| list.run_work(&Nervous(&cells))).unwrap();
        ahead += report.ahead;
        assert_eq!(
            (report.commits, report.added, report.locals.iter().sum::<u64>()),
            (500, 0, 4_000)
        );
        assert_eq!(cells.load_all().iter().sum::<u64>(), before + 4_000);
        assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
    }
}

/// Catches: samples that cost every unit one, that are of other workers or of other memory, and
/// a list that samples unasked.
#[test]
fn samples_name_the_worker_of_each_page() {
    let vars: Vec<TVar<u64>> = (0..10_000).map(|_| TVar::new(0)).collect();
    let pages = |at: usize| std::ptr::from_ref(&vars[at]).addr() / 4096;
    let pool = Pool::builder().threads(2).build().unwrap();
    let run = |list: Worklist<usize>| {
        let mut list = list;
        pool.run(|_| list.run(|tx, &at| vars[at].modify(tx, |n| n + 1))).unwrap().touches
    };
    let touches = run((0..vars.len()).collect::<Worklist<usize>>().sample(10));
    assert!((900..=1_000).contains(&touches.len()), "{}", touches.len());
    assert!(
        touches
            .iter()
            .all(|touch| touch.worker < 2
                && (pages(0)..=pages(vars.len() - 1)).contains(&touch.page))
    );
    assert!(touches.is_sorted_by_key(|touch| touch.at));
    assert!(touches.iter().any(|touch| touch.page != touches[0].page));
    assert!(run((0..100).collect()).is_empty());
}
