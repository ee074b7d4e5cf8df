//! An AVL tree.
//!
//! Source: Adelson-Velsky and Landis, "An algorithm for the organization of information" (1962), in
//! the form of Knuth, *The Art of Computer Programming*, volume 3, section 6.2.3. A node has the
//! difference of its subtrees' heights, so an update reads no node but those on its way, and those
//! that it rotates.
//!
//! A key has the same node each time, given by the order in which keys are first entered, as an
//! allocator would place them. So nothing is allocated or freed in a transaction, and a node never
//! serves another key.
//!
//! # Invariants
//!
//! They hold in every snapshot of a transaction between two calls:
//!
//! - A1: a node's key is greater than all keys of its left subtree, and less than those of its
//!   right one.
//! - A2: the heights of a node's subtrees differ by at most one, and `balance` is the right height
//!   minus the left one.
//! - A3: each node that can be reached from the root is reached once, and has its own key.
//!
//! # In transactions
//!
//! Links, balance and key of a node are one variable, its value is another one. So a search and a
//! change of a value conflict only if the value is read, and a search conflicts with updates that
//! change a node on its way.

use std::cmp::Ordering::{Equal, Greater, Less};

use super::cells::{Access, Memory, Plain, Shared};

/// The number of a node.
type Link = u32;

/// No node.
const NONE: Link = u32::MAX;

/// The part of a node that a search reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Inner {
    key: u32,
    left: Link,
    right: Link,
    /// The height of the right subtree minus that of the left one.
    balance: i8,
}

impl Inner {
    fn leaf(key: u32) -> Self {
        Self { key, left: NONE, right: NONE, balance: 0 }
    }

    /// The child on a side.
    fn child(&self, side: Side) -> Link {
        match side {
            Side::Left => self.left,
            Side::Right => self.right,
        }
    }

    fn with_child(self, side: Side, child: Link) -> Self {
        match side {
            Side::Left => Self { left: child, ..self },
            Side::Right => Self { right: child, ..self },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }

    /// The balance of a node that is one higher on this side.
    fn weight(self) -> i8 {
        match self {
            Self::Left => -1,
            Self::Right => 1,
        }
    }
}

/// A subtree after an update: its root, and whether its height has changed.
#[derive(Debug, Clone, Copy)]
struct Changed {
    root: Link,
    height: bool,
}

struct Node<M: Memory, V: Copy + Send + 'static> {
    inner: M::Cell<Inner>,
    value: M::Cell<V>,
}

/// A map from known keys to values, in order.
pub(crate) struct Tree<M: Memory, V: Copy + Send + 'static> {
    root: M::Cell<Link>,
    nodes: Box<[Node<M, V>]>,
    /// By key, the number of its node.
    places: Box<[Link]>,
}

impl<M: Memory, V: Copy + Send + 'static> std::fmt::Debug for Tree<M, V> {
    /// Without the entries, which need an access.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tree").field("nodes", &self.nodes.len()).finish_non_exhaustive()
    }
}

impl<V: Copy + Send + 'static> Tree<Plain, V> {
    /// The same tree, for transactions.
    pub(crate) fn shared(self) -> Tree<Shared, V> {
        let node = |node: Node<Plain, V>| Node {
            inner: Shared::cell(node.inner.get()),
            value: Shared::cell(node.value.get()),
        };
        Tree {
            root: Shared::cell(self.root.get()),
            nodes: self.nodes.into_iter().map(node).collect(),
            places: self.places,
        }
    }
}

