//! [`TBox`]: a transactional variable for values that cannot be copied.

use crate::record::Record;
use crate::run::Transaction;
use crate::tx::Tx;
use crate::tx_error::TxResult;
use crate::version::{Chain, Header};
use std::marker::PhantomData;

/// A variable that transactions read and write, for values of any type.
///
/// It points to an immutable version of its value. A write makes a new version; a read borrows the
/// current one, or clones it. Later writes drop old versions that no transaction can see any more;
/// the variable's drop drops the rest. So a replaced value may stay in memory until then. Values
/// are never dropped while records are locked. If several panic when they are dropped, all are
/// dropped, and the first panic propagates.
///
/// Values that own further boxes are dropped recursively, as usual in Rust. Such a chain may be
/// long when its first value is dropped: a transaction that still saw the first value kept all of
/// them. Such values need a `Drop` of their own that takes the chain apart iteratively.
///
/// For values that are `Copy` and not very large, [`TVar`](crate::TVar) is faster.
///
/// ```
/// use sinew_stm::{TBox, atomically};
///
/// let names = TBox::new(vec!["Ada".to_owned()]);
/// atomically(|tx| names.modify(tx, |mut names| { names.push("Grace".to_owned()); names }));
/// assert_eq!(atomically(|tx| names.with(tx, |names| names.len())), 2);
/// ```
pub struct TBox<T> {
    record: Record,
    chain: Chain,
    value: PhantomData<T>,
}

// SAFETY: a version is made on one thread, shared by readers on any, and dropped on yet another,
// which requires both bounds. The chain is accessed by I6.
unsafe impl<T: Send + Sync> Send for TBox<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for TBox<T> {}

impl<T: std::panic::RefUnwindSafe> std::panic::RefUnwindSafe for TBox<T> {}
impl<T: std::panic::RefUnwindSafe> std::panic::UnwindSafe for TBox<T> {}

impl<T> TBox<T> {
    /// A variable with `value`.
    pub fn new(value: T) -> Self {
        Self { record: Record::new(), chain: Chain::new(Header::new(value)), value: PhantomData }
    }

    /// A clone of the value.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`.
    pub fn get<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<T>
    where
        T: Clone,
    {
        self.with(tx, T::clone)
    }

    /// Calls `f` with a reference to the value, and returns its result.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`.
    pub fn with<'tx, R>(&'tx self, tx: &mut Tx<'tx, '_>, f: impl FnOnce(&T) -> R) -> TxResult<R> {
        // SAFETY: record and chain belong together and live for `'tx`; the chain's versions are of
        // `T`. The version stays while the transaction is pinned (`grace`), or is its own, and `f`
        // cannot keep the reference.
        let value =
            unsafe { Header::value(tx.descriptor.read_version(&self.record, &self.chain)?) };
        Ok(f(value))
    }

    /// Sets the value.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`.
    ///
    /// # Cost
    ///
    /// An allocation, in addition to [`TVar::set`](crate::TVar::set). A value that the same
    /// transaction replaces stays in memory until its end: its `Drop` may start a transaction, and
    /// cannot do so inside of this one.
    pub fn set<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, value: T) -> TxResult<()> {
        // SAFETY: as in `with`.
        unsafe { tx.descriptor.write_version(&self.record, &self.chain, Header::new(value)) }
    }

    /// Replaces the value by the result of `f` for a clone of it.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`.
    pub fn modify<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, f: impl FnOnce(T) -> T) -> TxResult<()>
    where
        T: Clone,
    {
        let value = self.get(tx)?;
        self.set(tx, f(value))
    }

    /// Calls `f` with the value to change it, and returns the result of `f`.
    ///
    /// ```
    /// use sinew_stm::{TBox, atomically};
    ///
    /// let log = TBox::new(Vec::new());
    /// atomically(|tx| (0..100).try_for_each(|n| log.update(tx, |log| log.push(n))));
    /// assert_eq!(log.load().len(), 100);
    /// ```
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`.
    ///
    /// # Panics
    ///
    /// If `f` does. A closure that catches the panic finds the value unchanged, or as `f` left it
    /// if the same transaction had changed it before.
    ///
    /// # Cost
    ///
    /// The first change in a transaction, or in a part of it, clones the value. Later ones change
    /// that clone in place.
    pub fn update<'tx, R>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        f: impl FnOnce(&mut T) -> R,
    ) -> TxResult<R>
    where
        T: Clone,
    {
        if let Some(version) = tx.descriptor.own_version(&self.record, &self.chain) {
            // SAFETY: the chain's versions are of `T`; this one is the transaction's own, and `f`
            // has the only reference, which it cannot keep.
            return Ok(f(unsafe { Header::value_mut(version) }));
        }
        let mut value = self.get(tx)?;
        let result = f(&mut value);
        self.set(tx, value)?;
        Ok(result)
    }

    /// Replaces the value; returns a clone of the old one.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`.
    pub fn replace<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, value: T) -> TxResult<T>
    where
        T: Clone,
    {
        let before = self.get(tx)?;
        self.set(tx, value)?;
        Ok(before)
    }

    /// A clone of the value, read by a transaction of its own.
    ///
    /// # Panics
    ///
    /// If called inside a transaction.
    #[track_caller]
    pub fn load(&self) -> T
    where
        T: Clone,
    {
        Transaction::new().atomically(|tx| self.get(tx))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
impl<T> TBox<T> {
    /// For tests that compare its word.
    pub(crate) fn record(&self) -> &Record {
        &self.record
    }
}

impl<T> Drop for TBox<T> {
    fn drop(&mut self) {
        // SAFETY: transactions access a variable through `&'tx`, so no transaction that has seen
        // this one is still running.
        unsafe { self.chain.free() };
    }
}

impl<T: Default> Default for TBox<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for TBox<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T> std::fmt::Debug for TBox<T> {
    /// Without the value, which only a transaction can read.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TBox").finish_non_exhaustive()
    }
}
