//! Locks at the commit: what a descriptor does in [`Mode::Late`].
//!
//! A transaction usually locks a record when it first writes to it ([`Locking::Encounter`]). Here
//! it keeps what it writes to itself, as a run ahead does, and locks all of it when it commits.
//! Others can read and write the same variables until then; who of two writers comes later finds
//! out only at its end that it was in vain. Source: Dice, Shalev and Shavit, "Transactional Locking
//! II" (2006), for locks at the commit. Differences: snapshots are extended, as everywhere here.
//!
//! As for runs ahead, the limit of the descriptor is 0 and that of the snapshot lies in
//! [`Ahead`](crate::ahead): each access takes the slow path, which branches here, and transactions
//! that lock early know nothing of this. From [`ready`](Descriptor::ready) on there is no
//! difference any more. A transaction with the token locks early: by I4 nobody would be in its way
//! at the end either.
//!
//! # Invariants
//!
//! - I15: in this mode no record is locked by this thread before [`ready`](Descriptor::ready), and
//!   entries of the write set that are not locked yet have 0, which is no version, as the word
//!   before.
//! - I8 holds with the limit in [`Ahead`](crate::ahead), I10 from `ready` on. I11: a record is
//!   locked only if it is not younger than the snapshot, which is extended before where it is.
//!
//! # Cost
//!
//! Each access looks through the entries of the write set, and none is inlined: some five times
//! that of one under early locks. It is there to compare.
//!
//! # Tests
//!
//! Those of histories, under schedules and real threads, run under both; `transactions.rs`: the
//! same script, the same outcome.

use crate::access::head;
use crate::descriptor::{Descriptor, Mode};
use crate::log::{LAST, Read, Target, Write};
use crate::record::{INDEX, LOCKED, OWNER, Record};
use crate::sites::Cause;
use crate::tx::TxResult;
use crate::word::Bits;
use sinew_sync::plant::{Bug, planted};

/// When a transaction locks what it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Locking {
    /// At the first write to it: conflicts are found at once.
    #[default]
    Encounter,
    /// At the commit: locks are held for a short time, and conflicts between writers are found
    /// late. Slower here; for comparisons.
    Commit,
}

impl Descriptor {
    /// Has the attempt that has just begun lock late.
    #[cold]
    pub(crate) fn lock_late(&mut self) {
        if !self.holds_token() {
            self.ahead.limit = self.limit;
            self.limit = 0;
            self.mode = Mode::Late;
            self.special = true;
        }
    }

    /// The bits of one's own entry for `target`, or what `load` finds in memory.
    #[cold]
    pub(crate) fn read_late(
        &mut self,
        record: &Record,
        target: Target,
        mut load: impl FnMut() -> Bits,
    ) -> TxResult<Bits> {
        if let Some(at) = self.written_aside(target) {
            return Ok(self.writes[at].bits);
        }
        loop {
            let seen = record.look();
            if self.is_in_sight(record, seen)? {
                let bits = load();
                // R1, R2 and C1 as in `access`.
                if record.look_again() == seen || planted(Bug::NoSecondLook) {
                    self.reads.push(Read { record, seen });
                    return Ok(bits);
                }
            }
        }
    }

    /// Whether a record that was seen so is free and not younger than the snapshot. If not, it is
    /// worth another look.
    fn is_in_sight(&mut self, record: &Record, seen: u64) -> TxResult<bool> {
        if seen & LOCKED != 0 {
            self.conflict(record, seen)?;
        } else if seen <= self.ahead.limit {
            return Ok(true);
        } else if !self.see_later() {
            return self.doom(Cause::Changed);
        }
        Ok(false)
    }

    /// Enters `bits` for `target` in the write set, without a lock.
    #[cold]
    pub(crate) fn write_late(&mut self, record: &Record, target: Target, bits: Bits) {
        match self.written_aside(target) {
            Some(at) => self.overwrite(at, bits),
            None => {
                assert!((self.writes.len() as u64) < INDEX, "a transaction writes at most 2^32 - 1 words");
                self.writes.push(Write::new(record, 0, target, bits, LAST));
            }
        }
    }

    /// What a special transaction does before it commits. False if it cannot.
    #[cold]
    pub(crate) fn ready(&mut self) -> bool {
        if self.mode == Mode::Late && self.doomed.is_none() && self.lock_all().is_ok() {
            self.mode = Mode::Optimistic;
            self.limit = self.ahead.limit;
        }
        self.doomed.is_none()
    }

    fn lock_all(&mut self) -> TxResult<()> {
        (0..self.writes.len()).try_for_each(|index| self.lock(index))
    }

    /// Locks the record of an entry. If an earlier entry has done so, this one hangs on it.
    fn lock(&mut self, index: usize) -> TxResult<()> {
        // SAFETY: I9.
        let record = unsafe { &*self.writes[index].record };
        loop {
            let seen = record.look();
            if seen & OWNER == self.owner {
                self.writes[index].hang_on(head(seen));
                return Ok(());
            }
            let in_sight = planted(Bug::BlindLock) && seen & LOCKED == 0 || self.is_in_sight(record, seen)?;
            if in_sight && record.try_lock(seen, self.owner | index as u64) {
                self.writes[index].before = seen;
                return Ok(());
            }
        }
    }
}
