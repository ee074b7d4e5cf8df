//! The next items of a thread, which another thread may read before they are run.
//!
//! The *owner* puts items into a ring of cells, runs them in order, and drops them. The *reader*
//! reads an item that the owner has not begun yet, for example to load its data into a cache. It
//! gets no item of its own, so nothing is copied or counted for it. If the owner comes to an item
//! that the reader still reads, the reader is told so, and the owner goes on without a wait.
//!
//! Each item has a *position*: the number of items that were put in before it. The items from
//! `head` to `tail` are in the ring; the owner runs the one at `head`. The reader *claims* a
//! position: it writes it down, and looks whether the owner has passed it.
//!
//! Source: the announcement of a pointer before its use is that of hazard pointers (Michael,
//! "Hazard pointers", 2004), with one reader and one claim. The place of the ring in a worklist is
//! that of the shared buffer of Góes, "Automatic Skeleton-Driven Performance Optimizations for
//! Transactional Memory" (2012), section 5.1.4.
//!
//! # States of an item
//!
//! | state | entered by | left by |
//! |---|---|---|
//! | ahead | `push` | the owner comes to it |
//! | current: at `head` | `done` of the one before | `done`, `take` |
//! | past: below `head`, its value is still there | `done` | the owner needs cells; the reader keeps it |
//! | gone | a drop by the owner, or `take` | |
//!
//! # Invariants
//!
//! - A1: an item is in its cell from the store of `tail` beyond it until the owner drops or takes
//!   it.
//! - A2: the owner drops, takes or changes an item only after it has stored a `head` beyond it,
//!   executed a fence, and seen that the claim is not for it. The reader reads an item only after
//!   it has claimed it, executed a fence, and seen that `head` is before it. So one of the two
//!   sees the other.
//! - A3: only one past item can be claimed, so the owner can always go on: a cell that is kept for
//!   the reader is left out when the ring is empty.
//!
//! # Orderings
//!
//! - K1 *`tail` raised (Release) ↔ reader loads it (Acquire)*: the item's value is visible.
//! - K2 *`head` raised, `fence(SeqCst)`, loads the claim ↔ claim stored, `fence(SeqCst)`, loads
//!   `head`*: A2.
//! - K3 *claim changed (Release) ↔ owner loads it (Acquire)*: the reader's use of the item precedes
//!   the drop. Each change releases, also one to another position: the owner may see only that.
//! - K4 *`head` lowered again (Release) after a change of the item ↔ reader loads it after its
//!   fence (Acquire)*: a reader that sees this `head` sees the changed item. It cannot see the one
//!   before the change without a claim that the owner saw (K2).
//! - K5 *owner or reader leaves (Release) ↔ the next one enters (Acquire)*: its state is visible.
//!
//! # Cost
//!
//! For the owner two stores for each item, and a fence and a load of the claim for each ring full
//! of items. For the reader a fence for each item. Neither allocates.
//!
//! # Not handled
//!
//! Several readers. An item that the reader keeps for long keeps its memory.
//!
//! # Tests
//!
//! `lookahead/loom`, with planted bugs: `NoClaimFence` (A2), `BlindReuse` (A2), `RelaxedClaim`
//! (K3), `ForgottenKeep` (A3). `lookahead/tests`: a property test against a queue (A1,
//! drops), a stuck reader (A3).

use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicBool, AtomicU64, Ordering, fence, spin_loop};
use sinew_sync::cell::Cell;
use sinew_sync::plant::{Bug, ordering, planted};
use sinew_sync::thread::yield_now;

#[cfg(all(test, loom))]
mod loom;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

/// The number of cells.
const CELLS: u64 = if cfg!(any(loom, shuttle)) { 2 } else { 8 };

/// No claim.
const NONE: u64 = 0;

/// Checks of a claim between two yields of the processor.
const SPINS: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 1_000 };

/// The ring; see the [module](self).
#[derive(Debug)]
pub struct Lookahead<T> {
    ends: CachePadded<Ends>,
    /// The position that the reader may be reading, plus one; or [`NONE`]. Only the reader writes.
    claim: CachePadded<AtomicU64>,
    cells: [Cell<MaybeUninit<T>>; CELLS as usize],
    /// The account that an owner leaves to the next one.
    left: Cell<Places>,
    has_owner: AtomicBool,
    has_reader: AtomicBool,
}

