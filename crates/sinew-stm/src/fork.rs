//! Survival of `fork(2)`: the child has one thread, and the memory of all.
//!
//! The thread that forks takes every lock of this crate before, and gives all of them back on
//! either side. So the child finds no lock that a lost thread holds, and what they guard is whole:
//! the free lists of containers are locked only by threads that have one of the engine's
//! [`arenas`](crate::engine::Engine::arenas) locks.
//!
//! In the child the other threads are *lost*. Their pins end, their token is given back, and none
//! of them sleeps. Their numbers are not used again, as records may be locked with them. Such a
//! record cannot be mended: the values of a commit under way may be stored in part. A child that
//! needs one ends with a line that says so; it never sees half of a commit. A transaction in whose
//! closure the fork happens goes on in both processes.
//!
//! # Not handled
//!
//! A fork while the process begins its very first transaction on another thread: the handlers may
//! come too late for it.

use crate::engine::{ARENAS, engine};
use crate::sites::Sites;
use crate::threads::{self, Threads};
use crate::waiting::Sleepers;
use sinew_sync::lock::MutexGuard;
use sinew_sync::statics::{AtomicBool, Ordering};
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

/// The locks while their thread forks.
struct Held(UnsafeCell<Option<Locks>>);

// SAFETY: only the thread that has the locks looks inside, and only one has them.
unsafe impl Sync for Held {}

static HELD: Held = Held(UnsafeCell::new(None));
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// Has forks looked after from here on. To be called before a thread takes its first lock.
pub(crate) fn register() {
    // Relaxed: nothing is published by it. Threads do not wait here, or a child could do so for
    // ever.
    if !REGISTERED.load(Ordering::Relaxed) && !REGISTERED.swap(true, Ordering::Relaxed) {
        sinew_sync::fork::register(before, in_parent, in_child);
    }
}

extern "C" fn before() {
    let engine = engine();
    // No thread takes one of them while it has another, so the order does not matter.
    let locks = Locks {
        gate: engine.gate.lock(),
        threads: engine.threads.lock(),
        _sites: engine.sites.lock(),
        sleepers: engine.sleepers.lock(),
        _growth: engine.growth.lock(),
        _arenas: std::array::from_fn(|place| engine.arenas[place].lock()),
    };
    // SAFETY: this thread has the locks.
    unsafe { *HELD.0.get() = Some(locks) };
}

/// Takes out the locks that `before` has left.
fn held() -> Option<Locks> {
    // SAFETY: the fork has been by the thread that called `before`, which has the locks.
    unsafe { (*HELD.0.get()).take() }
}

extern "C" fn in_parent() {
    drop(held());
}

extern "C" fn in_child() {
    sinew_sync::fence::forget();
    let Some(mut locks) = held() else { return };
    let own = threads::own_number();
    locks.threads.lose_all_but(own);
    if locks.gate.is_some() && *locks.gate != own {
        *locks.gate = None;
        engine().clock.forget_token();
    }
    *locks.sleepers = Sleepers::new();
}
