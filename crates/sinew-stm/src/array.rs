//! [`TArray`]: many values, with one record for every 32 bytes.

use crate::record::Record;
use crate::tx::Tx;
use crate::tx_error::TxResult;
use crate::value;
use crate::var::TVar;
use crate::word::{Slot, words_of};

/// Bytes that share a record, unless one value is larger.
const BYTES: usize = 32;

/// Values that share a record.
struct Group<T: Copy, const N: usize> {
    record: Record,
    slots: [Slot<T>; N],
}

/// The values, by their size in words.
enum Groups<T: Copy> {
    Four(Box<[Group<T, 4>]>),
    Two(Box<[Group<T, 2>]>),
    One(Box<[TVar<T>]>),
}

/// An array of transactional values, for values that are `Copy`.
///
/// Neighbours share an ownership record: four values of up to eight bytes, or two of up to sixteen.
/// That takes less memory than a [`TVar`] for each, but transactions that write neighbours
/// conflict. The length is fixed.
///
/// ```
/// use sinew_stm::{TArray, atomically};
///
/// let grid = TArray::new(100, false);
/// let free = atomically(|tx| {
///     let free = !grid.get(tx, 42)?;
///     grid.set(tx, 42, true)?;
///     Ok(free)
/// });
/// assert!(free && grid.load_all()[42]);
/// ```
pub struct TArray<T: Copy> {
    groups: Groups<T>,
    len: usize,
}

// SAFETY: as for `TVar`.
unsafe impl<T: Copy + Send> Sync for TArray<T> {}

impl<T: Copy> TArray<T> {
    /// An array of `len` times `value`.
    pub fn new(len: usize, value: T) -> Self {
        Self::from_fn(len, |_| value)
    }

    /// An array of `len` values; `f` returns the value for each index.
    pub fn from_fn(len: usize, mut f: impl FnMut(usize) -> T) -> Self {
        let groups = match (BYTES / 8).checked_div(words_of::<T>()) {
            Some(4) => Groups::Four(grouped(len, f)),
            Some(2) => Groups::Two(grouped(len, f)),
            _ => Groups::One((0..len).map(|i| TVar::new(f(i))).collect()),
        };
        Self { groups, len }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the length is 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The record and the slot of index `i`.
    #[inline(always)]
    #[track_caller]
    fn at(&self, i: usize) -> (&Record, &Slot<T>) {
        assert!(i < self.len, "place {i} of a TArray of {}", self.len);
        match &self.groups {
            Groups::Four(groups) => (&groups[i / 4].record, &groups[i / 4].slots[i % 4]),
            Groups::Two(groups) => (&groups[i / 2].record, &groups[i / 2].slots[i % 2]),
            Groups::One(vars) => vars[i].parts(),
        }
    }

    /// The value at index `i`.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`.
    ///
    /// # Panics
    ///
    /// If `i` is not below the length.
    #[inline]
    #[track_caller]
    pub fn get<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, i: usize) -> TxResult<T> {
        let (record, slot) = self.at(i);
        // SAFETY: they belong together, live for `'tx`, and hold a `T`.
        unsafe { value::get(tx.descriptor, record, slot.words()) }
    }

    /// Sets the value at index `i`.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`.
    ///
    /// # Panics
    ///
    /// If `i` is not below the length.
    #[inline]
    #[track_caller]
    pub fn set<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, i: usize, value: T) -> TxResult<()> {
        let (record, slot) = self.at(i);
        // SAFETY: as in `get`.
        unsafe { value::set(tx.descriptor, record, slot.words(), value) }
    }

    /// Replaces the value at index `i` by the result of `f`.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`.
    ///
    /// # Panics
    ///
    /// If `i` is not below the length.
    #[inline]
    #[track_caller]
    pub fn modify<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        i: usize,
        f: impl FnOnce(T) -> T,
    ) -> TxResult<()> {
        self.update(tx, i, |value| *value = f(*value))
    }

    /// Changes the value at index `i` by `f`, and returns the result of `f`: see
    /// [`TVar::update`].
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`.
    ///
    /// # Panics
    ///
    /// If `i` is not below the length. A panic of `f` propagates; the value is as before.
    #[inline]
    #[track_caller]
    pub fn update<'tx, R>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        i: usize,
        f: impl FnOnce(&mut T) -> R,
    ) -> TxResult<R> {
        let (record, slot) = self.at(i);
        // SAFETY: as in `get`.
        unsafe { value::update(tx.descriptor, record, slot.words(), f) }
    }

    /// All values at one time, read by a transaction of its own.
    ///
    /// # Panics
    ///
    /// If called inside a transaction.
    #[track_caller]
    pub fn load_all(&self) -> Vec<T> {
        crate::Transaction::new().atomically(|tx| (0..self.len).map(|i| self.get(tx, i)).collect())
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
impl<T: Copy> TArray<T> {
    /// For tests that compare their words: one per index.
    pub(crate) fn records(&self) -> impl Iterator<Item = &Record> {
        (0..self.len).map(|i| self.at(i).0)
    }
}

/// Groups of `N` for `len` values. The rest of the last group repeats its last value.
fn grouped<T: Copy, const N: usize>(
    len: usize,
    mut f: impl FnMut(usize) -> T,
) -> Box<[Group<T, N>]> {
    let group = |first: usize| {
        let mut last = None;
        let slots = std::array::from_fn(|k| {
            let value = last.filter(|_| first + k >= len).unwrap_or_else(|| f(first + k));
            last = Some(value);
            Slot::new(value)
        });
        Group { record: Record::new(), slots }
    };
    (0..len).step_by(N).map(group).collect()
}

impl<T: Copy> std::fmt::Debug for TArray<T> {
    /// Without the values, which a transaction would have to read.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TArray").field("len", &self.len).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::TArray;
    use crate::{Transaction, atomically};

    fn is_an_array<T: Copy + PartialEq + std::fmt::Debug>(values: &[T]) {
        let array = TArray::from_fn(values.len(), |i| values[i]);
        assert_eq!(array.load_all(), values);
        // Neighbours within a record: some written once, some twice, some undone by a branch.
        let reversed: Vec<T> = values.iter().rev().copied().collect();
        atomically(|tx| {
            for (i, value) in reversed.iter().enumerate() {
                array.set(tx, i, values[0])?;
                tx.or_else(
                    |tx| array.set(tx, (i + 1) % values.len(), *value).and_then(|()| tx.retry()),
                    |_| Ok(()),
                )?;
                array.set(tx, i, *value)?;
            }
            for (i, value) in reversed.iter().enumerate() {
                assert_eq!(array.get(tx, i)?, *value);
            }
            Ok(())
        });
        assert_eq!(array.load_all(), reversed);
    }

    /// Catches: a value at the wrong index, for each number of values that share a record.
    #[test]
    fn an_array_keeps_its_values_apart() {
        is_an_array(&[1_u8, 2, 3, 4, 5, 6, 7]);
        is_an_array(&[1.5_f64, 2.5, 3.5, 4.5]);
        is_an_array(&[(1_u64, 2_u64), (3, 4), (5, 6)]);
        is_an_array(&[[1_u64; 3], [2; 3]]);
        is_an_array(&[(), ()]);
        assert!(TArray::new(0, 1).is_empty());
    }

    /// Catches: an index beyond the end that reads from a neighbouring group.
    #[test]
    #[should_panic(expected = "place 5 of a TArray of 5")]
    fn a_place_beyond_the_end_panics() {
        let array = TArray::new(5, 0_u8);
        let _ = Transaction::new().attempt(|tx| array.get(tx, 5));
    }
}
