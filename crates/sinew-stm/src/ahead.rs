//! Reading ahead: what a descriptor does in [`Mode::Ahead`].
//!
//! Such a run reads as a transaction does, so it never sees variables in a state between two
//! commits, but it changes nothing that other threads can see. Its writes stay in the write set,
//! without a lock, and every access first searches for the run's own value there. Source: Luís
//! Fabrício Wanderley Góes, "Automatic Skeleton-Driven Performance Optimizations for Transactional
//! Memory" (2012), section 5.1.4. Difference: its reads are those of a transaction, so that a run
//! never sees an inconsistent state.
//!
//! The limit of the descriptor is 0, which is below every record ([`FIRST`](crate::record::FIRST)).
//! So each access takes the slow path, which branches here, and the fast paths of other
//! transactions need no test for this mode.
//!
//! # Invariants
//!
//! - I13: in this mode this thread locks no record, no entry of the write set is a head, and
//!   nothing is stored but in the descriptor and in the thread's own pin.
//! - I8 holds with the limit in [`Ahead`]: each read is checked as in `access`, and the snapshot is
//!   extended as there.
//!
//! # Cost
//!
//! Each access scans the entries of the write set, so the buffer should be small. Memory is
//! bounded: by the lifespan for the read set, by the buffer for the rest.

use crate::descriptor::{Descriptor, Mode};
use crate::engine::engine;
use crate::log::{LAST, Target, Write};
use crate::record::{LOCKED, Record, WAITED};
use crate::run_ahead::{Ahead, PrefetchEnd, Stopped};
use crate::tx_error::{TxError, TxResult, Why};
use crate::word::Bits;
use sinew_sync::plant::{Bug, planted};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

impl Descriptor {
    /// Begins a run. The sets are empty, and no other attempt is in progress.
    ///
    /// # Safety
    ///
    /// `stopped` lives until [`leave_ahead`](Self::leave_ahead).
    pub(crate) unsafe fn begin_ahead(
        &mut self,
        lifespan: u64,
        room: usize,
        stopped: Option<NonNull<Stopped>>,
    ) {
        let limit = engine().clock.now() | WAITED;
        self.ahead = Ahead { limit, lifespan, room, stopped, ..Ahead::default() };
        self.mode = Mode::Ahead;
        self.index.begin();
        self.limit = 0;
    }

    /// Ends the run, and undoes all its writes.
    pub(crate) fn leave_ahead(&mut self) {
        self.roll_back();
        self.reads.clear();
        self.ahead.stopped = None;
        self.special = false;
        self.mode = Mode::Optimistic;
    }

    /// Ends the run for `why`, if it has not ended before.
    #[cold]
    pub(crate) fn end_ahead<T>(&mut self, why: PrefetchEnd) -> TxResult<T> {
        self.ahead.ended.get_or_insert(why);
        Err(TxError(Why::Conflict))
    }

    /// The time of the snapshot, in every mode.
    pub(crate) fn pin_time(&self) -> u64 {
        let limit = if self.limit == 0 { self.ahead.limit } else { self.limit };
        limit & !WAITED
    }

    /// Whether one more access may follow.
    fn go_on(&mut self) -> TxResult<()> {
        if self.ahead.ended.is_some() {
            return Err(TxError(Why::Conflict));
        }
        let is_stopped = self.ahead.stopped.map(|stopped| {
            // SAFETY: it lives, as `begin_ahead` was promised.
            let stopped = unsafe { stopped.as_ref() };
            catch_unwind(AssertUnwindSafe(stopped))
        });
        match is_stopped {
            None | Some(Ok(false)) => {}
            Some(Ok(true)) => return self.end_ahead(PrefetchEnd::Stopped),
            Some(Err(payload)) => {
                self.ahead.panic = Some(payload);
                return self.end_ahead(PrefetchEnd::Panicked);
            }
        }
        if self.ahead.words_read >= self.ahead.lifespan {
            return self.end_ahead(PrefetchEnd::Lifespan);
        }
        Ok(())
    }

    /// The bits of this run's own entry for `target`, or the result of `load` from memory.
    #[cold]
    pub(crate) fn read_ahead(
        &mut self,
        record: &Record,
        target: Target,
        load: impl FnOnce() -> Bits,
    ) -> TxResult<Bits> {
        self.go_on()?;
        self.ahead.words_read += target.words_of_value() as u64;
        if let Some(at) = self.written_aside(target) {
            return Ok(self.writes[at].bits);
        }
        let seen = record.look();
        if seen & LOCKED != 0 || seen > self.ahead.limit && !self.see_later() {
            return self.end_ahead(PrefetchEnd::Conflict);
        }
        let bits = load();
        // R1, R2 and C1 as in `access`. A snapshot that was extended after the first look includes
        // the value.
        if record.look_again() != seen && !planted(Bug::NoSecondCheck) {
            return self.end_ahead(PrefetchEnd::Conflict);
        }
        self.note_read(record, seen);
        Ok(bits)
    }

    /// Moves the snapshot to the present, if possible.
    pub(crate) fn see_later(&mut self) -> bool {
        let later = self.later_snapshot();
        self.ahead.limit = later.map_or(self.ahead.limit, |now| now | WAITED);
        later.is_some()
    }

    /// Enters `bits` for `target` in the write set. If it fails, they still belong to the caller.
    #[cold]
    pub(crate) fn write_ahead(
        &mut self,
        record: &Record,
        target: Target,
        bits: Bits,
    ) -> TxResult<()> {
        self.go_on()?;
        if let Some(at) = self.written_aside(target) {
            return self.overwrite_ahead(at, target, bits);
        }
        if record.look() & LOCKED != 0 {
            return self.end_ahead(PrefetchEnd::Conflict);
        }
        self.take_room(target.words_of_value())?;
        self.note_write(Write::new(std::ptr::null(), 0, target, bits, LAST));
        Ok(())
    }

    /// Replaces the value of an entry. Takes room only if the old value must be kept as well.
    fn overwrite_ahead(&mut self, index: usize, target: Target, bits: Bits) -> TxResult<()> {
        let kept = index < self.undo_below || target.is_chain();
        if kept {
            self.take_room(target.words_of_value())?;
        }
        self.overwrite(index, bits);
        Ok(())
    }

    fn take_room(&mut self, words: usize) -> TxResult<()> {
        match self.ahead.room.checked_sub(words) {
            Some(left) => self.ahead.room = left,
            None => return self.end_ahead(PrefetchEnd::BufferFull),
        }
        Ok(())
    }
}
