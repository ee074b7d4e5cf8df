//! Construction and runs of the applications' worklists.

use fastrand::Rng;
use sinew::stm::{ContentionManager, Transaction};
use sinew::worklist::{Report, Tuning, Work, Worklist};

use crate::options::Options;
use crate::record::Record;

/// The seed of shuffled units: the same order each time.
const SHUFFLED_BY: u64 = 1;

/// How an application's transactions and worklists run, and the record of their runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lists {
    tuning: Option<Tuning>,
    contention: Option<ContentionManager>,
    shuffled: bool,
    record: Record,
}

impl Lists {
    pub(crate) fn of(options: &Options) -> Self {
        Self {
            tuning: options.tuning,
            contention: options.contention,
            shuffled: options.shuffled,
            record: options.record.clone(),
        }
    }

    /// The options of its transactions, also of those that are written by hand.
    #[track_caller]
    pub(crate) fn transaction(&self) -> Transaction {
        let how = Transaction::new().locking(self.record.locking().unwrap_or_default());
        self.contention.map_or(how, |manager| how.manager(manager))
    }

    /// Units in the order in which they enter a list or another queue: as they are, or shuffled.
    pub(crate) fn ordered<U>(&self, units: impl Iterator<Item = U>) -> Vec<U> {
        let mut units: Vec<U> = units.collect();
        if self.shuffled {
            Rng::with_seed(SHUFFLED_BY).shuffle(&mut units);
        }
        units
    }

    /// An empty list. Helpers are allowed, so what a unit does, it does to variables. More threads
    /// than the pool has workers count as all of them.
    pub(crate) fn list<U>(&self) -> Worklist<U> {
        let mut list = Worklist::new().speculative();
        if let Some(pages) = self.record.pages() {
            list = list.pages(pages);
        }
        if let Some(attempts) = self.record.sampled() {
            list = list.sample(attempts);
        }
        list = list.transactions(self.transaction());
        match self.record.tuning().or(self.tuning) {
            None => list,
            Some(Tuning::Fixed(settings)) => {
                list.settings_handle().set(settings);
                list
            }
            Some(tuning) => list.tune(tuning),
        }
    }

    /// Runs all units of a list, and records it.
    ///
    /// # Panics
    ///
    /// If the list is empty, or cannot run with its tuning: one line with the reason.
    #[track_caller]
    pub(crate) fn run<'env, W: Work<'env>>(
        &self,
        list: &mut Worklist<W::Unit>,
        work: &W,
    ) -> Report<W::Local> {
        let report = list.run_work(work).unwrap_or_else(|error| panic!("{error}"));
        self.record.add(&report);
        report
    }
}

#[cfg(test)]
impl From<Option<Tuning>> for Lists {
    fn from(tuning: Option<Tuning>) -> Self {
        Self { tuning, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew::Pool;
    use sinew::stm::{TVar, Tx, TxResult};
    use sinew::worklist::{Knobs, More, Pages, Settings};
    use sinew_sync::atomic::{AtomicUsize, Ordering::Relaxed};

    struct Sum<'a>(&'a TVar<u64>);

    impl<'env> Work<'env> for Sum<'env> {
        type Unit = u64;
        type Value = ();
        type Local = ();

        fn init(&self, _: usize) {}
        fn process<'tx>(
            &self,
            tx: &mut Tx<'tx, 'env>,
            unit: &u64,
            (): &mut (),
            _: &mut More<u64>,
        ) -> TxResult<()> {
            self.0.modify(tx, |sum| sum + unit)
        }
        fn fold(&self, (): &mut (), (): ()) {}
    }

    /// Runs a list twice in a pool of two workers.
    fn run(lists: &Lists) -> u64 {
        let (pool, sum) = (Pool::builder().threads(2).build().unwrap(), TVar::new(0));
        let mut list = lists.list();
        for _ in 0..2 {
            list.extend(1..=100);
            pool.run(|_| lists.run(&mut list, &Sum(&sum)));
        }
        sum.load()
    }

    /// Catches: a run that is not recorded, or recorded twice, and a path of one of the runs
    /// only.
    #[test]
    fn all_runs_of_a_list_are_recorded_together() {
        let record = Record::default();
        // The published tuner looks at short lists as well.
        let tuning = Some(Tuning::AutoWith(Knobs::default()));
        let options = Options { tuning, record: record.clone(), ..Options::default() };
        assert_eq!(run(&Lists::of(&options)), 2 * 5_050);
        let recorded = record.take();
        assert_eq!((recorded.runs, recorded.commits), (2, 200));
        let path = recorded.path.expect("a tuned list has a path");
        assert!(path.rows().iter().map(|row| row.counts.commits).sum::<u64>() > 100, "{path}");
        assert_eq!(record.take(), crate::Recorded::default());
    }

    /// Units that are given up once before they commit.
    struct Once(AtomicUsize);

    impl<'env> Work<'env> for Once {
        type Unit = usize;
        type Value = ();
        type Local = ();

        fn init(&self, _: usize) {}
        fn process<'tx>(
            &self,
            tx: &mut Tx<'tx, 'env>,
            &unit: &usize,
            (): &mut (),
            _: &mut More<usize>,
        ) -> TxResult<()> {
            if self.0.fetch_or(1 << unit, Relaxed) & 1 << unit == 0 { tx.restart() } else { Ok(()) }
        }
        fn fold(&self, (): &mut (), (): ()) {}
    }

    /// Catches: a contention manager that reaches transactions by hand and not lists, or the
    /// reverse.
    #[test]
    fn a_contention_manager_reaches_every_transaction() {
        let pool = Pool::builder().threads(1).build().unwrap();
        for (manager, pauses) in [(ContentionManager::Suicide, 0), (ContentionManager::Backoff, 9)]
        {
            let options = Options { contention: Some(manager), ..Options::default() };
            let lists = Lists::of(&options);
            assert_eq!(lists.transaction().contention_manager(), manager);
            let mut list = lists.list();
            list.extend(0..9);
            let report = pool.run(|_| lists.run(&mut list, &Once(AtomicUsize::new(0))));
            assert_eq!((report.aborts, report.pauses), (9, pauses), "{manager}");
        }
    }

    /// Catches: units that are shuffled unasked, not shuffled, in another way each time, or lost.
    #[test]
    fn units_are_shuffled_if_that_is_asked_for() {
        let ordered = |shuffled| {
            let options = Options { shuffled, ..Options::default() };
            Lists::of(&options).ordered(0..100)
        };
        assert!(ordered(false).is_sorted());
        let mut shuffled = ordered(true);
        assert_eq!(shuffled, ordered(true));
        assert!(!shuffled.is_sorted());
        shuffled.sort_unstable();
        assert_eq!(shuffled, ordered(false));
    }

    /// Catches: settings of the record that are ignored, or stay when they are taken back; more
    /// threads than there are.
    #[test]
    fn the_record_tunes_before_the_options_do() {
        let record = Record::default();
        let options = Options {
            tuning: Some(Tuning::Fixed(Settings::baseline(9))),
            record: record.clone(),
            ..Options::default()
        };
        let lists = Lists::of(&options);
        let settings = || {
            run(&lists);
            record.take().settings.unwrap()
        };
        assert_eq!(settings(), Settings::baseline(2));
        let one = Settings::baseline(1).coalescing(true);
        record.retune(Some(Tuning::Fixed(one)));
        record.place(Some(Pages::Cyclic));
        assert_eq!(settings(), one);
        record.retune(None);
        assert_eq!(settings(), Settings::baseline(2));
    }
}
