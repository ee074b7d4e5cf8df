//! [`Prefetch`]: a closure of a transaction, run for its reads only.
//!
//! A helper thread runs ahead of a worker: it executes the worker's next transaction for its reads.
//! So the data is in a cache that both share when the worker begins the transaction. The
//! descriptor's part is in `ahead`.

use crate::after::After;
use crate::drops::drop_payload;
use crate::local;
use crate::run_ahead::{PrefetchEnd, Stopped};
use crate::tx::Tx;
use crate::tx_error::TxResult;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::ptr::NonNull;

/// The default number of words that a run may write.
const BUFFER: usize = 32;

/// The result of a run ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefetched {
    /// Words read. A value of [`TBox`](crate::TBox) is one.
    pub words_read: u64,
    /// Places written, in the buffer only.
    pub writes: u64,
    /// Why it ended.
    pub ended: PrefetchEnd,
}

/// Runs a transaction ahead of the thread that will execute it, to load its data into caches.
///
/// Such a run makes real reads, which are consistent with each other as in any transaction. It
/// locks nothing, keeps its writes in a buffer, which its own reads check, and never commits. It
/// waits for no other thread.
///
/// ```
/// use sinew_stm::{PrefetchEnd, Prefetch, TVar};
///
/// let cells: Vec<TVar<u64>> = (0..100).map(TVar::new).collect();
/// let ahead = Prefetch::new(10).run(|tx| {
///     cells[0].set(tx, 7)?;
///     cells.iter().try_fold(0, |sum, cell| Ok(sum + cell.get(tx)?))
/// });
/// assert_eq!((ahead.words_read, ahead.writes, ahead.ended), (10, 1, PrefetchEnd::Lifespan));
/// assert_eq!(cells[0].load(), 0);
/// ```
#[derive(Clone, Copy)]
pub struct Prefetch<'a> {
    lifespan: u64,
    buffer: usize,
    stopped: Option<&'a dyn Fn() -> bool>,
}

impl<'a> Prefetch<'a> {
    /// A run that ends at the first access after it has read `lifespan_words`, each of eight bytes.
    pub fn new(lifespan_words: u32) -> Self {
        Self { lifespan: lifespan_words.into(), buffer: BUFFER, stopped: None }
    }

    /// Sets the number of words that a run may write (default: 32). A value takes its number of
    /// words; a value of [`TBox`](crate::TBox) takes one. A repeated write counts only if the old
    /// value must be kept: for a `TBox`, and inside [`Tx::or_else`].
    ///
    /// # Cost
    ///
    /// Each access scans the whole buffer.
    #[must_use]
    pub fn buffer(self, writes: usize) -> Self {
        Self { buffer: writes, ..self }
    }

    /// Ends the run at the first access at which `stopped` returns true. It is called before each
    /// access, inside the transaction.
    #[must_use]
    pub fn stopped_by(self, stopped: &'a dyn Fn() -> bool) -> Self {
        Self { stopped: Some(stopped), ..self }
    }

    /// Runs `f` once.
    ///
    /// Handlers of [`Tx::on_commit`] are not called, those of [`Tx::on_abort`] are. No site counts
    /// the run. A panic of `f` ends it and is not propagated, though the panic hook sees it. A
    /// closure that accesses no variable is not stopped.
    ///
    /// # Panics
    ///
    /// If called inside a transaction of the same thread.
    #[track_caller]
    pub fn run<'env, R>(
        &self,
        f: impl for<'tx> FnOnce(&mut Tx<'tx, 'env>) -> TxResult<R>,
    ) -> Prefetched {
        let mut descriptor = local::enter(Location::caller());
        // SAFETY: by I12 it belongs to this call until `leave`.
        let d = unsafe { descriptor.as_mut() };
        // SAFETY: the borrows for `'a` outlive this call, and `leave_ahead` is in it: nothing
        // between the two unwinds.
        unsafe { d.begin_ahead(self.lifespan, self.buffer, self.stopped.map(unbounded)) };
        let answer = catch_unwind(AssertUnwindSafe(|| f(&mut Tx::new(d))));
        let ended = if answer.is_ok() {
            d.ahead.ended.unwrap_or(PrefetchEnd::Through)
        } else {
            PrefetchEnd::Panicked
        };
        let done =
            Prefetched { words_read: d.ahead.words_read, writes: d.writes.len() as u64, ended };
        d.leave_ahead();
        let (after, panic) = (d.tidy(), d.ahead.panic.take());
        local::leave_cold(descriptor);
        panic.into_iter().for_each(drop_payload);
        if clean_up(answer, after) {
            done
        } else {
            Prefetched { ended: PrefetchEnd::Panicked, ..done }
        }
    }
}

/// The same function without a bound on its lifetime.
fn unbounded<'a>(stopped: &'a (dyn Fn() -> bool + 'a)) -> NonNull<Stopped> {
    // SAFETY: only the bound on the pointee's life changes, which a pointer does not guarantee
    // anyway.
    unsafe {
        std::mem::transmute::<NonNull<dyn Fn() -> bool + 'a>, NonNull<Stopped>>(NonNull::from(
            stopped,
        ))
    }
}

/// Drops the rest of a run, outside of it. Returns whether nothing panicked.
fn clean_up<R>(answer: std::thread::Result<R>, after: Option<Box<After>>) -> bool {
    let answer_dropped = match answer {
        Ok(value) => quietly(|| drop(value)),
        Err(payload) => {
            drop_payload(payload);
            false
        }
    };
    quietly(|| after.into_iter().for_each(|mut after| after.run(false))) && answer_dropped
}

/// Whether `f` did not panic.
fn quietly(f: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(f)).map_err(drop_payload).is_ok()
}

impl std::fmt::Debug for Prefetch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prefetch")
            .field("lifespan", &self.lifespan)
            .field("buffer", &self.buffer)
            .finish_non_exhaustive()
    }
}
