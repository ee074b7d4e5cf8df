//! What a transaction does that meets another's lock.
//!
//! Whoever waits here may hold locks itself, so each wait ends: after a number of looks, or because
//! waiting goes from older to younger only, or as soon as somebody takes the token. Who holds the
//! token waits as long as it takes: by I4 all others give way.

use crate::descriptor::Descriptor;
use crate::engine::engine;
use crate::record::{LOCKED, OWNER, Record};
use crate::sites::Cause;
use crate::threads::{AGELESS, die_if_lost};
use crate::tx::TxResult;
use sinew_sync::atomic::spin_loop;
use sinew_sync::thread::yield_now;

/// What to do about a record that another transaction has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Manager {
    /// Give up at once, and start again at once. Right where conflicts are rare and attempts short.
    Suicide,
    /// Wait a little for the lock, then give up, and pause before the next attempt: each time about
    /// twice as long, drawn at random.
    #[default]
    Backoff,
    /// The transaction that was first tried earlier waits, the later one gives up and keeps its
    /// age. So the oldest one gets through to its locks. Transactions under another manager count
    /// as younger than all.
    Age,
}

/// Looks at a lock before waiting becomes giving up the processor.
const SPINS: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 64 };

/// Looks at a lock before `Backoff` gives up the attempt.
const LOOKS: u32 = if cfg!(any(loom, shuttle)) { 2 } else { 256 };

/// The longest pause is two to this power looks.
const LONGEST: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 12 };

impl Descriptor {
    /// Returns when the record is worth another look, or gives the attempt up.
    ///
    /// # Errors
    ///
    /// The attempt is given up.
    #[cold]
    pub(crate) fn conflict(&mut self, record: &Record, seen: u64) -> TxResult<()> {
        die_if_lost(&engine().threads, owner_of(seen));
        let worth = self.holds_token() && wait_while(record, seen, u32::MAX, || true)
            || match self.manager {
                Manager::Suicide => false,
                Manager::Backoff => wait_while(record, seen, LOOKS, others_may),
                Manager::Age => {
                    self.is_older(seen) && wait_while(record, seen, u32::MAX, others_may)
                }
            };
        if worth { Ok(()) } else { self.doom(Cause::Locked) }
    }

    /// Whether this transaction is older than the owner in `seen`. Ages are equal only of
    /// transactions that began at the same time; then the thread's number decides.
    fn is_older(&self, seen: u64) -> bool {
        let number = owner_of(seen);
        let threads = engine().threads.lock();
        let owner = threads.find(number).map_or(AGELESS, |owner| owner.age());
        (self.shared.age(), self.number) < (owner, number)
    }

    /// What the manager does between two attempts.
    pub(crate) fn pause(&mut self) {
        if self.manager != Manager::Backoff {
            return;
        }
        let longest = self.aborts.min(LONGEST);
        for look in 0..self.rng.u32(0..1 << longest) {
            rest(look);
        }
    }
}

/// The number of the thread in a locked word.
fn owner_of(seen: u64) -> u32 {
    u32::try_from((seen & OWNER & !LOCKED) >> 32).unwrap_or(u32::MAX)
}

/// Whether those without the token may go on.
fn others_may() -> bool {
    !engine().clock.token_taken()
}

/// Looks at `record` until it is no longer `seen`, `looks` times at most and while `going_on`.
/// Answers whether it has changed.
fn wait_while(record: &Record, seen: u64, looks: u32, going_on: impl Fn() -> bool) -> bool {
    let mut look = 0_u32;
    while look < looks || looks == u32::MAX {
        if record.look() != seen {
            return true;
        }
        if !going_on() {
            return false;
        }
        rest(look);
        look = look.saturating_add(1);
    }
    false
}

/// Lets a little time pass, and other threads run once it has been long.
fn rest(look: u32) {
    if look < SPINS || !look.is_multiple_of(SPINS) { spin_loop() } else { yield_now() }
}
