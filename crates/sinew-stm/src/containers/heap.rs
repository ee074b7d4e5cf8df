//! [`THeap`]: a priority queue.
//!
//! Operations compare values after their first write. So each operation is a nested part, which a
//! panic of the comparison undoes.

use super::arena::Arena;
use super::store::{Boxed, Inline, Store, Variable};
use crate::tx::Tx;
use crate::tx_error::TxResult;
use crate::var::TVar;

/// A binary heap of transactional values: the largest comes first.
///
/// All updates write the length, so they conflict with each other; [`peek`](Self::peek) does not.
///
/// ```
/// use sinew_stm::{THeap, atomically};
///
/// let heap = THeap::new();
/// let largest = atomically(|tx| {
///     [2, 3, 1].into_iter().try_for_each(|value| heap.push(tx, value))?;
///     heap.pop(tx)
/// });
/// assert_eq!(largest, Some(3));
/// ```
#[derive(Debug)]
pub struct THeap<T: Ord, S: Store<T> = Inline> {
    len: TVar<u32>,
    places: Arena<S::Var>,
}

impl<T: Ord, S: Store<T>> Default for THeap<T, S> {
    fn default() -> Self {
        Self { len: TVar::new(0), places: Arena::new() }
    }
}

impl<T: Copy + Ord> THeap<T> {
    /// An empty heap for values that are `Copy`.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<T: Clone + Ord> THeap<T, Boxed> {
    /// An empty heap for values that are `Clone`.
    pub fn boxed() -> Self {
        Self::default()
    }
}

impl<T: Ord, S: Store<T>> THeap<T, S> {
    /// The number of values.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`. The same holds for all methods.
    pub fn len<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<usize> {
        self.len.get(tx).map(|len| len as usize)
    }

    /// Whether the heap is empty.
    pub fn is_empty<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<bool> {
        Ok(self.len.get(tx)? == 0)
    }

    /// The largest value.
    pub fn peek<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Option<T>> {
        if self.is_empty(tx)? { Ok(None) } else { self.places.node(0).get(tx).map(Some) }
    }

    /// Adds `value`.
    ///
    /// # Panics
    ///
    /// If the heap has 2³² - 9 values.
    #[track_caller]
    pub fn push<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, value: T) -> TxResult<()> {
        tx.atomically(|tx| self.rise(tx, value))
    }

    /// Adds a slot at the end, and finds the position of `value` from there up.
    fn rise<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, value: T) -> TxResult<()> {
        let mut at = self.len.get(tx)?;
        self.len.set(tx, at + 1)?;
        self.places.reserve(at, || Variable::vacant(&value));
        while at > 0 {
            let above = (at - 1) / 2;
            let other = self.places.node(above).get(tx)?;
            if other >= value {
                break;
            }
            self.places.node(at).set(tx, other)?;
            at = above;
        }
        self.places.node(at).set(tx, value)
    }

    /// Removes the largest value.
    pub fn pop<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Option<T>> {
        let Some(last) = self.len.get(tx)?.checked_sub(1) else { return Ok(None) };
        let largest = self.places.node(0).get(tx)?;
        tx.atomically(|tx| {
            let value = self.places.node(last).take(tx)?;
            self.len.set(tx, last)?;
            if last == 0 { Ok(()) } else { self.sink(tx, value, last) }
        })?;
        Ok(Some(largest))
    }

    /// Finds the position of `value`, from the top of `len` values down.
    fn sink<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, value: T, len: u32) -> TxResult<()> {
        let mut at = 0;
        while let Some((below, other)) = self.larger_below(tx, at, len)? {
            if other <= value {
                break;
            }
            self.places.node(at).set(tx, other)?;
            at = below;
        }
        self.places.node(at).set(tx, value)
    }

    /// The larger child of `at`, and its index.
    fn larger_below<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        at: u32,
        len: u32,
    ) -> TxResult<Option<(u32, T)>> {
        let (left, right) = (2 * u64::from(at) + 1, 2 * u64::from(at) + 2);
        let Some(left) = u32::try_from(left).ok().filter(|left| *left < len) else {
            return Ok(None);
        };
        let of_left = self.places.node(left).get(tx)?;
        let Some(right) = u32::try_from(right).ok().filter(|right| *right < len) else {
            return Ok(Some((left, of_left)));
        };
        let of_right = self.places.node(right).get(tx)?;
        Ok(Some(if of_right > of_left { (right, of_right) } else { (left, of_left) }))
    }
}
