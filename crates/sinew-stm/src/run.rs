//! Runs transactions: attempts until one commits.

use crate::contention_manager::ContentionManager;
use crate::descriptor::{Attempts, Descriptor, Mode};
use crate::engine::engine;
use crate::late::Locking;
use crate::local;
use crate::sites::{Cause, Counters, Site};
use crate::tx::Tx;
use crate::tx_error::{Abort, TxError, TxResult, Why};
use crate::waiting::Change;
use std::error::Error;
use std::fmt;
use std::panic::Location;
use std::ptr::NonNull;

/// Aborted attempts before a transaction takes the token.
const MAX_ABORTS: u32 = 10;

/// Runs `f` as a transaction: its reads and writes take effect atomically, or not at all.
///
/// `f` is repeated until an attempt commits, so it should have no effects except on variables.
/// Return a variable's error with `?`; an attempt that ignored one does not commit.
///
/// The same as [`Transaction::new().atomically(f)`](Transaction::atomically).
///
/// # Panics
///
/// If called inside a transaction of the same thread: its variables might not live until the other
/// one commits. Use [`Tx::atomically`] there. A panic of `f` aborts the attempt and propagates.
///
/// # Cost
///
/// Without conflicts: three loads per word read; per variable written a compare-and-swap and two
/// stores; one atomic addition if a variable was written. No allocation once the thread's logs have
/// grown. The clock is read when a variable has changed since the thread's last transaction.
///
/// # Blocking
///
/// Waits while other transactions hold locks on its variables, and in [`Tx::retry`].
///
/// ```
/// use sinew_stm::{TVar, atomically};
///
/// let (from, to) = (TVar::new(10), TVar::new(0));
/// atomically(|tx| {
///     let amount = from.replace(tx, 0)?;
///     to.modify(tx, |sum| sum + amount)
/// });
/// assert_eq!((from.load(), to.load()), (0, 10));
/// ```
#[inline]
#[track_caller]
pub fn atomically<'env, R>(f: impl for<'tx> FnMut(&mut Tx<'tx, 'env>) -> TxResult<R>) -> R {
    Transaction::new().atomically(f)
}

/// Runs `f` as a transaction that may fail: an error of `f` undoes all its writes.
///
/// The same as [`Transaction::new().try_atomically(f)`](Transaction::try_atomically).
///
/// # Errors
///
/// The error of `f`. It follows from a consistent snapshot: an attempt that another transaction has
/// disturbed is repeated instead.
///
/// # Panics
///
/// As [`atomically`](fn@crate::atomically). Effects after [`Tx::irrevocable`] stay, its writes do
/// not.
///
/// ```
/// use sinew_stm::{TVar, Tx, Abort, try_atomically};
///
/// #[derive(Debug, PartialEq)]
/// struct Overdrawn;
/// # impl std::fmt::Display for Overdrawn {
/// #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
/// #         f.write_str("overdrawn")
/// #     }
/// # }
/// impl std::error::Error for Overdrawn {}
///
/// fn withdraw<'tx>(
///     tx: &mut Tx<'tx, '_>,
///     account: &'tx TVar<u32>,
///     amount: u32,
/// ) -> Result<(), Abort<Overdrawn>> {
///     let rest = account.get(tx)?.checked_sub(amount).ok_or(Overdrawn)?;
///     Ok(account.set(tx, rest)?)
/// }
///
/// let (from, to) = (TVar::new(10), TVar::new(0));
/// let transfer = |amount| {
///     try_atomically(|tx| {
///         to.modify(tx, |sum| sum + amount)?;
///         withdraw(tx, &from, amount)
///     })
/// };
/// assert_eq!(transfer(20), Err(Overdrawn));
/// assert_eq!((from.load(), to.load()), (10, 0));
/// assert_eq!(transfer(7), Ok(()));
/// ```
#[inline]
#[track_caller]
pub fn try_atomically<'env, R, E>(
    f: impl for<'tx> FnMut(&mut Tx<'tx, 'env>) -> Result<R, Abort<E>>,
) -> Result<R, E> {
    Transaction::new().try_atomically(f)
}

/// The options of a transaction.
///
/// The place of this call is its *site*, which has [`counters`](Self::counters).
///
/// ```
/// use sinew_stm::{ContentionManager, TVar, Transaction};
///
/// let hits = TVar::new(0_u64);
/// let count = Transaction::new().manager(ContentionManager::Suicide);
/// for _ in 0..3 {
///     count.atomically(|tx| hits.modify(tx, |n| n + 1));
/// }
/// assert_eq!(count.counters().commits, 3);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Transaction {
    site: Site,
    manager: ContentionManager,
    max_aborts: u32,
    locking: Locking,
}

