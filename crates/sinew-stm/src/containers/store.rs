//! How containers store their keys and values.

use crate::boxed::TBox;
use crate::tx::Tx;
use crate::tx_error::TxResult;
use crate::var::TVar;
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
}

impl<T: Copy> Store<T> for Inline {
    type Var = TVar<T>;
}

impl<T: Clone> Store<T> for Boxed {
    type Var = TBox<Option<T>>;
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

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Inline {}
    impl Sealed for super::Boxed {}
}
