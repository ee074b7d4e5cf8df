//! Chunk sources: which iterations each participant of a loop runs next.
//!
//! A loop over `n` iterations has one source, from which its participants claim ranges until it is
//! exhausted. [`Source`] is an enum over the kinds, so a claim is a predictable branch and one
//! atomic operation, not an indirect call.
//!
//! | file | contents |
//! |---|---|
//! | `fixed` | one share for each participant |
//! | `dynamic`, `tapered` | chunks from one shared counter |
//! | `stealing` | one range for each participant, halved by thieves |
//! | `partitioned` | the same, with initial shares from earlier runs |
//! | `memory` | what earlier runs have measured |
//! | `words` | the padded words of the participants |
//!
//! The sizes of chunks and shares are decisions of `sinew_policy::chunk`.
//!
//! A participant has a *slot number* below the number of participants, by which the source chooses
//! its part of the loop. Numbers need not be unique: every claim is a read-modify-write of the word
//! that it changes, so participants that share a number only lose some locality.
//!
//! # Invariants
//!
//! - I1: every index below `n` is claimed at most once, or returned by `close` at most once, never
//!   both.
//! - I2: once `claim` and `steal` have returned `None` to every participant after the last `leave`,
//!   every index has been claimed or returned.
//! - I3: a claimed range is never empty and lies below `n`.
//! - I4: a claim that begins after `close` has returned fails.
//!
//! # Orderings
//!
//! All accesses are `Relaxed`. I1 to I4 are statements about single words, whose read-modify-writes
//! have one order. The join that ends the loop makes the writes of the bodies visible to the
//! caller.
//!
//! # Cost
//!
//! A source for up to [`INLINE`] participants allocates nothing. A claim is one atomic operation:
//! on the participant's own cache line with [`Fixed`], [`Stealing`] and [`Partitioned`], on a
//! shared one with the others.
//!
//! # Closing
//!
//! A thief of [`Stealing`] or [`Partitioned`] that holds a stolen range while the source is closed
//! gets all of it as one claim; `close` does not return that range. The thief checks
//! [`is_closed`](Source::is_closed), and shares the range in another way.
//!
//! # Tests
//!
//! Property tests run scripts of claims and leaves over every schedule (I1 to I3) and close it at
//! any point (I4). Loom runs the protocols of [`Fixed`], [`Stealing`] and [`Partitioned`] with two
//! participants; other tests run them on threads.

mod dynamic;
mod fixed;
#[cfg(all(test, loom))]
mod loom;
mod memory;
mod partitioned;
mod stealing;
mod tapered;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
#[cfg(all(test, not(any(loom, shuttle))))]
pub(crate) use tests::any_schedule;
mod words;

pub use dynamic::Dynamic;
pub use fixed::Fixed;
pub use memory::LoopMemory;
pub use partitioned::Partitioned;
pub use stealing::Stealing;
pub use tapered::Tapered;
pub use words::INLINE;

use sinew_policy::chunk::{Halving, Schedule};
use sinew_policy::schedule::{ChunkRule, Feedback, Mechanism, SplitRule};
use sinew_policy::weighted::Speeds;
use sinew_sync::atomic::spin_loop;
use sinew_sync::clock::now_ns;
use std::ops::Range;

/// The source of one loop.
#[derive(Debug)]
pub enum Source {
    /// [`Mechanism::Shares`].
    Fixed(Fixed),
    /// [`Mechanism::Counter`] with [`ChunkRule::Fixed`].
    Dynamic(Dynamic),
    /// [`Mechanism::Counter`] with any other rule.
    Tapered(Tapered),
    /// [`Mechanism::Ranges`]; also [`Mechanism::Joins`] in loops that cannot use joins.
    Stealing(Stealing),
    /// [`Mechanism::Partition`].
    Partitioned(Partitioned),
}

impl Source {
    /// A source of `n` iterations for `participants`, the first of which has slot number `first`.
    #[inline]
    pub fn new(schedule: Schedule, n: usize, participants: usize, first: usize) -> Self {
        Self::with_memory(schedule, n, participants, first, None)
    }

    /// [`new`](Self::new) with the feedback of earlier runs, taken from `memory`. When the loop has
    /// ended, [`save_to`](Self::save_to) returns it.
    #[inline]
    pub fn with_memory(
        schedule: Schedule,
        n: usize,
        participants: usize,
        first: usize,
        memory: Option<&LoopMemory>,
    ) -> Self {
        match Mechanism::of(schedule) {
            Mechanism::Shares => Self::Fixed(Fixed::new(n, participants)),
            Mechanism::Counter(ChunkRule::Fixed(chunk)) => Self::Dynamic(Dynamic::new(n, chunk)),
            Mechanism::Counter(rule) => Self::Tapered(Tapered::new(n, participants, rule)),
            Mechanism::Partition(Feedback::Owners) => {
                Self::Partitioned(Partitioned::affine(n, participants, memory))
            }
            Mechanism::Partition(Feedback::Speeds) => {
                Self::Partitioned(Partitioned::weighted(n, participants, memory))
            }
            Mechanism::Joins { rule: SplitRule::Simple, grain } => {
                Self::Stealing(Stealing::with_grain(n, participants, first, grain))
            }
            // In place of joins, and of a tuner, halving suits any loop.
            Mechanism::Ranges
            | Mechanism::Joins { rule: SplitRule::Adaptive, .. }
            | Mechanism::Tuned => Self::Stealing(Stealing::new(n, participants, first)),
        }
    }

    /// [`Schedule::Weighted`] for one participant for each speed, without feedback.
    pub fn by_speed(n: usize, speeds: Speeds) -> Self {
        Self::Partitioned(Partitioned::by_speed(n, speeds))
    }

