//! [`TList`]: a sorted, singly linked list; also the chains of [`THashMap`](super::THashMap).

use super::arena::{Arena, NONE};
use super::entry::{Entry, Table};
use super::store::{Boxed, Inline, Store, Variable};
use crate::tx::Tx;
use crate::tx_error::TxResult;
use crate::var::TVar;
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow, RangeBounds};

/// A node usually fills a cache line, and shares it with no other node.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Node<K, V, S: Store<K> + Store<V>> {
    key: <S as Store<K>>::Var,
    value: <S as Store<V>>::Var,
    next: TVar<u32>,
}

/// The position of a key in a chain, present or not.
#[derive(Debug)]
pub struct Found<'tx, K, V, S: Store<K> + Store<V>> {
    /// The first link whose node does not precede the key.
    link: &'tx TVar<u32>,
    /// The index in that link.
    at: u32,
    /// The node, if it has the key.
    node: Option<&'tx Node<K, V, S>>,
}

/// Nodes of chains that are sorted by key.
#[derive(Debug)]
pub(super) struct Chains<K, V, S: Store<K> + Store<V>>(Arena<Node<K, V, S>>);

impl<K: Ord, V, S: Store<K> + Store<V>> Chains<K, V, S> {
    pub(super) fn new() -> Self {
        Self(Arena::new())
    }

    fn find<'tx, Q: Ord + ?Sized>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        mut link: &'tx TVar<u32>,
        key: &Q,
    ) -> TxResult<Found<'tx, K, V, S>>
    where
        K: Borrow<Q>,
    {
        loop {
            let at = link.get(tx)?;
            if at == NONE {
                return Ok(Found { link, at, node: None });
            }
            let node = self.0.node(at);
            let order = node.key.with(tx, |here| here.borrow().cmp(key))?;
            if order != Ordering::Less {
                return Ok(Found { link, at, node: order.is_eq().then_some(node) });
            }
            link = &node.next;
        }
    }

    pub(super) fn get<'tx, Q: Ord + ?Sized>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        head: &'tx TVar<u32>,
        key: &Q,
    ) -> TxResult<Option<V>>
    where
        K: Borrow<Q>,
    {
        let found = self.find(tx, head, key)?;
        found.node.map(|node| node.value.get(tx)).transpose()
    }

    pub(super) fn contains<'tx, Q: Ord + ?Sized>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        head: &'tx TVar<u32>,
        key: &Q,
    ) -> TxResult<bool>
    where
        K: Borrow<Q>,
    {
        Ok(self.find(tx, head, key)?.node.is_some())
    }

    pub(super) fn insert<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        head: &'tx TVar<u32>,
        key: K,
        value: V,
    ) -> TxResult<Option<V>> {
        let found = self.find(tx, head, &key)?;
        if let Some(node) = found.node {
            return node.value.replace(tx, value).map(Some);
        }
        self.put(tx, found, key, value)?;
        Ok(None)
    }

    /// Sets the value of the key with this position.
    fn put<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        Found { link, at: after, node }: Found<'tx, K, V, S>,
        key: K,
        value: V,
    ) -> TxResult<()> {
        if let Some(node) = node {
            return node.value.set(tx, value);
        }
        let make = || Node {
            key: Variable::vacant(&key),
            value: Variable::vacant(&value),
            next: TVar::new(NONE),
        };
        let (index, node) = self.0.allocate(tx, make)?;
        node.key.set(tx, key)?;
        node.value.set(tx, value)?;
        node.next.set(tx, after)?;
        link.set(tx, index)
    }

    pub(super) fn remove<'tx, Q: Ord + ?Sized>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        head: &'tx TVar<u32>,
        key: &Q,
    ) -> TxResult<Option<V>>
    where
        K: Borrow<Q>,
    {
        let found = self.find(tx, head, key)?;
        let Some(node) = found.node else { return Ok(None) };
        let value = node.value.get(tx)?;
        self.take(tx, found)?;
        Ok(Some(value))
    }

    /// Removes the node of a position, if there is one.
    fn take<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        Found { link, at, node }: Found<'tx, K, V, S>,
    ) -> TxResult<()> {
        let Some(node) = node else { return Ok(()) };
        let next = node.next.get(tx)?;
        link.set(tx, next)?;
        self.0.release(tx, at);
        node.key.vacate(tx)?;
        node.value.vacate(tx)
    }

    /// Calls `f` with the nodes from `link` on, until it breaks.
    pub(super) fn walk<'tx, 'env>(
        &'tx self,
        tx: &mut Tx<'tx, 'env>,
        mut link: &'tx TVar<u32>,
        f: &mut impl FnMut(&mut Tx<'tx, 'env>, &'tx Node<K, V, S>) -> TxResult<ControlFlow<()>>,
    ) -> TxResult<ControlFlow<()>> {
        loop {
            let at = link.get(tx)?;
            if at == NONE {
                return Ok(ControlFlow::Continue(()));
            }
            let node = self.0.node(at);
            if f(tx, node)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            link = &node.next;
        }
    }
}

