//! The nodes of a [`TMap`](super::TMap), and how its tree grows and shrinks.
//!
//! A B+ tree: entries lie in leaves, and an inner node has a link for each child and the smallest
//! key that may be below it. The key of the first child is not read: smaller keys belong there as
//! well. All leaves are equally deep.
//!
//! A full node is split on the way down to an insertion, so its parent has room. A leaf is removed
//! when its last entry is, with the inner nodes that have no other child; there is no other
//! balancing. So an update mostly writes one node, and the tree is at most as deep as it was when
//! it had the most nodes. Source: Johnson and Shasha, "B-trees with Inserts and Deletes: Why
//! Free-at-empty Is Better than Merge-at-half" (1993).

use super::TMap;
use crate::containers::arena::NONE;
use crate::containers::order::{Order, WIDTH};
use crate::containers::slots::Slots;
use crate::containers::store::{Store, Variable};
use crate::tx::Tx;
use crate::tx_error::TxResult;
use std::borrow::Borrow;

/// Entries.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Leaf<K, V, S: Store<K> + Store<V>> {
    keys: Slots<K, S, WIDTH, 0>,
    values: [<S as Store<V>>::Var; WIDTH],
}

/// Children.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Inner<K, S: Store<K>>(Slots<K, S, WIDTH, WIDTH>);

/// The root's index, `NONE` in a map that never had an entry, and how many inner nodes are between
/// it and a leaf, itself included.
pub(super) type Root = [u32; 2];

/// A map without nodes.
pub(super) const EMPTY: Root = [NONE, 0];

impl<K: Ord, V, S: Store<K> + Store<V>> Leaf<K, V, S> {
    pub(super) fn order<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Order> {
        self.keys.word(tx).map(Order)
    }

    pub(super) fn value(&self, slot: usize) -> &<S as Store<V>>::Var {
        &self.values[slot]
    }

    /// The key and the value in a slot that is used.
    pub(super) fn entry<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, slot: usize) -> TxResult<(K, V)> {
        Ok((self.keys.key(tx, slot)?, self.values[slot].get(tx)?))
    }

    /// The order, and the position of `key` in it: the number of smaller keys, and whether the
    /// next one is equal.
    #[inline(always)]
    pub(super) fn find<'tx, Q: Ord + ?Sized>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: &Q,
    ) -> TxResult<(Order, usize, bool)>
    where
        K: Borrow<Q>,
    {
        self.keys.examine(tx, |word, mut view| {
            let order = Order(word);
            let rank = order.first_where(0, |slot| view.key(slot, |here| here.borrow() >= key))?;
            let is_present =
                rank < order.len() && view.key(order.slot(rank), |here| here.borrow() == key)?;
            Ok((order, rank, is_present))
        })
    }

    /// The order, and the rank of the first key that is not below `start`.
    pub(super) fn start<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        start: Option<&K>,
    ) -> TxResult<(Order, usize)> {
        match start {
            Some(start) => self.find(tx, start).map(|(order, rank, _)| (order, rank)),
            None => Ok((self.order(tx)?, 0)),
        }
    }

    /// Adds an entry at a rank of a leaf that has room.
    pub(super) fn add<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        order: Order,
        rank: usize,
        key: K,
        value: V,
    ) -> TxResult<()> {
        let order = order.with(rank);
        let slot = order.slot(rank);
        self.keys.set_word(tx, order.0)?;
        self.keys.set_key(tx, slot, key)?;
        self.values[slot].set(tx, value)
    }

    /// Removes the entry of a rank; returns its value.
    pub(super) fn take<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        order: Order,
        rank: usize,
    ) -> TxResult<V> {
        let slot = order.slot(rank);
        let value = self.values[slot].get(tx)?;
        self.keys.set_word(tx, order.without(rank).0)?;
        self.keys.vacate_key(tx, slot)?;
        self.values[slot].vacate(tx)?;
        Ok(value)
    }

    /// Moves the entries from a rank on to an unused leaf. Returns the first of their keys.
    fn split<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        order: Order,
        from: usize,
        to: &'tx Self,
    ) -> TxResult<K> {
        let split = self.keys.key(tx, order.slot(from))?;
        to.keys.set_word(tx, Order::first(order.len() - from).0)?;
        self.keys.set_word(tx, order.cut(from).0)?;
        for rank in from..order.len() {
            let (key, value) = self.entry(tx, order.slot(rank))?;
            to.keys.set_key(tx, rank - from, key)?;
            to.values[rank - from].set(tx, value)?;
            self.keys.vacate_key(tx, order.slot(rank))?;
            self.values[order.slot(rank)].vacate(tx)?;
        }
        Ok(split)
    }
}

