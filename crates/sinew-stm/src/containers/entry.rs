//! The entry of a key in a map, and the methods that all maps share.

use crate::tx::Tx;
use crate::tx_error::TxResult;

/// A map, as an [`Entry`] sees it.
pub trait Table<'tx, K, V> {
    /// The position of a key, present or not. It is valid until the transaction changes the map.
    #[doc(hidden)]
    type Position;

    /// The position of `key`, and its value.
    #[doc(hidden)]
    fn find(&'tx self, tx: &mut Tx<'tx, '_>, key: &K) -> TxResult<(Self::Position, Option<V>)>;

    /// Sets the value of `key`, whose position this is.
    #[doc(hidden)]
    fn put(&'tx self, tx: &mut Tx<'tx, '_>, at: Self::Position, key: K, value: V) -> TxResult<()>;

    /// Removes `key`, whose position this is, and which is present.
    #[doc(hidden)]
    fn take(&'tx self, tx: &mut Tx<'tx, '_>, at: Self::Position, key: &K) -> TxResult<()>;
}

/// The entry of a key in a map, present or not: made by the map's `entry`.
///
/// It borrows the transaction, so nothing else can change the map before the entry is used.
///
/// # Cost
///
/// One search for the key, when it is made. A change uses the position that the search has found.
#[must_use = "an entry changes nothing by itself"]
pub struct Entry<'a, 'tx, 'env, M: Table<'tx, K, V>, K, V> {
    map: &'tx M,
    tx: &'a mut Tx<'tx, 'env>,
    key: K,
    at: M::Position,
    value: Option<V>,
}

impl<'tx, M, K, V> std::fmt::Debug for Entry<'_, 'tx, '_, M, K, V>
where
    M: Table<'tx, K, V>,
    K: std::fmt::Debug,
    V: std::fmt::Debug,
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { key, value, .. } = self;
        f.debug_struct("Entry").field("key", key).field("value", value).finish_non_exhaustive()
    }
}

impl<'a, 'tx, 'env, M: Table<'tx, K, V>, K, V: Clone> Entry<'a, 'tx, 'env, M, K, V> {
    #[inline(always)]
    pub(super) fn new(map: &'tx M, tx: &'a mut Tx<'tx, 'env>, key: K) -> TxResult<Self> {
        let (at, value) = map.find(tx, &key)?;
        Ok(Self { map, tx, key, at, value })
    }

    /// The key.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The value, if there is one.
    pub fn value(&self) -> Option<&V> {
        self.value.as_ref()
    }

    /// The value; inserts `value` if there is none.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`. The same holds for all methods.
    pub fn or_insert(self, value: V) -> TxResult<V> {
        self.or_insert_with(|| value)
    }

    /// The value; inserts that of `make` if there is none.
    ///
    /// # Panics
    ///
    /// A panic of `make` propagates; the map is as before.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> TxResult<V> {
        match self.value {
            Some(value) => Ok(value),
            None => {
                let value = make();
                self.map.put(self.tx, self.at, self.key, value.clone())?;
                Ok(value)
            }
        }
    }

    /// Sets the value; returns the old one.
    #[inline]
    pub fn insert(self, value: V) -> TxResult<Option<V>> {
        self.map.put(self.tx, self.at, self.key, value)?;
        Ok(self.value)
    }

    /// Removes the entry; returns its value.
    #[inline]
    pub fn remove(self) -> TxResult<Option<V>> {
        if self.value.is_some() {
            self.map.take(self.tx, self.at, &self.key)?;
        }
        Ok(self.value)
    }

    /// Sets the value to the result of `f` for it, which gets `None` if there is no value. `None`
    /// removes the entry. Returns the result.
    ///
    /// # Panics
    ///
    /// A panic of `f` propagates; the map is as before.
    #[inline]
    pub fn alter(mut self, f: impl FnOnce(Option<V>) -> Option<V>) -> TxResult<Option<V>> {
        let was_there = self.value.is_some();
        let value = f(self.value.take());
        match &value {
            Some(value) => self.map.put(self.tx, self.at, self.key, value.clone())?,
            None if was_there => self.map.take(self.tx, self.at, &self.key)?,
            None => {}
        }
        Ok(value)
    }
}

