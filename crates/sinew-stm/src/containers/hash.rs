//! [`THashMap`]: a hash map.
//!
//! A group has eight slots for keys, and a word with a *tag* for each slot: a byte of the key's
//! hash, or 0 for a free slot. A search reads the word and compares the keys whose tags are equal,
//! so it mostly compares one key and enters two records in the read set: the group's and the
//! value's. A full group links to another one, which stays until the map is dropped.

use super::arena::{Arena, NONE};
use super::entry::{Entry, Table};
use super::lines::ask_for;
use super::slots::Slots;
use super::store::{Boxed, Inline, Store, Variable};
use crate::engine::engine;
use crate::tx::Tx;
use crate::tx_error::TxResult;
use crate::var::TVar;
use sinew_sync::plant::{Bug, planted};
use std::borrow::Borrow;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};
use std::ops::ControlFlow;
use std::sync::OnceLock;

/// Slots of a group: bytes of its word. Few under a checker and in tests, so that groups are full.
const SLOTS: usize = if cfg!(any(test, loom, shuttle)) { 2 } else { 8 };

/// Entries that a group is meant for. With as many entries as buckets one group in fifty is full.
const MEANT_FOR: usize = SLOTS / 2;

/// The lowest bit of each slot's byte, and the highest.
const ONES: u64 = 0x0101_0101_0101_0101 >> (64 - 8 * SLOTS);
const HIGHEST: u64 = ONES << 7;

#[derive(Debug)]
#[repr(C, align(64))]
pub struct Group<K, V, S: Store<K> + Store<V>> {
    slots: Slots<K, S, u32, SLOTS, 1>,
    values: [<S as Store<V>>::Var; SLOTS],
}

impl<K, V, S: Store<K> + Store<V>> Group<K, V, S> {
    fn new(key: &K, value: &V) -> Self {
        let values = std::array::from_fn(|_| Variable::vacant(value));
        Self { slots: Slots::new(0, NONE, key), values }
    }
}

/// A slot of a group.
#[derive(Debug)]
pub struct At<'tx, K, V, S: Store<K> + Store<V>> {
    group: &'tx Group<K, V, S>,
    /// The group's word.
    tags: u64,
    slot: usize,
}

impl<'tx, K, V, S: Store<K> + Store<V>> At<'tx, K, V, S> {
    fn value(&self) -> &'tx <S as Store<V>>::Var {
        &self.group.values[self.slot]
    }

    /// The key and the value.
    fn entry(&self, tx: &mut Tx<'tx, '_>) -> TxResult<(K, V)> {
        Ok((self.group.slots.key(tx, self.slot)?, self.value().get(tx)?))
    }

    /// Frees the slot.
    fn clear(&self, tx: &mut Tx<'tx, '_>) -> TxResult<()> {
        self.set_tag(tx, 0)?;
        self.group.slots.vacate_key(tx, self.slot)?;
        self.value().vacate(tx)
    }

    /// Gives the slot a tag, 0 for a free slot.
    fn set_tag(&self, tx: &mut Tx<'tx, '_>, tag: u64) -> TxResult<()> {
        let shift = 8 * self.slot;
        self.group.slots.set_word(tx, self.tags & !(0xff << shift) | tag << shift)
    }
}

