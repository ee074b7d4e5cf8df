//! Tables that find out whether a handle is still valid.
//!
//! A handle is not an address: it consists of a place in a table and the generation of that place,
//! which grows when the value is removed. So the handle of a destroyed pool is recognised, and so
//! is a pointer to something else, because handles are odd numbers. The tables take no locks: after
//! a fork, a thread that does not exist in the child could hold one.
//!
//! # Invariants
//!
//! - T1: only the thread that has moved a slot to `HELD` writes its entry, or moves it out.
//! - T2: an entry is read while the slot is `ALIVE` and its reader is counted, or by a caller that
//!   the header forbids to remove it meanwhile.
//! - T3: only the thread that has inserted a value writes the number of its entries. It counts
//!   itself, executes a light fence, and looks whether the slot is still `ALIVE`; a remover moves
//!   the slot to `LEAVING`, executes the heavy fence, and looks at the number. One sees the other.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Deref;

use sinew_sync::fence;
use sinew_sync::statics::{AtomicU32, AtomicU64, Ordering};

use crate::status::{Outcome, Status};

/// A handle as C has it: a pointer to a type without contents.
pub(crate) type Handle = *mut c_void;

/// The kinds of handles. Odd, so that no address of an object is a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Pool = 5,
    Control = 9,
    Scope = 13,
    Memory = 7,
}

const FREE: u64 = 0;
const HELD: u64 = 1;
const ALIVE: u64 = 2;
/// A remover looks whether the value is in use: those inside go on, those that come wait.
const LEAVING: u64 = ALIVE | HELD;
const PHASE: u64 = 3;
const USER: u64 = 4;
const USERS: u64 = (1 << 32) - USER;
const GENERATION: u64 = 1 << 32;

/// The values of one kind, at most `N` at a time.
pub(crate) struct Table<T, const N: usize> {
    kind: Kind,
    /// Where the search for a free slot begins.
    next: AtomicU32,
    slots: [Slot<T>; N],
}

struct Slot<T> {
    /// From the lowest bit: two for the phase, 30 for the users, 32 for the generation.
    state: AtomicU64,
    /// The thread that has inserted the value, and how often it is inside of it (T3).
    inserter: AtomicU64,
    entries: AtomicU32,
    entry: UnsafeCell<MaybeUninit<Entry<T>>>,
}

struct Entry<T> {
    value: T,
    /// The process that made it.
    process: u32,
}

// SAFETY: T1 and T2: an entry is shared while it is alive, and moved by one thread.
unsafe impl<T: Send + Sync> Sync for Slot<T> {}

impl<T: Send + Sync, const N: usize> Table<T, N> {
    pub(crate) const fn new(kind: Kind) -> Self {
        // A place has 16 bits of a handle.
        assert!(N <= 1 << 16);
        Self { kind, next: AtomicU32::new(0), slots: [const { Slot::empty() }; N] }
    }

    fn handle(&self, at: usize, state: u64) -> Handle {
        let generation = (state / GENERATION) as usize;
        let number = generation << 20 | at << 4 | self.kind as usize;
        std::ptr::without_provenance_mut(number)
    }

    /// Keeps `value` until its handle is removed.
    ///
    /// # Errors
    ///
    /// [`Status::System`] if the table is full.
    pub(crate) fn insert(&self, value: T) -> Outcome<Handle> {
        let first = self.next.load(Ordering::Relaxed) as usize;
        for at in (0..N).map(|offset| (first + offset) % N) {
            let slot = &self.slots[at];
            let state = slot.state.load(Ordering::Relaxed);
            if state & PHASE != FREE || !slot.moves(state, state | HELD) {
                continue;
            }
            let entry = Entry { value, process: std::process::id() };
            // SAFETY: T1.
            unsafe { (*slot.entry.get()).write(entry) };
            // Relaxed: published with the state. A forked child may have left the number behind.
            slot.inserter.store(this_thread(), Ordering::Relaxed);
            slot.entries.store(0, Ordering::Relaxed);
            let alive = state | ALIVE;
            // Release: readers find the entry.
            slot.state.store(alive, Ordering::Release);
            self.next.store((at as u32 + 1) % N as u32, Ordering::Relaxed);
            return Ok(self.handle(at, alive));
        }
        Err(Status::System)
    }

    /// The slot of `handle`, and its state.
    #[inline]
    fn find(&self, handle: Handle) -> Outcome<(&Slot<T>, u64)> {
        let at = handle.addr() >> 4 & 0xffff;
        let slot = self.slots.get(at).ok_or(Status::Handle)?;
        // Acquire: pairs with the store in `insert`.
        let state = slot.state.load(Ordering::Acquire);
        let is_this = state & ALIVE != 0 && self.handle(at, state) == handle;
        if is_this { Ok((slot, state)) } else { Err(Status::Handle) }
    }

    /// The value, which is not removed while the result exists.
    ///
    /// # Errors
    ///
    /// [`Status::Handle`] if there is none.
    #[inline]
    pub(crate) fn get(&'static self, handle: Handle) -> Outcome<Use<T>> {
        loop {
            let (slot, state) = self.find(handle)?;
            if state & PHASE == LEAVING {
                std::thread::yield_now();
            } else if slot.moves(state, state + USER) {
                return Ok(Use { slot });
            }
        }
    }

