//! [`TMap`]: an ordered map.
//!
//! A tree of wide nodes. Each has a word with the order or the number of its keys, and one record
//! for both, so a search enters one record for each node, and one for the value. An update that
//! needs no other node writes the word of a leaf, a key and a value.

mod tree;

use super::arena::Arena;
use super::entry::{Entry, Table};
use super::lines::ask_for;
use super::order::Order;
use super::store::{Boxed, Inline, Store, Variable};
use crate::tx::Tx;
use crate::tx_error::TxResult;
use crate::var::TVar;
use std::borrow::Borrow;
use std::ops::{Bound, ControlFlow, RangeBounds};
use tree::{EMPTY, Inner, Leaf, Link, NONE, Root};

/// An ordered map of transactional values.
///
/// Two transactions conflict if one changes a value that the other has read, or adds or removes an
/// entry near one. The map keeps no count, because every update would write it.
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
    root: TVar<Root>,
    leaves: Arena<Leaf<K, V, S>>,
    inners: Arena<Inner<K, S>>,
}

/// A position in a leaf.
#[derive(Debug)]
struct At<'tx, K, V, S: Store<K> + Store<V>> {
    leaf: &'tx Leaf<K, V, S>,
    order: Order,
    rank: usize,
}

impl<'tx, K: Ord, V, S: Store<K> + Store<V>> At<'tx, K, V, S> {
    /// The value, of a position with an entry.
    #[inline(always)]
    fn value(&self) -> &'tx <S as Store<V>>::Var {
        self.leaf.value(self.order.slot(self.rank))
    }

    /// The key and the value.
    fn entry(&self, tx: &mut Tx<'tx, '_>) -> TxResult<(K, V)> {
        self.leaf.entry(tx, self.order.slot(self.rank))
    }
}

/// The position of a key.
#[derive(Debug)]
pub struct Found<'tx, K, V, S: Store<K> + Store<V>> {
    /// The first one whose key is not less.
    at: At<'tx, K, V, S>,
    /// Whether its key is equal.
    is_present: bool,
    /// Whether the leaf is the root.
    is_root: bool,
}

/// A leaf, and whether it is the root.
type InLeaf<'tx, K, V, S> = (&'tx Leaf<K, V, S>, bool);

impl<K: Ord, V, S: Store<K> + Store<V>> Default for TMap<K, V, S> {
    fn default() -> Self {
        Self { root: TVar::new(EMPTY), leaves: Arena::new(), inners: Arena::new() }
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
    /// The leaf in which `key` belongs; `None` in a map without a leaf.
    #[inline(always)]
    fn leaf_of<'tx, Q: Ord + ?Sized>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: &Q,
    ) -> TxResult<Option<InLeaf<'tx, K, V, S>>>
    where
        K: Borrow<Q>,
    {
        let (mut at, height) = self.root.get(tx)?.parts();
        if at == NONE {
            return Ok(None);
        }
        for _ in 0..height {
            (_, _, at) = self.inner(at).find(tx, Some(key))?;
        }
        let leaf = self.leaf(at);
        // The lines of its keys.
        ask_for(leaf, 0..3);
        Ok(Some((leaf, height == 0)))
    }