/// The methods of all maps, on top of `get`, `insert`, `remove` and `walk`.
macro_rules! map_methods {
    ([$($generics:tt)*] $map:ty, $order:literal) => {
        impl<$($generics)*> $map {
            /// The number of entries.
            ///
            /// # Cost
            ///
            /// It reads all entries: a counter would be written by every update, so that all
            /// updates would conflict.
            pub fn len<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<usize> {
                let mut len = 0;
                let _ = self.walk(tx, |_, _| {
                    len += 1;
                    Ok(ControlFlow::Continue(()))
                })?;
                Ok(len)
            }

            /// Calls `f` with all entries,
            #[doc = concat!($order, ",")]
            /// until it breaks. Returns whether it did.
            pub fn visit<'tx>(
                &'tx self,
                tx: &mut Tx<'tx, '_>,
                mut f: impl FnMut(K, V) -> ControlFlow<()>,
            ) -> TxResult<bool> {
                let flow = self.walk(tx, |tx, node| {
                    let (key, value) = node.entry(tx)?;
                    Ok(f(key, value))
                })?;
                Ok(flow.is_break())
            }

            /// All entries,
            #[doc = concat!($order, ".")]
            pub fn to_vec<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Vec<(K, V)>> {
                let mut entries = Vec::new();
                self.visit(tx, |key, value| {
                    entries.push((key, value));
                    ControlFlow::Continue(())
                })?;
                Ok(entries)
            }

            /// The entry of `key`, present or not.
            ///
            /// ```
            /// use sinew_stm::{TMap, atomically};
            ///
            /// let words = TMap::boxed();
            /// for word in ["to", "be", "or", "not", "to", "be"] {
            ///     atomically(|tx| {
            ///         let entry = words.entry(tx, word.to_owned())?;
            ///         entry.alter(|count| Some(count.unwrap_or(0) + 1))
            ///     });
            /// }
            /// assert_eq!(atomically(|tx| words.get(tx, "be")), Some(2));
            /// ```
            #[inline]
            pub fn entry<'a, 'tx, 'env>(
                &'tx self,
                tx: &'a mut Tx<'tx, 'env>,
                key: K,
            ) -> TxResult<Entry<'a, 'tx, 'env, Self, K, V>>
            where
                V: Clone,
            {
                Entry::new(self, tx, key)
            }
        }
    };
}

/// The methods of maps that are sorted by key, on top of those and `walk_from`.
macro_rules! ordered_map_methods {
    ([$($generics:tt)*] $map:ty, $at:ty) => {
        map_methods! { [$($generics)*] $map, "in order" }

        impl<$($generics)*> $map {
            /// The entries whose keys lie in `range`, in order.
            ///
            /// ```
            /// use sinew_stm::{TMap, atomically};
            ///
            /// let map = TMap::new();
            /// atomically(|tx| (0..9).try_for_each(|n| map.insert(tx, n, n * n).map(drop)));
            /// assert_eq!(atomically(|tx| map.range(tx, 2..4)), [(2, 4), (3, 9)]);
            /// ```
            ///
            /// # Cost
            ///
            /// It reads these entries, and those on the way to the first.
            pub fn range<'tx>(
                &'tx self,
                tx: &mut Tx<'tx, '_>,
                range: impl RangeBounds<K>,
            ) -> TxResult<Vec<(K, V)>> {
                let mut entries = Vec::new();
                let _ = self.walk_from(tx, range.start_bound(), |tx, node| {
                    let (key, value) = node.entry(tx)?;
                    let is_above = match range.end_bound() {
                        Bound::Included(end) => key > *end,
                        Bound::Excluded(end) => key >= *end,
                        Bound::Unbounded => false,
                    };
                    if is_above {
                        return Ok(ControlFlow::Break(()));
                    }
                    // An excluded start is left out here.
                    if range.contains(&key) {
                        entries.push((key, value));
                    }
                    Ok(ControlFlow::Continue(()))
                })?;
                Ok(entries)
            }

            /// Calls `f` with all entries, in order, until it breaks.
            fn walk<'tx, 'env>(
                &'tx self,
                tx: &mut Tx<'tx, 'env>,
                f: impl FnMut(&mut Tx<'tx, 'env>, $at) -> TxResult<ControlFlow<()>>,
            ) -> TxResult<ControlFlow<()>> {
                self.walk_from(tx, Bound::Unbounded, f)
            }
        }
    };
}
