//! [`TMap`]: an ordered map.
//!
//! A treap: a search tree by key that is a heap by priority, with priorities that look random, so it is balanced in expectation. It
//! changes few links in an update, which is what keeps transactions apart.
//! Source: Seidel and Aragon, "Randomized Search Trees" (1996).

use super::arena::{Arena, NONE};
use crate::tx::{Tx, TxResult};
use crate::var::TVar;
use std::cmp::Ordering;

#[derive(Debug)]
struct Node<K: Copy, V: Copy> {
    key: TVar<K>,
    value: TVar<V>,
    left: TVar<u32>,
    right: TVar<u32>,
}

/// An ordered map of transactional values.
///
/// Two transactions conflict only where one changes a link or a value that the other has passed. There is no count, which all updates
/// would share.
///
/// ```
/// use sinew_stm::{TMap, atomically};
///
/// let map = TMap::new();
/// atomically(|tx| {
///     map.insert(tx, 3, "three")?;
///     map.insert(tx, 1, "one")
/// });
/// assert_eq!(atomically(|tx| map.at_least(tx, 2)), Some((3, "three")));
/// ```
#[derive(Debug)]
pub struct TMap<K: Copy + Ord, V: Copy> {
    root: TVar<u32>,
    nodes: Arena<Node<K, V>>,
}

/// The priority of a node: a bijection of its index without visible order.
fn priority(index: u32) -> u32 {
    let mixed = (index ^ index >> 16).wrapping_mul(0x7feb_352d);
    (mixed ^ mixed >> 15).wrapping_mul(0x846c_a68b)
}

impl<K: Copy + Ord, V: Copy> Default for TMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Copy + Ord, V: Copy> TMap<K, V> {
    /// A map without entries.
    pub fn new() -> Self {
        Self { root: TVar::new(NONE), nodes: Arena::new() }
    }

    /// The link to `key`'s node and what it holds: the node's index, or `NONE` where the node would be.
    fn find<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: &K) -> TxResult<(&'tx TVar<u32>, u32)> {
        let mut link = &self.root;
        loop {
            let at = link.get(tx)?;
            if at == NONE {
                return Ok((link, at));
            }
            let node = self.nodes.node(at);
            link = match key.cmp(&node.key.get(tx)?) {
                Ordering::Less => &node.left,
                Ordering::Equal => return Ok((link, at)),
                Ordering::Greater => &node.right,
            };
        }
    }

    /// The value of `key`.
    ///
    /// # Errors
    ///
    /// The attempt is lost. The same holds for all methods.
    pub fn get<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: &K) -> TxResult<Option<V>> {
        let (_, at) = self.find(tx, key)?;
        if at == NONE { Ok(None) } else { self.nodes.node(at).value.get(tx).map(Some) }
    }

    /// Whether there is an entry of `key`.
    pub fn contains<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: &K) -> TxResult<bool> {
        Ok(self.find(tx, key)?.1 != NONE)
    }

    /// Makes `value` the value of `key`; answers the one before.
    pub fn insert<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: K, value: V) -> TxResult<Option<V>> {
        let (_, at) = self.find(tx, &key)?;
        if at != NONE {
            return self.nodes.node(at).value.replace(tx, value).map(Some);
        }
        let make = || Node {
            key: TVar::new(key),
            value: TVar::new(value),
            left: TVar::new(NONE),
            right: TVar::new(NONE),
        };
        let (index, node) = self.nodes.allocate(tx, make);
        node.key.set(tx, key)?;
        node.value.set(tx, value)?;
        let link = self.above(tx, &key, priority(index))?;
        let below = link.replace(tx, index)?;
        self.split(tx, below, &key, [&node.left, &node.right])?;
        Ok(None)
    }

    /// The first link on the way to `key` whose node has less than `priority`.
    fn above<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: &K, limit: u32) -> TxResult<&'tx TVar<u32>> {
        let mut link = &self.root;
        loop {
            let at = link.get(tx)?;
            if at == NONE || priority(at) < limit {
                return Ok(link);
            }
            let node = self.nodes.node(at);
            link = if *key < node.key.get(tx)? { &node.left } else { &node.right };
        }
    }

    /// Hangs what is below `at` on two links: what is less than `key` on the first, the rest on the second.
    fn split<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        mut at: u32,
        key: &K,
        mut links: [&'tx TVar<u32>; 2],
    ) -> TxResult<()> {
        while at != NONE {
            let node = self.nodes.node(at);
            let less = node.key.get(tx)? < *key;
            let (side, next) = if less { (0, &node.right) } else { (1, &node.left) };
            links[side].set(tx, at)?;
            links[side] = next;
            at = next.get(tx)?;
        }
        links[0].set(tx, NONE)?;
        links[1].set(tx, NONE)
    }

    /// Removes the entry of `key`; answers its value.
    pub fn remove<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: &K) -> TxResult<Option<V>> {
        let (link, at) = self.find(tx, key)?;
        if at == NONE {
            return Ok(None);
        }
        let node = self.nodes.node(at);
        let (value, left, right) = (node.value.get(tx)?, node.left.get(tx)?, node.right.get(tx)?);
        self.merge(tx, link, left, right)?;
        self.nodes.release(tx, at);
        Ok(Some(value))
    }

    /// Hangs two trees on `link`, of which the first is all less than the second.
    fn merge<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        mut link: &'tx TVar<u32>,
        mut left: u32,
        mut right: u32,
    ) -> TxResult<()> {
        while left != NONE && right != NONE {
            if priority(left) > priority(right) {
                link.set(tx, left)?;
                link = &self.nodes.node(left).right;
                left = link.get(tx)?;
            } else {
                link.set(tx, right)?;
                link = &self.nodes.node(right).left;
                right = link.get(tx)?;
            }
        }
        link.set(tx, if left == NONE { right } else { left })
    }

    /// The first entry whose key is at least `key`.
    pub fn at_least<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: K) -> TxResult<Option<(K, V)>> {
        self.first_where(tx, |other| other >= key)
    }

    /// The first entry.
    pub fn first<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Option<(K, V)>> {
        self.first_where(tx, |_| true)
    }

    /// The first entry whose key `holds`, which must hold for all keys after it as well.
    fn first_where<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        holds: impl Fn(K) -> bool,
    ) -> TxResult<Option<(K, V)>> {
        let (mut best, mut at) = (None, self.root.get(tx)?);
        while at != NONE {
            let node = self.nodes.node(at);
            let key = node.key.get(tx)?;
            at = if holds(key) {
                best = Some((key, node));
                node.left.get(tx)?
            } else {
                node.right.get(tx)?
            };
        }
        best.map(|(key, node)| Ok((key, node.value.get(tx)?))).transpose()
    }

    /// All entries, in order.
    pub fn to_vec<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Vec<(K, V)>> {
        let (mut entries, mut path, mut at) = (Vec::new(), Vec::new(), self.root.get(tx)?);
        loop {
            while at != NONE {
                path.push(at);
                at = self.nodes.node(at).left.get(tx)?;
            }
            let Some(last) = path.pop() else { return Ok(entries) };
            let node = self.nodes.node(last);
            entries.push((node.key.get(tx)?, node.value.get(tx)?));
            at = node.right.get(tx)?;
        }
    }
}
