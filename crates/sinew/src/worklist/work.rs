//! The work of a list: the user's functions for each unit and each worker, with or without
//! transactions.

use std::marker::PhantomData;

use sinew_policy::worklist::helpers;
use sinew_stm::{Change, Prefetch, PrefetchEnd, Transaction, Tx, TxResult, Unfinished};

use super::footprint::Footprint;

/// The work of a transactional worklist: [`process`](Self::process) for each unit, and a local
/// value of each worker.
///
/// [`Worklist::run`](super::Worklist::run) takes a single function. `'env` is the lifetime of the
/// variables that the work borrows.
///
/// The bank of Góes' thesis, whose workers count their deposits:
///
/// ```
/// use sinew::stm::{TVar, Tx, TxResult};
/// use sinew::worklist::{More, Work, Worklist};
///
/// struct Bank<'a> {
///     balance: &'a TVar<u64>,
///     deposits: &'a TVar<u64>,
/// }
///
/// impl<'env> Work<'env> for Bank<'env> {
///     type Unit = u64;
///     type Value = ();
///     type Local = u64;
///
///     fn init(&self, _worker: usize) -> u64 {
///         0
///     }
///     fn process<'tx>(
///         &self,
///         tx: &mut Tx<'tx, 'env>,
///         amount: &u64,
///         _: &mut u64,
///         _: &mut More<u64>,
///     ) -> TxResult<()> {
///         self.balance.modify(tx, |balance| balance + amount)
///     }
///     fn fold(&self, deposits: &mut u64, (): ()) {
///         *deposits += 1;
///     }
///     fn update<'tx>(&self, tx: &mut Tx<'tx, 'env>, deposits: &u64) -> TxResult<()> {
///         self.deposits.modify(tx, |sum| sum + deposits)
///     }
/// }
///
/// let (balance, deposits) = (TVar::new(0), TVar::new(0));
/// let bank = Bank { balance: &balance, deposits: &deposits };
/// Worklist::from(vec![10; 100]).run_work(&bank)?;
/// assert_eq!((balance.load(), deposits.load()), (1_000, 100));
/// # Ok::<(), sinew::worklist::WorklistError>(())
/// ```
pub trait Work<'env>: Sync {
    /// A unit. It moves between workers, and to helpers.
    type Unit: Send + Sync;
    /// The result of a unit, for [`fold`](Self::fold).
    type Value;
    /// The local value of a worker: memory that its units reuse, and what they have counted.
    type Local: Send;

    /// Makes the local value of a worker, before its first unit of a run. `worker` is its number,
    /// below the number of workers of the pool. A helper has a value of its own, with its own
    /// number; it is dropped without [`update`](Self::update) and [`destroy`](Self::destroy).
    fn init(&self, worker: usize) -> Self::Local;

    /// Runs one unit, in a transaction that may contain another unit. Units added to `more` enter
    /// the list after the commit.
    ///
    /// No other thread has `local` meanwhile. An attempt that fails leaves it as it is then: only
    /// variables are rolled back. So it is for memory that each attempt fills anew; what must
    /// happen once for each unit belongs into [`fold`](Self::fold).
    ///
    /// # Errors
    ///
    /// Return those of the variables: the attempt is repeated, or another unit is tried first.
    /// After a [`retry`](Tx::retry) the unit is parked until something that it has read changes.
    fn process<'tx>(
        &self,
        tx: &mut Tx<'tx, 'env>,
        unit: &Self::Unit,
        local: &mut Self::Local,
        more: &mut More<Self::Unit>,
    ) -> TxResult<Self::Value>;

    /// Called once for each unit, after its commit, on the worker that ran it. So a failed attempt
    /// has no effect.
    fn fold(&self, local: &mut Self::Local, value: Self::Value);

    /// Called once for each worker after the last unit, in a transaction. Workers of the pool that
    /// are free make these calls at the same time.
    ///
    /// # Errors
    ///
    /// Return those of the variables: the attempt is repeated.
    fn update<'tx>(&self, tx: &mut Tx<'tx, 'env>, local: &Self::Local) -> TxResult<()> {
        let _ = (tx, local);
        Ok(())
    }

    /// Called once for each worker after [`update`](Self::update), without a transaction.
    fn destroy(&self, local: &mut Self::Local) {
        let _ = local;
    }
}

/// Units that a unit adds.
#[derive(Debug)]
pub struct More<U>(pub(super) Vec<U>);

impl<U> More<U> {
    /// Adds `unit` to the worklist, once the transaction has committed.
    pub fn push(&mut self, unit: U) {
        self.0.push(unit);
    }
}

impl<U> Extend<U> for More<U> {
    fn extend<I: IntoIterator<Item = U>>(&mut self, units: I) {
        self.0.extend(units);
    }
}

