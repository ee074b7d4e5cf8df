//! Running transactions: attempts until one commits.

use crate::contention::Manager;
use crate::descriptor::{Attempts, Descriptor, Mode};
use crate::engine::engine;
use crate::local;
use crate::sites::{Cause, Counters, Site};
use crate::tx::{Stop, Tx, TxResult, Why};
use crate::waiting;
use std::panic::Location;
use std::ptr::NonNull;

/// Attempts that are given up before a transaction takes the token.
const PATIENCE: u32 = 10;

/// Runs `f` as a transaction: all of it happens at one moment, or not at all.
///
/// `f` is repeated until an attempt commits, so it should have no effects but those on variables. An error of a variable must be handed
/// on with `?`; an attempt that hid one does not commit.
///
/// The same as [`Transaction::new().atomically(f)`](Transaction::atomically).
///
/// # Panics
///
/// If called inside a transaction of the same thread: its variables might not live until the other commits. Use
/// [`Tx::atomically`] there. A panic of `f` gives the attempt up and propagates.
///
/// # Cost
///
/// Without conflicts: a read of the clock; three loads for each word that is read; for each variable written a compare-and-swap and two
/// stores; one atomic addition if anything was written. No allocation once the thread's logs have grown.
///
/// # Blocking
///
/// While others hold what it needs, and in [`Tx::retry`].
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

/// How to run a transaction.
///
/// The place where it is made is its *site*, by which [`counters`](Self::counters) are kept.
///
/// ```
/// use sinew_stm::{Manager, TVar, Transaction};
///
/// let hits = TVar::new(0_u64);
/// let count = Transaction::new().manager(Manager::Suicide);
/// for _ in 0..3 {
///     count.atomically(|tx| hits.modify(tx, |n| n + 1));
/// }
/// assert_eq!(count.counters().commits, 3);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Transaction {
    site: Site,
    manager: Manager,
    patience: u32,
}

impl Default for Transaction {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl Transaction {
    /// A transaction of the site that calls this, under [`Manager::Backoff`].
    #[inline(always)]
    #[track_caller]
    pub fn new() -> Self {
        Self { site: Location::caller(), manager: Manager::Backoff, patience: PATIENCE }
    }

    /// What to do about another's lock.
    #[must_use]
    pub fn manager(self, manager: Manager) -> Self {
        Self { manager, ..self }
    }

    /// Attempts that are given up before the next one takes the token and cannot be given up (default: 10). `u32::MAX`: never.
    #[must_use]
    pub fn patience(self, attempts: u32) -> Self {
        Self { patience: attempts, ..self }
    }

    /// What the transactions of this site did, on all threads.
    pub fn counters(&self) -> Counters {
        engine().sites.lock().counters(self.site)
    }

    /// Runs `f`: see [`atomically`](fn@crate::atomically).
    ///
    /// # Panics
    ///
    /// As [`atomically`](fn@crate::atomically).
    #[inline]
    pub fn atomically<'env, R>(&self, mut f: impl for<'tx> FnMut(&mut Tx<'tx, 'env>) -> TxResult<R>) -> R {
        let mut run = Run::enter(self);
        loop {
            let stop = match run.attempt(&mut f) {
                Ok(value) => return value,
                Err(stop) => stop,
            };
            run.fail(stop);
            run.prepare(self.patience);
        }
    }

    /// Makes one attempt: for a scheduler that has something better to do than to repeat it.
    ///
    /// # Errors
    ///
    /// Why it was given up. A [`Tx::retry`] is [`Cause::Body`] here: nobody waits.
    ///
    /// # Panics
    ///
    /// As [`atomically`](fn@crate::atomically).
    #[inline]
    pub fn attempt<'env, R>(
        &self,
        f: impl for<'tx> FnOnce(&mut Tx<'tx, 'env>) -> TxResult<R>,
    ) -> Result<R, Cause> {
        let mut run = Run::enter(self);
        run.attempt(f).map_err(|_| run.give_up())
    }
}

/// A call of `atomically` on this thread; gives the attempt up if it is dropped before the end.
struct Run {
    descriptor: NonNull<Descriptor>,
    site: Site,
    /// Whether the descriptor is ours: it is not while handlers run.
    inside: bool,
}

