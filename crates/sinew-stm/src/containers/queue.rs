//! [`TQueue`]: a first-in, first-out queue.

use super::arena::{Arena, NONE};
use super::store::{Boxed, Inline, Store, Variable};
use crate::tx::Tx;
use crate::tx_error::TxResult;
use crate::var::TVar;

#[derive(Debug)]
struct Node<T, S: Store<T>> {
    value: S::Var,
    next: TVar<u32>,
}

/// A queue of transactional values.
///
/// A `push` and a `pop` conflict only if the queue is empty, or about to be.
///
/// ```
/// use sinew_stm::{TQueue, atomically};
///
/// let queue = TQueue::new();
/// std::thread::scope(|s| {
///     // Sleeps until there is a value.
///     s.spawn(|| assert_eq!(atomically(|tx| queue.take(tx)), 7));
///     atomically(|tx| queue.push(tx, 7));
/// });
/// ```
#[derive(Debug)]
pub struct TQueue<T, S: Store<T> = Inline> {
    first: TVar<u32>,
    /// Has no meaning if `first` is `NONE`.
    last: TVar<u32>,
    nodes: Arena<Node<T, S>>,
}

impl<T, S: Store<T>> Default for TQueue<T, S> {
    fn default() -> Self {
        Self { first: TVar::new(NONE), last: TVar::new(NONE), nodes: Arena::new() }
    }
}

impl<T: Copy> TQueue<T> {
    /// An empty queue for values that are `Copy`.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<T: Clone> TQueue<T, Boxed> {
    /// An empty queue for values that are `Clone`.
    pub fn boxed() -> Self {
        Self::default()
    }
}

impl<T, S: Store<T>> TQueue<T, S> {
    /// Appends `value`.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`. The same holds for all methods.
    pub fn push<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, value: T) -> TxResult<()> {
        let make = || Node { value: Variable::vacant(&value), next: TVar::new(NONE) };
        let (index, node) = self.nodes.allocate(tx, make)?;
        node.value.set(tx, value)?;
        node.next.set(tx, NONE)?;
        match self.last.replace(tx, index)? {
            NONE => self.first.set(tx, index),
            last => self.nodes.node(last).next.set(tx, index),
        }
    }

    /// Removes the first value, if there is one.
    pub fn pop<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Option<T>> {
        let at = self.first.get(tx)?;
        if at == NONE {
            return Ok(None);
        }
        let node = self.nodes.node(at);
        let next = node.next.get(tx)?;
        self.first.set(tx, next)?;
        if next == NONE {
            self.last.set(tx, NONE)?;
        }
        self.nodes.release(tx, at);
        node.value.take(tx).map(Some)
    }

    /// Removes the first value; waits for one if the queue is empty.
    ///
    /// # Blocking
    ///
    /// See [`Tx::retry`].
    pub fn take<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<T> {
        self.pop(tx)?.map_or_else(|| tx.retry(), Ok)
    }

    /// Whether the queue is empty.
    pub fn is_empty<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<bool> {
        Ok(self.first.get(tx)? == NONE)
    }

    /// All values, the oldest first.
    pub fn to_vec<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Vec<T>> {
        let (mut values, mut at) = (Vec::new(), self.first.get(tx)?);
        while at != NONE {
            let node = self.nodes.node(at);
            values.push(node.value.get(tx)?);
            at = node.next.get(tx)?;
        }
        Ok(values)
    }
}
