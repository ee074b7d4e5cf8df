//! Runs in other orders than the default.

use super::*;

fn orders() -> [Order<usize>; 3] {
    [Order::Lifo, Order::Fifo, Order::priority(|&unit| unit as u64 / 4)]
}

/// The units of a run by one worker.
fn sequence(order: Order<usize>, units: &[usize], stealing: bool) -> Vec<usize> {
    let mut list = Worklist::from(units.to_vec())
        .order(order)
        .tune(Tuning::Fixed(Settings::baseline(1).stealing(stealing)));
    let seen = Mutex::new(Vec::new());
    pool().run(|_| list.run_plain(|&unit, _| seen.lock().unwrap().push(unit))).unwrap();
    seen.into_inner().unwrap()
}

/// Catches: an order that is ignored, with a common list or with lists of one's own.
#[test]
fn one_worker_keeps_the_order() {
    let units = [9, 1, 8, 2, 7, 3];
    for stealing in [true, false] {
        let [lifo, fifo, first] = orders().map(|order| sequence(order, &units, stealing));
        assert_eq!(lifo, [3, 7, 2, 8, 1, 9]);
        assert_eq!(fifo, units);
        assert_eq!(first, [1, 2, 3, 7, 9, 8]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Catches: a unit that is lost or run twice under any order and settings, changed meanwhile.
    #[test]
    fn every_unit_commits_once_in_any_order(
        units in proptest::collection::vec(1..64_usize, 1..40),
        choices in proptest::collection::vec(settings(), 1..4),
    ) {
        let (pool, right) = (pool(), expected(&units));
        for order in orders() {
            let mut list = Worklist::from(units.clone()).order(order).speculative();
            list = list.tune(Tuning::Fixed(choices[0]));
            let control = list.settings_handle();
            let (counts, total) = (TArray::new(64, 0_u64), TVar::new(0));
            pool.run(|_| {
                std::thread::scope(|s| {
                    s.spawn(|| choices.iter().for_each(|&settings| control.set(settings)));
                    count(&counts, &total, &mut list)
                })
            });
            prop_assert_eq!(counts.load_all(), right.clone());
            prop_assert!(list.is_empty());
        }
    }
}

/// Catches: a tuner that ends with another order's units, and a list that it leaves units in.
#[test]
fn a_tuned_list_keeps_every_order() {
    for order in orders() {
        let mut list: Worklist<usize> = (0..30_000).collect();
        list = list.order(order).tune(Tuning::Auto);
        let sum = AtomicUsize::new(0);
        let report = pool().run(|_| {
            list.run_plain(|&unit, _| {
                sum.fetch_add(unit, Ordering::Relaxed);
            })
        });
        assert_eq!(report.unwrap().commits, 30_000);
        assert_eq!(sum.into_inner(), 30_000 * 29_999 / 2);
    }
}

/// Catches: units that are neither run nor left after a panic of the metric, for a unit of the
/// list or for one that was added; and a list that cannot be run again.
#[test]
fn a_panic_of_the_metric_loses_no_unit() {
    for sick in [3, 150] {
        let is_sick = Arc::new(AtomicUsize::new(1));
        let theirs = Arc::clone(&is_sick);
        let order = Order::priority(move |&unit: &usize| {
            let panics = unit == sick && theirs.load(Ordering::Relaxed) == 1;
            if panics { std::panic::resume_unwind(Box::new(unit)) } else { unit as u64 }
        });
        let mut list = (0..100).collect::<Worklist<usize>>().order(order);
        let runs: Vec<AtomicUsize> = (0..200).map(|_| AtomicUsize::new(0)).collect();
        let run = |list: &mut Worklist<usize>| {
            pool().run(|_| {
                list.run_plain(|&unit, more| {
                    runs[unit].fetch_add(1, Ordering::Relaxed);
                    more.extend((unit < 100).then_some(unit + 100));
                })
            })
        };
        let panicked = catch_unwind(AssertUnwindSafe(|| run(&mut list)));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&sick));
        is_sick.store(0, Ordering::Relaxed);
        // Other workers may have run all units before the panic ended the run.
        if !list.is_empty() {
            run(&mut list).unwrap();
        }
        assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1), "{runs:?}");
    }
}

/// Catches: a cancelled list whose units are lost, and a unit that is dropped never or twice.
#[test]
fn a_cancelled_list_keeps_its_units_in_any_order() {
    for order in orders() {
        let control = Control::new();
        let mut list = (0..1_000).collect::<Worklist<usize>>().order(order).control(&control);
        let report = pool().run(|_| {
            list.run_plain(|&unit, _| {
                if unit == 500 {
                    control.cancel();
                }
            })
        });
        let report = report.unwrap();
        assert_eq!(report.commits as usize + list.len(), 1_000);
    }
}

/// Catches: units that wait and are woken into a list of another kind.
#[test]
fn units_that_wait_are_woken_in_any_order() {
    for order in orders() {
        let done = TArray::new(100, false);
        let mut chain = (0..100).rev().collect::<Worklist<usize>>().order(order);
        let report = pool().run(|_| {
            chain.run(|tx, &unit| {
                if unit > 0 && !done.get(tx, unit - 1)? {
                    return tx.retry();
                }
                done.set(tx, unit, true)
            })
        });
        assert_eq!(report.unwrap().commits, 100);
    }
}
