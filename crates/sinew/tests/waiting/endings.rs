//! Runs in which units wait, and how they end: with an error, by a panic, cancelled; and the same
//! list run again.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sinew::Control;
use sinew::stm::{TArray, TVar, Tx, TxResult};
use sinew::worklist::{More, Work, Worklist, WorklistError};

use super::{WORKERS, every_kind, list_of, pool, watched};

/// Catches: a run that hangs or says that all is well while every unit waits, units and counts that
/// are lost with the error, and an error that does not say what to do.
#[test]
fn a_run_whose_units_all_wait_says_so_and_keeps_them() {
    for settings in every_kind(2) {
        watched(move || {
            let (go, sum, pool) = (TVar::new(false), TVar::new(0), pool(WORKERS));
            let mut list = list_of(0..50_u64, settings);
            // Every third unit waits.
            let run = |list: &mut Worklist<u64>| {
                pool.run(|_| {
                    list.run(|tx, &unit| {
                        if unit % 3 == 0 && !go.get(tx)? {
                            return tx.retry();
                        }
                        sum.modify(tx, |sum| sum + unit)
                    })
                })
            };
            for commits in [33, 0] {
                let error = run(&mut list).unwrap_err();
                let WorklistError::Waiting { units, report } = &error else { panic!("{error}") };
                assert_eq!((*units, list.len(), report.commits), (17, 17, commits), "{settings}");
                assert!(report.waits >= 17 && !report.elapsed.is_zero(), "{report:?}");
                let text = error.to_string();
                assert!(text.contains("17 units") && text.contains("keep_alive"), "{text}");
            }
            assert_eq!(sum.load(), (0..50).filter(|unit| unit % 3 > 0).sum::<u64>());
            go.store(true);
            assert_eq!(run(&mut list).unwrap().commits, 17);
            assert_eq!((sum.load(), list.len()), (49 * 25, 0));
        });
    }
}

/// Catches: what workers have kept that is not written when the run ends with an error.
#[test]
fn what_workers_keep_is_written_although_units_wait() {
    struct Count<'a>(&'a TVar<u64>, &'a TVar<bool>);
    impl<'env> Work<'env> for Count<'env> {
        type Unit = u64;
        type Value = ();
        type Local = u64;

        fn init(&self, _worker: usize) -> u64 {
            0
        }
        fn process<'tx>(
            &self,
            tx: &mut Tx<'tx, 'env>,
            unit: &u64,
            _: &mut u64,
            more: &mut More<u64>,
        ) -> TxResult<()> {
            if *unit < 5 {
                // Dropped with the attempt.
                more.push(100);
                return if self.1.get(tx)? { Ok(()) } else { tx.retry() };
            }
            Ok(())
        }
        fn fold(&self, local: &mut u64, (): ()) {
            *local += 1;
        }
        fn update<'tx>(&self, tx: &mut Tx<'tx, 'env>, local: &u64) -> TxResult<()> {
            self.0.modify(tx, |sum| sum + local)
        }
    }
    watched(|| {
        let (sum, never) = (TVar::new(0), TVar::new(false));
        let mut list = Worklist::from((0..20).collect::<Vec<u64>>());
        let ended = pool(2).run(|_| list.run_work(&Count(&sum, &never)));
        assert!(matches!(
            ended.err(),
            Some(WorklistError::Waiting { units: 5, report }) if report.commits == 15
        ));
        assert_eq!((sum.load(), list.len()), (15, 5));
    });
}

/// Catches: a unit that waits for nothing, which no change could ever wake, and is parked all the
/// same.
#[test]
fn a_unit_that_waits_before_it_has_read_anything_panics() {
    for settings in every_kind(2) {
        watched(move || {
            let written = TVar::new(0);
            let mut list = list_of(0..20_u32, settings);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                pool(2).run(|_| {
                    list.run(|tx, &unit| {
                        written.set(tx, unit)?;
                        if unit == 7 { tx.retry() } else { Ok(()) }
                    })
                })
            }));
            let payload = caught.unwrap_err();
            let text = payload.downcast_ref::<&str>().unwrap();
            assert!(text.contains("before anything was read"), "{text}");
            assert!((1..=20).contains(&list.len()), "{settings}: {}", list.len());
            assert!(pool(2).run(|_| list.run(|_, _| Ok(()))).unwrap().commits > 0);
        });
    }
}