impl Run {
    #[inline(always)]
    fn enter(how: &Transaction) -> Self {
        let mut run = Self { descriptor: local::enter(how.site), site: how.site, inside: true };
        let d = run.descriptor();
        d.count_for(how.site);
        d.manager = how.manager;
        d.begin();
        if how.manager == Manager::Age {
            d.shared.set_age(d.snapshot());
        }
        if how.patience == 0 {
            run.prepare(0);
        }
        run
    }

    #[inline(always)]
    fn descriptor(&mut self) -> &mut Descriptor {
        debug_assert!(self.inside, "handlers have the descriptor");
        // SAFETY: by I12 it is ours between `enter` and `leave`, which is what `inside` says.
        unsafe { self.descriptor.as_mut() }
    }

    /// One attempt. After an error the sets are as the closure left them.
    #[inline(always)]
    fn attempt<'env, R>(
        &mut self,
        f: impl for<'tx> FnOnce(&mut Tx<'tx, 'env>) -> TxResult<R>,
    ) -> TxResult<R> {
        let value = f(&mut Tx::new(self.descriptor()))?;
        if self.descriptor().commit() {
            self.finish();
            return Ok(value);
        }
        Err(Stop(Why::Conflict))
    }

    /// Leaves after a commit.
    #[inline(always)]
    fn finish(&mut self) {
        let d = self.descriptor();
        if d.untidy || d.aborts > 0 || d.holds_token() || d.manager == Manager::Age {
            return self.finish_cold();
        }
        local::leave();
        self.inside = false;
    }

    #[inline(never)]
    fn finish_cold(&mut self) {
        let d = self.descriptor();
        if d.holds_token() {
            d.counters().irrevocable.add(1);
        }
        d.forget_attempts();
        self.step_out(true);
    }

    /// Ends the attempt, and does what is left to do outside of the transaction: whoever is called or dropped may start others.
    fn step_out(&mut self, committed: bool) {
        let after = self.descriptor().tidy();
        local::leave();
        self.inside = false;
        after.run(committed);
    }

    /// Gives the attempt up after `stop`, and waits for what has to come before the next.
    #[cold]
    fn fail(&mut self, stop: Stop) {
        if stop.0 == Why::Retry && self.descriptor().doomed.is_none() {
            return self.wait_for_change();
        }
        let cause = self.abandon();
        let d = self.descriptor();
        d.aborts = d.aborts.saturating_add(1);
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

    /// Gives the attempt up for good.
    #[cold]
    fn give_up(&mut self) -> Cause {
        let cause = self.abandon();
        self.descriptor().forget_attempts();
        self.step_out(false);
        cause
    }

    /// Rolls back, counts why, and gives the token back.
    fn abandon(&mut self) -> Cause {
        let d = self.descriptor();
        d.roll_back();
        d.reads.clear();
        let cause = d.doomed.take().unwrap_or(Cause::Body);
        d.counters().aborted(cause);
        d.give_token();
        cause
    }

    /// Takes the descriptor again, after others on this thread may have used it.
    fn step_in(&mut self, attempts: Attempts) {
        local::enter(self.site);
        self.inside = true;
        let site = self.site;
        let d = self.descriptor();
        d.count_for(site);
        d.resume(attempts);
    }

    /// Rolls back and sleeps until something that was read has changed.
    fn wait_for_change(&mut self) {
        let d = self.descriptor();
        assert!(d.mode != Mode::Irrevocable, "retry() after irrevocable(): no other could make the change");
        assert!(
            !d.reads.is_empty() || !d.writes.is_empty(),
            "retry() before anything was read: no change could end it"
        );
        d.roll_back();
        d.give_token();
        d.counters().retries.add(1);
        d.aborts = 0;
        let (reads, attempts) = (std::mem::take(&mut d.reads), d.attempts());
        let mut after = d.tidy();
        let kept = after.take_kept();
        local::leave();
        self.inside = false;
        after.run(false);
        // SAFETY: records live in the environment of this call, or in what is kept.
        unsafe { waiting::sleep(&reads) };
        drop(kept);
        self.step_in(attempts);
    }

    /// Gets ready for the next attempt.
    #[cold]
    fn prepare(&mut self, patience: u32) {
        let d = self.descriptor();
        if d.wants_token || d.aborts >= patience {
            engine().gate.take(&engine().clock);
            d.mode = Mode::Favoured;
        }
        d.begin();
    }
}

impl Drop for Run {
    #[inline(always)]
    fn drop(&mut self) {
        if self.inside {
            self.give_up();
        }
    }
}
