//! A range for each participant; a participant without iterations steals the back half of another's
//! range.
//!
//! The caller begins with the whole loop, so a loop without helpers touches one word. An owner
//! claims small pieces from the front of its range. A thief steals the back half, keeps the first
//! piece of it and deposits the rest in its own word, from which others can steal.
//!
//! Source: lazy binary splitting; the packed range is common practice among work-stealing loops.
//! Differences: the pieces are a fraction of the range, within limits that depend on the length of
//! the loop.
//!
//! # States
//!
//! A word packs `start` and `end` in units of one iteration, or of several if the loop is longer
//! than 2³² − 2.
//!
//! | state | entered by | left by |
//! |---|---|---|
//! | empty, `start == end` | `new`, the last piece or half | deposit of a stolen range → filled; `close` |
//! | filled, `start < end` | `new` (the caller's), deposit | a piece or a half → filled or empty; `close` |
//! | closed, `start > end` | `close` | never |
//!
//! # Invariants
//!
//! - S1: a unit is in one word, or with the participant that took it out by compare-and-swap. The
//!   value of a word describes its range completely, so there is no ABA problem.
//! - S2: a deposit succeeds only into an empty word, so it overwrites nothing.

use super::words::Words;
use sinew_policy::chunk::{self, Halving};
use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::plant::{Bug, planted};
use std::ops::Range;

/// The source of [`Schedule::Stealing`](sinew_policy::chunk::Schedule::Stealing).
#[derive(Debug)]
pub struct Stealing {
    words: Words,
    sizes: Halving,
    /// Iterations in a unit.
    unit: usize,
    n: usize,
}

impl Stealing {
    /// `n` iterations for `participants`; slot number `first` begins with all of them.
    #[inline]
    pub fn new(n: usize, participants: usize, first: usize) -> Self {
        let (unit, units) = units(n);
        let words = Words::with(participants.max(1), first, pack(0, units as u32));
        Self { words, sizes: Halving::new(units, participants.max(1)), unit, n }
    }

    /// [`new`](Self::new), in pieces of half a `grain` to a `grain`.
    pub fn with_grain(n: usize, participants: usize, first: usize, grain: usize) -> Self {
        let mut source = Self::new(n, participants, first);
        source.sizes = Halving::with_grain(grain.div_ceil(source.unit));
        source
    }

    /// A source with empty ranges, to be [filled](Self::fill).
    #[inline]
    pub(super) fn empty(n: usize, participants: usize) -> Self {
        let participants = participants.max(1);
        let (unit, units) = units(n);
        Self { words: Words::new(participants), sizes: Halving::new(units, participants), unit, n }
    }

    /// Gives units to a slot, before the first claim.
    #[inline]
    pub(super) fn fill(&self, slot: usize, start: usize, end: usize) {
        self.words.get(slot).store(pack(start as u32, end as u32), Ordering::Relaxed);
    }

    /// The number of units: that of iterations, unless it needs more than 32 bits.
    #[inline]
    pub(super) fn units(&self) -> usize {
        if self.unit == 1 { self.n } else { self.n.div_ceil(self.unit) }
    }

    #[inline]
    pub(super) fn participants(&self) -> usize {
        self.words.len()
    }

    /// The next piece of the slot's own range; `least` iterations are not worth a steal.
    #[inline]
    pub fn claim(&self, slot: usize, least: usize) -> Option<Range<usize>> {
        let (start, end) = self.claim_units(slot, least, |_| u32::MAX)?;
        Some(self.indices(start, end))
    }

    /// The next units of the slot's own range, from `start` to at most `limit(start)`. `least`
    /// iterations are not worth a steal.
    #[inline]
    pub(super) fn claim_units(
        &self,
        slot: usize,
        least: usize,
        limit: impl Fn(u32) -> u32,
    ) -> Option<(u32, u32)> {
        let least = if self.unit == 1 { least } else { least / self.unit };
        let word = self.words.get(slot);
        let mut seen = word.load(Ordering::Relaxed);
        loop {
            let (start, end) = unpack(seen);
            if start >= end {
                return None;
            }
            let piece = self.sizes.piece_at_least((end - start) as usize, least) as u32;
            let middle = (start + piece).min(limit(start));
            match exchange(word, seen, pack(middle, end)) {
                Ok(()) => return Some((start, middle)),
                Err(now) => seen = now,
            }
        }
    }

    /// The number of iterations in the range from which [`steal`](Self::steal) would take a part;
    /// `None` if there is nothing to steal.
    pub fn stealable(&self, slot: usize) -> Option<usize> {
        let (_, seen) = self.victim(slot)?;
        Some((length(seen) as usize).saturating_mul(self.unit))
    }

