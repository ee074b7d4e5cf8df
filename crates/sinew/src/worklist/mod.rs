//! Units of work as transactions in any order, tuned as they run; with the feature `transactions`.
//!
//! The user gives units and a function; each unit runs as one transaction, on any worker, in any
//! order. Transactions handle conflicts between two units; the list decides which unit runs on
//! which worker. Its optimisations use that freedom. Each can be set by the program, combined with
//! the others, changed while the list runs, or left to a tuner.
//!
//! ```
//! use sinew::stm::TVar;
//! use sinew::worklist::{Tuning, Worklist};
//!
//! let balance = TVar::new(0_u64);
//! let mut deposits: Worklist<u64> = (1..=100).collect();
//! let report = deposits.tune(Tuning::Auto).run(|tx, amount| balance.modify(tx, |b| b + amount))?;
//! assert_eq!((balance.load(), report.commits), (5_050, 100));
//! # Ok::<(), sinew::worklist::WorklistError>(())
//! ```
//!
//! | optimisation | when off | when on |
//! |---|---|---|
//! | stealing | one stack for all, under a lock | a stack for each worker; an idle worker steals half of another's units |
//! | coalescing | one unit for each transaction | two units for each transaction |
//! | swap-retry | a unit is repeated until it commits | after some aborts, the worker tries another unit |
//! | helper threads | idle cores are not used | helpers run the next unit of a worker ahead, without effects, to warm the cache |
//!
//! # Order
//!
//! A worker takes the newest unit of its list first. [`Worklist::order`] sets another [`Order`]:
//! the oldest unit first, or the lowest bucket, by a number that the program gives each unit. The
//! order matters if a unit that runs too early causes work that a later one makes useless. In a
//! breadth-first search of a large graph the newest unit first takes hundreds of times as long.
//!
//! ```
//! use sinew::worklist::{Order, Worklist};
//! use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
//!
//! // On how few steps is each number reached from 1, by adding 1 or doubling?
//! let steps: Vec<_> = (0..1_000).map(|_| AtomicU32::new(u32::MAX)).collect();
//! steps[1].store(0, Relaxed);
//! let mut reached = Worklist::from(vec![(1, 0)]).order(Order::Fifo);
//! reached.run_plain(|&(number, so_far), more| {
//!     for next in [number + 1, 2 * number].into_iter().filter(|&next| next < 1_000) {
//!         if steps[next].fetch_min(so_far + 1, Relaxed) > so_far + 1 {
//!             more.push((next, so_far + 1));
//!         }
//!     }
//! })?;
//! assert_eq!(steps[100].load(Relaxed), 8);
//! # Ok::<(), sinew::worklist::WorklistError>(())
//! ```
//!
//! # Units that wait
//!
//! A unit may call [`retry`](Tx::retry) if it must wait for a change. It is then *parked*: another
//! unit runs in its place, and it is tried again after a commit has changed something that it has
//! read. A parked unit costs no processor time, and any worker may run it once it is woken. It runs
//! after the units that were ready before.
//!
//! ```
//! use sinew::stm::TArray;
//! use sinew::worklist::Worklist;
//!
//! // Each unit waits for the one before it, in whichever order they are tried.
//! let done = TArray::new(100, false);
//! let mut chain: Worklist<usize> = (0..100).collect();
//! let report = chain.run(|tx, &unit| {
//!     if unit > 0 && !done.get(tx, unit - 1)? {
//!         return tx.retry();
//!     }
//!     done.set(tx, unit, true)
//! })?;
//! assert_eq!(report.commits, 100);
//! # Ok::<(), sinew::worklist::WorklistError>(())
//! ```
//!
//! A run whose units all wait cannot go on by itself. It returns [`WorklistError::Waiting`], unless
//! another thread has announced a change ([`Worklist::keep_alive`]).
//!
//! # Files
//!
//! | file | contents |
//! |---|---|
//! | `work` | the function of a list, with or without transactions |
//! | `order`, `units` | the order of units; the units of one list in it |
//! | `lists`, `local_units`, `parked` | ready units, units that a worker has taken, and waiting units |
//! | `team` | the participants of a run, and its termination |
//! | `execute` | what every run checks and completes |
//! | `run`, `run/worker`, `run/helper` | a run, and its slots: those that run units, and helpers |
//! | `run/rounds` | a run in rounds, which is given units while it runs |
//! | `places` | the CPUs of threads and the nodes of pages |
//! | `tuning` | the settings, and the tuner |
//! | `footprint` | samples of the pages that units touch |
//! | `tally` | counters and reports |
//! | `error` | the errors of runs |
//!
//! The decisions (how many to steal, when to swap, what to turn on) are in `sinew-policy`, which
//! has no threads.
//!
//! Source: Luís Fabrício Wanderley Góes, "Automatic Skeleton-Driven Performance Optimizations for
//! Transactional Memory" (PhD thesis, University of Edinburgh, 2012). Differences: a unit's result
//! is folded into its worker's own state after its commit, so there is nothing to undo there. The
//! last calls for each worker come after the last unit of all of them. A
//! worker that keeps failing becomes irrevocable after a bounded number of attempts. Workers
//! without units leave the run. Long lists are distributed in portions. There, lists have no order.