impl Default for Transaction {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl Transaction {
    /// A transaction of the caller's site, under [`ContentionManager::Backoff`] and
    /// [`Locking::Encounter`].
    #[inline(always)]
    #[track_caller]
    pub fn new() -> Self {
        let (manager, locking) = (ContentionManager::Backoff, Locking::Encounter);
        Self { site: Location::caller(), manager, max_aborts: MAX_ABORTS, locking }
    }

    /// Sets the reaction to another transaction's lock.
    #[must_use]
    pub fn manager(self, manager: ContentionManager) -> Self {
        Self { manager, ..self }
    }

    /// The reaction to another transaction's lock.
    pub fn contention_manager(&self) -> ContentionManager {
        self.manager
    }

    /// Sets when it locks the records of its writes.
    #[must_use]
    pub fn locking(self, locking: Locking) -> Self {
        Self { locking, ..self }
    }

    /// Sets the number of aborted attempts after which the next one takes the token and cannot
    /// abort (default: 10). `u32::MAX`: never.
    #[must_use]
    pub fn max_aborts(self, attempts: u32) -> Self {
        Self { max_aborts: attempts, ..self }
    }

    /// Whether an attempt begins with more than a snapshot. Without branches, so that a caller with
    /// many attempts of one kind tests it once.
    #[inline(always)]
    fn is_special(&self) -> bool {
        (self.manager == ContentionManager::Age)
            | (self.max_aborts == 0)
            | (self.locking == Locking::Commit)
    }

    /// The counters of this site's transactions on all threads.
    pub fn counters(&self) -> Counters {
        engine().sites.lock().counters(self.site)
    }

    /// Runs `f`: see [`atomically`](fn@crate::atomically).
    ///
    /// # Panics
    ///
    /// As [`atomically`](fn@crate::atomically).
    #[inline]
    #[track_caller]
    pub fn atomically<'env, R>(
        &self,
        mut f: impl for<'tx> FnMut(&mut Tx<'tx, 'env>) -> TxResult<R>,
    ) -> R {
        let mut descriptor = local::enter(self.site);
        let mut run = Run::new(self, descriptor);
        run.begin(self, descriptor);
        loop {
            match run.attempt(descriptor, &mut f) {
                Ok(value) => {
                    run.finish(descriptor);
                    return value;
                }
                Err(stop) => descriptor = run.again_cold(stop, self.max_aborts),
            }
        }
    }

    /// Runs `f`, which may fail: see [`try_atomically`](fn@crate::try_atomically).
    ///
    /// # Errors
    ///
    /// The error of `f`.
    ///
    /// # Panics
    ///
    /// As [`atomically`](fn@crate::atomically).
    #[inline]
    #[track_caller]
    pub fn try_atomically<'env, R, E>(
        &self,
        mut f: impl for<'tx> FnMut(&mut Tx<'tx, 'env>) -> Result<R, Abort<E>>,
    ) -> Result<R, E> {
        let mut descriptor = local::enter(self.site);
        let mut run = Run::new(self, descriptor);
        run.begin(self, descriptor);
        loop {
            let mut failed = None;
            match run.attempt(descriptor, |tx| f(tx).map_err(|abort| abort.keep(&mut failed))) {
                Ok(value) => {
                    run.finish(descriptor);
                    return Ok(value);
                }
                Err(stop) => match failed {
                    Some(error) if run.fails() => return Err(error),
                    _ => descriptor = run.again_cold(stop, self.max_aborts),
                },
            }
        }
    }

    /// Makes one attempt, for a scheduler that may run other work before the next one.
    ///
    /// # Errors
    ///
    /// The cause of the abort. A [`Tx::retry`] is [`Cause::Body`] here, and does not wait. A
    /// scheduler that can let a transaction wait uses [`attempt_or_wait`](Self::attempt_or_wait).
    ///
    /// # Panics
    ///
    /// As [`atomically`](fn@crate::atomically).
    #[inline]
    #[track_caller]
    pub fn attempt<'env, R>(
        &self,
        f: impl for<'tx> FnOnce(&mut Tx<'tx, 'env>) -> TxResult<R>,
    ) -> Result<R, Cause> {
        let descriptor = local::enter(self.site);
        let mut run = Run::new(self, descriptor);
        run.begin(self, descriptor);
        match run.attempt(descriptor, f) {
            Ok(value) => {
                run.finish(descriptor);
                Ok(value)
            }
            Err(_) => Err(run.give_up()),
        }
    }

    /// Makes one attempt, for a scheduler that runs other work while a transaction waits.
    ///
    /// # Errors
    ///
    /// [`Unfinished`]: the cause of the abort, or the change for which the transaction waits.
    ///
    /// # Panics
    ///
    /// As [`atomically`](fn@crate::atomically) and [`Tx::retry`].
    #[inline]
    #[track_caller]
    pub fn attempt_or_wait<'env, R>(
        &self,
        f: impl for<'tx> FnOnce(&mut Tx<'tx, 'env>) -> TxResult<R>,
    ) -> Result<R, Unfinished> {
        let descriptor = local::enter(self.site);
        let mut run = Run::new(self, descriptor);
        run.begin(self, descriptor);
        match run.attempt(descriptor, f) {
            Ok(value) => {
                run.finish(descriptor);
                Ok(value)
            }
            Err(stop) => Err(run.give_up_or_wait(stop)),
        }
    }
}