/// Where the items are, for the reader. Only the owner writes.
#[derive(Debug)]
struct Ends {
    /// The position of the current item.
    head: AtomicU64,
    /// The position of the next item that is put in.
    tail: AtomicU64,
}

/// The owner's own account.
#[derive(Debug, Clone, Copy)]
struct Places {
    head: u64,
    tail: u64,
    /// The positions below are gone, except for `kept`.
    gone: u64,
    /// The position of a past item that the reader has not left, plus one; or [`NONE`].
    kept: u64,
}

// SAFETY: the owner moves items to and from the ring, which is on the thread of the handle, so `T`
// is `Send`; owner and reader have shared references to one item at the same time, so it is `Sync`.
// A2 keeps exclusive access apart from the reader's, `has_owner` and `has_reader` keep two owners
// and two readers apart.
unsafe impl<T: Send + Sync> Sync for Lookahead<T> {}
// SAFETY: it owns its items.
unsafe impl<T: Send> Send for Lookahead<T> {}

impl<T> Default for Lookahead<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Lookahead<T> {
    /// An empty ring.
    pub fn new() -> Self {
        Self {
            ends: CachePadded::new(Ends { head: AtomicU64::new(0), tail: AtomicU64::new(0) }),
            claim: CachePadded::new(AtomicU64::new(NONE)),
            cells: std::array::from_fn(|_| Cell::new(MaybeUninit::uninit())),
            left: Cell::new(Places { head: 0, tail: 0, gone: 0, kept: NONE }),
            has_owner: AtomicBool::new(false),
            has_reader: AtomicBool::new(false),
        }
    }

    /// The handle of the owner, unless another thread has it.
    pub fn owner(&self) -> Option<Owner<'_, T>> {
        // Acquire: K5.
        if self.has_owner.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: only the owner accesses `left`, and this is the only one.
        let places = self.left.with(|left| unsafe { *left });
        Some(Owner { ring: self, places })
    }

    /// The handle of the reader, unless another thread has it.
    pub fn reader(&self) -> Option<Reader<'_, T>> {
        // Acquire: K5.
        let is_taken = self.has_reader.swap(true, Ordering::Acquire);
        (!is_taken).then(|| Reader { ring: self, next: 0 })
    }

    fn cell(&self, position: u64) -> &Cell<MaybeUninit<T>> {
        &self.cells[(position % CELLS) as usize]
    }

    /// The item at `position`.
    ///
    /// # Safety
    ///
    /// It is there (A1), and nobody drops, takes or changes it during the borrow.
    unsafe fn item(&self, position: u64) -> &T {
        // SAFETY: the caller's promise.
        self.cell(position).with(|cell| unsafe { (*cell).assume_init_ref() })
    }

    /// Drops the item at `position`.
    ///
    /// # Safety
    ///
    /// It is there, the caller owns the ring or its places, and the reader cannot read it (A2).
    unsafe fn drop_item(&self, position: u64) {
        // SAFETY: the caller's promise.
        self.cell(position).with_mut(|cell| unsafe { (*cell).assume_init_drop() });
    }
}

impl<T> Drop for Lookahead<T> {
    fn drop(&mut self) {
        // An owner that was forgotten left no account: its items leak. Relaxed, as nobody else has
        // the ring.
        if self.has_owner.load(Ordering::Relaxed) {
            return;
        }
        // SAFETY: nobody else has the ring.
        let Places { tail, gone, kept, .. } = self.left.with(|left| unsafe { *left });
        let kept = kept.checked_sub(1);
        for position in kept.into_iter().chain(gone..tail) {
            // SAFETY: by the account they are there.
            unsafe { self.drop_item(position) };
        }
    }
}

/// The thread that puts items in, runs and drops them.
#[derive(Debug)]
pub struct Owner<'a, T> {
    ring: &'a Lookahead<T>,
    places: Places,
}