/// Why an attempt did not commit.
#[derive(Debug)]
pub(super) enum Failure {
    /// A conflict with another transaction: it may be repeated.
    Conflict,
    /// Its second unit waits: the first one should run alone.
    SecondWaits,
    /// Its first unit waits for this change.
    Waits(Change),
}

impl From<Unfinished> for Failure {
    #[inline]
    fn from(unfinished: Unfinished) -> Self {
        match unfinished {
            Unfinished::GivenUp(_) => Self::Conflict,
            Unfinished::Waits(change) => Self::Waits(change),
        }
    }
}

/// The options of an attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttemptOptions {
    pub(super) slot: usize,
    /// Whether the attempt is irrevocable.
    pub(super) favoured: bool,
}

/// A function that makes one attempt of a unit.
pub(super) trait OneByOne<R: Run + ?Sized>:
    Fn(&R::Unit, &mut R::Local, &mut More<R::Unit>) -> Result<R::Value, Failure>
{
}

impl<R: Run + ?Sized, F> OneByOne<R> for F where
    F: Fn(&R::Unit, &mut R::Local, &mut More<R::Unit>) -> Result<R::Value, Failure>
{
}

/// The local value of a helper, and the helper's slot.
#[derive(Debug)]
pub(super) struct HelperLocal<L> {
    pub(super) slot: usize,
    /// `None` before the first unit, and after one that panicked, which may have left half a value.
    pub(super) value: Option<L>,
}

/// The work of a run: transactions, or plain functions.
pub(super) trait Run: Sync {
    type Unit: Send + Sync;
    type Value;
    type Local: Send;

    fn init(&self, worker: usize) -> Self::Local;
    /// Whether each attempt is to be reported.
    fn is_watched(&self) -> bool {
        false
    }
    /// Whether a worker pauses between two attempts.
    fn pauses(&self) -> bool {
        false
    }
    /// A function that runs units one by one, each as one attempt that is not reported. A failure
    /// has no effect but on the local value; the caller then drops the units in `more`.
    fn one_by_one(&self) -> impl OneByOne<Self>;
    /// Runs the first unit, or both in one transaction, and pushes a value for each unit that was
    /// run. A failure has no effect but on the local value; the caller then drops what is in
    /// `values` and `more`.
    fn attempt(
        &self,
        units: [Option<&Self::Unit>; 2],
        local: &mut Self::Local,
        values: &mut Vec<Self::Value>,
        more: &mut More<Self::Unit>,
        options: AttemptOptions,
    ) -> Result<(), Failure>;
    fn fold(&self, local: &mut Self::Local, value: Self::Value);
    fn finish(&self, local: &mut Self::Local);
    /// Runs a unit ahead of its worker, without effect but on the helper's local value. Returns how
    /// many words were read.
    fn run_ahead(
        &self,
        unit: &Self::Unit,
        local: &mut HelperLocal<Self::Local>,
        lifespan: u32,
        stopped: &dyn Fn() -> bool,
    ) -> u64;
}

/// Units as transactions.
pub(super) struct Transactional<'w, 'env, W> {
    pub(super) work: &'w W,
    pub(super) how: Transaction,
    /// The samples of the pages, if they are taken.
    pub(super) footprint: Option<&'w Footprint>,
    pub(super) environment: PhantomData<fn(&'env ()) -> &'env ()>,
}

impl<'env, W: Work<'env>> Run for Transactional<'_, 'env, W> {
    type Unit = W::Unit;
    type Value = W::Value;
    type Local = W::Local;

    fn init(&self, worker: usize) -> W::Local {
        self.work.init(worker)
    }

    fn is_watched(&self) -> bool {
        self.footprint.is_some()
    }

    fn pauses(&self) -> bool {
        self.how.contention_manager().pauses()
    }

    #[inline]
    fn one_by_one(&self) -> impl OneByOne<Self> {
        // Copies, which the compiler keeps in registers from one unit to the next.
        let Self { work, how, .. } = *self;
        move |unit: &W::Unit, local: &mut W::Local, more: &mut More<W::Unit>| {
            how.attempt_or_wait(|tx| work.process(tx, unit, local, more)).map_err(Failure::from)
        }
    }

