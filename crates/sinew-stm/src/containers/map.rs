//! [`TMap`]: an ordered map.
//!
//! A treap: a search tree by key that is a heap by pseudo-random priority, so it is balanced in
//! expectation. An update changes few links, so transactions seldom conflict. Source: Seidel and
//! Aragon, "Randomized Search Trees" (1996).

use super::arena::{Arena, NONE};
use super::entry::{Entry, Table};
use super::store::{Boxed, Inline, Store, Variable};
use crate::tx::Tx;
use crate::tx_error::TxResult;
use crate::var::TVar;
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow, RangeBounds};

/// The fields that a search reads share one cache line; the value follows.
#[derive(Debug)]
#[repr(C, align(64))]
struct Node<K, V, S: Store<K> + Store<V>> {
    key: <S as Store<K>>::Var,
    left: TVar<u32>,
    right: TVar<u32>,
    value: <S as Store<V>>::Var,
}

impl<K, V, S: Store<K> + Store<V>> Node<K, V, S> {
    /// The key and the value.
    fn entry<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<(K, V)> {
        Ok((self.key.get(tx)?, self.value.get(tx)?))
    }
}

/// An ordered map of transactional values.
///
/// Two transactions conflict only if one changes a link or a value that the other has read. The map
/// keeps no count, because every update would write it.
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
pub struct TMap<K: Ord, V, S: Store<K> + Store<V> = Inline> {
    root: TVar<u32>,
    nodes: Arena<Node<K, V, S>>,
}

/// The priority of a node: a bijection of its index without visible order.
fn priority(index: u32) -> u32 {
    let mixed = (index ^ index >> 16).wrapping_mul(0x7feb_352d);
    (mixed ^ mixed >> 15).wrapping_mul(0x846c_a68b)
}

impl<K: Ord, V, S: Store<K> + Store<V>> Default for TMap<K, V, S> {
    fn default() -> Self {
        Self { root: TVar::new(NONE), nodes: Arena::new() }
    }
}

impl<K: Copy + Ord, V: Copy> TMap<K, V> {
    /// An empty map for values that are `Copy`.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<K: Clone + Ord, V: Clone> TMap<K, V, Boxed> {
    /// An empty map for values that are `Clone`.
    ///
    /// ```
    /// use sinew_stm::{TMap, atomically};
    ///
    /// let map = TMap::boxed();
    /// atomically(|tx| map.insert(tx, "Ada".to_owned(), vec![1815]));
    /// assert_eq!(atomically(|tx| map.get(tx, "Ada")), Some(vec![1815]));
    /// ```
    pub fn boxed() -> Self {
        Self::default()
    }
}