/// Why an attempt did not commit; see [`Transaction::attempt_or_wait`].
#[derive(Debug)]
pub enum Unfinished {
    /// It aborted and may be repeated.
    GivenUp(Cause),
    /// It called [`Tx::retry`]: another attempt before this change would call it again.
    Waits(Change),
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GivenUp(cause) => cause.fmt(f),
            Self::Waits(_) => f.write_str(
                "the transaction called `retry`; repeat the attempt once its change has happened",
            ),
        }
    }
}

impl Error for Unfinished {}

/// A call of `atomically` on this thread; aborts the attempt if it is dropped before the end.
struct Run {
    /// The thread's descriptor; `None` while handlers run.
    descriptor: Option<NonNull<Descriptor>>,
    site: Site,
    locking: Locking,
}

impl Run {
    /// A run with the descriptor that it has just borrowed. The caller keeps the pointer in a
    /// register.
    #[inline(always)]
    fn new(how: &Transaction, descriptor: NonNull<Descriptor>) -> Self {
        Self { descriptor: Some(descriptor), site: how.site, locking: how.locking }
    }

    /// Begins the first attempt. Not in [`new`](Self::new): a returned value whose address is taken
    /// would be copied.
    #[inline(always)]
    fn begin(&mut self, how: &Transaction, mut descriptor: NonNull<Descriptor>) {
        // SAFETY: I12.
        let d = unsafe { descriptor.as_mut() };
        d.count_for(how.site);
        d.manager = how.manager;
        d.begin();
        if how.is_special() {
            self.begin_specially(how);
        }
    }

    /// Begins an attempt that needs more than a snapshot: see `is_special`.
    #[inline(never)]
    fn begin_specially(&mut self, how: &Transaction) {
        let d = self.descriptor();
        if how.manager == ContentionManager::Age {
            d.special = true;
            // Ages are times at which transactions began.
            d.begin_now();
            d.shared.set_age(d.snapshot());
        }
        if how.max_aborts == 0 {
            self.prepare(0);
        } else if how.locking == Locking::Commit {
            d.lock_late();
        }
    }

    fn descriptor(&mut self) -> &mut Descriptor {
        let mut descriptor = self.descriptor.expect("handlers have the descriptor");
        // SAFETY: by I12 it belongs to this run between `enter` and `leave`, which clears it.
        unsafe { descriptor.as_mut() }
    }

    /// Returns the descriptor to the thread.
    fn leave(&mut self) {
        self.descriptor.take().into_iter().for_each(local::leave_cold);
    }

