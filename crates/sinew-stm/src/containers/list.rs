//! [`TList`]: a sorted, singly linked list; also the chains of [`THashMap`](super::THashMap).

use super::arena::{Arena, NONE};
use crate::tx::Tx;
use crate::tx_error::TxResult;
use crate::var::TVar;

/// A node usually fills a cache line, and shares it with no other node.
#[derive(Debug)]
#[repr(align(64))]
struct Node<K: Copy, V: Copy> {
    key: TVar<K>,
    value: TVar<V>,
    next: TVar<u32>,
}

/// The position of a key in a chain, present or not.
struct Found<'tx, K: Copy, V: Copy> {
    /// The first link whose node does not precede the key.
    link: &'tx TVar<u32>,
    /// The index in that link.
    at: u32,
    /// The node, if it has the key.
    node: Option<&'tx Node<K, V>>,
}

/// Nodes of chains that are sorted by key.
#[derive(Debug)]
pub(super) struct Chains<K: Copy, V: Copy>(Arena<Node<K, V>>);

impl<K: Copy + Ord, V: Copy> Chains<K, V> {
    pub(super) fn new() -> Self {
        Self(Arena::new())
    }

    fn find<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        mut link: &'tx TVar<u32>,
        key: &K,
    ) -> TxResult<Found<'tx, K, V>> {
        loop {
            let at = link.get(tx)?;
            if at == NONE {
                return Ok(Found { link, at, node: None });
            }
            let node = self.0.node(at);
            let here = node.key.get(tx)?;
            if here >= *key {
                return Ok(Found { link, at, node: (here == *key).then_some(node) });
            }
            link = &node.next;
        }
    }

    pub(super) fn get<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        head: &'tx TVar<u32>,
        key: &K,
    ) -> TxResult<Option<V>> {
        let found = self.find(tx, head, key)?;
        found.node.map(|node| node.value.get(tx)).transpose()
    }

    pub(super) fn insert<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        head: &'tx TVar<u32>,
        key: K,
        value: V,
    ) -> TxResult<Option<V>> {
        let Found { link, at: after, node } = self.find(tx, head, &key)?;
        if let Some(node) = node {
            return node.value.replace(tx, value).map(Some);
        }
        let make = || Node { key: TVar::new(key), value: TVar::new(value), next: TVar::new(NONE) };
        let (index, node) = self.0.allocate(tx, make)?;
        node.key.set(tx, key)?;
        node.value.set(tx, value)?;
        node.next.set(tx, after)?;
        link.set(tx, index)?;
        Ok(None)
    }

    pub(super) fn remove<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        head: &'tx TVar<u32>,
        key: &K,
    ) -> TxResult<Option<V>> {
        let Found { link, at, node } = self.find(tx, head, key)?;
        let Some(node) = node else { return Ok(None) };
        let next = node.next.get(tx)?;
        link.set(tx, next)?;
        self.0.release(tx, at);
        node.value.get(tx).map(Some)
    }

    pub(super) fn extend<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        head: &'tx TVar<u32>,
        entries: &mut Vec<(K, V)>,
    ) -> TxResult<()> {
        let mut at = head.get(tx)?;
        while at != NONE {
            let node = self.0.node(at);
            entries.push((node.key.get(tx)?, node.value.get(tx)?));
            at = node.next.get(tx)?;
        }
        Ok(())
    }
}

/// A map as a list that is sorted by key: for few entries, or for walks in order.
///
/// ```
/// use sinew_stm::{TList, atomically};
///
/// let list = TList::new();
/// atomically(|tx| [3, 1, 2].into_iter().try_for_each(|key| list.insert(tx, key, ()).map(drop)));
/// assert_eq!(atomically(|tx| list.to_vec(tx)), [(1, ()), (2, ()), (3, ())]);
/// ```
#[derive(Debug)]
pub struct TList<K: Copy + Ord, V: Copy> {
    head: TVar<u32>,
    chains: Chains<K, V>,
}

impl<K: Copy + Ord, V: Copy> Default for TList<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Copy + Ord, V: Copy> TList<K, V> {
    /// An empty list.
    pub fn new() -> Self {
        Self { head: TVar::new(NONE), chains: Chains::new() }
    }

    /// The value of `key`.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`. The same holds for all methods.
    pub fn get<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: &K) -> TxResult<Option<V>> {
        self.chains.get(tx, &self.head, key)
    }

    /// Whether there is an entry of `key`.
    pub fn contains<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: &K) -> TxResult<bool> {
        Ok(self.get(tx, key)?.is_some())
    }

    /// Sets the value of `key`; returns the old one.
    pub fn insert<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: K, value: V) -> TxResult<Option<V>> {
        self.chains.insert(tx, &self.head, key, value)
    }

    /// Removes the entry of `key`; returns its value.
    pub fn remove<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: &K) -> TxResult<Option<V>> {
        self.chains.remove(tx, &self.head, key)
    }

    /// All entries, in order.
    pub fn to_vec<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Vec<(K, V)>> {
        let mut entries = Vec::new();
        self.chains.extend(tx, &self.head, &mut entries)?;
        Ok(entries)
    }
}
