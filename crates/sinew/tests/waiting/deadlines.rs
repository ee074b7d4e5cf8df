//! Units that wait with a deadline.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sinew::Control;
use sinew::stm::TVar;
use sinew::worklist::Worklist;

use super::{WORKERS, every_kind, list_of, pool, watched};

const FAR: Duration = Duration::from_secs(3_600);

/// Catches: a unit that is tried all the time until its deadline, or never after it; a run that
/// ends before a deadline.
#[test]
fn a_unit_costs_nothing_until_its_deadline() {
    watched(|| {
        for settings in every_kind(WORKERS) {
            let (never, tries) = (TVar::new(false), AtomicUsize::new(0));
            let begun = Instant::now();
            let mut list = list_of(0..20_u32, settings);
            let report = pool(WORKERS).run(|_| {
                list.run(|tx, &unit| {
                    tries.fetch_add(1, Ordering::Relaxed);
                    if !never.get(tx)? {
                        tx.retry_until(begun + Duration::from_millis(20 + u64::from(unit)))?;
                    }
                    Ok(())
                })
            });
            let report = report.unwrap();
            assert_eq!(report.commits, 20);
            assert!(begun.elapsed() >= Duration::from_millis(39));
            // Helpers run units ahead, and other tests' irrevocable transactions abort some.
            let most = 3 * (20 + report.waits + report.aborts);
            assert!((1..=40).contains(&report.waits), "{report:?}");
            assert!((tries.into_inner() as u64) <= most, "{report:?}");
        }
    });
}

/// Catches: a deadline that keeps a run alive although its unit was woken by a change before, or
/// although the run that it belongs to is over.
#[test]
fn a_deadline_ends_with_the_wait() {
    watched(|| {
        for settings in every_kind(WORKERS) {
            let (go, deadline) = (TVar::new(false), Instant::now() + FAR);
            let mut list = list_of(0..20_u32, settings);
            let report = pool(WORKERS).run(|_| {
                list.run(|tx, &unit| match unit {
                    0 => go.set(tx, true),
                    _ if go.get(tx)? => Ok(()),
                    _ => tx.retry_until(deadline),
                })
            });
            assert_eq!(report.unwrap().commits, 20);
            // The same list again, whose units wait for good.
            list.extend([1]);
            let report = pool(WORKERS)
                .run(|_| list.run(|tx, _| if go.get(tx)? { tx.retry() } else { Ok(()) }));
            assert!(report.is_err());
        }
    });
}

/// Catches: a cancelled run that waits for a deadline, and one that leaves it to the next run.
#[test]
fn a_cancelled_run_forgets_its_deadlines() {
    watched(|| {
        let (never, control) = (TVar::new(false), sinew::Control::new());
        let mut list = list_of(0..20_u32, sinew::worklist::Settings::baseline(2)).control(&control);
        let (deadline, tries) = (Instant::now() + FAR, AtomicUsize::new(0));
        let report = pool(2).run(|_| {
            list.run(|tx, _| {
                if tries.fetch_add(1, Ordering::Relaxed) == 19 {
                    control.cancel();
                }
                if never.get(tx)? { Ok(()) } else { tx.retry_until(deadline) }
            })
        });
        let report = report.unwrap();
        assert!(report.cancelled && report.commits == 0 && list.len() == 20);
    });
}

/// Catches: a run that misses the deadline of its control, while it runs units and while all wait.
#[test]
fn a_control_ends_a_run_at_its_deadline() {
    watched(|| {
        let (control, never) = (Control::new(), TVar::new(false));
        control.cancel_after(Duration::from_millis(2));
        let mut endless = Worklist::from(vec![0_u64]).control(&control);
        let report = pool(WORKERS).run(|_| endless.run_plain(|unit, more| more.push(unit + 1)));
        assert!(report.unwrap().cancelled && !endless.is_empty());
        let control = Control::new();
        control.cancel_after(Duration::from_millis(2));
        let mut waiting = Worklist::from(vec![0_u64; 20]).control(&control);
        let _keep_alive = waiting.keep_alive();
        let report = pool(WORKERS)
            .run(|_| waiting.run(|tx, _| if never.get(tx)? { Ok(()) } else { tx.retry() }));
        let report = report.unwrap();
        assert_eq!((report.cancelled, report.commits, waiting.len()), (true, 0, 20));
    });
}
