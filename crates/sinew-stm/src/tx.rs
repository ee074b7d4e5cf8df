//! The transaction as seen by its closure.

use crate::descriptor::{Descriptor, Mark, Mode};
use crate::engine::engine;
use crate::run_ahead::PrefetchEnd;
use crate::sites::Cause;
use crate::tx_error::{Abort, TxError, TxResult, Why};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Instant;

/// A running transaction.
///
/// `'tx` is the attempt: variables are accessed through references that live as long. `'env` is the
/// environment of the call of [`atomically`](crate::atomically): everything that the closure
/// borrows from there lives long enough. (As in [`std::thread::scope`].)
pub struct Tx<'tx, 'env: 'tx> {
    pub(crate) descriptor: &'tx mut Descriptor,
    /// Makes both lifetimes invariant, so that neither can be extended or shortened.
    lifetimes: PhantomData<(&'tx mut &'tx (), &'env mut &'env ())>,
    /// A transaction stays on its thread.
    thread: PhantomData<*const ()>,
}

impl std::fmt::Debug for Tx<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (reads, writes) = (self.descriptor.reads.len(), self.descriptor.writes.len());
        f.debug_struct("Tx").field("reads", &reads).field("writes", &writes).finish_non_exhaustive()
    }
}

/// A part of a transaction, which is undone if this is dropped before its [`end`](Self::end).
struct Part<'a, 'tx, 'env> {
    tx: &'a mut Tx<'tx, 'env>,
    mark: Mark,
}

impl<'a, 'tx, 'env> Part<'a, 'tx, 'env> {
    fn begin(tx: &'a mut Tx<'tx, 'env>) -> Self {
        let mark = tx.descriptor.begin_part();
        Self { tx, mark }
    }

    /// Keeps the effects of the part.
    fn end(self) {
        self.tx.descriptor.end_part(&self.mark);
        std::mem::forget(self);
    }
}

impl Drop for Part<'_, '_, '_> {
    fn drop(&mut self) {
        self.tx.descriptor.undo_part(&self.mark);
    }
}

impl<'tx, 'env> Tx<'tx, 'env> {
    #[inline(always)]
    pub(crate) fn new(descriptor: &'tx mut Descriptor) -> Self {
        Self { descriptor, lifetimes: PhantomData, thread: PhantomData }
    }

    /// Ends this attempt, and begins the next one when a variable that was read has changed.
    ///
    /// All reads so far count, in every branch of [`or_else`](Self::or_else) that ran.
    ///
    /// # Errors
    ///
    /// Always: return it with `?` or `return`.
    ///
    /// # Panics
    ///
    /// When the attempt ends, not in this call: if the attempt has read no variable, so that no
    /// commit could wake it, or if the transaction is [`irrevocable`](Self::irrevocable).
    ///
    /// # Blocking
    ///
    /// The thread sleeps until another one commits a change; it does not spin.
    // Not track_caller: the panic comes when the attempt ends, at the place of the transaction.
    pub fn retry<T>(&mut self) -> TxResult<T> {
        Err(TxError(Why::Retry))
    }

    /// As [`retry`](Self::retry), but waits until `deadline` at most: the first attempt after it
    /// continues. Take the deadline outside of the closure, which may be called several times.
    ///
    /// ```
    /// use sinew_stm::{TQueue, atomically};
    /// use std::time::{Duration, Instant};
    ///
    /// let queue: TQueue<u32> = TQueue::new();
    /// let deadline = Instant::now() + Duration::from_millis(1);
    /// let taken = atomically(|tx| {
    ///     let first = queue.pop(tx)?;
    ///     if first.is_none() {
    ///         tx.retry_until(deadline)?;
    ///     }
    ///     Ok(first)
    /// });
    /// assert_eq!(taken, None);
    /// ```
    ///
    /// # Errors
    ///
    /// Always before the deadline: return it with `?`.
    ///
    /// # Panics
    ///
    /// When the attempt ends, if the transaction is [`irrevocable`](Self::irrevocable).
    ///
    /// # Blocking
    ///
    /// As [`retry`](Self::retry).
    // Not track_caller: as `retry`.
    pub fn retry_until(&mut self, deadline: Instant) -> TxResult<()> {
        if Instant::now() >= deadline {
            return Ok(());
        }
        self.descriptor.leave_a_mess();
        let earliest = self.descriptor.deadline.map_or(deadline, |other| other.min(deadline));
        self.descriptor.deadline = Some(earliest);
        self.retry()
    }