/// The position of a key, present or not.
#[derive(Debug)]
pub enum Found<'tx, K, V, S: Store<K> + Store<V>> {
    Present(At<'tx, K, V, S>),
    /// A free slot for it.
    Room(At<'tx, K, V, S>),
    /// The last of its groups, which are all full.
    Full(&'tx Group<K, V, S>),
    /// There are no groups yet.
    NoGroups,
}

/// The slots whose tags are equal to `tag`, and perhaps some others, as their highest bits.
#[inline(always)]
fn with_tag(tags: u64, tag: u64) -> u64 {
    let other = tags ^ (tag * ONES);
    other.wrapping_sub(ONES) & !other & HIGHEST
}

/// The first of some slots.
#[inline(always)]
fn first(slots: u64) -> usize {
    slots.trailing_zeros() as usize / 8
}

/// A hash map of transactional values, with a fixed number of buckets.
///
/// Transactions on different buckets do not conflict. Buckets whose entries come and go may
/// conflict with a few others, changes of values do not. Growing would conflict with all of them,
/// so the number of buckets is fixed; choose about the number of entries.
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
    S: Store<K> + Store<V>,
{
    /// One group for each hash, made at the first insertion.
    groups: OnceLock<Box<[Group<K, V, S>]>>,
    len: usize,
    /// Whether an insertion has committed.
    begun: TVar<bool>,
    overflow: Arena<Group<K, V, S>>,
    hasher: H,
}

impl<K: Copy + Eq + Hash, V: Copy> THashMap<K, V> {
    /// An empty map with `buckets` buckets for values that are `Copy`; 0 counts as 1.
    pub fn with_buckets(buckets: usize) -> Self {
        Self::with_hasher(buckets, BuildHasherDefault::default())
    }
}

impl<K: Clone + Eq + Hash, V: Clone> THashMap<K, V, BuildHasherDefault<DefaultHasher>, Boxed> {
    /// An empty map with `buckets` buckets for values that are `Clone`; 0 counts as 1.
    pub fn boxed(buckets: usize) -> Self {
        Self::with_hasher(buckets, BuildHasherDefault::default())
    }
}

impl<K: Eq + Hash, V, H: BuildHasher, S: Store<K> + Store<V>> THashMap<K, V, H, S> {
    /// An empty map with `buckets` buckets (0 counts as 1) and the given hasher.
    pub fn with_hasher(buckets: usize, hasher: H) -> Self {
        Self {
            groups: OnceLock::new(),
            len: buckets.div_ceil(MEANT_FOR).max(1),
            begun: TVar::new(false),
            overflow: Arena::new(),
            hasher,
        }
    }

    /// The index of a key's first group, and its tag.
    #[inline(always)]
    fn place<Q: Hash + ?Sized>(&self, key: &Q) -> (usize, u64) {
        let hash = u128::from(self.hasher.hash_one(key));
        // The high half of the product distributes hashes over any number of groups, the low half
        // those of one group over tags.
        let product = hash * self.len as u128;
        ((product >> 64) as usize, (product as u64 >> 57) | 0x80)
    }

    /// The groups, if an insertion has committed or begun.
    ///
    /// Without groups the read set gets `begun`, which the first insertion that commits has
    /// changed. So the map is empty in the snapshot, even if another thread makes groups now.
    #[inline(always)]
    fn groups<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<&'tx [Group<K, V, S>]> {
        match self.groups.get() {
            Some(groups) => Ok(groups),
            None if planted(Bug::UnreadStart) => Ok(&[]),
            None if self.begun.get(tx)? => Ok(self.groups.get().expect("the insertion made them")),
            None => Ok(&[]),
        }
    }

    /// Makes the groups, if no insertion has.
    #[cold]
    fn make_groups(&self, key: &K, value: &V) -> &[Group<K, V, S>] {
        // Held so that a thread that forks finds no other thread making them.
        let _growing = engine().growth.lock();
        self.groups.get_or_init(|| (0..self.len).map(|_| Group::new(key, value)).collect())
    }

    /// Searches the groups from this one on for `key`.
    #[inline(always)]
    fn find<'tx, Q: Eq + ?Sized>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        mut group: &'tx Group<K, V, S>,
        tag: u64,
        key: &Q,
    ) -> TxResult<Found<'tx, K, V, S>>
    where
        K: Borrow<Q>,
    {
        // The lines that mostly have the value.
        ask_for(group, 1..3);
        let mut room = None;
        loop {
            let (tags, slot, next) = group.slots.examine(tx, |tags, mut view| {
                let mut candidates = with_tag(tags, tag);
                while candidates != 0 {
                    let slot = first(candidates);
                    if view.key(slot, |here| here.borrow() == key)? {
                        return Ok((tags, Some(slot), NONE));
                    }
                    candidates &= candidates - 1;
                }
                Ok((tags, None, view.link(0)?))
            })?;
            if let Some(slot) = slot {
                return Ok(Found::Present(At { group, tags, slot }));
            }
            let free = !tags & HIGHEST;
            if free != 0 && room.is_none() {
                room = Some(At { group, tags, slot: first(free) });
            }
            match next {
                NONE => return Ok(room.map_or(Found::Full(group), Found::Room)),
                next => group = self.overflow.node(next),
            }
        }
    }

    /// The slot of `key`, if there is an entry.
    #[inline(always)]
    fn search<'tx, Q>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: &Q,
    ) -> TxResult<Option<At<'tx, K, V, S>>>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        match self.position(tx, key)?.0 {
            Found::Present(at) => Ok(Some(at)),
            _ => Ok(None),
        }
    }

    /// The position of `key`, and its tag.
    #[inline(always)]
    fn position<'tx, Q>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        key: &Q,
    ) -> TxResult<(Found<'tx, K, V, S>, u64)>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let (index, tag) = self.place(key);
        match self.groups(tx)?.get(index) {
            Some(group) => Ok((self.find(tx, group, tag, key)?, tag)),
            None => Ok((Found::NoGroups, tag)),
        }
    }

    /// The value of `key`.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`. The same holds for all methods.
    pub fn get<'tx, Q>(&'tx self, tx: &mut Tx<'tx, '_>, key: &Q) -> TxResult<Option<V>>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let found = self.search(tx, key)?;
        found.map(|at| at.value().get(tx)).transpose()
    }

    /// Whether there is an entry of `key`.
    pub fn contains<'tx, Q>(&'tx self, tx: &mut Tx<'tx, '_>, key: &Q) -> TxResult<bool>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        Ok(self.search(tx, key)?.is_some())
    }

    /// Sets the value of `key`; returns the old one.
    pub fn insert<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, key: K, value: V) -> TxResult<Option<V>> {
        let (index, tag) = self.place(&key);
        let groups = match self.groups.get() {
            Some(groups) => groups,
            None => self.make_groups(&key, &value),
        };
        match self.find(tx, &groups[index], tag, &key)? {
            Found::Present(at) => at.value().replace(tx, value).map(Some),
            Found::Full(last) => {
                let at = self.append(tx, last, &key, &value)?;
                self.add(tx, &at, tag, key, value)
            }
            Found::Room(at) => self.add(tx, &at, tag, key, value),
            Found::NoGroups => unreachable!("there is a group"),
        }
    }

    /// Adds an entry in a free slot.
    #[inline]
    fn add<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        at: &At<'tx, K, V, S>,
        tag: u64,
        key: K,
        value: V,
    ) -> TxResult<Option<V>> {
        if !self.begun.get(tx)? {
            self.begun.set(tx, true)?;
        }
        at.set_tag(tx, tag)?;
        at.group.slots.set_key(tx, at.slot, key)?;
        at.value().set(tx, value)?;
        Ok(None)
    }

    /// Links another group to a full one, and returns its first slot.
    #[cold]
    fn append<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        full: &'tx Group<K, V, S>,
        key: &K,
        value: &V,
    ) -> TxResult<At<'tx, K, V, S>> {
        let (index, group) = self.overflow.allocate(tx, || Group::new(key, value))?;
        full.slots.set_link(tx, 0, index)?;
        Ok(At { group, tags: group.slots.word(tx)?, slot: 0 })
    }

    /// Removes the entry of `key`; returns its value.
    pub fn remove<'tx, Q>(&'tx self, tx: &mut Tx<'tx, '_>, key: &Q) -> TxResult<Option<V>>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let Some(at) = self.search(tx, key)? else { return Ok(None) };
        let value = at.value().get(tx)?;
        at.clear(tx)?;
        Ok(Some(value))
    }

    /// Calls `f` with all entries, in no particular order, until it breaks.
    fn walk<'tx, 'env>(
        &'tx self,
        tx: &mut Tx<'tx, 'env>,
        mut f: impl FnMut(&mut Tx<'tx, 'env>, At<'tx, K, V, S>) -> TxResult<ControlFlow<()>>,
    ) -> TxResult<ControlFlow<()>> {
        for mut group in self.groups(tx)? {
            loop {
                let tags = group.slots.word(tx)?;
                for slot in (0..SLOTS).filter(|slot| tags >> (8 * slot) & 0x80 != 0) {
                    if f(tx, At { group, tags, slot })?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                match group.slots.link(tx, 0)? {
                    NONE => break,
                    next => group = self.overflow.node(next),
                }
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
    [K: Eq + Hash, V, H: BuildHasher, S: Store<K> + Store<V>] THashMap<K, V, H, S>,
    "in no particular order"
}

impl<'tx, K, V, H, S> Table<'tx, K, V> for THashMap<K, V, H, S>
where
    K: Eq + Hash + 'tx,
    V: 'tx,
    H: BuildHasher,
    S: Store<K> + Store<V> + 'tx,
{
    /// With the key's tag.
    type Position = (Found<'tx, K, V, S>, u64);

    #[inline(always)]
    fn find(&'tx self, tx: &mut Tx<'tx, '_>, key: &K) -> TxResult<(Self::Position, Option<V>)> {
        let (found, tag) = self.position(tx, key)?;
        let value = match &found {
            Found::Present(at) => Some(at.value().get(tx)?),
            _ => None,
        };
        Ok(((found, tag), value))
    }

    #[inline(always)]
    fn put(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        (found, tag): Self::Position,
        key: K,
        value: V,
    ) -> TxResult<()> {
        match found {
            Found::Present(at) => at.value().set(tx, value),
            Found::Room(at) => self.add(tx, &at, tag, key, value).map(drop),
            Found::Full(_) | Found::NoGroups => self.insert(tx, key, value).map(drop),
        }
    }

    #[inline(always)]
    fn take(&'tx self, tx: &mut Tx<'tx, '_>, (found, _): Self::Position, _: &K) -> TxResult<()> {
        match found {
            Found::Present(at) => at.clear(tx),
            _ => Ok(()),
        }
    }
}
