//! [`THashMap`]: a hash map.

use super::arena::NONE;
use super::entry::{Entry, Table};
use super::list::{Chains, Node};
use super::store::{Boxed, Inline, Store};
use crate::tx::Tx;
use crate::tx_error::TxResult;
use crate::var::TVar;
use std::borrow::Borrow;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};
use std::ops::ControlFlow;

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
pub struct THashMap<K, V, H = BuildHasherDefault<DefaultHasher>, S = Inline>
where
    K: Ord + Hash,
    S: Store<K> + Store<V>,
{
    buckets: Box<[TVar<u32>]>,
    chains: Chains<K, V, S>,
    hasher: H,
}

impl<K: Copy + Ord + Hash, V: Copy> THashMap<K, V> {
    /// An empty map with `buckets` buckets for values that are `Copy`; 0 counts as 1.
    pub fn with_buckets(buckets: usize) -> Self {
        Self::with_hasher(buckets, BuildHasherDefault::default())
    }
}

impl<K: Clone + Ord + Hash, V: Clone> THashMap<K, V, BuildHasherDefault<DefaultHasher>, Boxed> {
    /// An empty map with `buckets` buckets for values that are `Clone`; 0 counts as 1.
    pub fn boxed(buckets: usize) -> Self {
        Self::with_hasher(buckets, BuildHasherDefault::default())
    }
}

impl<K: Ord + Hash, V, H: BuildHasher, S: Store<K> + Store<V>> THashMap<K, V, H, S> {
    /// An empty map with `buckets` buckets (0 counts as 1) and the given hasher.
    pub fn with_hasher(buckets: usize, hasher: H) -> Self {
        let buckets = (0..buckets.max(1)).map(|_| TVar::new(NONE)).collect();
        Self { buckets, chains: Chains::new(), hasher }
    }

    fn bucket<Q: Hash + ?Sized>(&self, key: &Q) -> &TVar<u32> {
        let hash = u128::from(self.hasher.hash_one(key));
        // The high half of the product distributes hashes over any number of buckets.
        &self.buckets[((hash * self.buckets.len() as u128) >> 64) as usize]
    }

    /// The value of `key`.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`. The same holds for all methods.
    pub fn get<'tx, Q>(&'tx self, tx: &mut Tx<'tx, '_>, key: &Q) -> TxResult<Option<V>>
    where
        K: Borrow<Q>,
        Q: Ord + Hash + ?Sized,
    {
        self.chains.get(tx, self.bucket(key), key)
    }

    /// Whether there is an entry of `key`.
    pub fn contains<'tx, Q>(&'tx self, tx: &mut Tx<'tx, '_>, key: &Q) -> TxResult<bool>
    where
        K: Borrow<Q>,
        Q: Ord + Hash + ?Sized,
    {
        self.chains.contains(tx, self.bucket(key), key)
    }

    /// Sets the value of `key`; returns the old one.
    pub fn insert<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: K, value: V) -> TxResult<Option<V>> {
        self.chains.insert(tx, self.bucket(&key), key, value)
    }

    /// Removes the entry of `key`; returns its value.
    pub fn remove<'tx, Q>(&'tx self, tx: &mut Tx<'tx, '_>, key: &Q) -> TxResult<Option<V>>
    where
        K: Borrow<Q>,
        Q: Ord + Hash + ?Sized,
    {
        self.chains.remove(tx, self.bucket(key), key)
    }

    /// Calls `f` with all nodes, in no particular order, until it breaks.
    fn walk<'tx, 'env>(
        &'tx self,
        tx: &mut Tx<'tx, 'env>,
        mut f: impl FnMut(&mut Tx<'tx, 'env>, &'tx Node<K, V, S>) -> TxResult<ControlFlow<()>>,
    ) -> TxResult<ControlFlow<()>> {
        for head in &self.buckets {
            if self.chains.walk(tx, head, &mut f)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whether the map has no entry.
    pub fn is_empty<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<bool> {
        self.walk(tx, |_, _| Ok(ControlFlow::Break(()))).map(|flow| flow.is_continue())
    }
}

map_methods! {
    [K: Ord + Hash, V, H: BuildHasher, S: Store<K> + Store<V>] THashMap<K, V, H, S>,
    "in no particular order"
}