impl<T> Owner<'_, T> {
    /// The number of items from the current one on.
    pub fn len(&self) -> usize {
        (self.places.tail - self.places.head) as usize
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item `ahead` places after the current one.
    #[inline]
    pub fn get(&self, ahead: usize) -> Option<&T> {
        // SAFETY: by A1 it is there; only the owner could drop or change it, through `&mut self`.
        (ahead < self.len()).then(|| unsafe { self.ring.item(self.places.head + ahead as u64) })
    }

    /// Whether [`push`](Self::push) has a cell. Drops past items if all cells are used.
    #[inline]
    pub fn has_room(&mut self) -> bool {
        let is_full = self.places.tail - self.places.gone == CELLS;
        if is_full || self.is_kept(self.places.tail) {
            self.make_room();
        }
        self.places.tail - self.places.gone < CELLS && !self.is_kept(self.places.tail)
    }

    /// Whether the cell of `position` has an item that is kept for the reader.
    fn is_kept(&self, position: u64) -> bool {
        let kept = self.places.kept;
        if planted(Bug::ForgottenKeep) {
            return false;
        }
        kept != NONE && (kept - 1) % CELLS == position % CELLS
    }

    fn make_room(&mut self) {
        self.drop_past();
        let tail = self.places.tail;
        if self.is_kept(tail) && self.is_empty() {
            // A3: no item gets this position. A reader that sees the new `tail` also sees that
            // `head` was at the old one or is further (K1), and reads nothing here.
            let next = tail + 1;
            self.places = Places { head: next, tail: next, gone: next, ..self.places };
            self.ring.ends.head.store(next, Ordering::Release);
            self.ring.ends.tail.store(next, Ordering::Release);
        }
    }

    /// Puts an item behind all others.
    ///
    /// # Panics
    ///
    /// If there is [no room](Self::has_room).
    #[inline]
    #[track_caller]
    pub fn push(&mut self, item: T) {
        assert!(self.has_room(), "no room in the ring");
        // SAFETY: the cell's last item is gone, and no item is at this position before the store
        // of `tail`; so the reader does not read it (A1).
        self.ring.cell(self.places.tail).with_mut(|cell| unsafe { (*cell).write(item) });
        self.places.tail += 1;
        // Release: K1.
        self.ring.ends.tail.store(self.places.tail, Ordering::Release);
    }

    /// The first `count` items are run. They are dropped later.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    #[inline]
    #[track_caller]
    pub fn done(&mut self, count: usize) {
        assert!(count <= self.len(), "fewer items than were run");
        self.set_head(self.places.head + count as u64);
    }

    fn set_head(&mut self, head: u64) {
        self.places.head = head;
        // Release: K4; for K2 a fence follows where the owner needs it.
        self.ring.ends.head.store(head, Ordering::Release);
    }

    /// The claim, after which past items that are not claimed cannot be read (A2).
    fn claim(&self) -> u64 {
        if planted(Bug::BlindReuse) {
            return NONE;
        }
        // K2: the store of `head` precedes it.
        fence(Ordering::SeqCst);
        // Acquire: K3.
        self.ring.claim.load(Ordering::Acquire)
    }

    /// Drops past items, except for one that the reader may be reading.
    #[cold]
    fn drop_past(&mut self) {
        let claim = self.claim();
        let kept = self.places.kept;
        if kept != NONE && kept != claim {
            self.places.kept = NONE;
            // SAFETY: it is past and there; the reader has left it, and claims no past item.
            unsafe { self.ring.drop_item(kept - 1) };
        }
        while self.places.gone < self.places.head {
            let position = self.places.gone;
            // Before the drop, which may panic.
            self.places.gone += 1;
            if claim == position + 1 {
                self.places.kept = claim;
            } else {
                // SAFETY: it is past and there, and not claimed (A2).
                unsafe { self.ring.drop_item(position) };
            }
        }
    }

    /// The current item, to be changed. `None` if there is none, or the reader may be reading it.
    pub fn first_mut(&mut self) -> Option<FirstMut<'_, T>> {
        let head = self.places.head;
        if self.is_empty() {
            return None;
        }
        self.ring.ends.head.store(head + 1, Ordering::Release);
        if self.claim() == head + 1 {
            self.ring.ends.head.store(head, Ordering::Release);
            return None;
        }
        Some(FirstMut { ring: self.ring, head })
    }

    /// Takes the current item out. Waits until the reader has left it; the reader is told.
    ///
    /// # Blocking
    ///
    /// Until the reader's next check, if it reads this item.
    pub fn take(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.drop_past();
        let head = self.places.head;
        self.set_head(head + 1);
        let mut spins = 0_u32;
        while self.claim() == head + 1 {
            spins = spins.wrapping_add(1);
            if spins.is_multiple_of(SPINS) { yield_now() } else { spin_loop() }
        }
        self.places.gone = head + 1;
        // SAFETY: it was there, is past, and not claimed (A2); it is gone from now on.
        Some(self.ring.cell(head).with_mut(|cell| unsafe { (*cell).assume_init_read() }))
    }
}

