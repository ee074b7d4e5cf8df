//! How containers store their keys and values.

use crate::boxed::TBox;
use crate::tx::Tx;
use crate::tx_error::TxResult;
use crate::value;
use crate::var::TVar;
use crate::word::{Slot, words_of};
use std::fmt::Debug;

/// The storage of a container for values that are `Copy`: in the container's nodes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Inline;

/// The storage of a container for all values that are `Clone`, such as `String` and `Arc`: each in
/// an allocation of its own.
///
/// A read clones the value. A value that was removed is dropped once no transaction can read it any
/// more; see [`TBox`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Boxed;

/// A storage for values of type `T`: [`Inline`] or [`Boxed`].
#[diagnostic::on_unimplemented(
    message = "a container with the storage `{Self}` cannot hold `{T}`",
    label = "`Inline` is for values that are `Copy`, `Boxed` for those that are `Clone`",
    note = "the storage is the container's last parameter: `TMap<String, u32, Boxed>`"
)]
pub trait Store<T>: sealed::Sealed {
    /// The variable of a value.
    #[doc(hidden)]
    type Var: Variable<T>;

    /// The place of a value in a group that has one record.
    #[doc(hidden)]
    type Cell: Cell<T>;
}

impl<T: Copy> Store<T> for Inline {
    type Var = TVar<T>;
    type Cell = Place<T>;
}

impl<T: Clone> Store<T> for Boxed {
    type Var = TBox<Option<T>>;
    type Cell = TBox<Option<T>>;
}

/// A variable of a container. Only a variable that a link leads to has a value.
pub trait Variable<T>: Debug {
    /// A variable without a value; `like` is any value.
    fn vacant(like: &T) -> Self;

    /// Calls `f` with the value.
    fn with<'tx, R>(&'tx self, tx: &mut Tx<'tx, '_>, f: impl FnOnce(&T) -> R) -> TxResult<R>;

    /// The value.
    fn get<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<T>;

    /// Sets the value.
    fn set<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, value: T) -> TxResult<()>;

    /// Removes the value, so that it can be dropped.
    fn vacate<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<()>;

    /// Sets the value; returns the old one.
    #[inline(always)]
    fn replace<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, value: T) -> TxResult<T> {
        let before = self.get(tx)?;
        self.set(tx, value)?;
        Ok(before)
    }

    /// Removes and returns the value.
    #[inline(always)]
    fn take<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<T> {
        let value = self.get(tx)?;
        self.vacate(tx)?;
        Ok(value)
    }
}

impl<T: Copy> Variable<T> for TVar<T> {
    #[inline(always)]
    fn vacant(like: &T) -> Self {
        Self::new(*like)
    }

    #[inline(always)]
    fn with<'tx, R>(&'tx self, tx: &mut Tx<'tx, '_>, f: impl FnOnce(&T) -> R) -> TxResult<R> {
        Ok(f(&self.get(tx)?))
    }

    #[inline(always)]
    fn get<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<T> {
        self.get(tx)
    }

    #[inline(always)]
    fn set<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, value: T) -> TxResult<()> {
        self.set(tx, value)
    }

    #[inline(always)]
    fn vacate<'tx>(&'tx self, _: &mut Tx<'tx, '_>) -> TxResult<()> {
        Ok(())
    }
}

impl<T: Clone> Variable<T> for TBox<Option<T>> {
    fn vacant(_: &T) -> Self {
        Self::new(None)
    }

    fn with<'tx, R>(&'tx self, tx: &mut Tx<'tx, '_>, f: impl FnOnce(&T) -> R) -> TxResult<R> {
        self.with(tx, |value| {
            f(value.as_ref().expect("a variable that a link leads to has a value"))
        })
    }

    fn get<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<T> {
        Variable::with(self, tx, T::clone)
    }

    fn set<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, value: T) -> TxResult<()> {
        self.set(tx, Some(value))
    }

    fn vacate<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<()> {
        self.set(tx, None)
    }
}

/// A place for a value in a group of variables that share the record of one of them, the guard.
pub trait Cell<T>: Debug {
    /// Whether [`glance`](Self::glance) is possible.
    const GLANCES: bool;