    /// One attempt, with the descriptor of this run. After an error the sets stay as the closure
    /// left them.
    #[inline(always)]
    fn attempt<'env, R>(
        &mut self,
        mut descriptor: NonNull<Descriptor>,
        f: impl for<'tx> FnOnce(&mut Tx<'tx, 'env>) -> TxResult<R>,
    ) -> TxResult<R> {
        debug_assert_eq!(self.descriptor, Some(descriptor));
        // SAFETY: I12, as this run is inside.
        let value = f(&mut Tx::new(unsafe { descriptor.as_mut() }))?;
        // SAFETY: as above; the closure's borrow has ended.
        if unsafe { descriptor.as_mut() }.commit() {
            Ok(value)
        } else {
            Err(TxError(Why::Conflict))
        }
    }

    /// Leaves after a commit.
    #[inline(always)]
    fn finish(self, descriptor: NonNull<Descriptor>) {
        // SAFETY: I12, as this run is inside.
        if unsafe { descriptor.as_ref() }.special {
            return self.finish_cold();
        }
        local::leave(descriptor);
        std::mem::forget(self);
    }

    #[inline(never)]
    fn finish_cold(mut self) {
        let d = self.descriptor();
        if d.holds_token() {
            d.counters().irrevocable.add(1);
        }
        d.forget_attempts();
        self.step_out(true);
    }

    /// Ends the attempt, and does the work that remains outside of the transaction: handlers and
    /// drops may start other transactions.
    fn step_out(&mut self, committed: bool) {
        let after = self.descriptor().tidy();
        self.leave();
        if let Some(mut after) = after {
            after.run(committed);
            local::keep_lists(after);
        }
    }

    /// After an attempt that ended with `stop`: aborts it, and begins the next.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn again_cold(&mut self, stop: TxError, max_aborts: u32) -> NonNull<Descriptor> {
        self.fail(stop);
        self.prepare(max_aborts);
        NonNull::from(self.descriptor())
    }

    /// Aborts the attempt after `stop`, and waits for the condition of the next one.
    #[track_caller]
    fn fail(&mut self, stop: TxError) {
        if self.is_to_wait(stop) {
            return self.wait_for_change();
        }
        let cause = self.abandon();
        let d = self.descriptor();
        d.aborts = d.aborts.saturating_add(1);
        d.special = true;
        if d.untidy {
            let attempts = d.attempts();
            self.step_out(false);
            self.step_in(attempts);
        }
        if cause == Cause::Token {
            engine().gate.wait();
        }
        self.descriptor().pause();
    }

    /// Aborts without another attempt.
    #[cold]
    fn give_up(&mut self) -> Cause {
        let cause = self.abandon();
        self.descriptor().forget_attempts();
        self.step_out(false);
        cause
    }

    /// Ends the attempts with an error of the closure. Returns false, and does nothing, if the
    /// attempt is doomed: it may have seen outdated values.
    #[cold]
    #[inline(never)]
    fn fails(&mut self) -> bool {
        let ends = self.descriptor().doomed.is_none();
        if ends {
            self.give_up();
        }
        ends
    }

    /// Rolls back, counts the cause, and releases the token.
    fn abandon(&mut self) -> Cause {
        let d = self.descriptor();
        d.roll_back();
        d.reads.clear();
        // Its snapshot may be too old (I18).
        d.limit = 0;
        let cause = d.doomed.take().unwrap_or(Cause::Body);
        d.counters().aborted(cause);
        d.give_token();
        cause
    }

    /// Takes the descriptor again, after other transactions of this thread may have used it.
    fn step_in(&mut self, attempts: Attempts) {
        self.descriptor = Some(local::enter(self.site));
        let site = self.site;
        let d = self.descriptor();
        d.count_for(site);
        d.resume(attempts);
    }

    /// Ends the attempts after `stop`, which may be a `retry`.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn give_up_or_wait(&mut self, stop: TxError) -> Unfinished {
        if !self.is_to_wait(stop) {
            return Unfinished::GivenUp(self.give_up());
        }
        let change = self.roll_back_to_wait();
        self.descriptor().forget_attempts();
        self.step_out(false);
        Unfinished::Waits(change)
    }

    /// Whether an attempt that ended with `stop` waits for a change: a doomed one may have seen
    /// outdated values.
    fn is_to_wait(&mut self, stop: TxError) -> bool {
        stop.0 == Why::Retry && self.descriptor().doomed.is_none()
    }

    /// Rolls back and sleeps until a variable that was read has changed.
    #[track_caller]
    fn wait_for_change(&mut self) {
        let change = self.roll_back_to_wait();
        let d = self.descriptor();
        d.give_token();
        d.aborts = 0;
        let attempts = d.attempts();
        self.step_out(false);
        change.wait();
        drop(change);
        self.step_in(attempts);
    }

    /// Rolls back, and returns the change for which it waits.
    #[track_caller]
    fn roll_back_to_wait(&mut self) -> Change {
        let d = self.descriptor();
        assert!(
            d.mode != Mode::Irrevocable,
            "retry() after irrevocable(): no other could make the change"
        );
        assert!(
            !d.reads.is_empty() || d.deadline.is_some(),
            "retry() before anything was read: no change could end it"
        );
        d.roll_back();
        d.counters().retries.add(1);
        // SAFETY: records live in the environment of this call, or in kept values until the attempt
        // is over.
        let change = unsafe { Change::of(&d.reads, d.deadline) };
        d.reads.clear();
        change
    }

    /// Prepares the next attempt.
    #[cold]
    fn prepare(&mut self, max_aborts: u32) {
        let locking = self.locking;
        let d = self.descriptor();
        if d.wants_token || d.aborts >= max_aborts {
            engine().gate.take(&engine().clock, d.number);
            d.mode = Mode::Favoured;
            d.special = true;
        }
        d.begin_now();
        if locking == Locking::Commit {
            d.lock_late();
        }
    }
}

impl Drop for Run {
    #[inline(always)]
    fn drop(&mut self) {
        if self.descriptor.is_some() {
            self.give_up();
        }
    }
}
