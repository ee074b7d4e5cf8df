//! The nodes of a [`TMap`](super::TMap), and how its tree grows and shrinks.
//!
//! A B+ tree: entries lie in leaves, and an inner node has a link for each child and the smallest
//! key that may be below it. The key of the first child is not read: smaller keys belong there as
//! well. All leaves are equally deep.
//!
//! A leaf has an [`Order`], so that an insertion moves no entry. Inner nodes change with every
//! tenth insertion or less, and are searched more often: their children are sorted.
//!
//! A full node is split on the way down to an insertion, so its parent has room. A leaf is removed
//! when its last entry is, with the inner nodes that have no other child; there is no other
//! balancing. So an update mostly writes one node, and the tree is at most as deep as it was when
//! it had the most nodes. Source: Johnson and Shasha, "B-trees with Inserts and Deletes: Why
//! Free-at-empty Is Better than Merge-at-half" (1993).

use super::TMap;
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
    keys: Slots<K, S, Link, WIDTH, 0>,
    values: [<S as Store<V>>::Var; WIDTH],
}

/// Children, in order; the word is their number.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Inner<K, S: Store<K>>(Slots<K, S, Link, WIDTH, WIDTH>);

/// The address of a node, or null.
///
/// A link that an attempt has read leads to a node of the tree in its snapshot, or to one that it
/// has allocated. Nodes do not move, and live as long as the map. An index would have to be
/// translated at each step of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link(*const ());

// SAFETY: it is an address; references are made from it where the map is shared.
unsafe impl Send for Link {}

/// The number of a link to no node.
pub(super) const NONE: Link = Link(std::ptr::null());

impl Link {
    fn to<N>(node: &N) -> Self {
        Self(std::ptr::from_ref(node).cast())
    }
}

/// The root, and how many inner nodes are between it and a leaf, itself included. In the address,
/// whose last bits would be 0. `NONE` in a map that never had an entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Root(Link);

/// A map without nodes.
pub(super) const EMPTY: Root = Root(NONE);

/// The bits of a root's address that are its height. A level more takes seven times as many
/// splits: a tree is far lower.
const HEIGHT: usize = 63;

impl Root {
    pub(super) fn new(Link(at): Link, height: usize) -> Self {
        assert!(height <= HEIGHT, "a tree of height {height}");
        debug_assert_eq!(at.addr() & HEIGHT, 0, "the alignment of a node");
        Self(Link(at.map_addr(|address| address | height)))
    }

