//! [`THashMap`]: a hash map.

use super::arena::NONE;
use super::list::Chains;
use crate::tx::Tx;
use crate::tx_error::TxResult;
use crate::var::TVar;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};

/// A hash map of transactional values, with a fixed number of buckets.
///
/// Transactions on different buckets do not conflict. Growing would conflict with all of them, so
/// the number of buckets is fixed; choose about the number of entries.
///
/// ```
/// use sinew_stm::{THashMap, atomically};
///
/// let map = THashMap::with_buckets(1_000);
/// atomically(|tx| map.insert(tx, 7, 'x'));
/// assert_eq!(atomically(|tx| map.remove(tx, &7)), Some('x'));
/// ```
#[derive(Debug)]
pub struct THashMap<K: Copy + Ord + Hash, V: Copy, S = BuildHasherDefault<DefaultHasher>> {
    buckets: Box<[TVar<u32>]>,
    chains: Chains<K, V>,
    hasher: S,
}

impl<K: Copy + Ord + Hash, V: Copy> THashMap<K, V> {
    /// An empty map with `buckets` buckets; 0 counts as 1.
    pub fn with_buckets(buckets: usize) -> Self {
        Self::with_hasher(buckets, BuildHasherDefault::default())
    }
}

impl<K: Copy + Ord + Hash, V: Copy, S: BuildHasher> THashMap<K, V, S> {
    /// An empty map with `buckets` buckets (0 counts as 1) and the given hasher.
    pub fn with_hasher(buckets: usize, hasher: S) -> Self {
        let buckets = (0..buckets.max(1)).map(|_| TVar::new(NONE)).collect();
        Self { buckets, chains: Chains::new(), hasher }
    }

    fn bucket(&self, key: &K) -> &TVar<u32> {
        let hash = u128::from(self.hasher.hash_one(key));
        // The high half of the product distributes hashes over any number of buckets.
        &self.buckets[((hash * self.buckets.len() as u128) >> 64) as usize]
    }

    /// The value of `key`.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`. The same holds for all methods.
    pub fn get<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: &K) -> TxResult<Option<V>> {
        self.chains.get(tx, self.bucket(key), key)
    }

    /// Whether there is an entry of `key`.
    pub fn contains<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: &K) -> TxResult<bool> {
        Ok(self.get(tx, key)?.is_some())
    }

    /// Sets the value of `key`; returns the old one.
    pub fn insert<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: K, value: V) -> TxResult<Option<V>> {
        self.chains.insert(tx, self.bucket(&key), key, value)
    }

    /// Removes the entry of `key`; returns its value.
    pub fn remove<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: &K) -> TxResult<Option<V>> {
        self.chains.remove(tx, self.bucket(key), key)
    }

    /// All entries, in no particular order.
    pub fn to_vec<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Vec<(K, V)>> {
        let mut entries = Vec::new();
        self.buckets.iter().try_for_each(|head| self.chains.extend(tx, head, &mut entries))?;
        Ok(entries)
    }
}
