//! Grace periods: when no transaction can see an old version any more.
//!
//! A transaction that reads a boxed value *pins* the time of its snapshot until it ends. A version
//! may be dropped once no transaction is pinned to a time before its retirement. A committer
//! sometimes scans the pins: it reads the clock, executes the heavy fence, reads all pins, and
//! publishes the smallest time as `safe`. Source: epoch-based reclamation (Fraser, "Practical
//! lock-freedom", 2004), with the version clock as the epoch.
//!
//! # Why it holds
//!
//! Let a version be retired at `s`, and let a scan read the clock at `c ≥ s`, so that the record
//! was locked before that read of `c` (C1). By the fences, a reader whose pin the scan missed had
//! not read the record yet when the heavy fence ran. So that reader finds the record locked or
//! newer, never the retired version. A reader whose pin the scan saw keeps `safe` below its time
//! `p`. If that reader can see the version then `p < s`, because with `p ≥ s` its clock would have
//! shown it the lock (C1).
//!
//! # Orderings
//!
//! - G1 pin, light fence, read of the record ↔ clock, heavy fence, read of the pins: see
//!   [`sinew_sync::fence`].
//! - G2 unpin (Release) ↔ read of the pins (Acquire): the reader's use of the version precedes its
//!   end.
//!
//! # Cost
//!
//! Nothing for a transaction that accesses no boxed value; for others a store (a full fence if the
//! process has no asymmetric one: see [`sinew_sync::fence::register`]).

use crate::engine::engine;
use crate::threads::Shared;
use sinew_sync::atomic::{self, Ordering};
use sinew_sync::fence;
use sinew_sync::plant::{Bug, planted};

/// Pins the time `now` for the thread.
pub(crate) fn pin(thread: &Shared, now: u64) {
    if planted(Bug::NoPin) {
        return;
    }
    // Relaxed: G1, the fence follows.
    thread.pinned.store(now + 1, Ordering::Relaxed);
    if fence::is_asymmetric() {
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

/// No transaction can see versions retired at or before this time.
pub(crate) fn safe() -> u64 {
    // Acquire: the reads that ended before the scan precede the drops that follow.
    engine().safe.load(Ordering::Acquire)
}

/// Scans the pins, and publishes the new safe time.
#[cold]
pub(crate) fn advance() {
    let now = engine().clock.now();
    fence::heavy();
    let threads = engine().threads.lock();
    // Acquire: G2.
    let pins = threads.iter().map(|thread| thread.pinned.load(Ordering::Acquire));
    let safe = pins.filter(|pin| *pin != 0).map(|pin| pin - 1).fold(now, u64::min);
    // AcqRel: passes on what earlier scans acquired.
    engine().safe.fetch_max(safe, Ordering::AcqRel);
}
