//! [`Slots`]: keys and links that share one record with a word, which says which of them are used.
//!
//! A container reads the word first: that enters the record in the read set. The keys and links
//! then need no entries of their own, so a search enters one record for each group that it visits.
//! Values have records of their own, since they change more often than the word.
//!
//! # Invariants
//!
//! - I17: an attempt reads a key or a link only after the word, and a commit that changes a key or
//!   a link also changes the word's record.
//!
//! # Why a search is opaque
//!
//! The read set has the record from the read of the word on, and each extension of the snapshot
//! validates it. So a key or a link that is read later, under a record that is free and not younger
//! than the snapshot, is of the version whose word was read (I8). Under this transaction's own lock
//! it is of that version as well, or its own (I11).
//!
//! A search mostly *glances* at the keys: it loads them between the two looks at the record, as if
//! word and keys were one value. So it may compare a key that the snapshot does not have, but uses
//! the result only if the record has not changed. Every such key has been in the map, or is that
//! with which the slots were made: a key is one word. So slots that are not used may be compared
//! as well.

use super::store::{Cell, Place, Store};
use crate::tx::Tx;
use crate::tx_error::TxResult;
use crate::value;
use crate::var::TVar;

/// Keys and links as [`Slots::examine`] shows them.
pub(super) struct View<'a, 'tx, 'env, K, S: Store<K>, P, const N: usize, const L: usize> {
    slots: &'tx Slots<K, S, P, N, L>,
    /// `None` during a glance.
    tx: Option<&'a mut Tx<'tx, 'env>>,
}

impl<K, S: Store<K>, P: Copy, const N: usize, const L: usize> View<'_, '_, '_, K, S, P, N, L> {
    /// The result of `f` for the key in a slot that the word says is used.
    #[inline(always)]
    pub(super) fn key<R>(&mut self, slot: usize, f: impl FnOnce(&K) -> R) -> TxResult<R> {
        match &mut self.tx {
            None => Ok(self.slots.keys[slot].glance(f)),
            Some(tx) => self.slots.with_key(tx, slot, f),
        }
    }

    /// The first of the slots from 1 to `len`, whose keys are sorted, for which `holds` is true; it
    /// is for all later ones.
    #[inline(always)]
    pub(super) fn first_where(
        &mut self,
        len: usize,
        holds: impl Fn(&K) -> bool,
    ) -> TxResult<usize> {
        match &mut self.tx {
            None => Ok(self.slots.first_at_a_glance(len, holds)),
            Some(tx) => self.slots.first_by_halving(tx, len, holds),
        }
    }

    /// The slots for which `holds` is true, as bits, used or not. `None` if tests are expensive.
    #[inline(always)]
    pub(super) fn all_where(&self, holds: impl Fn(&K) -> bool) -> Option<u64> {
        let test =
            |all, (slot, key): (usize, &S::Cell)| all | u64::from(key.glance(&holds)) << slot;
        self.tx.is_none().then(|| self.slots.keys.iter().enumerate().fold(0, test))
    }

    #[inline(always)]
    pub(super) fn link(&mut self, at: usize) -> TxResult<P> {
        match &mut self.tx {
            None => Ok(self.slots.links[at].glance(|link| *link)),
            Some(tx) => self.slots.link(tx, at),
        }
    }
}

/// The word, `N` keys and `L` links of type `P` to nodes.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Slots<K, S: Store<K>, P, const N: usize, const L: usize> {
    word: TVar<u64>,
    links: [Place<P>; L],
    keys: [S::Cell; N],
}

impl<K, S: Store<K>, P: Copy, const N: usize, const L: usize> Slots<K, S, P, N, L> {
    /// Slots without keys; `like` is any key.
    pub(super) fn new(word: u64, link: P, like: &K) -> Self {
        Self {
            word: TVar::new(word),
            links: std::array::from_fn(|_| Place::vacant(&link)),
            keys: std::array::from_fn(|_| Cell::vacant(like)),
        }
    }

