//! Reading and writing a variable within a transaction.
//!
//! The fast paths are inlined into the user's closure: a read is three loads, two comparisons and
//! an entry; a write is a compare-and-swap and an entry. Everything else is out of line.

use crate::descriptor::{Descriptor, Mode};
use crate::grace;
use crate::log::{
    KEPT, LAST, MANY, Read, Target, Undo, Write, is_oversized, leave_out_repeats, shrink,
};
use crate::record::{INDEX, LOCKED, OWNER, Record};
use crate::tx_error::TxResult;
use crate::version::{Chain, Header, from_bits, to_bits};
use crate::word::{Bits, Padded, Word, words_of};
use sinew_sync::plant::{Bug, planted};
use std::ptr::NonNull;

impl Descriptor {
    /// The value of a word, in the snapshot.
    ///
    /// # Safety
    ///
    /// As for [`write`](Self::write).
    #[inline(always)]
    pub(crate) unsafe fn read_word(&mut self, record: &Record, word: &Word) -> TxResult<Bits> {
        let seen = record.look();
        if seen <= self.limit {
            let bits = word.load();
            if record.look_again() == seen || planted(Bug::NoSecondCheck) {
                self.note_read(record, seen);
                return Ok(bits);
            }
        }
        self.read_cold(record, Target::word(word), || word.load())
    }

    /// As [`read_word`](Self::read_word), without an entry in the read set: for a record of which
    /// this attempt has read another word, so that the read set has it.
    ///
    /// # Safety
    ///
    /// As for [`write`](Self::write).
    #[inline(always)]
    pub(crate) unsafe fn read_word_again(
        &mut self,
        record: &Record,
        word: &Word,
    ) -> TxResult<Bits> {
        let seen = record.look();
        if seen <= self.limit {
            let bits = word.load();
            if record.look_again() == seen || planted(Bug::NoSecondCheck) {
                return Ok(bits);
            }
        }
        self.read_cold(record, Target::word(word), || word.load())
    }

    /// The value of a guard and the result of `f` for it, which may load words under the same
    /// record. `None` if the record is not free, too young, or has changed meanwhile.
    ///
    /// Until the record has been checked again, `f` may see words of different versions. So it must
    /// not rely on more than that each was once in memory.
    ///
    /// # Safety
    ///
    /// As for [`write`](Self::write).
    #[inline(always)]
    pub(crate) unsafe fn glance<R>(
        &mut self,
        record: &Record,
        guard: &Word,
        f: impl FnOnce(Bits) -> R,
    ) -> Option<R> {
        let seen = record.look();
        if seen <= self.limit {
            // R2: every load is an Acquire load, so all come before the second look.
            let result = f(guard.load());
            if record.look_again() == seen || planted(Bug::NoSecondCheck) {
                if !planted(Bug::UnenteredGroup) {
                    self.note_read(record, seen);
                }
                return Some(result);
            }
        }
        None
    }

