//! When nobody sees an old version any more.
//!
//! A transaction that looks at a boxed value *pins* the time of its snapshot until it ends. A
//! version may go once no transaction is pinned to a time before its retirement. Now and then a
//! committer takes stock: it reads the clock, executes the heavy fence, looks at all pins, and
//! publishes the smallest time it found as `safe`. Source: epoch-based reclamation (Fraser,
//! "Practical lock-freedom", 2004), with the version clock for the epoch.
//!
//! # Why it holds
//!
//! Let a version be retired at `s`, and stock taken at clock `c ≥ s`, so that the record was locked
//! before the stock-taker read `c` (C1). A reader whose pin it missed has, by the fences, not
//! looked at the record yet when the heavy fence ran. So that reader finds the record locked or
//! newer, never the retired version. A reader whose pin it saw keeps `safe` below its time `p`; if
//! it can see the version then `p < s`, because with `p ≥ s` its clock would have shown it the lock
//! (C1).
//!
//! # Orderings
//!
//! - G1 pin, light fence, look at the record ↔ clock, heavy fence, look at the pins: see
//!   [`sinew_sync::fence`].
//! - G2 unpin (Release) ↔ look at the pins (Acquire): what the reader did with the version comes
//!   before its end.
//!
//! # Cost
//!
//! A transaction that touches no boxed value pays nothing, one that does a store (a full fence
//! where the process has no asymmetric one: see [`sinew_sync::fence::register`]).

use crate::engine::engine;
use crate::threads::Shared;
use sinew_sync::atomic::{self, Ordering};
use sinew_sync::fence;
use sinew_sync::plant::{Bug, planted};

/// Versions that a thread retires before it takes stock.
pub(crate) const OFTEN: usize = if cfg!(any(loom, shuttle)) { 1 } else { 64 };

/// Pins the time `now` for the thread.
pub(crate) fn pin(thread: &Shared, now: u64) {
    if planted(Bug::NoPin) {
        return;
    }
    // Relaxed: G1, the fence follows.
    thread.pinned.store(now + 1, Ordering::Relaxed);
    if fence::asymmetric() {
        fence::light();
    } else {
        atomic::fence(Ordering::SeqCst);
    }
}

/// Ends the pin.
pub(crate) fn unpin(thread: &Shared) {
    // Release: G2.
    thread.pinned.store(0, Ordering::Release);
}

/// The time at or before which retired versions are seen by nobody.
pub(crate) fn safe() -> u64 {
    // Acquire: the reads that ended before stock was taken come before the drops that follow.
    engine().safe.load(Ordering::Acquire)
}

/// Takes stock.
#[cold]
pub(crate) fn advance() {
    let now = engine().clock.now();
    fence::heavy();
    let threads = engine().threads.lock();
    // Acquire: G2.
    let pins = threads.iter().map(|thread| thread.pinned.load(Ordering::Acquire));
    let safe = pins.filter(|pin| *pin != 0).map(|pin| pin - 1).fold(now, u64::min);
    // AcqRel: carries on what earlier stock-takers acquired.
    engine().safe.fetch_max(safe, Ordering::AcqRel);
}