impl<K: Ord, S: Store<K>> Inner<K, S> {
    pub(super) fn order<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Order> {
        self.0.word(tx).map(Order)
    }

    /// The child of a rank.
    #[inline(always)]
    pub(super) fn child<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        order: Order,
        rank: usize,
    ) -> TxResult<u32> {
        self.0.link(tx, order.slot(rank))
    }

    /// The order, and the rank and the link of the child to which `key` belongs; of the first child
    /// without a key.
    #[inline(always)]
    pub(super) fn find<'tx, Q: Ord + ?Sized>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: Option<&Q>,
    ) -> TxResult<(Order, usize, u32)>
    where
        K: Borrow<Q>,
    {
        self.0.examine(tx, |word, mut view| {
            let order = Order(word);
            let rank = match key {
                Some(key) => {
                    order.first_where(1, |slot| view.key(slot, |here| here.borrow() > key))? - 1
                }
                None => 0,
            };
            Ok((order, rank, view.link(order.slot(rank))?))
        })
    }

    /// The keys that are read: of all children but the first.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn keys<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, order: Order) -> TxResult<Vec<K>> {
        (1..order.len()).map(|rank| self.0.key(tx, order.slot(rank))).collect()
    }

    /// Adds a child at a rank that is not the first.
    fn add<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        order: Order,
        rank: usize,
        key: K,
        child: u32,
    ) -> TxResult<()> {
        let order = order.with(rank);
        let slot = order.slot(rank);
        self.0.set_word(tx, order.0)?;
        self.0.set_link(tx, slot, child)?;
        self.0.set_key(tx, slot, key)
    }

    /// Removes the child of a rank.
    fn drop_child<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        order: Order,
        rank: usize,
    ) -> TxResult<Order> {
        let rest = order.without(rank);
        self.0.set_word(tx, rest.0)?;
        self.0.vacate_key(tx, order.slot(rank))?;
        Ok(rest)
    }

    /// As [`Leaf::split`].
    fn split<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        order: Order,
        from: usize,
        to: &'tx Self,
    ) -> TxResult<K> {
        let split = self.0.key(tx, order.slot(from))?;
        to.0.set_word(tx, Order::first(order.len() - from).0)?;
        self.0.set_word(tx, order.cut(from).0)?;
        for rank in from..order.len() {
            let slot = order.slot(rank);
            let (key, child) = (self.0.key(tx, slot)?, self.0.link(tx, slot)?);
            to.0.set_key(tx, rank - from, key)?;
            to.0.set_link(tx, rank - from, child)?;
            self.0.vacate_key(tx, slot)?;
        }
        Ok(split)
    }
}