    /// The words of a value, copied to `into`.
    ///
    /// # Safety
    ///
    /// As for [`write`](Self::write).
    #[inline(always)]
    pub(crate) unsafe fn read_words(
        &mut self,
        record: &Record,
        words: &[Word],
        into: &mut [Bits],
    ) -> TxResult<()> {
        let seen = record.look();
        if seen <= self.limit {
            into.iter_mut().zip(words).for_each(|(into, word)| *into = word.load());
            if record.look_again() == seen || planted(Bug::NoSecondCheck) {
                self.note_read(record, seen);
                return Ok(());
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.read_words_cold(record, words, into) }
    }

    /// # Safety
    ///
    /// As for [`write`](Self::write).
    #[inline(never)]
    unsafe fn read_words_cold(
        &mut self,
        record: &Record,
        words: &[Word],
        into: &mut [Bits],
    ) -> TxResult<()> {
        let target = Target::words(words);
        let place = self.read_cold(record, target, || {
            into.iter_mut().zip(words).for_each(|(into, word)| *into = word.load());
            // No index into the buffer: the value is in `into` already.
            Bits::new(u64::MAX)
        })?;
        let place = self.place(place);
        if let Some(own) = self.buffer.get(place..) {
            into.iter_mut().zip(own).for_each(|(into, bits)| *into = *bits);
        }
        Ok(())
    }

    /// The version of a chain in the snapshot, which lives until the attempt is over.
    ///
    /// # Safety
    ///
    /// As for [`write`](Self::write).
    pub(crate) unsafe fn read_version(
        &mut self,
        record: &Record,
        chain: &Chain,
    ) -> TxResult<NonNull<Header>> {
        if !self.pinned {
            self.pinned = true;
            self.leave_a_mess();
            grace::pin(&self.shared, self.pin_time());
        }
        let bits = self.read_cold(record, Target::chain(chain), || to_bits(chain.current()))?;
        // SAFETY: such an entry holds a version, and so does the closure's result.
        Ok(unsafe { from_bits(bits) })
    }

    /// The bits of this transaction's own entry for `target`, or the result of `load` from memory.
    #[inline(never)]
    fn read_cold(
        &mut self,
        record: &Record,
        target: Target,
        mut load: impl FnMut() -> Bits,
    ) -> TxResult<Bits> {
        loop {
            let seen = record.look();
            if seen <= self.limit {
                let bits = load();
                if record.look_again() == seen || planted(Bug::NoSecondCheck) {
                    self.note_read(record, seen);
                    return Ok(bits);
                }
            } else if seen & OWNER == self.owner {
                return Ok(self.read_own(record, seen, target, load));
            } else if self.limit == 0 {
                return self.read_aside(record, target, load);
            } else {
                self.make_way(record, seen)?;
            }
        }
    }

    /// A read under this transaction's own lock, `owned`. The value in memory is an input like any
    /// other, so the read set has it: with the word before the lock, for when the lock is released.
    fn read_own(
        &mut self,
        record: &Record,
        owned: u64,
        target: Target,
        mut load: impl FnMut() -> Bits,
    ) -> Bits {
        if let Some(at) = self.own_entry(owned, target) {
            return self.writes[at].bits;
        }
        let seen = self.writes[head(owned)].before;
        self.note_read(record, seen);
        // By I1 no other thread changes it.
        load()
    }

    /// A read in one of the modes that keep their writes private.
    fn read_aside(
        &mut self,
        record: &Record,
        target: Target,
        load: impl FnMut() -> Bits,
    ) -> TxResult<Bits> {
        if self.mode == Mode::Ahead {
            self.read_ahead(record, target, load)
        } else {
            self.read_late(record, target, load)
        }
    }

    /// Resolves a conflict over the record, which was `seen` locked by another transaction or
    /// younger than the snapshot.
    fn make_way(&mut self, record: &Record, seen: u64) -> TxResult<()> {
        if seen & LOCKED == 0 { self.extend() } else { self.conflict(record, seen) }
    }

    /// The index of `target`'s value in the write set. Its record was seen locked by this
    /// transaction as `owned`.
    fn own_entry(&self, owned: u64, target: Target) -> Option<usize> {
        let mut at = head(owned);
        loop {
            let write = &self.writes[at];
            if write.target() == target {
                return Some(at);
            }
            if write.next == LAST {
                return None;
            }
            at = write.next as usize;
        }
    }

    /// Enters `bits` for `target` in the write set, and locks the record.
    ///
    /// If it fails, a version in `bits` still belongs to the caller.
    ///
    /// # Safety
    ///
    /// Record and target live until the attempt is over, and belong together: the same record for
    /// the same target each time.
    #[inline(always)]
    pub(crate) unsafe fn write(
        &mut self,
        record: &Record,
        target: Target,
        bits: Bits,
    ) -> TxResult<()> {
        // The compare-and-swap confirms the word that was seen.
        let seen = record.look();
        if seen <= self.limit && record.try_lock(seen, self.owner | self.writes.len() as u64) {
            self.note_write(Write::new(record, seen, target, bits, LAST));
            return Ok(());
        }
        self.write_cold(record, target, bits)
    }

    #[inline(never)]
    fn write_cold(&mut self, record: &Record, target: Target, bits: Bits) -> TxResult<()> {
        loop {
            let seen = record.look();
            if seen <= self.limit {
                let index = self.writes.len() as u64;
                assert!(index < INDEX, "a transaction writes at most 2^32 - 1 words");
                if record.try_lock(seen, self.owner | index) {
                    self.note_write(Write::new(record, seen, target, bits, LAST));
                    return Ok(());
                }
            } else if seen & OWNER == self.owner {
                self.write_own(seen, target, bits);
                return Ok(());
            } else if self.limit == 0 {
                return self.write_aside(record, target, bits);
            } else {
                self.make_way(record, seen)?;
            }
        }
    }

    fn write_aside(&mut self, record: &Record, target: Target, bits: Bits) -> TxResult<()> {
        if self.mode == Mode::Ahead {
            return self.write_ahead(record, target, bits);
        }
        self.write_late(record, target, bits);
        Ok(())
    }

    /// The index of `target`'s value in the write set, in the modes that do not find entries by
    /// records.
    pub(crate) fn written_aside(&mut self, target: Target) -> Option<usize> {
        self.index.find(&self.writes, target)
    }

    /// The version that this transaction has entered for `chain`, if it is to be changed in place:
    /// nothing else refers to it, and no part may need it as it is.
    pub(crate) fn own_version(
        &mut self,
        record: &Record,
        chain: &Chain,
    ) -> Option<NonNull<Header>> {
        let (target, seen) = (Target::chain(chain), record.look());
        let index = if self.limit == 0 {
            if self.mode == Mode::Ahead { None } else { self.written_aside(target) }
        } else if seen & OWNER == self.owner {
            self.own_entry(seen, target)
        } else {
            None
        }?;
        // SAFETY: an entry of a chain holds a version.
        (!self.keeps_old_value(index)).then(|| unsafe { from_bits(self.writes[index].bits) })
    }

    /// Writes a target whose record this transaction has locked.
    fn write_own(&mut self, owned: u64, target: Target, bits: Bits) {
        match self.own_entry(owned, target) {
            Some(index) => self.overwrite(index, bits),
            None => self.hang_on(head(owned), target, bits),
        }
    }

    pub(crate) fn overwrite(&mut self, index: usize, bits: Bits) {
        let target = self.writes[index].target();
        let (boxed, kept) = (target.is_chain(), self.keeps_old_value(index));
        if target.is_buffered() && !kept {
            return self.move_back(self.place(self.writes[index].bits), self.place(bits));
        }
        let old = std::mem::replace(&mut self.writes[index].bits, bits);
        if kept {
            self.undo.push(Undo { index, bits: old, boxed });
            self.note_sizes();
        } else if boxed {
            // SAFETY: the bits are a version, which was never published and has left the write set.
            unsafe { self.after().discard(from_bits(old)) };
        }
    }

    /// Whether a part may need the present value of an entry: the entry is older than the part, and
    /// the part has not just kept its value.
    fn keeps_old_value(&self, index: usize) -> bool {
        let last = self.undo[self.undo_from..].last();
        index < self.undo_below && last.is_none_or(|undo| undo.index != index)
    }

    /// Moves the value at the end of the buffer, from `from` on, over an older one.
    fn move_back(&mut self, to: usize, from: usize) {
        self.buffer.copy_within(from.., to);
        self.buffer.truncate(from);
    }

    /// Adds a further entry of a record, directly after its head.
    fn hang_on(&mut self, head: usize, target: Target, bits: Bits) {
        let index =
            u32::try_from(self.writes.len()).expect("a transaction writes at most 2^32 - 1 words");
        let next = std::mem::replace(&mut self.writes[head].next, index);
        self.note_write(Write::new(std::ptr::null(), head as u64, target, bits, next));
    }

    /// Appends a value to the buffer, not yet entered. Returns its index.
    #[inline(always)]
    pub(crate) fn append<T: Copy>(&mut self, value: &Padded<T>) -> usize {
        let place = self.room_in_buffer(words_of::<T>());
        self.buffer.extend_from_slice(value.bits());
        place
    }

    /// Makes room for some words at the end of the buffer. Returns the index of the first.
    #[inline(always)]
    fn room_in_buffer(&mut self, words: usize) -> usize {
        if self.buffer.capacity() - self.buffer.len() < words {
            self.make_room_in_buffer(words);
        }
        self.buffer.len()
    }

    /// Appends the value of a variable in the snapshot to the buffer, not yet entered. Returns its
    /// index.
    ///
    /// # Safety
    ///
    /// As for [`get`].
    #[inline(always)]
    pub(crate) unsafe fn append_words<T: Copy>(
        &mut self,
        record: &Record,
        words: &[Word],
    ) -> TxResult<usize> {
        let seen = record.look();
        if seen <= self.limit {
            let place = self.room_in_buffer(words.len());
            let to = self.buffer.spare_capacity_mut().iter_mut();
            to.zip(words).for_each(|(to, word)| _ = to.write(word.load()));
            if record.look_again() == seen || planted(Bug::NoSecondCheck) {
                self.note_read(record, seen);
                // SAFETY: that many words were written.
                unsafe { self.buffer.set_len(place + words.len()) };
                return Ok(place);
            }
        }
        let mut value = Padded::<T>::uninit();
        // SAFETY: the caller's promise.
        unsafe { self.read_words_cold(record, words, value.bits_mut())? };
        Ok(self.append(&value))
    }

    /// Enters the value of several words that is at the end of the buffer, from `place` on.
    ///
    /// # Safety
    ///
    /// As for [`write`](Self::write).
    #[inline]
    pub(crate) unsafe fn enter_words(
        &mut self,
        record: &Record,
        words: &[Word],
        place: usize,
    ) -> TxResult<()> {
        let bits = Bits::new(place as u64);
        // SAFETY: the caller's promise.
        let entered = unsafe { self.write(record, Target::words(words), bits) };
        // A refused value leaves nothing in the buffer, so that memory stays bounded even if errors
        // are ignored.
        entered.inspect_err(|_| self.buffer.truncate(place))
    }

    /// Enters a new version. From here on it belongs to the transaction, even if this fails.
    ///
    /// # Safety
    ///
    /// As for [`write`](Self::write), and the version holds what the chain's versions hold.
    pub(crate) unsafe fn write_version(
        &mut self,
        record: &Record,
        chain: &Chain,
        version: NonNull<Header>,
    ) -> TxResult<()> {
        self.leave_a_mess();
        // SAFETY: the caller's promise; nothing refers to a version that was refused.
        unsafe {
            let entered = self.write(record, Target::chain(chain), to_bits(version));
            entered.inspect_err(|_| self.after().discard(version))
        }
    }
}

impl Descriptor {
    /// Enters a read in the read set.
    #[inline(always)]
    pub(crate) fn note_read(&mut self, record: &Record, seen: u64) {
        if self.reads.len() == self.reads.capacity() {
            self.make_room_for_reads();
        }
        // SAFETY: there is room.
        unsafe { push_within(&mut self.reads, Read { record, seen }) };
    }

