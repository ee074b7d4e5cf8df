//! [`TVar`]: a transactional variable for values that can be copied.

use crate::record::Record;
use crate::run::Transaction;
use crate::tx::Tx;
use crate::tx_error::TxResult;
use crate::value;
use crate::word::{Slot, words_of};

/// A variable that transactions read and write, for values that are `Copy`.
///
/// A value of up to eight bytes takes 16 bytes in all, a larger one its size and 8 bytes more. For
/// other values use [`TBox`](crate::TBox).
///
/// ```
/// use sinew_stm::{TVar, atomically};
///
/// let place = TVar::new((0.0_f64, 0.0_f64, 1_u32));
/// atomically(|tx| place.modify(tx, |(x, y, moves)| (x + 1.0, y, moves + 1)));
/// assert_eq!(place.load(), (1.0, 0.0, 2));
/// ```
///
/// A variable must outlive the call of [`atomically`](fn@crate::atomically); one that the closure
/// makes does not:
///
/// ```compile_fail,E0597
/// use sinew_stm::{TVar, atomically};
///
/// atomically(|tx| {
///     let short = TVar::new(1);
///     short.set(tx, 2)
/// });
/// ```
///
/// No reference that lives only as long as the transaction can leave it:
///
/// ```compile_fail,E0521
/// use sinew_stm::{TVar, atomically};
/// use std::sync::Arc;
///
/// let shared = Arc::new(TVar::new(1));
/// let mut escaped = None;
/// atomically(|tx| {
///     escaped = Some(tx.keep(shared.clone()));
///     Ok(())
/// });
/// ```
#[repr(C)]
pub struct TVar<T: Copy> {
    record: Record,
    slot: Slot<T>,
}

// SAFETY: values are copied from one thread to another and never shared; all access through `&TVar`
// is atomic.
unsafe impl<T: Copy + Send> Sync for TVar<T> {}

// The record survives a panic (I1), and the value is replaced as a whole.
impl<T: Copy> std::panic::RefUnwindSafe for TVar<T> {}
impl<T: Copy> std::panic::UnwindSafe for TVar<T> {}

impl<T: Copy> TVar<T> {
    const_unless_modelled! {
        /// A variable with `value`.
        pub fn new(value: T) -> Self {
            Self { record: Record::new(), slot: Slot::new(value) }
        }
    }

    /// The value.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`.
    ///
    /// # Cost
    ///
    /// Three loads per word, and an entry in the read set.
    #[inline(always)]
    pub fn get<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<T> {
        // SAFETY: record and slot belong together and live for `'tx`; the slot's words are those of
        // a `T`.
        unsafe { value::get(tx.descriptor, &self.record, self.slot.words()) }
    }

    /// Sets the value.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`.
    ///
    /// # Cost
    ///
    /// A compare-and-swap at the first write of the variable, and an entry in the write set.
    #[inline(always)]
    pub fn set<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, value: T) -> TxResult<()> {
        // SAFETY: as in `get`.
        unsafe { value::set(tx.descriptor, &self.record, self.slot.words(), value) }
    }

    /// Replaces the value by the result of `f` for it.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`.
    #[inline(always)]
    pub fn modify<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, f: impl FnOnce(T) -> T) -> TxResult<()> {
        self.update(tx, |value| *value = f(*value))
    }

    /// Changes the value by `f`, and returns the result of `f`. For large values: it copies them
    /// once to the write set and once back, `get` and `set` do more.
    ///
    /// ```
    /// use sinew_stm::{TVar, atomically};
    ///
    /// let sums = TVar::new([0_u64; 32]);
    /// atomically(|tx| sums.update(tx, |sums| sums[7] += 1));
    /// assert_eq!(sums.load()[7], 1);
    /// ```
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`.
    ///
    /// # Panics
    ///
    /// A panic of `f` propagates; the variable is as before.
    #[inline(always)]
    pub fn update<'tx, R>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        f: impl FnOnce(&mut T) -> R,
    ) -> TxResult<R> {
        // SAFETY: as in `get`.
        unsafe { value::update(tx.descriptor, &self.record, self.slot.words(), f) }
    }

    /// Replaces the value; returns the old one.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`.
    #[inline(always)]
    pub fn replace<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, value: T) -> TxResult<T> {
        let before = self.get(tx)?;
        self.set(tx, value)?;
        Ok(before)
    }

    /// The value, read by a transaction of its own.
    ///
    /// # Panics
    ///
    /// If called inside a transaction.
    #[track_caller]
    pub fn load(&self) -> T {
        Transaction::new().atomically(|tx| self.get(tx))
    }

    /// Sets the value, by a transaction of its own.
    ///
    /// # Panics
    ///
    /// If called inside a transaction.
    #[track_caller]
    pub fn store(&self, value: T) {
        Transaction::new().atomically(|tx| self.set(tx, value));
    }

    /// The record, and the slot that it guards.
    #[inline(always)]
    pub(crate) fn parts(&self) -> (&Record, &Slot<T>) {
        (&self.record, &self.slot)
    }

    /// The value of a variable that is no longer shared.
    pub fn into_inner(self) -> T {
        self.slot.into_inner()
    }
}

impl<T: Copy + Default> Default for TVar<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: Copy> From<T> for TVar<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Copy> std::fmt::Debug for TVar<T> {
    /// Without the value, which only a transaction can read.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TVar").field("words", &words_of::<T>()).finish_non_exhaustive()
    }
}
