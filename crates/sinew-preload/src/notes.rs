//! What is remembered: objections of the process for good, and a few bits per thread.

#[cfg(sinew_preloaded)]
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
#[cfg(not(sinew_preloaded))]
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::rules::Objection;
use crate::{system, thread_data};

/// Bits of [`Objection`].
static OBJECTIONS: AtomicU32 = AtomicU32::new(0);

/// The key of the threads' bits, plus one; 0: not made yet.
static KEY: AtomicU32 = AtomicU32::new(0);

/// A clause has said how many threads the next region of this thread has.
pub(crate) const CLAUSE: usize = 1;
/// The thread has begun to load an object and has not called this library since.
pub(crate) const LOADING: usize = 2;

/// The thread's region at level 0 of the runtime of this number was lowered to one thread. Holds
/// until its next one at that level, so nothing need see the region's end.
pub(crate) const fn outer_is_one(runtime: usize) -> usize {
    1 << (8 + runtime)
}

/// Remembers that the program forbids lowering.
///
/// Relaxed: the program itself orders what it asks before the regions that depend on it.
pub(crate) fn object(objection: Objection) {
    if objections() & objection as u32 == 0 {
        OBJECTIONS.fetch_or(objection as u32, Relaxed);
    }
}

/// All objections so far.
pub(crate) fn objections() -> u32 {
    OBJECTIONS.load(Relaxed)
}

/// Whether the calling thread has `bit`; `false` if it cannot be known.
pub(crate) fn has(bit: usize) -> bool {
    key().is_some_and(|key| system::thread_value(key) & bit != 0)
}

/// Gives the calling thread `bit`, or takes it. Answers whether it could be done.
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
    let key = system::thread_key(thread_data::thread_ended)?;
    // A thread that loses the race leaves an unused key behind, once. Relaxed: a key is only a
    // number.
    let first = KEY.compare_exchange(0, key + 1, Relaxed, Relaxed);
    Some(first.map_or_else(|other| other - 1, |_| key))
}
