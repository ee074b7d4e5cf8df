//! Runs in rounds.

use std::time::Duration;

use super::*;

/// Adds each unit to a sum, and counts its units in the local value.
struct Add<'a> {
    sum: &'a TVar<u64>,
}

impl<'env> Work<'env> for Add<'env> {
    type Unit = u64;
    type Value = ();
    type Local = u64;

    fn init(&self, _: usize) -> u64 {
        0
    }

    fn process<'tx>(
        &self,
        tx: &mut Tx<'tx, 'env>,
        unit: &u64,
        _: &mut u64,
        more: &mut More<u64>,
    ) -> TxResult<()> {
        more.extend(unit.checked_sub(1_000));
        self.sum.modify(tx, |sum| sum + unit)
    }

    fn fold(&self, count: &mut u64, (): ()) {
        *count += 1;
    }
}

fn run_to_idle<L>(rounds: &mut Rounds<'_, u64, L>, most: Duration) -> usize {
    (1..).find(|_| rounds.run(most) == Round::Idle).unwrap()
}

/// Catches: units that are lost between two rounds, a local value that begins anew, and a round
/// without a time that runs nothing or everything.
#[test]
fn units_that_are_added_between_two_rounds_run() {
    for threads in 1..4 {
        let pool = Pool::builder().threads(threads).build().unwrap();
        for order in [Order::Lifo, Order::Fifo, Order::priority(|unit: &u64| *unit)] {
            let sum = TVar::new(0);
            let mut list = Worklist::new().order(order).tune(Tuning::Auto);
            let report = list.run_in_rounds(&pool, &Add { sum: &sum }, |rounds| {
                assert_eq!(rounds.run(Duration::ZERO), Round::Idle);
                rounds.extend((0..10_000).collect());
                let before = run_to_idle(rounds, Duration::ZERO);
                assert!(before > 3, "{before} rounds");
                rounds.extend(vec![5_500, 1]);
                run_to_idle(rounds, Duration::from_secs(60));
                let mut counted = 0;
                rounds.each_local(|count| counted += *count);
                assert_eq!(counted, 55_000 + 7);
            });
            let report = report.unwrap();
            let once = |unit: u64| (0..=unit / 1_000).map(move |fewer| unit - 1_000 * fewer);
            let all = (0..10_000).chain([5_500, 1]).flat_map(once).sum::<u64>();
            assert_eq!((sum.load(), report.commits), (all, 55_007));
            assert_eq!((report.locals.iter().sum::<u64>(), list.len()), (55_007, 0));
        }
    }
}

/// Catches: a unit that waits and is forgotten at the end of a round, or tried again without end.
#[test]
fn a_unit_waits_over_rounds_for_one_that_is_added_later() {
    let pool = Pool::builder().threads(2).build().unwrap();
    let done = TArray::new(3, false);
    let work = Functions::new(
        |tx, &unit: &usize, _: &mut More<usize>| {
            if unit > 0 && !done.get(tx, unit - 1)? {
                return tx.retry();
            }
            done.set(tx, unit, true)
        },
        |(): &mut (), ()| (),
    );
    let mut list = Worklist::from(vec![2, 1]);
    let most = Duration::from_secs(60);
    let report = list.run_in_rounds(&pool, &work, |rounds| {
        assert_eq!((rounds.run(most), rounds.waiting()), (Round::Idle, 2));
        rounds.extend(vec![0]);
        assert_eq!((rounds.run(most), rounds.waiting()), (Round::Idle, 0));
    });
    assert_eq!(report.unwrap().commits, 3);
    sinew_stm::atomically(|tx| done.set(tx, 0, false));
    list.push(1);
    let error = list.run_in_rounds(&pool, &work, |rounds| {
        assert_eq!(rounds.run(most), Round::Idle);
    });
    assert!(matches!(error, Err(WorklistError::Waiting { units: 1, .. })), "{error:?}");
    assert_eq!(list.len(), 1);
}

/// Catches: an announced change that is not awaited, so that the run counts as idle.
#[test]
fn a_run_that_is_kept_alive_is_not_idle() {
    let pool = Pool::builder().threads(1).build().unwrap();
    let go = TVar::new(false);
    let work = Functions::new(
        |tx, _: &u8, _: &mut More<u8>| if go.get(tx)? { Ok(()) } else { tx.retry() },
        |(): &mut (), ()| (),
    );
    let mut list = Worklist::from(vec![1]);
    let keep_alive = list.keep_alive();
    let report = list.run_in_rounds(&pool, &work, |rounds| {
        assert_eq!(rounds.run(Duration::from_millis(1)), Round::More);
        go.store(true);
        drop(keep_alive);
        while rounds.run(Duration::from_millis(1)) == Round::More {}
    });
    assert_eq!(report.unwrap().commits, 1);
}

/// Catches: units that a cancelled run, a panic or an early return loses.
#[test]
fn units_that_have_not_run_are_in_the_list() {
    let pool = Pool::builder().threads(2).build().unwrap();
    let sum = TVar::new(0);
    let control = sinew_loops::Control::new();
    let mut list = Worklist::from(vec![1, 2, 3]).control(&control);
    let report = list.run_in_rounds(&pool, &Add { sum: &sum }, |rounds| {
        control.cancel();
        rounds.extend(vec![4]);
        assert_eq!(rounds.run(Duration::MAX), Round::Cancelled);
        rounds.extend(vec![5]);
    });
    assert!(report.unwrap().cancelled);
    assert_eq!((list.len(), sum.load()), (5, 0));
    let bad = Functions::new(
        |_, unit: &u64, _: &mut More<u64>| {
            if *unit == 1 {
                std::panic::resume_unwind(Box::new(*unit));
            }
            Ok(())
        },
        |(): &mut (), ()| (),
    );
    let mut list = Worklist::from(vec![1]);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        list.run_in_rounds(&pool, &bad, |rounds| {
            rounds.run(Duration::MAX);
        })
    }));
    assert_eq!(panic.unwrap_err().downcast_ref(), Some(&1_u64));
    assert_eq!(list.len(), 1);
    let report = list.run_in_rounds(&pool, &bad, |_| ()).unwrap();
    assert_eq!((report.commits, list.len()), (0, 1));
}