    /// Keeps the value while the result exists, as [`get`](Self::get) does. For the thread that has
    /// inserted it without a locked instruction. For pools: to remove a value then takes a heavy
    /// fence.
    ///
    /// # Errors
    ///
    /// [`Status::Handle`] if there is none.
    #[inline]
    pub(crate) fn enter(&'static self, handle: Handle) -> Outcome<Entered<T>> {
        debug_assert_eq!(self.kind, Kind::Pool);
        let (slot, _) = self.find(handle)?;
        // Relaxed: of this thread, or of a value that this handle does not name.
        let is_mine = || slot.inserter.load(Ordering::Relaxed) == this_thread();
        if !fence::is_asymmetric() || !is_mine() {
            return Ok(Entered::Counted(self.get(handle)?));
        }
        loop {
            let entries = slot.entries.load(Ordering::Relaxed);
            slot.entries.store(entries + 1, Ordering::Relaxed);
            fence::light();
            let entered = Entered::Own(Own { entries: &slot.entries, here: PhantomData });
            match self.find(handle)? {
                (_, state) if state & PHASE == ALIVE => return Ok(entered),
                _ => drop(entered),
            }
            std::thread::yield_now();
        }
    }

    /// The value, without a count: the caller knows that it is not removed meanwhile.
    ///
    /// # Errors
    ///
    /// [`Status::Handle`] if there is none.
    #[inline]
    pub(crate) fn peek(&'static self, handle: Handle) -> Outcome<&'static T> {
        let (slot, _) = self.find(handle)?;
        // SAFETY: T2.
        Ok(unsafe { slot.value() })
    }

    /// Removes the value.
    ///
    /// # Errors
    ///
    /// [`Status::Handle`] if there is none, [`Status::Busy`] while it is used. In a forked child
    /// the uses by threads of the parent do not count.
    pub(crate) fn remove(&self, handle: Handle) -> Outcome<T> {
        loop {
            let (slot, state) = self.find(handle)?;
            if state & PHASE == LEAVING {
                std::thread::yield_now();
                continue;
            }
            // SAFETY: T2.
            let made_by = unsafe { (*slot.entry.get()).assume_init_ref().process };
            let is_here = made_by == std::process::id();
            // Acquire: the entries are over for the thread that removes the value.
            let is_entered = || slot.entries.load(Ordering::Acquire) != 0;
            if is_here && (state & USERS != 0 || is_entered()) {
                return Err(Status::Busy);
            }
            let generation = state & !(USERS | PHASE);
            if slot.moves(state, state & !PHASE | LEAVING) {
                if self.kind == Kind::Pool {
                    fence::heavy();
                }
                if is_here && is_entered() {
                    slot.state.store(state, Ordering::Release);
                    return Err(Status::Busy);
                }
                slot.state.store(generation | HELD, Ordering::Relaxed);
                // SAFETY: T1.
                let entry = unsafe { (*slot.entry.get()).assume_init_read() };
                let next = generation.wrapping_add(GENERATION) | FREE;
                slot.state.store(next, Ordering::Release);
                return Ok(entry.value);
            }
        }
    }
}

impl<T> Slot<T> {
    const fn empty() -> Self {
        let entry = UnsafeCell::new(MaybeUninit::uninit());
        let (state, inserter) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { state, inserter, entries: AtomicU32::new(0), entry }
    }

    fn moves(&self, from: u64, to: u64) -> bool {
        // AcqRel: who holds the slot sees the last use of its entry, and the next sees its own.
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// # Safety
    ///
    /// T2.
    unsafe fn value(&self) -> &T {
        // SAFETY: as the caller says.
        unsafe { &(*self.entry.get()).assume_init_ref().value }
    }
}

/// A number that no other thread has while this one exists.
#[inline]
fn this_thread() -> u64 {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here).addr() as u64)
}

/// A value that is not removed while this exists.
pub(crate) enum Entered<T: 'static> {
    Own(#[expect(dead_code, reason = "its end counts")] Own),
    Counted(#[expect(dead_code, reason = "its end counts")] Use<T>),
}

/// An entry by the thread that has inserted the value, which this does not leave (T3).
pub(crate) struct Own {
    entries: &'static AtomicU32,
    here: PhantomData<*const ()>,
}

impl Drop for Own {
    #[inline]
    fn drop(&mut self) {
        // Relaxed: this thread's own store.
        let entries = self.entries.load(Ordering::Relaxed);
        // Release: pairs with the load in `remove`.
        self.entries.store(entries - 1, Ordering::Release);
    }
}

/// A counted use of a value.
pub(crate) struct Use<T: 'static> {
    slot: &'static Slot<T>,
}

impl<T> Deref for Use<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: T2: counted.
        unsafe { self.slot.value() }
    }
}

impl<T> Drop for Use<T> {
    fn drop(&mut self) {
        // Release: the use is over for the thread that removes the value.
        self.slot.state.fetch_sub(USER, Ordering::Release);
    }
}
