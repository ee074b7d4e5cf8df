//! Locks at the commit: what a descriptor does in [`Mode::Late`] and [`Mode::Irrevocable`].
//!
//! A transaction usually locks a record when it first writes to it ([`Locking::Encounter`]). Here
//! it keeps its writes private, as a run ahead does, and locks all of them when it commits. Until
//! then others can read and write the same variables; the later one of two writers finds the
//! conflict only at its end.
//! Source: Dice, Shalev and Shavit, "Transactional Locking II" (2006), for locks at the commit.
//! Difference: snapshots are extended, as everywhere here.
//!
//! As for runs ahead, the limit of the descriptor is 0 and that of the snapshot is in
//! [`Ahead`](crate::ahead). Each access takes the slow path, which branches here, and transactions
//! that lock early need no test for this mode. From [`ready`](Descriptor::ready) on there is no
//! difference any more.
//!
//! An irrevocable transaction may last as long as its input and output, and no other one commits
//! meanwhile. So it releases its locks when it becomes irrevocable, and readers continue. By I4 the
//! records keep their versions until it locks them again, at its commit. Other transactions may
//! then hold some of the records, but they abort, so it locks them all. A transaction that has the
//! token only because it has aborted too often locks early.
//!
//! # Invariants
//!
//! - I15: in these modes this thread locks no record before [`ready`](Descriptor::ready), and
//!   entries of the write set that are not locked yet have 0, which is no version, as the word
//!   before. Each of them has its record.
//! - I8 holds with the limit in [`Ahead`](crate::ahead), I10 from `ready` on. I11: a record is
//!   locked only if it is not younger than the snapshot; if it is, the snapshot is extended first.
//!
//! # Cost
//!
//! Each access searches for its entry in the write set ([`Index`](crate::index::Index)), and none
//! is inlined: some five times the cost under early locks.
//!
//! # Tests
//!
//! The history tests, under random schedules and real threads, run with both lock times and have
//! irrevocable transactions. `transactions.rs`: the same script has the same outcome.
//! `tests/irrevocable.rs`: readers beside an irrevocable transaction. `loom` finds a commit that
//! does not lock its records again.

use crate::access::head;
use crate::descriptor::{Descriptor, Mode};
use crate::log::{LAST, Target, Write};
use crate::record::{INDEX, LOCKED, OWNER, Record};
use crate::sites::Cause;
use crate::tx_error::TxResult;
use crate::word::Bits;
use sinew_sync::plant::{Bug, planted};

/// When a transaction locks the records of its writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Locking {
    /// At the first write: conflicts are found at once.
    #[default]
    Encounter,
    /// At the commit: locks are held for a short time, but conflicts between writers are found
    /// late. Slower here: it exists for comparisons.
    Commit,
}

impl Descriptor {
    /// Makes the attempt that has just begun lock late.
    #[cold]
    pub(crate) fn lock_late(&mut self) {
        if !self.holds_token() {
            self.mode = Mode::Late;
            self.special = true;
            self.leave_the_fast_paths();
        }
    }

    fn leave_the_fast_paths(&mut self) {
        self.ahead.limit = self.limit;
        self.limit = 0;
        self.index.begin();
    }

    /// From here on this attempt, which has the token, cannot abort. It releases its locks, so that
    /// readers continue.
    #[cold]
    pub(crate) fn become_irrevocable(&mut self) {
        self.mode = Mode::Irrevocable;
        // An attempt that locks late has no locks, and is on the slow paths already.
        if self.limit != 0 {
            (0..self.writes.len()).for_each(|index| self.unlock(index));
            self.leave_the_fast_paths();
        }
    }

    /// Unlocks the record of an entry. An entry that is linked from a head gets the head's record;
    /// the head precedes it.
    fn unlock(&mut self, index: usize) {
        let Write { record, before, .. } = self.writes[index];
        if record.is_null() {
            self.writes[index].record = self.writes[before as usize].record;
        } else {
            // SAFETY: I9. By I1 the value is unchanged, so is the version.
            unsafe { &*record }.release(before);
        }
        (self.writes[index].before, self.writes[index].next) = (0, LAST);
    }

    /// The bits of this transaction's own entry for `target`, or the result of `load` from memory.
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
                if record.look_again() == seen || planted(Bug::NoSecondCheck) {
                    self.note_read(record, seen);
                    return Ok(bits);
                }
            }
        }
    }

    /// Whether a record with the word `seen` is free and not younger than the snapshot. If not, the
    /// caller should look again.
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
                assert!(
                    (self.writes.len() as u64) < INDEX,
                    "a transaction writes at most 2^32 - 1 words"
                );
                self.note_write(Write::new(record, 0, target, bits, LAST));
            }
        }
    }

    /// Prepares a special transaction for its commit. False if it cannot commit.
    #[cold]
    pub(crate) fn ready(&mut self) -> bool {
        let unlocked = matches!(self.mode, Mode::Late | Mode::Irrevocable);
        if unlocked && self.doomed.is_none() && self.lock_all().is_ok() {
            self.limit = self.ahead.limit;
            if self.mode == Mode::Late {
                self.mode = Mode::Optimistic;
            }
        }
        self.doomed.is_none()
    }

    fn lock_all(&mut self) -> TxResult<()> {
        if planted(Bug::UnlockedStore) && self.mode == Mode::Irrevocable {
            return Ok(());
        }
        (0..self.writes.len()).try_for_each(|index| self.lock(index))
    }

    /// Locks the record of an entry. If an earlier entry has locked it, this one is linked from
    /// that.
    fn lock(&mut self, index: usize) -> TxResult<()> {
        // SAFETY: I9.
        let record = unsafe { &*self.writes[index].record };
        loop {
            let seen = record.look();
            if seen & OWNER == self.owner {
                self.writes[index].hang_on(head(seen));
                return Ok(());
            }
            let in_sight =
                planted(Bug::BlindLock) && seen & LOCKED == 0 || self.is_in_sight(record, seen)?;
            if in_sight && record.try_lock(seen, self.owner | index as u64) {
                self.writes[index].before = seen;
                return Ok(());
            }
        }
    }
}
