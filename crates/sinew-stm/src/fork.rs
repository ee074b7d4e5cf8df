//! Support for `fork(2)`: the child has one thread, and the memory of all.
//!
//! The thread that forks takes every lock of this crate before the fork, and releases all of them
//! in both processes. So the child finds no lock held by a lost thread, and the data under the
//! locks is consistent: a thread locks the free list of a container only while it holds one of the
//! engine's [`arenas`](crate::engine::Engine::arenas) locks.
//!
//! In the child the other threads are *lost*. Their pins end, their token is released, and none of
//! them sleeps. Their numbers are not reused, as records may be locked with them. Such a record
//! cannot be repaired: a commit in progress may have stored only some of its values. A child that
//! needs such a record prints one line and ends; it never sees half of a commit. A transaction
//! whose closure forks continues in both processes.
//!
//! # Tests
//!
//! `tests/fork.rs` with real processes. `shuttle_fork`: a scheduler that runs only one thread after
//! the fork; it finds the planted bugs `UnlockedFork` and `LostToken`.
//!
//! # Registration
//!
//! A thread that begins its first transaction registers the handlers, unless they are registered.
//! It does not wait for a thread that is about to: a child could wait for ever for a lost one. So
//! the handlers may be registered more than once, and the first of each kind does the work.
//!
//! # Not handled
//!
//! A fork that has begun before the first transaction of the process: it calls no handler.

use crate::engine::{ARENAS, engine};
use crate::sites::Sites;
use crate::sleepers::Sleepers;
use crate::threads::{self, Threads};
use sinew_sync::lock::MutexGuard;
use sinew_sync::plant::{Bug, planted};
use sinew_sync::statics::{AtomicBool, AtomicU64, Ordering};
use std::cell::UnsafeCell;

/// Every lock of this crate.
struct Locks {
    gate: MutexGuard<'static, Option<u32>>,
    threads: MutexGuard<'static, Threads>,
    _sites: MutexGuard<'static, Sites>,
    sleepers: MutexGuard<'static, Sleepers>,
    _growth: MutexGuard<'static, ()>,
    _arenas: [MutexGuard<'static, ()>; ARENAS],
}

/// The locks, held while their thread forks.
struct Held(UnsafeCell<Option<Locks>>);

// SAFETY: only the thread that holds the locks accesses the cell, and only one does.
unsafe impl Sync for Held {}

static HELD: Held = Held(UnsafeCell::new(None));

/// Set when a registration has ended.
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// The thread that forks, by [`this_thread`]; 0 if none does.
static FORKING: AtomicU64 = AtomicU64::new(0);

/// Registers the fork handlers. A thread must call it before it takes its first lock.
pub(crate) fn register() {
    sinew_sync::fork::register_once(&REGISTERED, before, in_parent, in_child);
}

/// A number that no other thread has, and that a forked child keeps. Not 0.
fn this_thread() -> u64 {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| std::ptr::from_ref(place).addr() as u64)
}

/// Whether this is the first handler after the fork; it is then over.
fn ends_the_fork() -> bool {
    // Relaxed, as below: a thread finds its own number only if it has stored it.
    let is_first = FORKING.load(Ordering::Relaxed) == this_thread();
    if is_first {
        FORKING.store(0, Ordering::Relaxed);
    }
    is_first
}

extern "C" fn before() {
    if FORKING.load(Ordering::Relaxed) != this_thread() {
        take_locks();
        FORKING.store(this_thread(), Ordering::Relaxed);
    }
}

extern "C" fn in_parent() {
    if ends_the_fork() {
        drop(held());
    }
}

extern "C" fn in_child() {
    if ends_the_fork() {
        go_on_alone();
    }
}

/// Takes every lock, before a fork.
pub(crate) fn take_locks() {
    if planted(Bug::UnlockedFork) {
        return;
    }
    let engine = engine();
    // No thread takes one of them while it holds another, so the order does not matter.
    let locks = Locks {
        gate: engine.gate.lock(),
        threads: engine.threads.lock(),
        _sites: engine.sites.lock(),
        sleepers: engine.sleepers.lock(),
        _growth: engine.growth.lock(),
        _arenas: std::array::from_fn(|place| engine.arenas[place].lock()),
    };
    // SAFETY: this thread holds the locks.
    unsafe { *HELD.0.get() = Some(locks) };
}

/// Takes the locks that `take_locks` stored.
fn held() -> Option<Locks> {
    // SAFETY: the thread that called `take_locks` has forked, and it holds the locks.
    unsafe { (*HELD.0.get()).take() }
}

/// Removes the lost threads from the state and releases the locks, in the child of a fork.
pub(crate) fn go_on_alone() {
    sinew_sync::fence::forget();
    let Some(mut locks) = held() else { return };
    let own = threads::own_number();
    locks.threads.lose_all_but(own);
    if locks.gate.is_some() && *locks.gate != own && !planted(Bug::LostToken) {
        *locks.gate = None;
        engine().clock.forget_token();
    }
    *locks.sleepers = Sleepers::new();
}
