//! The logs of a transaction: what it has read, what it writes, and what a part of it has overwritten.

use crate::record::Record;
use crate::version::Chain;
use crate::word::{Bits, Word};

/// A record as it was when its value was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Read {
    pub(crate) record: *const Record,
    pub(crate) seen: u64,
}

/// Where a value goes, and what an entry's bits are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) at: *const (),
    pub(crate) kind: u32,
}

/// Bits that are the value of one word.
pub(crate) const ONE: u32 = 1;

/// Bits that are a version for a chain. Any other kind is a number of words, whose place in the
/// buffer the bits are.
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

    /// Whether an entry's bits are a place in the buffer.
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
    /// The word of the record before it was locked; of an entry that is no head, the index of the
    /// head.
    pub(crate) before: u64,
    /// The target, in two parts, of which the smaller shares a word with `next`: an entry is five
    /// stores.
    pub(crate) at: *const (),
    pub(crate) bits: Bits,
    kind: u32,
    /// The next entry of the same record, or [`LAST`].
    pub(crate) next: u32,
}

impl Write {
    #[inline(always)]
    pub(crate) fn new(record: *const Record, before: u64, target: Target, bits: Bits, next: u32) -> Self {
        let Target { at, kind } = target;
        Self { record, before, at, bits, kind, next }
    }

    #[inline(always)]
    pub(crate) fn target(&self) -> Target {
        Target { at: self.at, kind: self.kind }
    }

    /// Leaves the record to the entry at `head`.
    pub(crate) fn hang_on(&mut self, head: usize) {
        self.record = std::ptr::null();
        self.before = head as u64;
    }

    /// Whether its record is to be locked at the commit only, and is not yet (I15).
    pub(crate) fn is_unlocked(&self) -> bool {
        !self.record.is_null() && self.before == 0
    }
}

/// The end of a record's entries.
pub(crate) const LAST: u32 = u32::MAX;

/// An entry as it was before a part that may be undone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Undo {
    pub(crate) index: usize,
    pub(crate) bits: Bits,
    /// Whether the bits are a version.
    pub(crate) boxed: bool,
}