/// Catches: units that wait and are lost, or keep the run from ending, when another one panics.
#[test]
fn a_panic_keeps_the_units_that_wait() {
    for settings in every_kind(WORKERS) {
        watched(move || {
            let (counts, go, pool) = (TArray::new(200, 0_u64), TVar::new(false), pool(WORKERS));
            let mut list = list_of(0..200_usize, settings);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                pool.run(|_| {
                    list.run(|tx, &unit| {
                        counts.modify(tx, unit, |n| n + 1)?;
                        match unit {
                            3 => std::panic::resume_unwind(Box::new("wanted")),
                            _ if unit % 2 == 0 && !go.get(tx)? => tx.retry(),
                            _ => Ok(()),
                        }
                    })
                })
            }));
            assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"wanted"));
            assert!(list.len() > 100, "{settings}: {}", list.len());
            pool.run(|_| list.run(|tx, &unit| counts.modify(tx, unit, |n| n + 1))).unwrap();
            assert_eq!(counts.load_all(), [1; 200], "{settings}");
        });
    }
}

/// Catches: units that wait and are lost, or run twice, when the run is cancelled, and a
/// cancellation taken for the error.
#[test]
fn a_cancelled_run_keeps_the_units_that_wait() {
    for settings in every_kind(2) {
        watched(move || {
            let (control, go, counts) = (Control::new(), TVar::new(false), TArray::new(100, 0_u32));
            let mut list = list_of(0..100_usize, settings).control(&control);
            let report = pool(2).run(|_| {
                list.run_fold(
                    |tx, &unit, _| {
                        counts.modify(tx, unit, |n| n + 1)?;
                        if unit % 2 == 0 && !go.get(tx)? { tx.retry() } else { Ok(unit) }
                    },
                    |(): &mut (), unit| {
                        if unit == 51 {
                            control.cancel();
                        }
                    },
                )
            });
            let report = report.unwrap();
            assert!(report.cancelled && report.commits <= 50, "{report:?}");
            assert_eq!(report.commits as usize + list.len(), 100);
            let mut list = list.control(&Control::new());
            pool(2).run(|_| list.run(|tx, &unit| counts.modify(tx, unit, |n| n + 1))).unwrap();
            assert_eq!(counts.load_all(), [1; 100]);
        });
    }
}

/// Catches: units that wait and are forgotten where settings, the pool's limit and the number of
/// workers change.
#[test]
fn units_that_wait_outlast_every_change_of_the_settings() {
    for first in every_kind(WORKERS) {
        watched(move || {
            let (done, pool) = (TArray::new(300, false), pool(WORKERS));
            let mut list = list_of(0..300_usize, first);
            let (control, limit) = (list.settings_handle(), pool.control());
            let report = pool.run(|_| {
                list.run_fold(
                    |tx, &unit, _| {
                        // Chains of three, and every tenth unit waits for the last of all.
                        let before = if unit % 10 == 9 && unit < 299 {
                            Some(299)
                        } else {
                            unit.checked_sub(1)
                        };
                        match before.filter(|_| unit % 3 > 0) {
                            Some(before) if !done.get(tx, before)? => tx.retry(),
                            _ => done.set(tx, unit, true).map(|()| unit),
                        }
                    },
                    |(): &mut (), unit| match unit % 8 {
                        0 => limit.set_threads(1 + unit % WORKERS),
                        4 => control.set(every_kind(1 + unit % WORKERS).nth(unit % 16).unwrap()),
                        _ => {}
                    },
                )
            });
            assert_eq!(report.unwrap().commits, 300, "{first}");
        });
    }
}

/// Catches: a tuner that takes units which wait for conflicts, or ends with them.
#[test]
fn a_tuned_list_with_units_that_wait_ends() {
    watched(|| {
        let done = TArray::new(5_000, false);
        let mut list =
            Worklist::from((0..5_000).collect::<Vec<usize>>()).tune(sinew::worklist::Tuning::Auto);
        let report = pool(2).run(|_| {
            list.run(|tx, &unit| match unit % 5 {
                0 => done.set(tx, unit, true),
                _ if !done.get(tx, unit - 1)? => tx.retry(),
                _ => done.set(tx, unit, true),
            })
        });
        assert_eq!(report.unwrap().commits, 5_000);
        assert_eq!(list.run(|_, _| Ok(())).unwrap_err(), WorklistError::Empty);
    });
}
