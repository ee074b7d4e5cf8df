//! Conflicts: the choices of a transaction that finds another's lock.
//!
//! A transaction that waits here may hold locks itself, so each wait ends: after a number of
//! checks, because only older transactions wait for younger ones, or when another transaction takes
//! the token. The token's holder waits as long as necessary: by I4 all others abort or finish.

use crate::contention_manager::ContentionManager;
use crate::descriptor::Descriptor;
use crate::engine::engine;
use crate::record::{LOCKED, OWNER, Record};
use crate::sites::Cause;
use crate::threads::{AGELESS, die_if_lost};
use crate::tx_error::TxResult;
use sinew_sync::atomic::spin_loop;
use sinew_sync::thread::yield_now;

/// Checks of a lock before the waiting thread yields the processor.
const SPINS: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 64 };

/// Checks of a lock before `Backoff` aborts.
const CHECKS: u32 = if cfg!(any(loom, shuttle)) { 2 } else { 256 };

/// The longest pause is two to this power checks.
const LONGEST: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 12 };

impl Descriptor {
    /// Returns when the record is worth another check, or aborts.
    ///
    /// # Errors
    ///
    /// The attempt is lost.
    #[cold]
    pub(crate) fn conflict(&mut self, record: &Record, seen: u64) -> TxResult<()> {
        die_if_lost(&engine().threads, owner_of(seen));
        let worth = self.holds_token() && wait_while(record, seen, u32::MAX, || true)
            || match self.manager {
                ContentionManager::Suicide => false,
                ContentionManager::Backoff => wait_while(record, seen, CHECKS, others_may),
                ContentionManager::Age => {
                    self.is_older(seen) && wait_while(record, seen, u32::MAX, others_may)
                }
            };
        if worth { Ok(()) } else { self.doom(Cause::Locked) }
    }

    /// Whether this transaction is older than the owner in `seen`. Only transactions that began at
    /// the same time have equal ages; then the thread's number decides.
    fn is_older(&self, seen: u64) -> bool {
        let number = owner_of(seen);
        let threads = engine().threads.lock();
        let owner = threads.find(number).map_or(AGELESS, |owner| owner.age());
        (self.shared.age(), self.number) < (owner, number)
    }

    /// The manager's pause between two attempts.
    pub(crate) fn pause(&mut self) {
        if !self.manager.pauses() {
            return;
        }
        let longest = self.aborts.min(LONGEST);
        for check in 0..self.rng.u32(0..1 << longest) {
            rest(check);
        }
    }
}

/// The number of the thread in a locked word.
fn owner_of(seen: u64) -> u32 {
    u32::try_from((seen & OWNER & !LOCKED) >> 32).unwrap_or(u32::MAX)
}

/// Whether transactions without the token may continue.
fn others_may() -> bool {
    !engine().clock.token_taken()
}

/// Checks `record` until it is no longer `seen`, at most `checks` times and while `going_on`.
/// Returns whether it has changed.
fn wait_while(record: &Record, seen: u64, checks: u32, going_on: impl Fn() -> bool) -> bool {
    let mut check = 0_u32;
    while check < checks || checks == u32::MAX {
        if record.look() != seen {
            return true;
        }
        if !going_on() {
            return false;
        }
        rest(check);
        check = check.saturating_add(1);
    }
    false
}

/// Waits briefly, and yields to other threads after a longer time.
fn rest(look: u32) {
    if look < SPINS || !look.is_multiple_of(SPINS) { spin_loop() } else { yield_now() }
}