impl<K: Ord, V, S: Store<K> + Store<V>> TMap<K, V, S> {
    /// The link to `key`'s node and its content: the node's index, or `NONE` if there is no such
    /// node.
    fn find<'tx, Q: Ord + ?Sized>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: &Q,
    ) -> TxResult<(&'tx TVar<u32>, u32)>
    where
        K: Borrow<Q>,
    {
        let mut link = &self.root;
        loop {
            let at = link.get(tx)?;
            if at == NONE {
                return Ok((link, at));
            }
            let node = self.nodes.node(at);
            link = match node.key.with(tx, |here| key.cmp(here.borrow()))? {
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
    /// The attempt is lost: return the error with `?`. The same holds for all methods.
    pub fn get<'tx, Q: Ord + ?Sized>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: &Q,
    ) -> TxResult<Option<V>>
    where
        K: Borrow<Q>,
    {
        let (_, at) = self.find(tx, key)?;
        if at == NONE { Ok(None) } else { self.nodes.node(at).value.get(tx).map(Some) }
    }

    /// Whether there is an entry of `key`.
    pub fn contains<'tx, Q: Ord + ?Sized>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: &Q,
    ) -> TxResult<bool>
    where
        K: Borrow<Q>,
    {
        Ok(self.find(tx, key)?.1 != NONE)
    }

    /// Sets the value of `key`; returns the old one.
    pub fn insert<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: K, value: V) -> TxResult<Option<V>> {
        let (_, at) = self.find(tx, &key)?;
        if at != NONE {
            return self.nodes.node(at).value.replace(tx, value).map(Some);
        }
        // A nested part, because it compares keys after its first write: a panic of the comparison
        // undoes it.
        tx.atomically(|tx| self.insert_new(tx, key, value))?;
        Ok(None)
    }

    /// Adds an entry of `key`, which is not in the map.
    fn insert_new<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: K, value: V) -> TxResult<()> {
        let make = || Node {
            key: Variable::vacant(&key),
            value: Variable::vacant(&value),
            left: TVar::new(NONE),
            right: TVar::new(NONE),
        };
        let (index, node) = self.nodes.allocate(tx, make)?;
        node.value.set(tx, value)?;
        let link = self.above(tx, &key, priority(index))?;
        let below = link.replace(tx, index)?;
        self.split(tx, below, &key, [&node.left, &node.right])?;
        node.key.set(tx, key)
    }

    /// The first link on the path to `key` whose node has less than `priority`.
    fn above<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: &K,
        limit: u32,
    ) -> TxResult<&'tx TVar<u32>> {
        let mut link = &self.root;
        loop {
            let at = link.get(tx)?;
            if at == NONE || priority(at) < limit {
                return Ok(link);
            }
            let node = self.nodes.node(at);
            let is_less = node.key.with(tx, |here| key < here)?;
            link = if is_less { &node.left } else { &node.right };
        }
    }

    /// Divides the tree at `at` between two links: keys less than `key` go to the first, the rest
    /// to the second.
    fn split<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        mut at: u32,
        key: &K,
        mut links: [&'tx TVar<u32>; 2],
    ) -> TxResult<()> {
        while at != NONE {
            let node = self.nodes.node(at);
            let less = node.key.with(tx, |here| here < key)?;
            let (side, next) = if less { (0, &node.right) } else { (1, &node.left) };
            links[side].set(tx, at)?;
            links[side] = next;
            at = next.get(tx)?;
        }
        links[0].set(tx, NONE)?;
        links[1].set(tx, NONE)
    }

    /// Removes the entry of `key`; returns its value.
    pub fn remove<'tx, Q: Ord + ?Sized>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: &Q,
    ) -> TxResult<Option<V>>
    where
        K: Borrow<Q>,
    {
        let (link, at) = self.find(tx, key)?;
        if at == NONE {
            return Ok(None);
        }
        let node = self.nodes.node(at);
        let (left, right) = (node.left.get(tx)?, node.right.get(tx)?);
        self.merge(tx, link, left, right)?;
        self.nodes.release(tx, at);
        node.key.vacate(tx)?;
        node.value.take(tx).map(Some)
    }

    /// Joins two trees at `link`; all keys of the first are less than those of the second.
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
        self.first_where(tx, move |other| *other >= key)
    }

    /// The first entry.
    pub fn first<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Option<(K, V)>> {
        self.first_where(tx, |_| true)
    }

    /// The first entry for whose key `holds` is true; it must then be true for all later keys.
    fn first_where<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        holds: impl Fn(&K) -> bool,
    ) -> TxResult<Option<(K, V)>> {
        let (mut best, mut at) = (None, self.root.get(tx)?);
        while at != NONE {
            let node = self.nodes.node(at);
            at = if node.key.with(tx, &holds)? {
                best = Some(node);
                node.left.get(tx)?
            } else {
                node.right.get(tx)?
            };
        }
        best.map(|node| node.entry(tx)).transpose()
    }

    /// Calls `f` with the nodes from the first one that is not below `start`, in order, until it
    /// breaks.
    fn walk_from<'tx, 'env>(
        &'tx self,
        tx: &mut Tx<'tx, 'env>,
        start: Bound<&K>,
        mut f: impl FnMut(&mut Tx<'tx, 'env>, &'tx Node<K, V, S>) -> TxResult<ControlFlow<()>>,
    ) -> TxResult<ControlFlow<()>> {
        let is_below = |key: &K| match start {
            Bound::Included(start) | Bound::Excluded(start) => key < start,
            Bound::Unbounded => false,
        };
        let (mut path, mut at) = (Vec::new(), self.root.get(tx)?);
        loop {
            while at != NONE {
                let node = self.nodes.node(at);
                at = if node.key.with(tx, is_below)? {
                    node.right.get(tx)?
                } else {
                    path.push(node);
                    node.left.get(tx)?
                };
            }
            let Some(node) = path.pop() else { return Ok(ControlFlow::Continue(())) };
            if f(tx, node)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            at = node.right.get(tx)?;
        }
    }

    /// Whether the map has no entry.
    pub fn is_empty<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<bool> {
        Ok(self.root.get(tx)? == NONE)
    }
}

ordered_map_methods! { [K: Ord, V, S: Store<K> + Store<V>] TMap<K, V, S> }

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{Ordering, TMap, priority};
    use crate::containers::arena::NONE;
    use crate::{Tx, TxResult, atomically};
    use std::time::Instant;

    impl TMap<u32, u32> {
        /// Checks the tree at `at`: keys within the bounds, priorities below that one. Returns the
        /// number of nodes.
        fn check<'tx>(
            &'tx self,
            tx: &mut Tx<'tx, '_>,
            at: u32,
            keys: [u32; 2],
            limit: u32,
        ) -> TxResult<usize> {
            if at == NONE {
                return Ok(0);
            }
            let node = self.nodes.node(at);
            let (key, value) = (node.key.get(tx)?, node.value.get(tx)?);
            assert!((keys[0]..keys[1]).contains(&key), "{key} lies outside of {keys:?}");
            assert!(
                priority(at).cmp(&limit) != Ordering::Greater,
                "{key} lies below a lower priority"
            );
            assert_eq!(value, !key, "a value of another key");
            let (left, right) = (node.left.get(tx)?, node.right.get(tx)?);
            let below = self.check(tx, left, [keys[0], key], priority(at))?;
            Ok(below + 1 + self.check(tx, right, [key + 1, keys[1]], priority(at))?)
        }
    }

    /// Catches: a tree that only contention breaks: its order, its priorities, nodes with two links
    /// or none.
    #[test]
    fn the_tree_is_one_at_every_moment() {
        const KEYS: u32 = 64;
        let map: TMap<u32, u32> = TMap::new();
        let end = Instant::now() + crate::stress_time();
        std::thread::scope(|s| {
            for thread in 0..3_u64 {
                let map = &map;
                s.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(thread);
                    while Instant::now() < end {
                        let (key, put) = (rng.u32(..KEYS), rng.bool());
                        atomically(|tx| {
                            let before = if put {
                                map.insert(tx, key, !key)?
                            } else {
                                map.remove(tx, &key)?
                            };
                            assert!(before.is_none_or(|value| value == !key));
                            Ok(())
                        });
                        if rng.u8(..4) == 0 {
                            atomically(|tx| {
                                let root = map.root.get(tx)?;
                                let nodes = map.check(tx, root, [0, KEYS], u32::MAX)?;
                                assert_eq!(map.to_vec(tx)?.len(), nodes);
                                Ok(())
                            });
                        }
                    }
                });
            }
        });
    }
}