    /// The error that makes [`try_atomically`](crate::try_atomically) fail with `error`, for errors
    /// that do not implement [`Error`](std::error::Error).
    ///
    /// ```
    /// use sinew_stm::{TVar, try_atomically};
    ///
    /// let balance = TVar::new(5);
    /// let failed = try_atomically(|tx| match balance.get(tx)? {
    ///     0..10 => tx.abort("too little"),
    ///     balance => Ok(balance),
    /// });
    /// assert_eq!(failed, Err("too little"));
    /// ```
    ///
    /// # Errors
    ///
    /// Always: return it with `?` or `return`.
    pub fn abort<T, E>(&mut self, error: E) -> Result<T, Abort<E>> {
        Err(Abort::Failed(error))
    }

    /// Aborts this attempt as a conflict does, and begins the next one: for facts from outside of
    /// the transaction that its reads show to be outdated.
    ///
    /// # Errors
    ///
    /// Always: return it with `?` or `return`.
    ///
    /// # Panics
    ///
    /// If the transaction is [`irrevocable`](Self::irrevocable).
    #[track_caller]
    pub fn restart<T>(&mut self) -> TxResult<T> {
        let revocable = self.descriptor.mode != Mode::Irrevocable;
        assert!(revocable, "restart() after irrevocable(): the attempt cannot be given up");
        Err(TxError(Why::Conflict))
    }

    /// The address of a place that this transaction has read or written so far, chosen by `random`:
    /// for a sample of the addresses that transactions access. `None` if it has accessed nothing.
    pub fn accessed(&self, random: u64) -> Option<usize> {
        self.descriptor.accessed(random)
    }

    /// Runs `first`. If that calls [`retry`](Self::retry), undoes it and runs `second` instead.
    ///
    /// Calls may be nested. If `second` also retries, the whole call retries, and waits for a
    /// change of a variable that either has read.
    ///
    /// # Errors
    ///
    /// The attempt is lost, or both functions retry.
    ///
    /// # Panics
    ///
    /// A panic of a branch undoes the branch and propagates: a closure that catches it may
    /// continue. It also panics if `first` becomes [`irrevocable`](Self::irrevocable) and then
    /// retries: its effects cannot be undone.
    #[track_caller]
    pub fn or_else<R>(
        &mut self,
        first: impl FnOnce(&mut Self) -> TxResult<R>,
        second: impl FnOnce(&mut Self) -> TxResult<R>,
    ) -> TxResult<R> {
        let before = self.descriptor.mode;
        let part = Part::begin(self);
        let done = first(part.tx);
        if done.as_ref().err() != Some(&TxError(Why::Retry)) {
            part.end();
            return done;
        }
        let revocable = part.tx.descriptor.mode != Mode::Irrevocable || before == Mode::Irrevocable;
        drop(part);
        assert!(
            revocable,
            "a branch of or_else() retries after its irrevocable(): it cannot be undone"
        );
        self.atomically(second)
    }

    /// A nested transaction: its reads and writes are this one's; they commit or abort together.
    ///
    /// # Errors
    ///
    /// Those of `f`. An error does not undo the effects of `f`: return it.
    ///
    /// # Panics
    ///
    /// A panic of `f` undoes the effects of `f` and propagates: a closure that catches it may
    /// continue.
    pub fn atomically<R>(&mut self, f: impl FnOnce(&mut Self) -> TxResult<R>) -> TxResult<R> {
        let part = Part::begin(self);
        let done = f(part.tx);
        part.end();
        done
    }