mod error;
mod execute;
mod footprint;
mod lists;
mod local_units;
mod order;
mod parked;
mod places;
mod run;
#[cfg(all(test, shuttle))]
mod shuttle;
mod tally;
mod team;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod tuning;
mod units;
mod work;

use std::marker::PhantomData;
use std::sync::Arc;

use sinew_core::Pool;
pub use sinew_policy::tune::{Baseline, KnobError, Knobs, Method, Path, Row, Settling, Step};
pub use sinew_policy::worklist::{Pages, PagesError, Settings, SettingsError};
use sinew_stm::{Transaction, Tx, TxResult};
use sinew_sync::lock::Mutex;

pub use error::WorklistError;
use footprint::Footprint;
pub use footprint::Touch;
pub use order::{Metric, Order};
pub use parked::KeepAlive;
use parked::Woken;
pub use places::mapping_for;
pub use run::{Round, Rounds};
use sinew_loops::Control;
pub use tally::Report;
use tuning::ListTuner;
pub use tuning::{SettingsHandle, Tuning, TuningError};
use work::{Functions, Plain, Transactional};
pub use work::{More, Work};

/// Units of work, and the options of their runs; see the [module](self).
///
/// A list can be filled and run again: it keeps its settings, its tuner and its path.
#[derive(Debug)]
pub struct Worklist<U> {
    units: Vec<U>,
    order: Order<U>,
    tuning: Option<Tuning>,
    settings: SettingsHandle,
    control: Option<Control>,
    list_tuner: Option<Mutex<ListTuner>>,
    speculative: bool,
    /// The number of a worker's attempts for one sample of the pages.
    sampled: Option<u64>,
    how: Option<Transaction>,
    woken: Arc<Woken>,
}

impl<U> Default for Worklist<U> {
    fn default() -> Self {
        Self::new()
    }
}

impl<U> From<Vec<U>> for Worklist<U> {
    fn from(units: Vec<U>) -> Self {
        units.into_iter().collect()
    }
}

impl<U> FromIterator<U> for Worklist<U> {
    fn from_iter<I: IntoIterator<Item = U>>(units: I) -> Self {
        let mut list = Self::new();
        list.extend(units);
        list
    }
}

impl<U> Extend<U> for Worklist<U> {
    fn extend<I: IntoIterator<Item = U>>(&mut self, units: I) {
        self.units.extend(units);
    }
}

impl<U> Worklist<U> {
    /// An empty list. By default all workers of the pool run it, each with its own list, and steal.
    /// Workers and helpers together keep to the pool's limit
    /// ([`PoolControl::set_threads`](sinew_core::PoolControl::set_threads), quota, affinity, other
    /// programs), which they check between units.
    pub fn new() -> Self {
        Self {
            units: Vec::new(),
            order: Order::default(),
            tuning: None,
            settings: SettingsHandle::new(Settings::baseline(usize::MAX).stealing(true)),
            control: None,
            list_tuner: None,
            speculative: false,
            sampled: None,
            how: None,
            woken: Arc::default(),
        }
    }

    /// Sets the order in which units run, from the next run on; by default [`Order::Lifo`].
    #[must_use]
    pub fn order(mut self, order: Order<U>) -> Self {
        self.order = order;
        self
    }

    /// Sets how the settings are chosen, from the next run on.
    #[must_use]
    pub fn tune(mut self, tuning: Tuning) -> Self {
        if let Tuning::Fixed(settings) = tuning {
            self.settings.put(settings);
        }
        self.list_tuner = None;
        self.tuning = Some(tuning);
        self
    }