impl<T> Drop for Owner<'_, T> {
    fn drop(&mut self) {
        struct Leave<'b, 'a, T>(&'b mut Owner<'a, T>);
        impl<T> Drop for Leave<'_, '_, T> {
            fn drop(&mut self) {
                let Owner { ring, places } = &*self.0;
                // SAFETY: this is the owner.
                ring.left.with_mut(|left| unsafe { *left = *places });
                // Release: K5.
                ring.has_owner.store(false, Ordering::Release);
            }
        }
        // Also if the drop of an item panics.
        Leave(self).0.drop_past();
    }
}

/// The current item, which the reader cannot read meanwhile.
#[derive(Debug)]
pub struct FirstMut<'a, T> {
    ring: &'a Lookahead<T>,
    head: u64,
}

impl<T> Deref for FirstMut<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: it is there, and the owner is borrowed.
        unsafe { self.ring.item(self.head) }
    }
}

impl<T> DerefMut for FirstMut<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above; and it is not claimed while `head` is beyond it (A2).
        self.ring.cell(self.head).with_mut(|cell| unsafe { (*cell).assume_init_mut() })
    }
}

impl<T> Drop for FirstMut<'_, T> {
    fn drop(&mut self) {
        // Release: K4.
        self.ring.ends.head.store(self.head, Ordering::Release);
    }
}

/// The thread that reads items ahead of the owner.
#[derive(Debug)]
pub struct Reader<'a, T> {
    ring: &'a Lookahead<T>,
    /// The first position that it has not read.
    next: u64,
}

impl<T> Reader<'_, T> {
    /// The next item that neither this reader has read nor the owner has begun.
    #[inline]
    pub fn claim_next(&mut self) -> Option<Ahead<'_, T>> {
        let Ends { head, tail } = &*self.ring.ends;
        // Acquire: K1.
        let tail = tail.load(Ordering::Acquire);
        let position = self.next.max(head.load(Ordering::Acquire) + 1);
        if position >= tail {
            return None;
        }
        // Release: K3.
        self.ring.claim.store(position + 1, Ordering::Release);
        if !planted(Bug::NoClaimFence) {
            // K2.
            fence(Ordering::SeqCst);
        }
        // From here on its drop ends the claim.
        let ahead = Ahead { ring: self.ring, position };
        if ahead.is_overtaken() {
            return None;
        }
        self.next = position + 1;
        Some(ahead)
    }
}

impl<T> Drop for Reader<'_, T> {
    fn drop(&mut self) {
        // Release: K5.
        self.ring.has_reader.store(false, Ordering::Release);
    }
}

/// An item that the reader reads.
#[derive(Debug)]
pub struct Ahead<'a, T> {
    ring: &'a Lookahead<T>,
    position: u64,
}

impl<T> Ahead<'_, T> {
    /// Whether the owner has come to the item, so that it is of no more use to read it.
    #[inline]
    pub fn is_overtaken(&self) -> bool {
        // Acquire: K4.
        self.ring.ends.head.load(Ordering::Acquire) >= self.position
    }
}

impl<T> Deref for Ahead<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: it was there when it was claimed, and is not dropped before the claim ends (A2).
        unsafe { self.ring.item(self.position) }
    }
}

impl<T> Drop for Ahead<'_, T> {
    fn drop(&mut self) {
        // Release: K3.
        self.ring.claim.store(NONE, ordering(Bug::RelaxedClaim, Ordering::Release));
    }
}