    /// The word.
    #[inline(always)]
    pub(super) fn word<'tx>(&'tx self, tx: &mut Tx<'tx, '_>) -> TxResult<u64> {
        self.word.get(tx)
    }

    #[inline(always)]
    pub(super) fn set_word<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, word: u64) -> TxResult<()> {
        self.word.set(tx, word)
    }

    /// The result of `f` for the word and a view of keys and links, all of the snapshot.
    ///
    /// `f` may be called twice, and the first result ignored: that of a glance.
    #[inline(always)]
    pub(super) fn examine<'tx, 'env, R>(
        &'tx self,
        tx: &mut Tx<'tx, 'env>,
        f: impl Fn(u64, View<'_, 'tx, 'env, K, S, P, N, L>) -> TxResult<R>,
    ) -> TxResult<R> {
        if S::Cell::GLANCES {
            let (record, slot) = self.word.parts();
            let glance = |bits| {
                // SAFETY: the bits of the word.
                f(unsafe { value::first_of(bits) }, View { slots: self, tx: None })
            };
            // SAFETY: record and word belong together and live for `'tx`.
            if let Some(result) = unsafe { tx.descriptor.glance(record, &slot.words()[0], glance) }
            {
                return result;
            }
        }
        let word = self.word(tx)?;
        f(word, View { slots: self, tx: Some(tx) })
    }

    /// [`View::first_where`] during a glance. Tests are cheap here, and may be made beyond `len`:
    /// each key there has been in the map. In two rounds, of tests that do not depend on each
    /// other: one for each fourth slot, and one for those between two of them.
    #[inline(always)]
    fn first_at_a_glance(&self, len: usize, holds: impl Fn(&K) -> bool) -> usize {
        const EACH: usize = 4;
        let is_before = |slot: usize| {
            let holds = self.keys.get(slot).is_none_or(|key| key.glance(&holds));
            usize::from((slot < len) & !holds)
        };
        let first: usize = (EACH..N).step_by(EACH).map(is_before).sum();
        let first = first * EACH;
        1 + first + (first + 1..first + EACH).map(is_before).sum::<usize>()
    }

    /// [`View::first_where`] if tests are expensive.
    fn first_by_halving<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        len: usize,
        holds: impl Fn(&K) -> bool,
    ) -> TxResult<usize> {
        let (mut from, mut to) = (1, len.max(1));
        while from < to {
            let middle = from.midpoint(to);
            if self.with_key(tx, middle, &holds)? {
                to = middle;
            } else {
                from = middle + 1;
            }
        }
        Ok(from)
    }

    /// Calls `f` with the key in a slot that the word, which this attempt has read, says is used.
    #[inline(always)]
    pub(super) fn with_key<'tx, R>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        slot: usize,
        f: impl FnOnce(&K) -> R,
    ) -> TxResult<R> {
        // SAFETY: a cell of these slots is accessed with their word only.
        unsafe { self.keys[slot].with(tx, &self.word, f) }
    }

    /// The key in a slot that is used.
    #[inline(always)]
    pub(super) fn key<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, slot: usize) -> TxResult<K> {
        // SAFETY: as above.
        unsafe { self.keys[slot].get(tx, &self.word) }
    }

    /// Sets the key of a slot. The caller also changes the word.
    #[inline(always)]
    pub(super) fn set_key<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        slot: usize,
        key: K,
    ) -> TxResult<()> {
        // SAFETY: as above.
        unsafe { self.keys[slot].set(tx, &self.word, key) }
    }

    /// Removes the key of a slot, so that it can be dropped. The caller also changes the word.
    #[inline(always)]
    pub(super) fn vacate_key<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, slot: usize) -> TxResult<()> {
        self.keys[slot].vacate(tx)
    }

    /// A link. The attempt has read the word.
    #[inline(always)]
    pub(super) fn link<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, at: usize) -> TxResult<P> {
        // SAFETY: as above.
        unsafe { self.links[at].with(tx, &self.word, |link| *link) }
    }

    /// Sets a link.
    #[inline(always)]
    pub(super) fn set_link<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        at: usize,
        link: P,
    ) -> TxResult<()> {
        // SAFETY: as above.
        unsafe { self.links[at].set(tx, &self.word, link) }
    }
}