impl<K: Ord, V, S: Store<K> + Store<V>> TMap<K, V, S> {
    /// Makes room for `key` in its leaf, which is full or does not exist.
    pub(super) fn make_room<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: &K,
        value: &V,
    ) -> TxResult<()> {
        let [mut at, mut height] = self.root.get(tx)?;
        if at == NONE {
            let (index, leaf) = self.new_leaf(tx, key, value)?;
            leaf.keys.set_word(tx, Order::first(0).0)?;
            return self.root.set(tx, [index, 0]);
        }
        if self.is_full(tx, at, height)? {
            let (index, inner) = self.new_inner(tx, key)?;
            inner.0.set_word(tx, Order::first(1).0)?;
            inner.0.set_link(tx, 0, at)?;
            (at, height) = (index, height + 1);
            self.root.set(tx, [at, height])?;
        }
        while height > 0 {
            let inner = self.inners.node(at);
            let (mut order, mut rank, child) = inner.find(tx, Some(key))?;
            height -= 1;
            if self.is_full(tx, child, height)? {
                let (split, new) = self.split(tx, child, height, key, value)?;
                let is_right = split <= *key;
                inner.add(tx, order, rank + 1, split, new)?;
                order = inner.order(tx)?;
                rank += usize::from(is_right);
            }
            at = inner.child(tx, order, rank)?;
        }
        Ok(())
    }

    fn is_full<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, at: u32, height: u32) -> TxResult<bool> {
        let order = if height == 0 {
            self.leaves.node(at).order(tx)?
        } else {
            self.inners.node(at).order(tx)?
        };
        Ok(order.is_full())
    }

    /// Moves half of a node into a new one; returns the first key of that, and its index.
    fn split<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        at: u32,
        height: u32,
        key: &K,
        value: &V,
    ) -> TxResult<(K, u32)> {
        const HALF: usize = WIDTH.div_ceil(2);
        if height == 0 {
            let (index, new) = self.new_leaf(tx, key, value)?;
            let leaf = self.leaves.node(at);
            let order = leaf.order(tx)?;
            Ok((leaf.split(tx, order, HALF, new)?, index))
        } else {
            let (index, new) = self.new_inner(tx, key)?;
            let inner = self.inners.node(at);
            let order = inner.order(tx)?;
            Ok((inner.split(tx, order, HALF, new)?, index))
        }
    }

    /// A leaf with any word; key and value are any.
    fn new_leaf<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: &K,
        value: &V,
    ) -> TxResult<(u32, &'tx Leaf<K, V, S>)> {
        self.leaves.allocate(tx, || Leaf {
            keys: Slots::new(0, NONE, key),
            values: std::array::from_fn(|_| Variable::vacant(value)),
        })
    }

    /// An inner node with any word; the key is any.
    fn new_inner<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: &K,
    ) -> TxResult<(u32, &'tx Inner<K, S>)> {
        self.inners.allocate(tx, || Inner(Slots::new(0, NONE, key)))
    }

    /// Removes the leaf of `key`, which is empty and not the root.
    pub(super) fn remove_leaf<'tx, Q: Ord + ?Sized>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: &Q,
    ) -> TxResult<()>
    where
        K: Borrow<Q>,
    {
        let [mut at, height] = self.root.get(tx)?;
        // The lowest inner node that keeps a child, and the inner nodes below it.
        let (mut keeps, mut below) = (None, Vec::new());
        for _ in 0..height {
            let inner = self.inners.node(at);
            let (order, rank, child) = inner.find(tx, Some(key))?;
            if order.len() > 1 {
                keeps = Some((inner, order, rank));
                below.clear();
            } else {
                below.push(at);
            }
            at = child;
        }
        let (inner, order, rank) = keeps.expect("an inner node that is the root has two children");
        inner.drop_child(tx, order, rank)?;
        self.leaves.release(tx, at);
        for at in below {
            self.free_inner(tx, at)?;
        }
        self.lower(tx)
    }

    /// Removes inner nodes with one child from the top.
    fn lower<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<()> {
        let [mut at, mut height] = self.root.get(tx)?;
        while height > 0 {
            let inner = self.inners.node(at);
            let order = inner.order(tx)?;
            if order.len() > 1 {
                break;
            }
            let child = inner.child(tx, order, 0)?;
            self.free_inner(tx, at)?;
            (at, height) = (child, height - 1);
            self.root.set(tx, [at, height])?;
        }
        Ok(())
    }

    /// Returns an inner node with one child, to which the caller has removed the link.
    fn free_inner<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, at: u32) -> TxResult<()> {
        let inner = self.inners.node(at);
        let order = inner.order(tx)?;
        inner.0.vacate_key(tx, order.slot(0))?;
        self.inners.release(tx, at);
        Ok(())
    }
}
