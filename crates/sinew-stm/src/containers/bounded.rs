//! [`TBoundedQueue`]: a first-in, first-out queue of a limited length.
//!
//! A ring of slots. The free slots are counted on two sides, so that a `push` and a `pop` seldom
//! write the same variable. A `pop` counts the slots that it has freed, and a `push` takes over
//! that number when its own count is used up. Source: the bounded queue of Haskell's package `stm`
//! counts likewise.

use super::store::{Boxed, Inline, Store, Variable};
use crate::tx::Tx;
use crate::tx_error::TxResult;
use crate::var::TVar;

/// A slot of the ring.
#[derive(Debug)]
struct Slot<T, S: Store<T>> {
    is_full: TVar<bool>,
    value: S::Var,
}

/// A queue of transactional values with at most a given number of them.
///
/// A `push` and a `pop` conflict only if the queue is empty, or if the `push` needs to know what
/// was taken: once for each round of the queue.
///
/// ```
/// use sinew_stm::{TBoundedQueue, atomically};
///
/// let queue = TBoundedQueue::boxed(2);
/// std::thread::scope(|s| {
///     s.spawn(|| {
///         for line in ["a", "b", "c", "d"] {
///             // Sleeps while the queue is full.
///             atomically(|tx| queue.put(tx, line.to_owned()));
///         }
///     });
///     for line in ["a", "b", "c", "d"] {
///         assert_eq!(atomically(|tx| queue.take(tx)), line);
///     }
/// });
/// ```
#[derive(Debug)]
pub struct TBoundedQueue<T, S: Store<T> = Inline> {
    slots: Box<[Slot<T, S>]>,
    /// The next slot to fill, and the number of free slots that a push knows.
    filled: TVar<[usize; 2]>,
    /// The next slot to empty, and the number of slots that were freed since a push asked.
    emptied: TVar<usize>,
    freed: TVar<usize>,
}

impl<T: Copy + Default> TBoundedQueue<T> {
    /// An empty queue for at most `capacity` values that are `Copy`.
    ///
    /// # Panics
    ///
    /// If `capacity` is 0: nothing could be put into it.
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        Self::with_slots(capacity, || TVar::new(T::default()))
    }
}

impl<T: Clone> TBoundedQueue<T, Boxed> {
    /// An empty queue for at most `capacity` values that are `Clone`.
    ///
    /// # Panics
    ///
    /// If `capacity` is 0: nothing could be put into it.
    #[track_caller]
    pub fn boxed(capacity: usize) -> Self {
        Self::with_slots(capacity, || crate::TBox::new(None))
    }
}

impl<T, S: Store<T>> TBoundedQueue<T, S> {
    #[track_caller]
    fn with_slots(capacity: usize, value: impl Fn() -> S::Var) -> Self {
        assert!(capacity > 0, "a queue of 0 values never has room: use a capacity of at least 1");
        let slot = |_| Slot { is_full: TVar::new(false), value: value() };
        Self {
            slots: (0..capacity).map(slot).collect(),
            filled: TVar::new([0, capacity]),
            emptied: TVar::new(0),
            freed: TVar::new(0),
        }
    }

    /// The most values that it can have.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// The index after `at`.
    fn next(&self, at: usize) -> usize {
        (at + 1) % self.slots.len()
    }

    /// Appends `value`, if there is room; otherwise returns it.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`. The same holds for all methods.
    pub fn push<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, value: T) -> TxResult<Result<(), T>> {
        let [at, known] = self.filled.get(tx)?;
        let free = if known > 0 { known } else { self.freed.get(tx)? };
        if free == 0 {
            return Ok(Err(value));
        }
        if known == 0 {
            self.freed.set(tx, 0)?;
        }
        let slot = &self.slots[at];
        slot.value.set(tx, value)?;
        slot.is_full.set(tx, true)?;
        self.filled.set(tx, [self.next(at), free - 1])?;
        Ok(Ok(()))
    }

    /// Appends `value`; waits for room if the queue is full.
    ///
    /// # Blocking
    ///
    /// See [`Tx::retry`].
    pub fn put<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, value: T) -> TxResult<()> {
        self.push(tx, value)?.or_else(|_| tx.retry())
    }

    /// Removes the first value, if there is one.
    pub fn pop<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Option<T>> {
        let at = self.emptied.get(tx)?;
        let slot = &self.slots[at];
        if !slot.is_full.get(tx)? {
            return Ok(None);
        }
        let value = slot.value.take(tx)?;
        slot.is_full.set(tx, false)?;
        self.emptied.set(tx, self.next(at))?;
        self.freed.modify(tx, |freed| freed + 1)?;
        Ok(Some(value))
    }

    /// Removes the first value; waits for one if the queue is empty.
    ///
    /// # Blocking
    ///
    /// See [`Tx::retry`].
    pub fn take<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<T> {
        self.pop(tx)?.map_or_else(|| tx.retry(), Ok)
    }

    /// The number of values. It conflicts with every change of the queue.
    pub fn len<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<usize> {
        let [_, known] = self.filled.get(tx)?;
        Ok(self.slots.len() - known - self.freed.get(tx)?)
    }

    /// Whether the queue is empty.
    pub fn is_empty<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<bool> {
        let at = self.emptied.get(tx)?;
        self.slots[at].is_full.get(tx).map(|is_full| !is_full)
    }

    /// Whether there is no room.
    pub fn is_full<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<bool> {
        let [_, known] = self.filled.get(tx)?;
        Ok(known == 0 && self.freed.get(tx)? == 0)
    }
}