    /// Allows helper threads. They pay if units wait for main memory, the helper shares a cache
    /// with its worker, and another worker would be of no use; otherwise they cost time. See the
    /// example `helpers`.
    ///
    /// A helper calls the function for a unit before a worker runs the unit, and may find another
    /// state of the variables. The results are dropped; effects outside of variables must be
    /// harmless.
    ///
    /// Helpers are workers of the pool that run no units, so a list needs fewer threads than its
    /// pool has workers. [`Tuning::Fixed`] is refused without any
    /// ([`WorklistError::NoIdleWorkers`]). Other ways to set threads and helpers, and a limit that
    /// falls, leave as many workers without a helper as workers are missing; the
    /// [settings](Report::settings) in the report have no helpers if none had one.
    ///
    /// If threads are pinned, a helper is pinned to the processor of the mapping in force that is
    /// nearest to its worker's and that no other thread of the list has. It moves with its worker.
    #[must_use]
    pub fn speculative(mut self) -> Self {
        self.speculative = true;
        self
    }

    /// Sets the NUMA nodes of pages that workers touch first while they run this list. By default
    /// pages are interleaved over all nodes; once a worker's units add units, its later pages are
    /// on its own node. Pages that were touched before are not moved.
    ///
    /// If the system refuses, pages are placed as with [`Pages::FirstTouch`].
    /// [`SettingsHandle::set_pages`] changes the placement, also while the list runs.
    #[must_use]
    pub fn pages(self, pages: Pages) -> Self {
        self.settings.set_pages(pages);
        self
    }

    /// Lets `control` limit the number of workers, pin them, and cancel runs of this list.
    ///
    /// The control's number of threads limits the workers that run units, whatever the settings and
    /// the tuner request; helpers are not counted. The control's mapping pins each worker by its
    /// number. A change takes effect after a worker's present unit, or, if units are short, after
    /// about 50 µs. So does a cancellation: [`Report::cancelled`] is then true, and the units that
    /// have not run are in the list. A [`Snapshot`](sinew_loops::Snapshot) counts the units,
    /// including added ones. The control's schedule has no effect.
    ///
    /// [`PoolControl::cancel`](sinew_core::PoolControl::cancel) cancels runs of any list in the
    /// same way.
    ///
    /// ```
    /// use sinew::Control;
    /// use sinew::worklist::Worklist;
    ///
    /// let control = Control::new();
    /// let mut list = Worklist::from((1..=100).collect::<Vec<u32>>()).control(&control);
    /// let report = list.run_plain(|unit, _| if *unit == 50 { control.cancel() })?;
    /// assert!(report.cancelled);
    /// assert_eq!(report.commits as usize + list.len(), 100);
    /// # Ok::<(), sinew::worklist::WorklistError>(())
    /// ```
    #[must_use]
    pub fn control(mut self, control: &Control) -> Self {
        self.control = Some(control.clone());
        self
    }

    /// Sets the options of its transactions, such as the contention manager and the locking. They
    /// are counted at the call site of `how`; by default they are those of [`Transaction::new`], at
    /// the call site of the run. The list decides what happens after a conflict: a worker pauses
    /// before it repeats a unit if the manager pauses, and becomes irrevocable after 64 failures,
    /// so [`max_aborts`](Transaction::max_aborts) has no effect. Each attempt has its own age.
    ///
    /// ```
    /// use sinew::stm::{Locking, TVar, Transaction};
    /// use sinew::worklist::Worklist;
    ///
    /// let sum = TVar::new(0);
    /// let late = Transaction::new().locking(Locking::Commit);
    /// let mut numbers: Worklist<u32> = (1..=100).collect();
    /// numbers = numbers.transactions(late);
    /// numbers.run(|tx, n| sum.modify(tx, |sum| sum + n))?;
    /// assert_eq!((sum.load(), late.counters().commits >= 100), (5_050, true));
    /// # Ok::<(), sinew::worklist::WorklistError>(())
    /// ```
    #[must_use]
    pub fn transactions(mut self, how: Transaction) -> Self {
        self.how = Some(how);
        self
    }

    /// Samples the pages that transactions touch, once for each `attempts` attempts of a worker:
    /// [`Report::touches`] has the samples.
    #[must_use]
    pub fn sample(mut self, attempts: u64) -> Self {
        self.sampled = Some(attempts);
        self
    }

