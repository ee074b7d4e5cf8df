//! The local values of workers and helpers.

use std::time::{Duration, Instant};

use super::*;

/// A worker's local value: its slot, and how often `process` had it.
struct Local {
    slot: usize,
    uses: usize,
    has_met: bool,
}

/// Units that count in the local value, after some attempts that are given up.
struct Counting {
    failed: Vec<AtomicUsize>,
    calls: AtomicUsize,
    helper_calls: AtomicUsize,
}

impl Counting {
    fn new(units: usize) -> Self {
        Self {
            failed: (0..units).map(|_| AtomicUsize::new(0)).collect(),
            calls: AtomicUsize::new(0),
            helper_calls: AtomicUsize::new(0),
        }
    }
}

impl<'env> Work<'env> for Counting {
    type Unit = usize;
    type Value = ();
    type Local = Local;

    fn init(&self, slot: usize) -> Local {
        Local { slot, uses: 0, has_met: false }
    }
    fn process<'tx>(
        &self,
        tx: &mut Tx<'tx, 'env>,
        &unit: &usize,
        local: &mut Local,
        _: &mut More<usize>,
    ) -> TxResult<()> {
        local.uses += 1;
        self.calls.fetch_add(1, Ordering::Relaxed);
        if local.slot > 0 {
            self.helper_calls.fetch_add(1, Ordering::Relaxed);
        }
        let again = self.failed[unit].fetch_add(1, Ordering::Relaxed) < 2;
        if again { tx.restart() } else { Ok(()) }
    }
    fn fold(&self, _: &mut Local, (): ()) {}
}

/// Catches: a local value that is another worker's, one for each unit, and a failed attempt or the
/// second unit of a transaction that has none.
#[test]
fn each_attempt_has_its_workers_local_value() {
    for settings in [
        Settings::baseline(4).stealing(true),
        Settings::baseline(2).stealing(true).coalescing(true).swap_after(Some(1)),
    ] {
        let counting = Counting::new(300);
        let mut list = (0..300).collect::<Worklist<usize>>().tune(Tuning::Fixed(settings));
        let report = pool().run(|_| list.run_work(&counting)).unwrap();
        let uses: usize = report.locals.iter().map(|local| local.uses).sum();
        assert_eq!(uses, counting.calls.into_inner());
        assert!(report.locals.iter().enumerate().all(|(at, local)| local.slot >= at));
    }
}

/// Catches: a helper that has its worker's local value, which both would change at once, and a
/// helper's value among the workers' at the end.
#[test]
fn a_helper_has_a_local_value_of_its_own() {
    let settings = Settings::baseline(1).stealing(true).lifespan(1_000);
    let mut helped = 0;
    while helped == 0 {
        let counting = Counting::new(500);
        let pool = Pool::builder().threads(2).build().unwrap();
        let mut list = (0..500).collect::<Worklist<usize>>().speculative();
        list = list.tune(Tuning::Fixed(settings));
        let report = pool.run(|_| list.run_work(&counting)).unwrap();
        helped = counting.helper_calls.into_inner();
        let uses: usize = report.locals.iter().map(|local| local.uses).sum();
        assert_eq!((report.locals.len(), uses + helped), (1, counting.calls.into_inner()));
    }
}

/// Two workers that wait for each other, in their first units and in their last calls.
#[derive(Default)]
struct Meeting {
    present: [AtomicUsize; 3],
}

impl Meeting {
    /// Waits until both workers are here, or gives up: then the test fails.
    fn meet(&self, at: usize) {
        let (present, began) = (&self.present[at], Instant::now());
        present.fetch_add(1, Ordering::SeqCst);
        while present.load(Ordering::SeqCst) < 2 {
            assert!(began.elapsed() < Duration::from_secs(20), "the other worker never came");
            std::thread::yield_now();
        }
    }
}

impl<'env> Work<'env> for Meeting {
    type Unit = usize;
    type Value = ();
    type Local = Local;

    fn init(&self, slot: usize) -> Local {
        Local { slot, uses: 0, has_met: false }
    }
    fn process<'tx>(
        &self,
        _: &mut Tx<'tx, 'env>,
        _: &usize,
        local: &mut Local,
        _: &mut More<usize>,
    ) -> TxResult<()> {
        if !std::mem::replace(&mut local.has_met, true) {
            self.meet(0);
        }
        Ok(())
    }
    fn fold(&self, _: &mut Local, (): ()) {}
    fn update<'tx>(&self, _: &mut Tx<'tx, 'env>, _: &Local) -> TxResult<()> {
        self.meet(1);
        Ok(())
    }
    fn destroy(&self, _: &mut Local) {
        self.meet(2);
    }
}

/// Catches: last calls of one worker after the other.
#[test]
fn the_last_calls_of_workers_run_at_the_same_time() {
    let pool = Pool::builder().threads(2).build().unwrap();
    let mut list = (0..100).collect::<Worklist<usize>>();
    let report = pool.run(|_| list.run_work(&Meeting::default())).unwrap();
    assert_eq!(report.locals.len(), 2);
}