    /// A nested transaction that may fail: an error of `f` undoes the effects of `f`, and this
    /// transaction continues with the error.
    ///
    /// ```
    /// use sinew_stm::{TVar, atomically};
    ///
    /// let (stock, orders) = (TVar::new(2), TVar::new(0));
    /// let order = |number| {
    ///     atomically(|tx| {
    ///         orders.modify(tx, |orders| orders + 1)?;
    ///         tx.try_atomically(|tx| match stock.replace(tx, 0)? {
    ///             found if found >= number => Ok(stock.set(tx, found - number)?),
    ///             found => tx.abort(found),
    ///         })
    ///     })
    /// };
    /// assert_eq!((order(3), order(1)), (Err(2), Ok(())));
    /// assert_eq!((stock.load(), orders.load()), (1, 2));
    /// ```
    ///
    /// # Errors
    ///
    /// The attempt is lost, or waits: return the error with `?`. The error of `f` is inside of the
    /// `Ok`; a second `?` hands it on in a transaction that may fail itself.
    ///
    /// # Panics
    ///
    /// As [`atomically`](Self::atomically).
    pub fn try_atomically<R, E>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<R, Abort<E>>,
    ) -> TxResult<Result<R, E>> {
        let part = Part::begin(self);
        let mut failed = None;
        let done = f(part.tx).map_err(|abort| abort.keep(&mut failed));
        let Some(error) = failed else {
            part.end();
            return done.map(Ok);
        };
        drop(part);
        // A doomed attempt may have seen outdated values.
        if self.descriptor.doomed.is_some() { Err(TxError(Why::Conflict)) } else { Ok(Err(error)) }
    }

    /// Calls `handler` once the transaction has committed, outside of it. Handlers are called in
    /// the order of these calls.
    ///
    /// A panic in a handler propagates from [`atomically`](crate::atomically); the effects of the
    /// transaction stay.
    pub fn on_commit(&mut self, handler: impl FnOnce() + 'tx) {
        self.descriptor.leave_a_mess();
        // SAFETY: a borrow for `'tx` is from the environment of `atomically`, or kept, and kept
        // values are released only after the handlers have been called or dropped.
        unsafe { self.descriptor.after().on_commit(handler) };
    }

    /// Calls `handler` if this attempt aborts: for a conflict, to wait, by a panic, or because a
    /// branch of [`or_else`](Self::or_else) was undone. It is called outside of the transaction;
    /// the next attempt registers its own.
    pub fn on_abort(&mut self, handler: impl FnOnce() + 'tx) {
        self.descriptor.leave_a_mess();
        // SAFETY: as above.
        unsafe { self.descriptor.after().on_abort(handler) };
    }

    /// Keeps `value` alive until the attempt is over, so that variables in it can be accessed.
    /// Keep each node of a linked structure that was read from a variable. The returned reference
    /// lives long enough to access the node's own variables.
    pub fn keep<T: 'env>(&mut self, value: Arc<T>) -> &'tx T {
        self.descriptor.leave_a_mess();
        let value = self.descriptor.after().keep(value);
        // SAFETY: the `Arc` is released only when the attempt is over, which `'tx` does not
        // outlive.
        unsafe { &*value }
    }

    /// Whether this attempt can no longer abort, because of [`irrevocable`](Self::irrevocable).
    #[inline]
    pub fn is_irrevocable(&self) -> bool {
        self.descriptor.mode == Mode::Irrevocable
    }

    /// Makes this transaction irrevocable: the rest is executed once and then committed. So input
    /// and output may follow.
    ///
    /// There is one such transaction at a time. While it runs, others read the earlier values, also
    /// of variables that it has written, but commit no writes. Such a transaction must not
    /// [`retry`](Self::retry), and if it panics, its writes are dropped.
    ///
    /// # Errors
    ///
    /// The attempt is lost, since another transaction is irrevocable or a variable has changed. The
    /// next attempt is irrevocable from the beginning.
    ///
    /// # Cost
    ///
    /// No access is inlined from here on. The variables written so far are unlocked, and all are
    /// locked at the commit.
    ///
    /// # Blocking
    ///
    /// The next attempt waits until it gets the token.
    pub fn irrevocable(&mut self) -> TxResult<()> {
        let d = &mut *self.descriptor;
        match d.mode {
            Mode::Irrevocable => return Ok(()),
            Mode::Ahead => return d.end_ahead(PrefetchEnd::Through),
            Mode::Favoured => {}
            before @ (Mode::Optimistic | Mode::Late) => {
                d.wants_token = true;
                // A transaction that waited here would block the token's holder with its locks.
                if !engine().gate.try_take(&engine().clock, d.number) {
                    return d.doom(Cause::Token);
                }
                d.mode = Mode::Favoured;
                d.special = true;
                // By I4 this snapshot remains the present one.
                if before == Mode::Optimistic {
                    d.extend()?;
                } else if !d.see_later() {
                    return d.doom(Cause::Changed);
                }
            }
        }
        if d.doomed.is_some() {
            return d.doom(Cause::Changed);
        }
        d.become_irrevocable();
        Ok(())
    }
}