    /// The maximum number of participants that can all get some iterations.
    #[inline]
    pub fn pieces(schedule: Schedule, n: usize) -> usize {
        match Mechanism::of(schedule) {
            // Single iterations may follow the first chunk.
            Mechanism::Counter(ChunkRule::Tapered(first)) => (n - n.min(first)).max(1).min(n),
            mechanism => mechanism.number().map_or(n, |number| n.div_ceil(number.max(1))),
        }
    }

    /// The next range for the participant with number `slot`; `None` if it can only
    /// [`steal`](Self::steal).
    ///
    /// With [`Schedule::Static`] a later claim may succeed after another participant has called
    /// [`leave`](Self::leave).
    #[inline]
    pub fn claim(&self, slot: usize) -> Option<Range<usize>> {
        self.claim_at_least(slot, 1)
    }

    /// The same for a participant that knows the cost of its iterations: `least`
    /// [are not worth a steal](Halving::not_worth_stealing). Only ranges from which others steal
    /// regard it.
    #[inline]
    fn claim_at_least(&self, slot: usize, least: usize) -> Option<Range<usize>> {
        match self {
            Self::Fixed(source) => source.claim(slot),
            Self::Dynamic(source) => source.claim(),
            Self::Tapered(source) => source.claim(),
            Self::Stealing(source) => source.claim(slot, least),
            Self::Partitioned(source) => source.claim(slot, least),
        }
    }

    /// The number of iterations in the range from which [`steal`](Self::steal) would take a part;
    /// `None` if there is nothing to steal.
    #[inline]
    pub fn stealable(&self, slot: usize) -> Option<usize> {
        match self {
            Self::Stealing(source) => source.stealable(slot),
            Self::Partitioned(source) => source.stealable(slot),
            _ => None,
        }
    }

    /// The next range for a participant that has run `items` in `elapsed_ns`: claimed, or stolen
    /// unless its owner finishes it soon. `least` iterations are not worth a steal. The second
    /// result is the time in nanoseconds for which it waited for that owner; `None` if the range is
    /// not stolen.
    #[inline]
    pub(crate) fn claim_or_steal(
        &self,
        slot: usize,
        least: usize,
        items: usize,
        elapsed_ns: impl FnOnce() -> u64,
    ) -> (Option<Range<usize>>, Option<u64>) {
        match self.claim_at_least(slot, least) {
            Some(range) => (Some(range), None),
            None => self.steal_cold(slot, items, elapsed_ns),
        }
    }

    /// Waits as long as the owner should need to finish its range, if that is short, and steals.
    #[cold]
    fn steal_cold(
        &self,
        slot: usize,
        items: usize,
        elapsed_ns: impl FnOnce() -> u64,
    ) -> (Option<Range<usize>>, Option<u64>) {
        let Some(left) = self.stealable(slot) else { return (None, None) };
        let began = now_ns();
        let steal_delay_ns = Halving::steal_delay_ns(left, items, elapsed_ns());
        // Touches no shared cache line, which would slow the owner down.
        while now_ns() - began < steal_delay_ns {
            spin_loop();
        }
        let waited_ns = now_ns() - began;
        (self.steal(slot), Some(waited_ns))
    }

    /// A range stolen from another participant, for one whose claims fail.
    #[inline]
    pub fn steal(&self, slot: usize) -> Option<Range<usize>> {
        match self {
            Self::Stealing(source) => source.steal(slot),
            Self::Partitioned(source) => source.steal(slot),
            _ => None,
        }
    }

    /// The participant with number `slot` claims no more; others may claim the rest of its share.
    #[inline]
    pub fn leave(&self, slot: usize) {
        if let Self::Fixed(source) = self {
            source.leave(slot);
        }
    }

    /// Whether every index has been claimed.
    ///
    /// May miss a range that a thief has taken and not yet deposited. The thief runs that range.
    #[inline]
    pub fn is_exhausted(&self) -> bool {
        match self {
            Self::Fixed(source) => source.is_exhausted(),
            Self::Dynamic(source) => source.is_exhausted(),
            Self::Tapered(source) => source.is_exhausted(),
            Self::Stealing(source) => source.is_exhausted(),
            Self::Partitioned(source) => source.is_exhausted(),
        }
    }

    /// Closes the source: returns the unclaimed ranges to the caller alone; later claims fail.
    pub fn close(&self) -> Vec<Range<usize>> {
        match self {
            Self::Fixed(source) => source.close(),
            Self::Dynamic(source) => source.close().into_iter().collect(),
            Self::Tapered(source) => source.close().into_iter().collect(),
            Self::Stealing(source) => source.close(),
            Self::Partitioned(source) => source.close(),
        }
    }

    /// Whether the source was closed before the participant with number `slot` could deposit a
    /// range that it has just [stolen](Self::steal), so that no other participant can steal from
    /// it.
    pub fn is_closed(&self, slot: usize) -> bool {
        match self {
            Self::Stealing(source) => source.is_closed(slot),
            Self::Partitioned(source) => source.is_closed(slot),
            _ => false,
        }
    }

    /// Whether the source needs [the times of participants](Self::measured).
    #[inline]
    pub fn is_timed(&self) -> bool {
        matches!(self, Self::Partitioned(source) if source.is_timed())
    }

    /// The participant with number `slot` took `elapsed_ns` for `items` iterations.
    pub fn measured(&self, slot: usize, items: usize, elapsed_ns: u64) {
        if let Self::Partitioned(source) = self {
            source.measured(slot, items, elapsed_ns);
        }
    }

    /// Returns to `memory` what was taken from it, with the feedback of this loop if it was
    /// `completed`.
    #[inline]
    pub fn save_to(self, memory: &LoopMemory, completed: bool) {
        if let Self::Partitioned(source) = self {
            source.save_to(memory, completed);
        }
    }
}