impl<K, V, S: Store<K> + Store<V>> Node<K, V, S> {
    /// The key and the value.
    pub(super) fn entry<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<(K, V)> {
        Ok((self.key.get(tx)?, self.value.get(tx)?))
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
pub struct TList<K: Ord, V, S: Store<K> + Store<V> = Inline> {
    head: TVar<u32>,
    chains: Chains<K, V, S>,
}

impl<K: Ord, V, S: Store<K> + Store<V>> Default for TList<K, V, S> {
    fn default() -> Self {
        Self { head: TVar::new(NONE), chains: Chains::new() }
    }
}

impl<K: Copy + Ord, V: Copy> TList<K, V> {
    /// An empty list of values that are `Copy`.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<K: Clone + Ord, V: Clone> TList<K, V, Boxed> {
    /// An empty list of values that are `Clone`.
    pub fn boxed() -> Self {
        Self::default()
    }
}

impl<K: Ord, V, S: Store<K> + Store<V>> TList<K, V, S> {
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
        self.chains.get(tx, &self.head, key)
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
        self.chains.contains(tx, &self.head, key)
    }

    /// Sets the value of `key`; returns the old one.
    pub fn insert<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: K, value: V) -> TxResult<Option<V>> {
        self.chains.insert(tx, &self.head, key, value)
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
        self.chains.remove(tx, &self.head, key)
    }

    /// Calls `f` with the nodes from the first one that is not below `start`, in order, until it
    /// breaks.
    fn walk_from<'tx, 'env>(
        &'tx self,
        tx: &mut Tx<'tx, 'env>,
        start: Bound<&K>,
        mut f: impl FnMut(&mut Tx<'tx, 'env>, &'tx Node<K, V, S>) -> TxResult<ControlFlow<()>>,
    ) -> TxResult<ControlFlow<()>> {
        let first = match start {
            Bound::Included(key) | Bound::Excluded(key) => {
                self.chains.find(tx, &self.head, key)?.link
            }
            Bound::Unbounded => &self.head,
        };
        self.chains.walk(tx, first, &mut f)
    }

    /// Whether the list has no entry.
    pub fn is_empty<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<bool> {
        Ok(self.head.get(tx)? == NONE)
    }
}

ordered_map_methods! {
    [K: Ord, V, S: Store<K> + Store<V>] TList<K, V, S>, &'tx Node<K, V, S>
}

impl<'tx, K, V, S> Table<'tx, K, V> for TList<K, V, S>
where
    K: Ord + 'tx,
    V: 'tx,
    S: Store<K> + Store<V> + 'tx,
{
    type Position = Found<'tx, K, V, S>;

    fn find(&'tx self, tx: &mut Tx<'tx, '_>, key: &K) -> TxResult<(Self::Position, Option<V>)> {
        let found = self.chains.find(tx, &self.head, key)?;
        let value = found.node.map(|node| node.value.get(tx)).transpose()?;
        Ok((found, value))
    }

    fn put(&'tx self, tx: &mut Tx<'tx, '_>, at: Self::Position, key: K, value: V) -> TxResult<()> {
        self.chains.put(tx, at, key, value)
    }

    fn take(&'tx self, tx: &mut Tx<'tx, '_>, at: Self::Position, _: &K) -> TxResult<()> {
        self.chains.take(tx, at)
    }
}