    /// Announces a change that units wait for. Until the result is dropped, runs of this list sleep
    /// when all units wait, and do not return [`WorklistError::Waiting`]. A run without units ends
    /// all the same.
    ///
    /// ```
    /// use sinew::stm::TVar;
    /// use sinew::worklist::Worklist;
    ///
    /// let go = TVar::new(false);
    /// let mut list: Worklist<u32> = (0..10).collect();
    /// let keep_alive = list.keep_alive();
    /// std::thread::scope(|s| {
    ///     s.spawn(|| {
    ///         go.store(true);
    ///         drop(keep_alive);
    ///     });
    ///     let report = list.run(|tx, _| if go.get(tx)? { Ok(()) } else { tx.retry() })?;
    ///     assert_eq!(report.commits, 10);
    ///     Ok::<(), sinew::worklist::WorklistError>(())
    /// })?;
    /// # Ok::<(), sinew::worklist::WorklistError>(())
    /// ```
    pub fn keep_alive(&self) -> KeepAlive {
        self.woken.keep_alive()
    }

    /// A handle that changes the settings, from any thread, also while the list runs.
    pub fn settings_handle(&self) -> SettingsHandle {
        self.settings.clone()
    }

    /// Adds a unit.
    pub fn push(&mut self, unit: U) {
        self.units.push(unit);
    }

    /// Takes all units out of the list.
    pub fn take_units(&mut self) -> Vec<U> {
        std::mem::take(&mut self.units)
    }

    /// The number of waiting units.
    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// Whether no unit waits.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }
}

impl<U: Send + Sync> Worklist<U> {
    /// Runs `process` for every unit, each as one transaction, in the current pool; the list is
    /// empty afterwards.
    ///
    /// # Errors
    ///
    /// [`WorklistError::Waiting`] if the remaining units wait for a change that no thread can make
    /// any more; all others have run. Any other [`WorklistError`] before a unit was run.
    ///
    /// # Panics
    ///
    /// If `process` panics, with its payload, after the other workers have ended their units. All
    /// units that were not committed are in the list, including the one that panicked. A unit that
    /// calls [`retry`](Tx::retry) before it has read anything panics: no change could wake it.
    ///
    /// # Blocking
    ///
    /// Until every unit has run, or waits. While a [`KeepAlive`] exists and all units wait, the
    /// calling worker sleeps, and runs only its own tasks. So a wake-up must not depend on a call
    /// into the same pool that only this worker could serve.
    ///
    /// # Cost
    ///
    /// A transaction for each unit, and some nanoseconds for the list.
    #[track_caller]
    pub fn run<'env, F>(&mut self, process: F) -> Result<Report, WorklistError>
    where
        F: for<'tx> Fn(&mut Tx<'tx, 'env>, &U) -> TxResult<()> + Sync,
    {
        self.run_adding(|tx, unit, _| process(tx, unit))
    }

    /// As [`run`](Self::run), with a function that may add units: they run as well.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run).
    #[track_caller]
    pub fn run_adding<'env, F>(&mut self, process: F) -> Result<Report, WorklistError>
    where
        F: for<'tx> Fn(&mut Tx<'tx, 'env>, &U, &mut More<U>) -> TxResult<()> + Sync,
    {
        self.run_fold(process, |(): &mut (), ()| ())
    }

