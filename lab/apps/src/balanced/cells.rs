//! Cells: the memory of a structure that is the same with and without transactions.
//!
//! A structure is written once, over the cells of a [`Memory`]: [`Plain`] ones, or [`Shared`] ones,
//! which are variables of transactions. It reads and writes them through an [`Access`], which is a
//! transaction, or [`Alone`].

use std::cell::Cell;
use std::convert::Infallible;

use sinew::stm::{TVar, Tx, TxError, TxResult};

/// A kind of memory.
pub(crate) trait Memory: Sized + 'static {
    /// A place for a value.
    type Cell<T: Copy + Send + 'static>: Send;

    fn cell<T: Copy + Send + 'static>(value: T) -> Self::Cell<T>;
}

/// The memory of one thread.
pub(crate) struct Plain;

impl Memory for Plain {
    type Cell<T: Copy + Send + 'static> = Cell<T>;

    fn cell<T: Copy + Send + 'static>(value: T) -> Cell<T> {
        Cell::new(value)
    }
}

/// The memory of transactions.
pub(crate) struct Shared;

impl Memory for Shared {
    type Cell<T: Copy + Send + 'static> = TVar<T>;

    fn cell<T: Copy + Send + 'static>(value: T) -> TVar<T> {
        TVar::new(value)
    }
}

/// Access to cells that live for `'c`.
pub(crate) trait Access<'c, M: Memory> {
    /// Why an access fails. The caller then gives up all that it has done.
    type Lost;

    fn get<T: Copy + Send + 'static>(&mut self, cell: &'c M::Cell<T>) -> Result<T, Self::Lost>;

    fn set<T: Copy + Send + 'static>(
        &mut self,
        cell: &'c M::Cell<T>,
        value: T,
    ) -> Result<(), Self::Lost>;
}

impl<'c, M: Memory, A: Access<'c, M>> Access<'c, M> for &mut A {
    type Lost = A::Lost;

    #[inline(always)]
    fn get<T: Copy + Send + 'static>(&mut self, cell: &'c M::Cell<T>) -> Result<T, A::Lost> {
        (**self).get(cell)
    }

    #[inline(always)]
    fn set<T: Copy + Send + 'static>(
        &mut self,
        cell: &'c M::Cell<T>,
        value: T,
    ) -> Result<(), A::Lost> {
        (**self).set(cell, value)
    }
}

/// The access of the thread that has the memory.
pub(crate) struct Alone;

impl<'c> Access<'c, Plain> for Alone {
    type Lost = Infallible;

    #[inline(always)]
    fn get<T: Copy + Send + 'static>(&mut self, cell: &'c Cell<T>) -> Result<T, Infallible> {
        Ok(cell.get())
    }

    #[inline(always)]
    fn set<T: Copy + Send + 'static>(
        &mut self,
        cell: &'c Cell<T>,
        value: T,
    ) -> Result<(), Infallible> {
        cell.set(value);
        Ok(())
    }
}

impl<'tx> Access<'tx, Shared> for Tx<'tx, '_> {
    type Lost = TxError;

    #[inline(always)]
    fn get<T: Copy + Send + 'static>(&mut self, cell: &'tx TVar<T>) -> TxResult<T> {
        cell.get(self)
    }

    #[inline(always)]
    fn set<T: Copy + Send + 'static>(&mut self, cell: &'tx TVar<T>, value: T) -> TxResult<()> {
        cell.set(self, value)
    }
}
