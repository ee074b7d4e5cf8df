//! Data per thread: whether a loaded object keeps any, and the few bits that this library keeps.
//!
//! OpenMP promises that `threadprivate` data lasts from one region to the next only while teams
//! keep their size. A lowered region leaves out threads that hold a part of the data, so a program
//! with such data is never lowered. The data may lie in any object: a region may call a function of
//! a library that counts per thread, and no object with a region names the data. So the segments of
//! all loaded objects count. Left out are the libraries of [`rules::keeps_no_users_data`], whose
//! data is their own.
//!
//! # States
//!
//! | [`IN_DOUBT`] | meaning | entered by | left by |
//! |---|---|---|---|
//! | n > 0 | n threads may have loaded objects that were not checked | `dlopen` begins | the next call of that thread that comes here, or its end |
//! | 0 | every object whose loading has ended was checked | | |
//!
//! # Invariants
//!
//! - D1: a thread with the note [`LOADING`] has added one to [`IN_DOUBT`], before the C library's
//!   `dlopen` began.
//! - D2: a thread subtracts that one only after it has checked all objects. By then the loaded
//!   objects are in the C library's list. The thread runs code again that calls this library,
//!   either after the call or in an object's constructor, and objects are in the list before their
//!   constructors run.
//!
//! # Orderings
//!
//! - T1: a region that comes after a load, in the order that the program itself makes, sees the
//!   addition of D1. If it sees the subtraction of D2 as well (Release, in `arrived`; Acquire, in
//!   `check_objects`), then it sees the objection that the check added.
//! - T2: the same for the objects that the program began with, by [`LOOKED_AT_START`].
//!
//! # Not handled
//!
//! A running team whose region calls into an object that another thread loads meanwhile. Data that
//! a program keeps per thread by other means, such as keys or an array with an entry per thread.
//!
//! # Tests
//!
//! `sinew-exec/tests/thread_data.rs`.

#[cfg(sinew_preloaded)]
use core::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
#[cfg(not(sinew_preloaded))]
use std::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

use core::ffi::c_void;

use crate::objections;
use crate::rules::{self, Objection};
use crate::system;

/// The key of the threads' bits, plus one; 0: not made yet.
static KEY: AtomicU32 = AtomicU32::new(0);

/// A clause has set the number of threads of this thread's next region.
pub(crate) const CLAUSE: usize = 1;
/// The thread has begun to load an object and has not called this library since.
pub(crate) const LOADING: usize = 2;

/// The thread's last region at level 0 of this runtime was lowered to one thread. The bit holds
/// until its next region at that level, so the region's end need not be seen.
pub(crate) const fn outer_is_one(runtime: usize) -> usize {
    1 << (8 + runtime)
}

static IN_DOUBT: AtomicU32 = AtomicU32::new(0);
static LOOKED_AT_START: AtomicBool = AtomicBool::new(false);

/// Checks the objects that the program began with, once. Returns whether a loaded object may keep
/// data per thread and was not checked yet. If one does, an objection says so for good.
pub(crate) fn check_objects() -> bool {
    if !LOOKED_AT_START.load(Acquire) {
        look();
        LOOKED_AT_START.store(true, Release);
    }
    IN_DOUBT.load(Acquire) != 0
}

/// The calling thread is about to load an object.
pub(crate) fn loading_begins() {
    if objections::all() & Objection::ThreadPrivate as u32 != 0 {
        return;
    }
    if set(LOADING, true) {
        // Relaxed: the program orders the load before the regions that depend on it, T1.
        IN_DOUBT.fetch_add(1, Relaxed);
    } else {
        objections::add(Objection::ThreadPrivate);
    }
}

/// The calling thread has called this library.
///
/// # Cost
///
/// A load if no object was loaded lately.
pub(crate) fn arrived() {
    // Relaxed: a thread sees its own addition.
    if IN_DOUBT.load(Relaxed) != 0 && has(LOADING) {
        set(LOADING, false);
        no_doubt();
    }
}

/// A thread with these notes ends.
pub(crate) extern "C" fn thread_ended(notes: *mut c_void) {
    if notes as usize & LOADING != 0 {
        no_doubt();
    }
}

/// D2.
#[cold]
fn no_doubt() {
    look();
    IN_DOUBT.fetch_sub(1, Release);
}

#[cold]
fn look() {
    if system::has_thread_data(rules::keeps_no_users_data) {
        objections::add(Objection::ThreadPrivate);
    }
}

/// Whether the calling thread has `bit`; `false` if that cannot be known.
pub(crate) fn has(bit: usize) -> bool {
    key().is_some_and(|key| system::thread_value(key) & bit != 0)
}

/// Sets or clears `bit` for the calling thread. Returns whether that was possible.
pub(crate) fn set(bit: usize, value: bool) -> bool {
    let Some(key) = key() else { return false };
    let (before, rest) = (system::thread_value(key), system::thread_value(key) & !bit);
    let after = if value { rest | bit } else { rest };
    if after != before {
        system::set_thread_value(key, after);
    }
    true
}

fn key() -> Option<u32> {
    match KEY.load(Relaxed) {
        0 => make_key_cold(),
        key => Some(key - 1),
    }
}

#[cold]
fn make_key_cold() -> Option<u32> {
    let key = system::thread_key(thread_ended)?;
    // A thread that loses the race leaves an unused key behind, once. Relaxed: a key is only a
    // number.
    let first = KEY.compare_exchange(0, key + 1, Relaxed, Relaxed);
    Some(first.map_or_else(|other| other - 1, |_| key))
}