    fn attempt(
        &self,
        [mut next, mut after]: [Option<&W::Unit>; 2],
        local: &mut W::Local,
        values: &mut Vec<W::Value>,
        more: &mut More<W::Unit>,
        options: AttemptOptions,
    ) -> Result<(), Failure> {
        let how = if options.favoured { self.how.max_aborts(0) } else { self.how };
        let mut second_waits = false;
        let attempt = how.attempt_or_wait(|tx| {
            while let Some(unit) = next {
                match self.work.process(tx, unit, local, more) {
                    Ok(value) => values.push(value),
                    // Here it sees the writes of the first unit, and would wait for that one's
                    // reads as well. Alone it may not have to wait.
                    Err(stop) if stop.is_retry() && !values.is_empty() && !tx.is_irrevocable() => {
                        second_waits = true;
                        return tx.restart();
                    }
                    Err(stop) => return Err(stop),
                }
                // An irrevocable unit is committed before another one begins.
                next = after.take().filter(|_| !tx.is_irrevocable());
            }
            if let Some(footprint) = self.footprint {
                footprint.attempted(options.slot, tx);
            }
            Ok(())
        });
        attempt.map_err(|why| if second_waits { Failure::SecondWaits } else { why.into() })
    }

    #[inline]
    fn fold(&self, local: &mut W::Local, value: W::Value) {
        self.work.fold(local, value);
    }

    fn finish(&self, local: &mut W::Local) {
        let kept = &*local;
        self.how.atomically(|tx| self.work.update(tx, kept));
        self.work.destroy(local);
    }

    fn run_ahead(
        &self,
        unit: &W::Unit,
        local: &mut HelperLocal<W::Local>,
        lifespan: u32,
        stopped: &dyn Fn() -> bool,
    ) -> u64 {
        let ahead = Prefetch::new(lifespan).buffer(helpers::BUFFER).stopped_by(stopped);
        let value = local.value.get_or_insert_with(|| self.work.init(local.slot));
        // The unit's values are dropped inside, because their drop may panic like the unit.
        let run =
            ahead.run(|tx| self.work.process(tx, unit, value, &mut More(Vec::new())).map(drop));
        if run.ended == PrefetchEnd::Panicked {
            local.value = None;
        }
        run.words_read
    }
}

/// A function as work, with a fold of its results.
pub(super) struct Functions<U, V, L, F, G> {
    process: F,
    fold: G,
    types: PhantomData<fn(U) -> (V, L)>,
}

impl<U, V, L, F, G> Functions<U, V, L, F, G> {
    pub(super) fn new<'env>(process: F, fold: G) -> Self
    where
        F: for<'tx> Fn(&mut Tx<'tx, 'env>, &U, &mut More<U>) -> TxResult<V>,
        G: Fn(&mut L, V),
    {
        Self { process, fold, types: PhantomData }
    }
}

impl<'env, U, V, L, F, G> Work<'env> for Functions<U, V, L, F, G>
where
    U: Send + Sync,
    L: Default + Send,
    F: for<'tx> Fn(&mut Tx<'tx, 'env>, &U, &mut More<U>) -> TxResult<V> + Sync,
    G: Fn(&mut L, V) + Sync,
{
    type Unit = U;
    type Value = V;
    type Local = L;

    fn init(&self, _worker: usize) -> L {
        L::default()
    }

    fn process<'tx>(
        &self,
        tx: &mut Tx<'tx, 'env>,
        unit: &U,
        _local: &mut L,
        more: &mut More<U>,
    ) -> TxResult<V> {
        (self.process)(tx, unit, more)
    }

    fn fold(&self, local: &mut L, value: V) {
        (self.fold)(local, value);
    }
}

/// Units without transactions: every attempt succeeds.
pub(super) struct Plain<U, V, L, F, G>(Functions<U, V, L, F, G>);

impl<U, V, L, F, G> Plain<U, V, L, F, G> {
    pub(super) fn new(process: F, fold: G) -> Self {
        Self(Functions { process, fold, types: PhantomData })
    }
}

impl<U, V, L, F, G> Run for Plain<U, V, L, F, G>
where
    U: Send + Sync,
    L: Default + Send,
    F: Fn(&U, &mut More<U>) -> V + Sync,
    G: Fn(&mut L, V) + Sync,
{
    type Unit = U;
    type Value = V;
    type Local = L;

    fn init(&self, _worker: usize) -> L {
        L::default()
    }

    #[inline]
    fn one_by_one(&self) -> impl OneByOne<Self> {
        |unit: &U, _: &mut L, more: &mut More<U>| Ok((self.0.process)(unit, more))
    }

    fn attempt(
        &self,
        units: [Option<&U>; 2],
        _local: &mut L,
        values: &mut Vec<V>,
        more: &mut More<U>,
        _options: AttemptOptions,
    ) -> Result<(), Failure> {
        values.extend(units.into_iter().flatten().map(|unit| (self.0.process)(unit, more)));
        Ok(())
    }

    fn fold(&self, local: &mut L, value: V) {
        (self.0.fold)(local, value);
    }

    fn finish(&self, _local: &mut L) {}

    fn run_ahead(
        &self,
        _unit: &U,
        _local: &mut HelperLocal<L>,
        _lifespan: u32,
        _stopped: &dyn Fn() -> bool,
    ) -> u64 {
        0
    }
}