    /// The first piece of a range stolen from another slot.
    pub fn steal(&self, slot: usize) -> Option<Range<usize>> {
        let (start, end) = self.steal_units(slot, |_| 0, |_, _| ())?;
        Some(self.indices(start, end))
    }

    /// The first units of a range stolen from another slot: of `limit(end)..end` at most, where
    /// `end` is the end of the victim's range.
    ///
    /// `taken` is called with the whole stolen range, before another thief can steal a part of it.
    pub(super) fn steal_units(
        &self,
        slot: usize,
        limit: impl Fn(u32) -> u32,
        taken: impl Fn(u32, u32),
    ) -> Option<(u32, u32)> {
        loop {
            let (victim, seen) = self.victim(slot)?;
            let (start, end) = unpack(seen);
            let middle = (end - self.sizes.stolen((end - start) as usize) as u32).max(limit(end));
            if exchange(victim, seen, pack(start, middle)).is_ok() {
                let late = planted(Bug::LateRegistration);
                if !late {
                    taken(middle, end);
                }
                let kept = self.claim_first_piece(slot, middle, end);
                if late {
                    taken(middle, end);
                }
                return Some(kept);
            }
        }
    }

    /// The word from which a thief steals, and its value.
    fn victim(&self, slot: usize) -> Option<(&AtomicU64, u64)> {
        let ranges = self.words.after(slot).map(|word| {
            let seen = word.load(Ordering::Relaxed);
            ((word, seen), length(seen) as usize)
        });
        chunk::victim(ranges).map(|(word, _)| word)
    }

    /// Claims the first piece of a stolen range and deposits the rest in the slot's word.
    fn claim_first_piece(&self, slot: usize, start: u32, end: u32) -> (u32, u32) {
        let word = self.words.get(slot);
        let middle = start + self.piece(end - start);
        let seen = word.load(Ordering::Relaxed);
        // A word that is not empty was filled by a participant with the same number, or is closed.
        let deposited =
            length(seen) == 0 && !is_closed(seen) && deposit(word, seen, pack(middle, end));
        (start, if deposited { middle } else { end })
    }

    #[inline]
    fn piece(&self, units: u32) -> u32 {
        self.sizes.piece(units as usize) as u32
    }

    /// The iterations of units.
    #[inline]
    pub(super) fn indices(&self, start: u32, end: u32) -> Range<usize> {
        let (start, end) = (start as usize, end as usize);
        if self.unit == 1 {
            return start..end;
        }
        start * self.unit..end.saturating_mul(self.unit).min(self.n)
    }

    /// Whether every word is empty.
    pub fn is_exhausted(&self) -> bool {
        (0..self.words.len())
            .all(|number| length(self.words.get(number).load(Ordering::Relaxed)) == 0)
    }

    /// Whether the slot's word was closed.
    pub fn is_closed(&self, slot: usize) -> bool {
        is_closed(self.words.get(slot).load(Ordering::Relaxed))
    }

    /// Closes the source, and returns all ranges.
    pub fn close(&self) -> Vec<Range<usize>> {
        self.close_units().map(|(start, end)| self.indices(start, end)).collect()
    }

    /// [`close`](Self::close), in units.
    pub(super) fn close_units(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.words.len())
            .map(|number| unpack(close(self.words.get(number))))
            .filter(|(start, end)| start < end)
    }
}

/// The number of iterations in a unit, and the number of units.
#[inline]
fn units(n: usize) -> (usize, usize) {
    if n < u32::MAX as usize {
        return (1, n);
    }
    let unit = n.div_ceil(u32::MAX as usize - 1);
    (unit, n.div_ceil(unit))
}

/// Relaxed: see the module's orderings.
#[inline]
fn exchange(word: &AtomicU64, seen: u64, next: u64) -> Result<(), u64> {
    word.compare_exchange(seen, next, Ordering::Relaxed, Ordering::Relaxed).map(|_| ())
}

/// Whether `range` was put into the word, which was seen empty (S2).
#[inline]
fn deposit(word: &AtomicU64, seen: u64, range: u64) -> bool {
    if planted(Bug::StoredDeposit) {
        word.store(range, Ordering::Relaxed);
        return true;
    }
    exchange(word, seen, range).is_ok()
}

/// Closes the word, and returns its range.
fn close(word: &AtomicU64) -> u64 {
    if planted(Bug::OpenSource) {
        return word.load(Ordering::Relaxed);
    }
    word.swap(pack(1, 0), Ordering::Relaxed)
}

#[inline]
fn pack(start: u32, end: u32) -> u64 {
    u64::from(start) << 32 | u64::from(end)
}

#[inline]
fn unpack(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

#[inline]
fn length(word: u64) -> u32 {
    let (start, end) = unpack(word);
    end.saturating_sub(start)
}

#[inline]
fn is_closed(word: u64) -> bool {
    let (start, end) = unpack(word);
    start > end
}