    #[inline(always)]
    pub(super) fn parts(self) -> (Link, usize) {
        let Self(Link(at)) = self;
        (Link(at.map_addr(|address| address & !HEIGHT)), at.addr() & HEIGHT)
    }
}

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

    /// The order, and the rank of `key` if there is an entry.
    ///
    /// At a glance it compares all keys, which do not depend on each other, instead of halving.
    #[inline(always)]
    pub(super) fn find_present<'tx, Q: Ord + ?Sized>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: &Q,
    ) -> TxResult<(Order, Option<usize>)>
    where
        K: Borrow<Q>,
    {
        self.keys.examine(tx, |word, mut view| {
            let order = Order(word);
            let Some(mut equal) = view.all_where(|here| here.borrow() == key) else {
                let rank =
                    order.first_where(0, |slot| view.key(slot, |here| here.borrow() >= key))?;
                let is_present = rank < order.len()
                    && view.key(order.slot(rank), |here| here.borrow() == key)?;
                return Ok((order, is_present.then_some(rank)));
            };
            // A slot that is not used may have the same key.
            while equal != 0 {
                let rank = order.rank(equal.trailing_zeros() as usize);
                if rank.is_some() {
                    return Ok((order, rank));
                }
                equal &= equal - 1;
            }
            Ok((order, None))
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

    /// Removes the entry of a rank.
    pub(super) fn remove<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        order: Order,
        rank: usize,
    ) -> TxResult<()> {
        let slot = order.slot(rank);
        self.keys.set_word(tx, order.without(rank).0)?;
        self.keys.vacate_key(tx, slot)?;
        self.values[slot].vacate(tx)
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
    /// The number of children.
    pub(super) fn len<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<usize> {
        self.0.word(tx).map(|word| word as usize)
    }

    /// The child of a rank. The attempt has read the number of children.
    #[inline(always)]
    pub(super) fn child<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, rank: usize) -> TxResult<Link> {
        self.0.link(tx, rank)
    }

    /// The number of children, and the rank and the link of the child to which `key` belongs; of
    /// the first child without a key.
    #[inline(always)]
    pub(super) fn find<'tx, Q: Ord + ?Sized>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: Option<&Q>,
    ) -> TxResult<(usize, usize, Link)>
    where
        K: Borrow<Q>,
    {
        self.0.examine(tx, |word, mut view| {
            let len = word as usize;
            let rank = match key {
                Some(key) => view.first_where(len, |here| here.borrow() > key)? - 1,
                None => 0,
            };
            Ok((len, rank, view.link(rank)?))
        })
    }

    /// The keys that are read: of all children but the first.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn keys<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Vec<K>> {
        (1..self.len(tx)?).map(|rank| self.0.key(tx, rank)).collect()
    }

    /// The children from a rank on, with their keys.
    fn children<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        from: usize,
        len: usize,
    ) -> TxResult<Vec<(K, Link)>> {
        (from..len).map(|rank| Ok((self.0.key(tx, rank)?, self.0.link(tx, rank)?))).collect()
    }

    /// Sets the children from a rank on to these, and removes those after them, up to `len`.
    fn set_children<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        from: usize,
        children: impl IntoIterator<Item = (K, Link)>,
        len: usize,
    ) -> TxResult<()> {
        let mut end = from;
        for (key, child) in children {
            self.0.set_key(tx, end, key)?;
            self.0.set_link(tx, end, child)?;
            end += 1;
        }
        self.0.set_word(tx, end as u64)?;
        (end..len).try_for_each(|rank| self.0.vacate_key(tx, rank))
    }

    /// Adds a child at a rank that is not the first, to `len` others.
    fn add<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        len: usize,
        rank: usize,
        key: K,
        child: Link,
    ) -> TxResult<()> {
        let later = self.children(tx, rank, len)?;
        self.set_children(tx, rank, std::iter::once((key, child)).chain(later), len)
    }

    /// Removes the child of a rank, one of `len`.
    fn drop_child<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, len: usize, rank: usize) -> TxResult<()> {
        let later = self.children(tx, rank + 1, len)?;
        self.set_children(tx, rank, later, len)
    }

    /// As [`Leaf::split`].
    fn split<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        len: usize,
        from: usize,
        to: &'tx Self,
    ) -> TxResult<K> {
        let split = self.0.key(tx, from)?;
        let later = self.children(tx, from, len)?;
        to.set_children(tx, 0, later, 0)?;
        self.set_children(tx, from, [], len)?;
        Ok(split)
    }
}

impl<K: Ord, V, S: Store<K> + Store<V>> TMap<K, V, S> {
    /// The leaf of a link that an attempt has read at height 0.
    #[inline(always)]
    pub(super) fn leaf(&self, Link(at): Link) -> &Leaf<K, V, S> {
        // SAFETY: see `Link`; by the height, which the attempt has read with the root, it is a
        // leaf.
        unsafe { &*at.cast() }
    }

    /// The inner node of a link that an attempt has read above height 0.
    #[inline(always)]
    pub(super) fn inner(&self, Link(at): Link) -> &Inner<K, S> {
        // SAFETY: as in `leaf`.
        unsafe { &*at.cast() }
    }

