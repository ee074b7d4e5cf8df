//! The words of the table's file: their positions, and the two copies of the state.
//!
//! [`table`](crate::table) explains T1 and C1 to C3.

use sinew_sync::statics::{AtomicU64, Ordering, fence};

use crate::fail_point::{FailPoint, reached};
use crate::sys::{self, Mapping};
use crate::table_state::{STATE_WORDS, TableState};
use crate::words::MAX_PROGRAMS;

pub(crate) const MAGIC_AT: usize = 0;
pub(crate) const LAYOUT_AT: usize = 1;
pub(crate) const VERSION_AT: usize = 2;
pub(crate) const CLAIM_AT: usize = 4;
pub(crate) const TABLE_FUTEX_AT: usize = 5;
pub(crate) const LIVE_AT: usize = 64;
const LIVE_WORDS: usize = 8;
pub(crate) const COPIES_AT: usize = LIVE_AT + MAX_PROGRAMS * LIVE_WORDS;
pub(crate) const FILE_WORDS: usize = COPIES_AT + 2 * STATE_WORDS;

/// The words of a live line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LiveWord {
    /// The futex word: it changes when the program should read the table.
    Futex,
    /// The threads that would find work.
    Demand,
    /// Items completed since the program joined.
    Progress,
    /// The schedule of its last loop; 0 if it has run none.
    LastLoop,
    /// Nanoseconds in which it has waited for slower ranks of its job since it joined.
    Waited,
    /// Nanoseconds in which it has waited for a part of its job's work since it joined.
    Idled,
}

/// Writes the copy that is not in force, and puts it in force. Returns its version.
pub(crate) fn publish(mapping: &Mapping, state: &TableState) -> u64 {
    let words = mapping.words();
    let next = words[VERSION_AT].load(Ordering::Relaxed).wrapping_add(1).max(1);
    let encoded = TableState { version: next, ..state.clone() }.encode();
    let half = encoded.len() / 2;
    for (at, (word, value)) in copy_at(words, next).iter().zip(encoded).enumerate() {
        if at == half {
            reached(FailPoint::Writing);
        }
        // Relaxed: C1.
        word.store(value, Ordering::Relaxed);
    }
    reached(FailPoint::Written);
    words[VERSION_AT].store(next, Ordering::Release);
    next
}

/// Wakes all members that have a row in `file`, so that they check whether it is still the table. A
/// member without a row checks by itself after a while.
pub(crate) fn wake_all(file: &Mapping) {
    let slots = |state: TableState| state.rows.iter().map(|row| row.slot).collect();
    // If no copy can be read, any futex word may be in use.
    let slots: Vec<u32> = read(file).map_or_else(|| (0..MAX_PROGRAMS as u32).collect(), slots);
    slots.into_iter().for_each(|slot| wake_sleepers(live_word(file, slot, LiveWord::Futex)));
    wake_sleepers(&file.words()[TABLE_FUTEX_AT]);
}

pub(crate) fn wake_sleepers(word: &AtomicU64) {
    word.fetch_add(1, Ordering::AcqRel); // C3
    sys::wake(word);
}

/// A word of a program's live line.
pub(crate) fn live_word(mapping: &Mapping, slot: u32, word: LiveWord) -> &AtomicU64 {
    &mapping.words()[LIVE_AT + slot as usize * LIVE_WORDS + word as usize]
}

fn copy_at(words: &[AtomicU64], version: u64) -> &[AtomicU64] {
    &words[COPIES_AT + (version & 1) as usize * STATE_WORDS..][..STATE_WORDS]
}

pub(crate) fn decode_copy(mapping: &Mapping, version: u64) -> Option<TableState> {
    let copy = copy_at(mapping.words(), version);
    let length =
        usize::try_from(copy[0].load(Ordering::Relaxed)).ok().filter(|&n| n <= STATE_WORDS)?;
    let words: Vec<u64> = copy[..length].iter().map(|word| word.load(Ordering::Relaxed)).collect();
    TableState::decode(&words)
}

/// The state in force; `None` if the file has none, or a damaged one.
pub(crate) fn read(mapping: &Mapping) -> Option<TableState> {
    if !mapping.is_whole() {
        return None;
    }
    let version = &mapping.words()[VERSION_AT];
    for _ in 0..1000 {
        let before = version.load(Ordering::Acquire); // C1
        if before == 0 {
            return None;
        }
        let state = decode_copy(mapping, before);
        fence(Ordering::Acquire); // C1
        if version.load(Ordering::Relaxed) == before {
            return state.filter(|state| state.version == before);
        }
    }
    None
}
