//! One share for each participant, claimed in slices.
//!
//! Share `i` belongs to slot number `i`, run after run, so that a worker finds the data of its last
//! run in its caches. Other participants must be able to run a share whose owner never comes or has
//! left. So a share is claimed in slices, and a bit says whether it has an active owner. While it
//! has one, only the owner claims slices of it.
//!
//! # States
//!
//! A share is one word: the number of claimed slices, and `OWNED`.
//!
//! | state | entered by | left by |
//! |---|---|---|
//! | free | `new`; `leave` of its owner | `claim` of its own slot → owned; of another → free, one slice fewer |
//! | owned | `claim` of its own slot | `leave` → free |
//! | done | the claim of its last slice; `close` | never |
//!
//! # Invariants
//!
//! - F1: the number of claimed slices never falls, so no slice is claimed twice.
//! - F2: a claim of another slot's slice succeeds only on a word whose `OWNED` bit is clear.

use super::words::Words;
use sinew_policy::chunk::{self, Shares};
use sinew_sync::atomic::{AtomicU64, Ordering};
use std::ops::Range;

/// The share has an active owner.
const OWNED: u64 = 1;
/// One claimed slice.
const SLICE: u64 = 2;
/// More slices than any share has, and far from overflow.
const CLOSED: u64 = SLICE << 32;

/// The source of [`Schedule::Static`](sinew_policy::chunk::Schedule::Static).
#[derive(Debug)]
pub struct Fixed {
    words: Words,
    shares: Shares,
}

impl Fixed {
    /// `n` iterations in one share for each of `participants`.
    #[inline]
    pub fn new(n: usize, participants: usize) -> Self {
        let participants = participants.max(1);
        Self { words: Words::new(participants), shares: Shares::new(n, participants) }
    }

    /// The next slice of the slot's own share, or of one without an owner.
    #[inline]
    pub fn claim(&self, slot: usize) -> Option<Range<usize>> {
        let slot = if slot < self.words.len() { slot } else { slot % self.words.len() };
        self.claim_own(slot).or_else(|| self.claim_other_cold(slot))
    }

    #[inline]
    fn claim_own(&self, slot: usize) -> Option<Range<usize>> {
        let (share, word) = (self.shares.get(slot), self.words.get(slot));
        let mut seen = word.load(Ordering::Relaxed);
        while (seen / SLICE) < chunk::slices(share.len()) as u64 {
            match advance(word, seen, (seen | OWNED) + SLICE) {
                Ok(()) => return Some(slice(&share, seen)),
                Err(now) => seen = now,
            }
        }
        None
    }

    #[cold]
    fn claim_other_cold(&self, slot: usize) -> Option<Range<usize>> {
        self.words.numbers_after(slot).find_map(|number| {
            let (share, word) = (self.shares.get(number), self.words.get(number));
            let mut seen = word.load(Ordering::Relaxed);
            // F2.
            while (seen / SLICE) < chunk::slices(share.len()) as u64 && seen & OWNED == 0 {
                match advance(word, seen, seen + SLICE) {
                    Ok(()) => return Some(slice(&share, seen)),
                    Err(now) => seen = now,
                }
            }
            None
        })
    }

    /// The owner of share `slot` leaves; the rest of the share is free.
    #[inline]
    pub fn leave(&self, slot: usize) {
        // Relaxed: see the module's orderings.
        self.words.get(slot).fetch_and(!OWNED, Ordering::Relaxed);
    }

    /// Whether every slice of every share has been claimed.
    pub fn is_exhausted(&self) -> bool {
        (0..self.words.len()).all(|number| {
            let slices = chunk::slices(self.shares.get(number).len()) as u64;
            self.words.get(number).load(Ordering::Relaxed) / SLICE >= slices
        })
    }

    /// Closes the source, and returns the rest of each share.
    pub fn close(&self) -> Vec<Range<usize>> {
        let rest = |number| {
            let share: Range<usize> = self.shares.get(number);
            let word = self.words.get(number).swap(CLOSED, Ordering::Relaxed);
            let has_rest = word / SLICE < chunk::slices(share.len()) as u64;
            has_rest.then(|| slice(&share, word).start..share.end)
        };
        (0..self.words.len()).filter_map(rest).collect()
    }
}

/// Relaxed: see the module's orderings.
#[inline]
fn advance(word: &AtomicU64, seen: u64, next: u64) -> Result<(), u64> {
    word.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed).map(|_| ())
}

/// The next slice of `share`, whose word is `word`.
#[inline]
fn slice(share: &Range<usize>, word: u64) -> Range<usize> {
    chunk::slice(share, (word / SLICE) as usize)
}