    /// As [`run_adding`](Self::run_adding), with the result of each unit folded into a value of its
    /// worker's, after its commit: [`Report::locals`] has these.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run); `fold` may panic as well.
    ///
    /// ```
    /// use sinew::stm::TVar;
    /// use sinew::worklist::Worklist;
    ///
    /// let largest = TVar::new(0);
    /// let mut list = Worklist::from(vec![3, 1, 4, 1, 5]);
    /// let report = list.run_fold(
    ///     |tx, unit, _| largest.replace(tx, *unit),
    ///     |seen: &mut Vec<i32>, before| seen.push(before),
    /// )?;
    /// let seen: usize = report.locals.iter().map(Vec::len).sum();
    /// assert_eq!(seen, 5);
    /// # Ok::<(), sinew::worklist::WorklistError>(())
    /// ```
    #[track_caller]
    pub fn run_fold<'env, V, L, F, G>(
        &mut self,
        process: F,
        fold: G,
    ) -> Result<Report<L>, WorklistError>
    where
        F: for<'tx> Fn(&mut Tx<'tx, 'env>, &U, &mut More<U>) -> TxResult<V> + Sync,
        G: Fn(&mut L, V) + Sync,
        L: Default + Send,
    {
        self.run_work(&Functions::new(process, fold))
    }

    /// Runs `work`: see [`Work`].
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run), for all that `work` does.
    #[track_caller]
    pub fn run_work<'env, W>(&mut self, work: &W) -> Result<Report<W::Local>, WorklistError>
    where
        W: Work<'env, Unit = U>,
    {
        // Not `unwrap_or_else`: the site is the caller that runs the list.
        let how = match self.how {
            Some(how) => how,
            None => Transaction::new(),
        };
        let footprint = self.sampled.map(|every| {
            let slots = sinew_core::run(|worker| worker.max_threads());
            Footprint::new(every, slots)
        });
        let run =
            Transactional { work, how, footprint: footprint.as_ref(), environment: PhantomData };
        let mut report = self.execute(&run)?;
        report.touches = footprint.map(Footprint::into_touches).unwrap_or_default();
        Ok(report)
    }

    /// Runs `process` for every unit without a transaction, with the same lists and the same
    /// settings; helpers have nothing to do.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run). The unit that panicked is in the list again.
    ///
    /// ```
    /// use sinew::worklist::Worklist;
    ///
    /// // Counts the nodes of a tree in which node n has the children 2n and 2n + 1.
    /// let mut tree = Worklist::from(vec![1_u32]);
    /// let report = tree.run_plain(|node, more| {
    ///     more.extend([2 * node, 2 * node + 1].into_iter().filter(|&n| n < 100));
    /// })?;
    /// assert_eq!(report.commits, 99);
    /// # Ok::<(), sinew::worklist::WorklistError>(())
    /// ```
    pub fn run_plain<F>(&mut self, process: F) -> Result<Report, WorklistError>
    where
        F: Fn(&U, &mut More<U>) + Sync,
    {
        self.execute(&Plain::new(process, |(): &mut (), ()| ()))
    }

    /// Runs `work` in rounds, in `pool`: calls `drive`, which runs the list for a while, looks at
    /// the local values of its workers, adds units, and runs it again. So a list can be given units
    /// while it runs, for example those that other processes send. It may be empty at first.
    ///
    /// Units that have not run when `drive` returns are in the list.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), except for [`WorklistError::Empty`].
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run), for all that `work` and `drive` do.
    ///
    /// ```
    /// use sinew::stm::TVar;
    /// use sinew::worklist::{More, Round, Work, Worklist};
    /// use std::time::Duration;
    ///
    /// # struct Add<'a>(&'a TVar<u64>);
    /// # impl<'env> Work<'env> for Add<'env> {
    /// #     type Unit = u64;
    /// #     type Value = ();
    /// #     type Local = ();
    /// #     fn init(&self, _: usize) {}
    /// #     fn process<'tx>(
    /// #         &self,
    /// #         tx: &mut sinew::stm::Tx<'tx, 'env>,
    /// #         unit: &u64,
    /// #         _: &mut (),
    /// #         _: &mut More<u64>,
    /// #     ) -> sinew::stm::TxResult<()> {
    /// #         self.0.modify(tx, |sum| sum + unit)
    /// #     }
    /// #     fn fold(&self, _: &mut (), _: ()) {}
    /// # }
    /// let sum = TVar::new(0);
    /// // `Add` adds each unit to the sum.
    /// Worklist::new().run_in_rounds(sinew::global_pool(), &Add(&sum), |rounds| {
    ///     for message in [vec![1, 2], vec![3, 4]] {
    ///         rounds.extend(message);
    ///         while rounds.run(Duration::from_millis(1)) == Round::More {}
    ///     }
    /// })?;
    /// assert_eq!(sum.load(), 10);
    /// # Ok::<(), sinew::worklist::WorklistError>(())
    /// ```
    #[track_caller]
    pub fn run_in_rounds<'env, W>(
        &mut self,
        pool: &Pool,
        work: &W,
        drive: impl FnOnce(&mut Rounds<'_, U, W::Local>),
    ) -> Result<Report<W::Local>, WorklistError>
    where
        W: Work<'env, Unit = U>,
    {
        // Not `unwrap_or_else`: as in `run_work`.
        let how = match self.how {
            Some(how) => how,
            None => Transaction::new(),
        };
        let footprint = self.sampled.map(|every| Footprint::new(every, pool.max_threads()));
        let run =
            Transactional { work, how, footprint: footprint.as_ref(), environment: PhantomData };
        let mut report = self.execute_in_rounds(pool, &run, drive)?;
        report.touches = footprint.map(Footprint::into_touches).unwrap_or_default();
        Ok(report)
    }
}