    /// Makes room for `key` in its leaf, which is full or does not exist.
    pub(super) fn make_room<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: &K,
        value: &V,
    ) -> TxResult<()> {
        let (mut at, mut height) = self.root.get(tx)?.parts();
        if at == NONE {
            let leaf = self.new_leaf(tx, key, value)?;
            leaf.keys.set_word(tx, Order::first(0).0)?;
            return self.root.set(tx, Root::new(Link::to(leaf), 0));
        }
        if self.is_full(tx, at, height)? {
            let inner = self.new_inner(tx, key)?;
            inner.0.set_word(tx, 1)?;
            inner.0.set_link(tx, 0, at)?;
            (at, height) = (Link::to(inner), height + 1);
            self.root.set(tx, Root::new(at, height))?;
        }
        while height > 0 {
            let inner = self.inner(at);
            let (len, mut rank, child) = inner.find(tx, Some(key))?;
            height -= 1;
            if self.is_full(tx, child, height)? {
                let (split, new) = self.split(tx, child, height, key, value)?;
                let is_right = split <= *key;
                inner.add(tx, len, rank + 1, split, new)?;
                rank += usize::from(is_right);
            }
            at = inner.child(tx, rank)?;
        }
        Ok(())
    }

    fn is_full<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, at: Link, height: usize) -> TxResult<bool> {
        Ok(if height == 0 {
            self.leaf(at).order(tx)?.is_full()
        } else {
            self.inner(at).len(tx)? == WIDTH
        })
    }

    /// Moves half of a full node into a new one; returns the first key of that, and a link to it.
    fn split<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        at: Link,
        height: usize,
        key: &K,
        value: &V,
    ) -> TxResult<(K, Link)> {
        // The half to which the key belongs is not the larger one.
        let half = |rank: usize| WIDTH / 2 + usize::from(rank > WIDTH / 2);
        if height == 0 {
            let (leaf, new) = (self.leaf(at), self.new_leaf(tx, key, value)?);
            let (order, rank, _) = leaf.find(tx, key)?;
            Ok((leaf.split(tx, order, half(rank), new)?, Link::to(new)))
        } else {
            let (inner, new) = (self.inner(at), self.new_inner(tx, key)?);
            let (len, rank, _) = inner.find(tx, Some(key))?;
            Ok((inner.split(tx, len, half(rank), new)?, Link::to(new)))
        }
    }

    /// A leaf with any word; key and value are any.
    fn new_leaf<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: &K,
        value: &V,
    ) -> TxResult<&'tx Leaf<K, V, S>> {
        let make = || Leaf {
            keys: Slots::new(0, NONE, key),
            values: std::array::from_fn(|_| Variable::vacant(value)),
        };
        self.leaves.allocate(tx, make).map(|(_, leaf)| leaf)
    }

    /// An inner node with any word; the key is any.
    fn new_inner<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: &K) -> TxResult<&'tx Inner<K, S>> {
        let make = || Inner(Slots::new(0, NONE, key));
        self.inners.allocate(tx, make).map(|(_, inner)| inner)
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
        let (mut at, height) = self.root.get(tx)?.parts();
        // The lowest inner node that keeps a child, and the inner nodes below it.
        let (mut keeps, mut below) = (None, Vec::new());
        for _ in 0..height {
            let inner = self.inner(at);
            let (len, rank, child) = inner.find(tx, Some(key))?;
            if len > 1 {
                keeps = Some((inner, len, rank));
                below.clear();
            } else {
                below.push(inner);
            }
            at = child;
        }
        let (inner, len, rank) = keeps.expect("an inner node that is the root has two children");
        inner.drop_child(tx, len, rank)?;
        self.leaves.release(tx, self.leaves.index_of(self.leaf(at)));
        for inner in below {
            self.free_inner(tx, inner)?;
        }
        self.lower(tx)
    }

    /// Removes inner nodes with one child from the top.
    fn lower<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<()> {
        let (mut at, mut height) = self.root.get(tx)?.parts();
        while height > 0 {
            let inner = self.inner(at);
            if inner.len(tx)? > 1 {
                break;
            }
            let child = inner.child(tx, 0)?;
            self.free_inner(tx, inner)?;
            (at, height) = (child, height - 1);
            self.root.set(tx, Root::new(at, height))?;
        }
        Ok(())
    }

    /// Returns an inner node with one child, to which the caller has removed the link.
    fn free_inner<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, inner: &'tx Inner<K, S>) -> TxResult<()> {
        inner.0.vacate_key(tx, 0)?;
        self.inners.release(tx, self.inners.index_of(inner));
        Ok(())
    }
}
