//! The logs of a transaction: its reads, its writes, and the values that a part of it has
//! overwritten.
//!
//! A thread keeps the memory of its logs from one transaction to the next, up to a bound for each.
//! A log that has grown beyond the bound frees the rest when its transaction ends.
//!
//! A full read set first removes repeated reads. This adds no instruction to a read, since the test
//! for a full log exists in any case. Each pass keeps the last entries in a table with a slot for
//! every eighth entry. It removes almost all repetitions if there are fewer records than slots. If
//! it removes less than half, the log doubles, and the table with it. So a log is at most some
//! sixteen times as long as its records, and each entry takes part in a bounded number of passes on
//! average.

use crate::record::Record;
use crate::version::Chain;
use crate::word::{Bits, Word};

/// The bytes of a log that a thread keeps.
pub(crate) const KEPT: usize = 1 << 20;

/// The number of entries of a read set from which a pass is worth its cost.
pub(crate) const MANY: usize = 1 << 10;

/// A record and its word when its value was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) record: *const Record,
    pub(crate) seen: u64,
}

/// The target of a value, and the meaning of an entry's bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) at: *const (),
    pub(crate) kind: u32,
}

/// Bits that are the value of one word.
pub(crate) const ONE: u32 = 1;

/// Bits that are a version for a chain. Any other kind is a number of words, and the bits are their
/// index in the buffer.
const VERSION: u32 = u32::MAX;

impl Target {
    #[inline(always)]
    pub(crate) fn word(word: &Word) -> Self {
        Self { at: std::ptr::from_ref(word).cast(), kind: ONE }
    }

    /// Several words, or none.
    pub(crate) fn words(words: &[Word]) -> Self {
        let kind = u32::try_from(words.len()).ok().filter(|kind| *kind != VERSION);
        Self { at: words.as_ptr().cast(), kind: kind.expect("a value of less than 32 GiB") }
    }

    pub(crate) fn chain(chain: &Chain) -> Self {
        Self { at: std::ptr::from_ref(chain).cast(), kind: VERSION }
    }

    pub(crate) fn is_chain(self) -> bool {
        self.kind == VERSION
    }

    /// Whether an entry's bits are an index in the buffer.
    pub(crate) fn is_buffered(self) -> bool {
        self.kind != ONE && !self.is_chain()
    }

    /// Words of the value; at least one.
    pub(crate) fn words_of_value(self) -> usize {
        if self.is_chain() { 1 } else { self.kind.max(1) as usize }
    }
}

/// A value to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Write {
    /// The record, or null if another entry is the head.
    pub(crate) record: *const Record,
    /// The word of the record before it was locked; for an entry that is no head, the index of the
    /// head.
    pub(crate) before: u64,
    /// The target, in two parts. The smaller one shares a word with `next`: an entry is five
    /// stores.
    pub(crate) at: *const (),
    pub(crate) bits: Bits,
    kind: u32,
    /// The next entry of the same record, or [`LAST`].
    pub(crate) next: u32,
}

impl Write {
    #[inline(always)]
    pub(crate) fn new(
        record: *const Record,
        before: u64,
        target: Target,
        bits: Bits,
        next: u32,
    ) -> Self {
        let Target { at, kind } = target;
        Self { record, before, at, bits, kind, next }
    }

    #[inline(always)]
    pub(crate) fn target(&self) -> Target {
        Target { at: self.at, kind: self.kind }
    }

    /// Makes this a further entry of the record whose head is at `head`.
    pub(crate) fn hang_on(&mut self, head: usize) {
        self.record = std::ptr::null();
        self.before = head as u64;
    }

    /// Whether its record will be locked at the commit, and is not yet (I15).
    pub(crate) fn is_unlocked(&self) -> bool {
        !self.record.is_null() && self.before == 0
    }
}

/// The end of a record's entries.
pub(crate) const LAST: u32 = u32::MAX;

/// The old value of an entry that is older than a part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Undo {
    pub(crate) index: usize,
    pub(crate) bits: Bits,
    /// Whether the bits are a version.
    pub(crate) boxed: bool,
}

/// Whether a log has grown beyond the size that is kept.
pub(crate) fn is_oversized<T>(log: &Vec<T>) -> bool {
    log.capacity() * size_of::<T>() > KEPT
}

/// Frees the part of a log beyond the size that is kept.
pub(crate) fn shrink<T>(log: &mut Vec<T>) {
    log.shrink_to(KEPT / size_of::<T>());
}

/// Removes entries that equal an earlier one, as far as the table shows it. Keeps the order.
pub(crate) fn leave_out_repeats(reads: &mut Vec<Read>) {
    let places = (reads.len() / 8).next_power_of_two();
    let mut last = vec![Read { record: std::ptr::null(), seen: 0 }; places];
    reads.retain(|read| {
        let mixed = (read.record.addr() as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = &mut last[(mixed >> 32) as usize & (places - 1)];
        std::mem::replace(place, *read) != *read
    });
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{Read, leave_out_repeats};
    use crate::record::Record;
    use std::collections::BTreeSet;

    /// Catches: a record that is removed altogether, and repetitions that stay.
    #[test]
    fn a_pass_keeps_each_record_and_few_repetitions() {
        let records: Vec<_> = (0..2_000).map(|_| Record::new()).collect();
        for distinct in [1, 2, 10, 100, 2_000] {
            let mut reads: Vec<_> = (0..8_000)
                .map(|i| Read {
                    record: &raw const records[i % distinct],
                    seen: 2 + 2 * (i as u64 / 4_000),
                })
                .collect();
            let kinds = |reads: &[Read]| -> BTreeSet<_> {
                reads.iter().map(|r| (r.record, r.seen)).collect()
            };
            let before = kinds(&reads);
            leave_out_repeats(&mut reads);
            assert_eq!(kinds(&reads), before);
            assert!(distinct > 100 || reads.len() < 2_000, "{} of {distinct} records", reads.len());
        }
    }
}