    /// The position of `key`, in a map that has a leaf.
    #[inline(always)]
    fn find<'tx, Q: Ord + ?Sized>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: &Q,
    ) -> TxResult<Option<Found<'tx, K, V, S>>>
    where
        K: Borrow<Q>,
    {
        let Some((leaf, is_root)) = self.leaf_of(tx, key)? else { return Ok(None) };
        let (order, rank, is_present) = leaf.find(tx, key)?;
        Ok(Some(Found { at: At { leaf, order, rank }, is_present, is_root }))
    }

    /// The position of `key`, if there is an entry.
    #[inline(always)]
    fn find_present<'tx, Q: Ord + ?Sized>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: &Q,
    ) -> TxResult<Option<Found<'tx, K, V, S>>>
    where
        K: Borrow<Q>,
    {
        let Some((leaf, is_root)) = self.leaf_of(tx, key)? else { return Ok(None) };
        let (order, rank) = leaf.find_present(tx, key)?;
        Ok(rank.map(|rank| Found { at: At { leaf, order, rank }, is_present: true, is_root }))
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
        let found = self.find_present(tx, key)?;
        found.map(|found| found.at.value().get(tx)).transpose()
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
        Ok(self.find_present(tx, key)?.is_some())
    }

    /// Sets the value of `key`; returns the old one.
    pub fn insert<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: K, value: V) -> TxResult<Option<V>> {
        loop {
            match self.find(tx, &key)? {
                Some(Found { at, is_present: true, .. }) => {
                    return at.value().replace(tx, value).map(Some);
                }
                Some(Found { at: At { leaf, order, rank }, .. }) if !order.is_full() => {
                    leaf.add(tx, order, rank, key, value)?;
                    return Ok(None);
                }
                // A nested part, because it compares keys after its first write: a panic of the
                // comparison undoes it.
                _ => tx.atomically(|tx| self.make_room(tx, &key, &value))?,
            }
        }
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
        let Some(found) = self.find_present(tx, key)? else { return Ok(None) };
        let value = found.at.value().get(tx)?;
        self.remove_at(tx, &found, key)?;
        Ok(Some(value))
    }

    /// Removes the entry of `key`, which is present at this position.
    #[inline]
    fn remove_at<'tx, Q: Ord + ?Sized>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        found: &Found<'tx, K, V, S>,
        key: &Q,
    ) -> TxResult<()>
    where
        K: Borrow<Q>,
    {
        let At { leaf, order, rank } = found.at;
        if found.is_root || order.len() > 1 {
            return leaf.remove(tx, order, rank);
        }
        // A nested part, as in `insert`.
        tx.atomically(|tx| {
            leaf.remove(tx, order, rank)?;
            self.remove_leaf(tx, key)
        })
    }

    /// The first entry whose key is at least `key`.
    #[expect(clippy::needless_pass_by_value, reason = "most keys are `Copy`")]
    pub fn at_least<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: K) -> TxResult<Option<(K, V)>> {
        self.first_from(tx, Some(&key))
    }

    /// The first entry.
    pub fn first<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<Option<(K, V)>> {
        self.first_from(tx, None)
    }

    /// The first entry that is not below `start`.
    fn first_from<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        start: Option<&K>,
    ) -> TxResult<Option<(K, V)>> {
        let (mut at, mut height) = self.root.get(tx)?.parts();
        if at == NONE {
            return Ok(None);
        }
        // The subtree that follows, and its height.
        let mut later = None;
        while height > 0 {
            let inner = self.inner(at);
            let (len, rank, child) = inner.find(tx, start)?;
            (at, height) = (child, height - 1);
            if rank + 1 < len {
                later = Some((inner.child(tx, rank + 1)?, height));
            }
        }
        let first = self.first_in(tx, at, start)?;
        let Some((mut at, height)) = later.filter(|_| first.is_none()) else { return Ok(first) };
        for _ in 0..height {
            (_, _, at) = self.inner(at).find::<K>(tx, None)?;
        }
        self.first_in(tx, at, None)
    }

    /// The first entry of a leaf that is not below `start`.
    fn first_in<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        leaf: Link,
        start: Option<&K>,
    ) -> TxResult<Option<(K, V)>> {
        let leaf = self.leaf(leaf);
        let (order, rank) = leaf.start(tx, start)?;
        if rank < order.len() { leaf.entry(tx, order.slot(rank)).map(Some) } else { Ok(None) }
    }

    /// Calls `f` with the entries from the first one that is not below `start`, in order, until it
    /// breaks.
    fn walk_from<'tx, 'env>(
        &'tx self,
        tx: &mut Tx<'tx, 'env>,
        start: Bound<&K>,
        mut f: impl FnMut(&mut Tx<'tx, 'env>, At<'tx, K, V, S>) -> TxResult<ControlFlow<()>>,
    ) -> TxResult<ControlFlow<()>> {
        let mut start = match start {
            Bound::Included(start) | Bound::Excluded(start) => Some(start),
            Bound::Unbounded => None,
        };
        let (mut at, height) = self.root.get(tx)?.parts();
        // The inner nodes above the next leaf, with their lengths and the rank of its subtree.
        let mut path = Vec::new();
        while at != NONE {
            for _ in path.len()..height {
                let inner = self.inner(at);
                let (len, rank, child) = inner.find(tx, start)?;
                path.push((inner, len, rank));
                at = child;
            }
            let leaf = self.leaf(at);
            let (order, from) = leaf.start(tx, start.take())?;
            for rank in from..order.len() {
                if f(tx, At { leaf, order, rank })?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            at = self.next(tx, &mut path)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The next subtree in order, and the path to it; `NONE` after the last one.
    fn next<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        path: &mut Vec<(&'tx Inner<K, S>, usize, usize)>,
    ) -> TxResult<Link> {
        while let Some((inner, len, rank)) = path.pop() {
            if rank + 1 < len {
                path.push((inner, len, rank + 1));
                return inner.child(tx, rank + 1);
            }
        }
        Ok(NONE)
    }

    /// Whether the map has no entry.
    pub fn is_empty<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<bool> {
        // No leaf but the root is empty.
        match self.root.get(tx)?.parts() {
            (NONE, _) => Ok(true),
            (at, 0) => Ok(self.leaf(at).order(tx)?.len() == 0),
            _ => Ok(false),
        }
    }
}

ordered_map_methods! {
    [K: Ord, V, S: Store<K> + Store<V>] TMap<K, V, S>, At<'tx, K, V, S>
}

impl<'tx, K, V, S> Table<'tx, K, V> for TMap<K, V, S>
where
    K: Ord + 'tx,
    V: 'tx,
    S: Store<K> + Store<V> + 'tx,
{
    /// `None` in a map without a leaf.
    type Position = Option<Found<'tx, K, V, S>>;

    #[inline(always)]
    fn find(&'tx self, tx: &mut Tx<'tx, '_>, key: &K) -> TxResult<(Self::Position, Option<V>)> {
        let found = self.find(tx, key)?;
        let value = match &found {
            Some(found) if found.is_present => Some(found.at.value().get(tx)?),
            _ => None,
        };
        Ok((found, value))
    }

    #[inline(always)]
    fn put(&'tx self, tx: &mut Tx<'tx, '_>, at: Self::Position, key: K, value: V) -> TxResult<()> {
        match at {
            Some(Found { at, is_present: true, .. }) => at.value().set(tx, value),
            Some(Found { at: At { leaf, order, rank }, .. }) if !order.is_full() => {
                leaf.add(tx, order, rank, key, value)
            }
            _ => self.insert(tx, key, value).map(drop),
        }
    }

    #[inline(always)]
    fn take(&'tx self, tx: &mut Tx<'tx, '_>, at: Self::Position, key: &K) -> TxResult<()> {
        at.map_or(Ok(()), |found| self.remove_at(tx, &found, key))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::TMap;
    use super::tree::{Link, NONE};
    use crate::{Tx, TxResult, atomically};
    use std::time::Instant;

    impl TMap<u32, u32> {
        /// Checks the subtree at `at`: its keys lie within bounds, and no node is empty. Returns
        /// the number of entries.
        fn check<'tx>(
            &'tx self,
            tx: &mut Tx<'tx, '_>,
            (at, height): (Link, usize),
            keys: [u32; 2],
        ) -> TxResult<usize> {
            if height == 0 {
                return self.check_leaf(tx, at, keys);
            }
            let inner = self.inner(at);
            let len = inner.len(tx)?;
            assert!(len > 0, "an inner node without children");
            let mut entries = 0;
            let bounds = inner.keys(tx)?;
            assert!(bounds.is_sorted(), "{bounds:?} are not in order");
            for rank in 0..len {
                let from = if rank == 0 { keys[0] } else { bounds[rank - 1] };
                let to = bounds.get(rank).copied().unwrap_or(keys[1]);
                let child = inner.child(tx, rank)?;
                entries += self.check(tx, (child, height - 1), [from, to])?;
            }
            Ok(entries)
        }

        fn check_leaf<'tx>(
            &'tx self,
            tx: &mut Tx<'tx, '_>,
            at: Link,
            keys: [u32; 2],
        ) -> TxResult<usize> {
            let leaf = self.leaf(at);
            let order = leaf.order(tx)?;
            let mut last = None;
            for rank in 0..order.len() {
                let (key, value) = leaf.entry(tx, order.slot(rank))?;
                assert!((keys[0]..keys[1]).contains(&key), "{key} lies outside of {keys:?}");
                assert!(last < Some(key), "{key} comes after {last:?}");
                assert_eq!(value, !key, "a value of another key");
                last = Some(key);
            }
            Ok(order.len())
        }

        /// Checks the whole tree. Returns its height.
        fn check_all<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<usize> {
            let (at, height) = self.root.get(tx)?.parts();
            if at == NONE {
                return Ok(0);
            }
            let entries = self.check(tx, (at, height), [0, u32::MAX])?;
            assert_eq!(self.to_vec(tx)?.len(), entries);
            assert!(height == 0 || entries > 1, "{entries} entries at height {height}");
            Ok(height)
        }
    }

    /// Catches: a node that is lost or stays when a tree grows and shrinks in any order, and a root
    /// with one child.
    #[test]
    fn a_tree_grows_and_shrinks_to_a_leaf() {
        const KEYS: u32 = 300;
        for step in [1, 299, 7, 101] {
            let map: TMap<u32, u32> = TMap::new();
            let key = |n: u32| n * step % KEYS;
            let mut highest = 0;
            for n in 0..KEYS {
                atomically(|tx| map.insert(tx, key(n), !key(n)));
                highest = highest.max(atomically(|tx| map.check_all(tx)));
            }
            assert!(highest > 3, "{KEYS} entries at height {highest}");
            for n in 0..KEYS {
                let key = key(key(n));
                assert_eq!(atomically(|tx| map.remove(tx, &key)), Some(!key));
                atomically(|tx| map.check_all(tx));
            }
            assert_eq!(atomically(|tx| map.root.get(tx)).parts().1, 0);
            assert!(atomically(|tx| map.is_empty(tx)));
        }
    }

    /// Catches: a tree that only contention breaks: its order, empty nodes, nodes with two links or
    /// none.
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
                            atomically(|tx| map.check_all(tx).map(drop));
                        }
                    }
                });
            }
        });
    }
}
