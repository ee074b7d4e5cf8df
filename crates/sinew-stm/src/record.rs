//! The ownership record: one word beside each variable, with its version or its owner.
//!
//! # States
//!
//! | word | means | entered by | left by |
//! |---|---|---|---|
//! | `version` | free; the value is that of the commit `version` | release | `try_lock`, `mark_waited` |
//! | `version \| WAITED` | free; a transaction sleeps until the value changes | `mark_waited` | `try_lock` |
//! | `LOCKED \| owner \| index` | the transaction `owner` will write it; its write set has the value at `index` | `try_lock` | `release` |
//!
//! Versions are even, from [`FIRST`] on, and below [`LOCKED`]. So one comparison, `word <=
//! snapshot | WAITED`, tests whether the record is free and not younger than the snapshot.
//!
//! # Invariants
//!
//! - I1: between `try_lock` and `release` only the owner changes the word or the values that it
//!   guards.
//! - I2: a value is stored only under a locked record, after the committer has taken its version
//!   from the clock.
//! - I3: a transaction that releases with a new version has stored every value that the record
//!   guards.
//!
//! # Orderings
//!
//! - R1 `release` (Release) ↔ `look` (Acquire): a thread that sees a version sees the values of
//!   that version.
//! - R2 `try_lock` before the value's store (Release) ↔ the value's load (Acquire) before
//!   `look_again`: a thread that has read a value of an unfinished commit sees the record locked,
//!   or later, in the second look.

use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::plant::{Bug, planted};

/// Set in the word of a record that a transaction owns.
pub(crate) const LOCKED: u64 = 1 << 63;

/// Set in the word of a free record for whose change a transaction waits.
pub(crate) const WAITED: u64 = 1;

/// The part of a locked word that names the owner.
pub(crate) const OWNER: u64 = !INDEX;

/// The part of a locked word that is an index in the owner's write set.
pub(crate) const INDEX: u64 = 0xffff_ffff;

/// The version of a variable that was never written. Not 0: with a limit of 0 no record is valid.
pub(crate) const FIRST: u64 = 2;

/// An ownership record.
#[derive(Debug)]
pub(crate) struct Record(AtomicU64);

impl Record {
    const_unless_modelled! {
        /// The record of a variable as old as the clock.
        pub(crate) fn new() -> Self {
            Self(AtomicU64::new(FIRST))
        }
    }

    /// Reads the word, before the values that it guards are read.
    #[inline(always)]
    pub(crate) fn look(&self) -> u64 {
        // Acquire: R1.
        self.0.load(Ordering::Acquire)
    }

    /// Reads the word, after the values that it guards were read by an Acquire load.
    #[inline(always)]
    pub(crate) fn look_again(&self) -> u64 {
        // Relaxed: R2. The acquiring load of the value comes before it and keeps it there.
        self.0.load(Ordering::Relaxed)
    }

    /// Turns the free word `seen` into `owned`.
    #[inline(always)]
    pub(crate) fn try_lock(&self, seen: u64, owned: u64) -> bool {
        // Acquire: R1, since the owner may read the value later. The lock publishes nothing: R2
        // rests on the value's store.
        self.0.compare_exchange(seen, owned, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Releases the record, with `version` as its word.
    #[inline(always)]
    pub(crate) fn release(&self, version: u64) {
        // Release: R1.
        self.0.store(version, sinew_sync::plant::ordering(Bug::RelaxedRelease, Ordering::Release));
    }

    /// Marks the free record, last seen as `seen`: a transaction waits for its change. False if it
    /// has changed or is about to.
    pub(crate) fn mark_waited(&self, seen: u64) -> bool {
        let seen = seen & !WAITED;
        if planted(Bug::UnmarkedSleep) {
            return self.look() & !WAITED == seen;
        }
        // AcqRel: a thread that locks the marked record also sees the sleeper's entry (a release
        // sequence through `try_lock`).
        let mark = |word| (word & !WAITED == seen).then_some(word | WAITED);
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, mark).is_ok()
    }
}