    /// Calls `f` with the value in memory, of any version.
    ///
    /// # Panics
    ///
    /// If this is not possible: see [`GLANCES`](Self::GLANCES).
    fn glance<R>(&self, f: impl FnOnce(&T) -> R) -> R;

    /// A place without a value; `like` is any value.
    fn vacant(like: &T) -> Self;

    /// Calls `f` with the value. The attempt has read the guard before.
    ///
    /// # Safety
    ///
    /// The guard is that of the group, which lives for `'tx` with this place.
    unsafe fn with<'tx, R>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        guard: &'tx TVar<u64>,
        f: impl FnOnce(&T) -> R,
    ) -> TxResult<R>;

    /// The value. The attempt has read the guard before.
    ///
    /// # Safety
    ///
    /// As for [`with`](Self::with).
    unsafe fn get<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, guard: &'tx TVar<u64>) -> TxResult<T>;

    /// Sets the value.
    ///
    /// # Safety
    ///
    /// As for [`with`](Self::with).
    unsafe fn set<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        guard: &'tx TVar<u64>,
        value: T,
    ) -> TxResult<()>;

    /// Removes the value, so that it can be dropped.
    fn vacate<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<()>;
}

/// A value that is `Copy`, under the guard's record.
pub struct Place<T>(Slot<T>);

// SAFETY: as for `TVar`: values are copied from one thread to another, and all access through
// `&Place` is atomic.
unsafe impl<T: Copy + Send> Sync for Place<T> {}

impl<T> Debug for Place<T> {
    /// Without the value, which only a transaction can read.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Place").finish_non_exhaustive()
    }
}

impl<T: Copy> Cell<T> for Place<T> {
    /// One word is never torn.
    const GLANCES: bool = words_of::<T>() == 1;

    #[inline(always)]
    fn glance<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        let [word] = self.0.words() else { unreachable!("a value of several words") };
        // SAFETY: the word holds a `T`: only whole values are stored over it.
        f(&unsafe { value::first_of(word.load()) })
    }

    fn vacant(like: &T) -> Self {
        Self(Slot::new(*like))
    }

    #[inline(always)]
    unsafe fn with<'tx, R>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        guard: &'tx TVar<u64>,
        f: impl FnOnce(&T) -> R,
    ) -> TxResult<R> {
        // SAFETY: the caller's promise.
        Ok(f(&unsafe { self.get(tx, guard)? }))
    }

    #[inline(always)]
    unsafe fn get<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, guard: &'tx TVar<u64>) -> TxResult<T> {
        let (record, _) = guard.parts();
        // SAFETY: record and slot belong together by the caller's promise and live for `'tx`; the
        // slot's words are those of a `T`.
        unsafe { value::get_again(tx.descriptor, record, self.0.words()) }
    }

    #[inline(always)]
    unsafe fn set<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        guard: &'tx TVar<u64>,
        value: T,
    ) -> TxResult<()> {
        let (record, _) = guard.parts();
        // SAFETY: as above.
        unsafe { value::set(tx.descriptor, record, self.0.words(), value) }
    }

    #[inline(always)]
    fn vacate<'tx>(&'tx self, _: &mut Tx<'tx, '_>) -> TxResult<()> {
        Ok(())
    }
}

/// A value with a record of its own, so the guard is not used.
impl<T: Clone> Cell<T> for TBox<Option<T>> {
    const GLANCES: bool = false;

    fn glance<R>(&self, _: impl FnOnce(&T) -> R) -> R {
        unreachable!("a version may be read under a pin only");
    }

    fn vacant(like: &T) -> Self {
        Variable::vacant(like)
    }

    unsafe fn with<'tx, R>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        _: &'tx TVar<u64>,
        f: impl FnOnce(&T) -> R,
    ) -> TxResult<R> {
        Variable::with(self, tx, f)
    }

    unsafe fn get<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, _: &'tx TVar<u64>) -> TxResult<T> {
        Variable::get(self, tx)
    }

    unsafe fn set<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        _: &'tx TVar<u64>,
        value: T,
    ) -> TxResult<()> {
        Variable::set(self, tx, value)
    }

    fn vacate<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<()> {
        Variable::vacate(self, tx)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Inline {}
    impl Sealed for super::Boxed {}
}