    /// Enters a write in the write set.
    #[inline(always)]
    pub(crate) fn note_write(&mut self, write: Write) {
        if self.writes.len() == self.writes.capacity() {
            self.make_room_for_writes();
        }
        // SAFETY: there is room.
        unsafe { push_within(&mut self.writes, write) };
    }

    #[cold]
    #[inline(never)]
    fn make_room_for_reads(&mut self) {
        if self.reads.len() >= MANY {
            leave_out_repeats(&mut self.reads);
        }
        if self.reads.len() * 2 >= self.reads.capacity() {
            self.reads.reserve(self.reads.capacity().max(4));
            self.note_sizes();
        }
    }

    #[cold]
    #[inline(never)]
    fn make_room_for_writes(&mut self) {
        self.writes.reserve(self.writes.capacity().max(4));
        self.note_sizes();
    }

    #[cold]
    #[inline(never)]
    fn make_room_in_buffer(&mut self, words: usize) {
        self.buffer.reserve(words);
        self.note_sizes();
    }

    /// Records whether a log has grown beyond the size that is kept.
    pub(crate) fn note_sizes(&mut self) {
        if self.logs_are_oversized() {
            self.oversized = true;
            self.special = true;
        }
    }

    fn logs_are_oversized(&self) -> bool {
        is_oversized(&self.reads)
            || is_oversized(&self.writes)
            || is_oversized(&self.buffer)
            || is_oversized(&self.undo)
    }

    /// Frees the part of a large transaction's logs beyond the size that is kept. They are empty.
    #[cold]
    pub(crate) fn free_giants(&mut self) {
        self.oversized = false;
        shrink(&mut self.reads);
        shrink(&mut self.writes);
        shrink(&mut self.buffer);
        shrink(&mut self.undo);
        self.index.free_beyond(KEPT / size_of::<u32>());
    }
}

/// Appends an entry without a second test for room.
///
/// # Safety
///
/// The log has room for one more.
#[inline(always)]
unsafe fn push_within<T>(log: &mut Vec<T>, entry: T) {
    debug_assert!(log.len() < log.capacity(), "the caller has made room");
    // SAFETY: the caller's promise; the slot after the last entry is written before it counts.
    unsafe {
        log.as_mut_ptr().add(log.len()).write(entry);
        log.set_len(log.len() + 1);
    }
}

/// The index in the word of a record that this transaction has locked.
pub(crate) fn head(owned: u64) -> usize {
    (owned & INDEX) as usize
}