impl<M: Memory, V: Copy + Send + 'static> Tree<M, V> {
    /// An empty tree for these keys, in the order in which they are first entered. `like` is any
    /// value.
    pub(crate) fn new(keys: &[u32], like: V) -> Self {
        let end = keys.iter().max().map_or(0, |&key| key as usize + 1);
        let mut places = vec![NONE; end].into_boxed_slice();
        for (place, &key) in (0..).zip(keys) {
            places[key as usize] = place;
        }
        let node = |&key| Node { inner: M::cell(Inner::leaf(key)), value: M::cell(like) };
        Self { root: M::cell(NONE), nodes: keys.iter().map(node).collect(), places }
    }

    fn node(&self, at: Link) -> &Node<M, V> {
        &self.nodes[at as usize]
    }

    fn inner<'c, A: Access<'c, M>>(&'c self, a: &mut A, at: Link) -> Result<Inner, A::Lost> {
        a.get(&self.node(at).inner)
    }

    fn set_inner<'c, A: Access<'c, M>>(
        &'c self,
        a: &mut A,
        at: Link,
        inner: Inner,
    ) -> Result<(), A::Lost> {
        a.set(&self.node(at).inner, inner)
    }

    /// The place of the value of `key`, if there is an entry.
    #[inline]
    pub(crate) fn find<'c, A: Access<'c, M>>(
        &'c self,
        a: &mut A,
        key: u32,
    ) -> Result<Option<&'c M::Cell<V>>, A::Lost> {
        let mut at = a.get(&self.root)?;
        while at != NONE {
            let inner = self.inner(a, at)?;
            at = match key.cmp(&inner.key) {
                Equal => return Ok(Some(&self.node(at).value)),
                Less => inner.left,
                Greater => inner.right,
            };
        }
        Ok(None)
    }

    /// The value of `key`.
    #[inline]
    pub(crate) fn get<'c, A: Access<'c, M>>(
        &'c self,
        a: &mut A,
        key: u32,
    ) -> Result<Option<V>, A::Lost> {
        self.find(a, key)?.map(|value| a.get(value)).transpose()
    }

    /// Sets the value of `key`, which is one of the tree's keys.
    pub(crate) fn insert<'c, A: Access<'c, M>>(
        &'c self,
        a: &mut A,
        key: u32,
        value: V,
    ) -> Result<(), A::Lost> {
        if let Some(present) = self.find(a, key)? {
            return a.set(present, value);
        }
        self.insert_new(a, key, value)
    }

    /// Enters `key`, which has no entry and is one of the tree's keys.
    pub(crate) fn insert_new<'c, A: Access<'c, M>>(
        &'c self,
        a: &mut A,
        key: u32,
        value: V,
    ) -> Result<(), A::Lost> {
        let new = self.places[key as usize];
        self.set_inner(a, new, Inner::leaf(key))?;
        a.set(&self.node(new).value, value)?;
        let root = a.get(&self.root)?;
        let changed = self.hang(a, root, key, new)?;
        self.replace_root(a, root, changed)
    }

    fn replace_root<'c, A: Access<'c, M>>(
        &'c self,
        a: &mut A,
        before: Link,
        changed: Changed,
    ) -> Result<(), A::Lost> {
        if changed.root == before { Ok(()) } else { a.set(&self.root, changed.root) }
    }

    /// Hangs the node `new`, a leaf with a new key, into the subtree at `at`.
    fn hang<'c, A: Access<'c, M>>(
        &'c self,
        a: &mut A,
        at: Link,
        key: u32,
        new: Link,
    ) -> Result<Changed, A::Lost> {
        if at == NONE {
            return Ok(Changed { root: new, height: true });
        }
        let inner = self.inner(a, at)?;
        let side = if key < inner.key { Side::Left } else { Side::Right };
        let child = inner.child(side);
        let changed = self.hang(a, child, key, new)?;
        if !changed.height {
            return self.relink(a, at, inner, side, changed);
        }
        self.grow(a, at, inner.with_child(side, changed.root), side)
    }

    /// The subtree at `at` with a changed child of the same height.
    fn relink<'c, A: Access<'c, M>>(
        &'c self,
        a: &mut A,
        at: Link,
        inner: Inner,
        side: Side,
        changed: Changed,
    ) -> Result<Changed, A::Lost> {
        if inner.child(side) != changed.root {
            self.set_inner(a, at, inner.with_child(side, changed.root))?;
        }
        Ok(Changed { root: at, height: false })
    }

    /// The subtree at `at`, whose child on this side has grown by one. `inner` is not written yet.
    fn grow<'c, A: Access<'c, M>>(
        &'c self,
        a: &mut A,
        at: Link,
        inner: Inner,
        side: Side,
    ) -> Result<Changed, A::Lost> {
        if inner.balance == side.weight() {
            return self
                .rotate(a, at, inner, side)
                .map(|(root, _)| Changed { root, height: false });
        }
        let balance = inner.balance + side.weight();
        self.set_inner(a, at, Inner { balance, ..inner })?;
        Ok(Changed { root: at, height: balance != 0 })
    }

    /// The subtree at `at`, whose child on this side has shrunk by one. `inner` is not written yet.
    fn shrink<'c, A: Access<'c, M>>(
        &'c self,
        a: &mut A,
        at: Link,
        inner: Inner,
        side: Side,
    ) -> Result<Changed, A::Lost> {
        let heavy = side.other();
        if inner.balance == heavy.weight() {
            return self
                .rotate(a, at, inner, heavy)
                .map(|(root, is_lower)| Changed { root, height: is_lower });
        }
        let balance = inner.balance + heavy.weight();
        self.set_inner(a, at, Inner { balance, ..inner })?;
        Ok(Changed { root: at, height: balance == 0 })
    }

    /// Rotates the subtree at `at`, which is two higher on this side. Returns its new root, and
    /// whether it is one lower than that.
    fn rotate<'c, A: Access<'c, M>>(
        &'c self,
        a: &mut A,
        at: Link,
        inner: Inner,
        heavy: Side,
    ) -> Result<(Link, bool), A::Lost> {
        let (light, weight) = (heavy.other(), heavy.weight());
        let child_at = inner.child(heavy);
        let child = self.inner(a, child_at)?;
        if child.balance == -weight {
            return self.rotate_twice(a, at, inner, child, heavy).map(|root| (root, true));
        }
        // After a removal the child may be even; then the height stays.
        let left_over = if child.balance == 0 { weight } else { 0 };
        let lowered = Inner { balance: left_over, ..inner.with_child(heavy, child.child(light)) };
        self.set_inner(a, at, lowered)?;
        let raised = Inner { balance: -left_over, ..child.with_child(light, at) };
        self.set_inner(a, child_at, raised)?;
        Ok((child_at, left_over == 0))
    }

    /// [`rotate`](Self::rotate) if the child is higher on the other side: its child there becomes
    /// the root.
    fn rotate_twice<'c, A: Access<'c, M>>(
        &'c self,
        a: &mut A,
        at: Link,
        inner: Inner,
        child: Inner,
        heavy: Side,
    ) -> Result<Link, A::Lost> {
        let (light, weight) = (heavy.other(), heavy.weight());
        let (child_at, middle_at) = (inner.child(heavy), child.child(light));
        let middle = self.inner(a, middle_at)?;
        let of_top = if middle.balance == weight { -weight } else { 0 };
        let of_child = if middle.balance == -weight { weight } else { 0 };
        let top = Inner { balance: of_top, ..inner.with_child(heavy, middle.child(light)) };
        let child = Inner { balance: of_child, ..child.with_child(light, middle.child(heavy)) };
        let middle =
            Inner { balance: 0, ..middle }.with_child(light, at).with_child(heavy, child_at);
        self.set_inner(a, at, top)?;
        self.set_inner(a, child_at, child)?;
        self.set_inner(a, middle_at, middle)?;
        Ok(middle_at)
    }

    /// Removes the entry of `key`, if there is one. Returns its value.
    pub(crate) fn remove<'c, A: Access<'c, M>>(
        &'c self,
        a: &mut A,
        key: u32,
    ) -> Result<Option<V>, A::Lost> {
        let Some(present) = self.find(a, key)? else { return Ok(None) };
        let value = a.get(present)?;
        let root = a.get(&self.root)?;
        let changed = self.unhang(a, root, key)?;
        self.replace_root(a, root, changed)?;
        Ok(Some(value))
    }

    /// Takes the node of `key` out of the subtree at `at`, in which it is.
    fn unhang<'c, A: Access<'c, M>>(
        &'c self,
        a: &mut A,
        at: Link,
        key: u32,
    ) -> Result<Changed, A::Lost> {
        let inner = self.inner(a, at)?;
        let side = match key.cmp(&inner.key) {
            Equal => return self.unhang_root(a, inner),
            Less => Side::Left,
            Greater => Side::Right,
        };
        let changed = self.unhang(a, inner.child(side), key)?;
        self.after_removal(a, at, inner, side, changed)
    }

    /// The subtree of a node, without the node.
    fn unhang_root<'c, A: Access<'c, M>>(
        &'c self,
        a: &mut A,
        inner: Inner,
    ) -> Result<Changed, A::Lost> {
        match (inner.left, inner.right) {
            (only, NONE) | (NONE, only) => Ok(Changed { root: only, height: true }),
            (_, right) => {
                let (first, changed) = self.unhang_first(a, right)?;
                // The next node in order takes the place. All of it changes, so it is written even
                // if its subtrees are as before.
                let key = self.inner(a, first)?.key;
                let inner = Inner { key, ..inner }.with_child(Side::Right, changed.root);
                if changed.height {
                    return self.shrink(a, first, inner, Side::Right);
                }
                self.set_inner(a, first, inner)?;
                Ok(Changed { root: first, height: false })
            }
        }
    }

    /// Takes the first node out of the subtree at `at`. Returns it.
    fn unhang_first<'c, A: Access<'c, M>>(
        &'c self,
        a: &mut A,
        at: Link,
    ) -> Result<(Link, Changed), A::Lost> {
        let inner = self.inner(a, at)?;
        if inner.left == NONE {
            return Ok((at, Changed { root: inner.right, height: true }));
        }
        let (first, changed) = self.unhang_first(a, inner.left)?;
        Ok((first, self.after_removal(a, at, inner, Side::Left, changed)?))
    }

    /// The subtree at `at` after a removal below its child on this side.
    fn after_removal<'c, A: Access<'c, M>>(
        &'c self,
        a: &mut A,
        at: Link,
        inner: Inner,
        side: Side,
        changed: Changed,
    ) -> Result<Changed, A::Lost> {
        if !changed.height {
            return self.relink(a, at, inner, side, changed);
        }
        self.shrink(a, at, inner.with_child(side, changed.root), side)
    }

    /// All entries, in order.
    pub(crate) fn entries<'c, A: Access<'c, M>>(
        &'c self,
        a: &mut A,
    ) -> Result<Vec<(u32, V)>, A::Lost> {
        let (mut entries, mut path) = (Vec::new(), Vec::new());
        let mut at = a.get(&self.root)?;
        loop {
            while at != NONE {
                let inner = self.inner(a, at)?;
                path.push((at, inner));
                at = inner.left;
            }
            let Some((here, inner)) = path.pop() else { return Ok(entries) };
            entries.push((inner.key, a.get(&self.node(here).value)?));
            at = inner.right;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::Alone;
    use super::*;
    use proptest::prelude::*;
    use sinew::stm::atomically;
    use std::collections::BTreeMap;

    impl<M: Memory> Tree<M, u32> {
        /// Checks A1 to A3 in the subtree at `at`, whose keys lie in a range. Returns its height.
        fn check<'c, A: Access<'c, M>>(
            &'c self,
            a: &mut A,
            at: Link,
            keys: std::ops::Range<u32>,
        ) -> Result<i8, A::Lost> {
            if at == NONE {
                return Ok(0);
            }
            let inner = self.inner(a, at)?;
            assert!(keys.contains(&inner.key), "A1: {} lies outside of {keys:?}", inner.key);
            assert_eq!(self.places[inner.key as usize], at, "A3: the node of another key");
            let left = self.check(a, inner.left, keys.start..inner.key)?;
            let right = self.check(a, inner.right, inner.key + 1..keys.end)?;
            assert_eq!(inner.balance, right - left, "A2: {inner:?}");
            assert!(inner.balance.abs() <= 1, "A2: {inner:?}");
            Ok(left.max(right) + 1)
        }

        fn check_all<'c, A: Access<'c, M>>(&'c self, a: &mut A) -> Result<i8, A::Lost> {
            let root = a.get(&self.root)?;
            self.check(a, root, 0..u32::MAX)
        }
    }

    const KEYS: u32 = 40;

    fn tree<M: Memory>() -> Tree<M, u32> {
        // Places in another order than keys.
        Tree::new(&(0..KEYS).map(|at| at * 7 % KEYS).collect::<Vec<_>>(), 0)
    }

    /// An operation: a key, and the value to enter or `None` to remove it.
    type Change = (u32, Option<u32>);

    fn apply<'c, M: Memory, A: Access<'c, M>>(
        tree: &'c Tree<M, u32>,
        a: &mut A,
        changes: &[Change],
    ) -> Result<Vec<Option<u32>>, A::Lost> {
        let mut before = Vec::new();
        for &(key, value) in changes {
            before.push(match value {
                Some(value) => {
                    let before = tree.get(a, key)?;
                    tree.insert(a, key, value)?;
                    before
                }
                None => tree.remove(a, key)?,
            });
            tree.check_all(a)?;
        }
        Ok(before)
    }

    fn changes() -> impl Strategy<Value = Vec<Change>> {
        prop::collection::vec((0..KEYS, prop::option::of(0_u32..99)), 0..200)
    }

    proptest! {
        /// Catches: an entry that is lost or found elsewhere, and a tree out of balance, after any
        /// insertions and removals, in both memories.
        #[test]
        fn a_tree_is_a_sorted_map_and_balanced(changes in changes()) {
            let (plain, shared) = (tree::<Plain>(), tree::<Shared>());
            let mut model = BTreeMap::new();
            let expected: Vec<_> = changes
                .iter()
                .map(|&(key, value)| match value {
                    Some(value) => model.insert(key, value),
                    None => model.remove(&key),
                })
                .collect();
            let Ok(found) = apply(&plain, &mut Alone, &changes);
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(atomically(|tx| apply(&shared, tx, &changes)), expected);
            let entries: Vec<_> = model.into_iter().collect();
            let Ok(found) = plain.entries(&mut Alone);
            prop_assert_eq!(&found, &entries);
            prop_assert_eq!(atomically(|tx| shared.entries(tx)), entries);
        }
    }

    /// Catches: a height that grows with the number of keys, which A2 forbids.
    #[test]
    fn keys_in_order_make_a_flat_tree() {
        let keys: Vec<u32> = (0..4095).collect();
        let tree: Tree<Plain, u32> = Tree::new(&keys, 0);
        for key in 0..4095 {
            let Ok(()) = tree.insert(&mut Alone, key, key);
        }
        let Ok(height) = tree.check_all(&mut Alone);
        assert_eq!(height, 12);
        let shared = tree.shared();
        assert_eq!(atomically(|tx| shared.check_all(tx)), 12);
    }

    /// Four threads move entries: each transaction removes one key and enters another one with the
    /// removed value.
    ///
    /// Catches: an update whose writes do not belong to one transaction: an entry that is lost or
    /// there twice, and a tree that is out of balance or unsorted in some snapshot.
    #[test]
    fn entries_that_several_threads_move_are_all_there_in_every_snapshot() {
        let tree = tree::<Shared>();
        let values = KEYS / 2;
        atomically(|tx| (0..values).try_for_each(|key| tree.insert(tx, key, key)));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (tree, mut rng) = (&tree, fastrand::Rng::with_seed(thread));
                scope.spawn(move || {
                    for _ in 0..2_000 {
                        let (from, to) = (rng.u32(..KEYS), rng.u32(..KEYS));
                        atomically(|tx| {
                            if tree.get(tx, to)?.is_none()
                                && let Some(value) = tree.remove(tx, from)?
                            {
                                tree.insert_new(tx, to, value)?;
                            }
                            Ok(())
                        });
                        let mut found = atomically(|tx| {
                            tree.check_all(tx)?;
                            tree.entries(tx)
                        });
                        found.sort_unstable_by_key(|(_, value)| *value);
                        assert!(found.into_iter().map(|(_, value)| value).eq(0..values));
                    }
                });
            }
        });
    }
}
