//! Chunk sources: who takes which iterations of a loop next.
//!
//! A loop over `n` iterations has one source, and its participants claim ranges from it until
//! nothing is left. There is one kind of source a schedule, and one small enum in front of them. A
//! claim is a branch that predicts well and one atomic operation, never a call through a table.
//!
//! A participant has a *slot number* below the number of participants. Numbers say which part of
//! the loop a participant should prefer. They need not be unique: two participants that share a
//! number only lose some locality, because every claim is a read-modify-write of the word it
//! changes.
//!
//! # Invariants
//!
//! - I1: every index below `n` is claimed at most once, or returned by `close` at most once, never
//!   both.
//! - I2: once every participant has been answered `None` by `claim` and `steal` after the last
//!   `leave`, every index has been claimed or returned.
//! - I3: a claimed range is never empty and lies below `n`.
//! - I4: a claim that begins after `close` has returned is answered `None`.
//!
//! # Orderings
//!
//! All accesses are `Relaxed`. I1 to I4 are statements about single words, which read-modify-writes
//! order by themselves. The join that ends the loop, not the source, makes the writes of the bodies
//! visible to the caller.
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
//! returns it as one claim: the range is not part of what `close` returns.
//! [`is_closed`](Source::is_closed) tells the thief, who sees to it that others get their part.
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
pub use tapered::{Tapered, Tapering};
pub use words::INLINE;

use sinew_policy::chunk::{Halving, Schedule};
use sinew_policy::weighted::Speeds;
use sinew_sync::atomic::spin_loop;
use sinew_sync::clock::now_ns;
use std::ops::Range;

/// The source of one loop.
#[derive(Debug)]
pub enum Source {
    /// [`Schedule::Static`].
    Fixed(Fixed),
    /// [`Schedule::Dynamic`].
    Dynamic(Dynamic),
    /// [`Schedule::Tapered`] and [`Schedule::Factoring`].
    Tapered(Tapered),
    /// [`Schedule::Stealing`], and what stands in for [`Schedule::Simple`] and
    /// [`Schedule::Adaptive`] where joins cannot.
    Stealing(Stealing),
    /// [`Schedule::Affinity`] and [`Schedule::Weighted`].
    Partitioned(Partitioned),
}

impl Source {
    /// A source of `n` iterations for `participants`, the first of which has slot number `first`.
    #[inline]
    pub fn new(schedule: Schedule, n: usize, participants: usize, first: usize) -> Self {
        Self::with_memory(schedule, n, participants, first, None)
    }

    /// The same, with what a memory knows of such loops. When the loop has ended,
    /// [`save_to`](Self::save_to) gives it back.
    #[inline]
    pub fn with_memory(
        schedule: Schedule,
        n: usize,
        participants: usize,
        first: usize,
        memory: Option<&LoopMemory>,
    ) -> Self {
        match schedule {
            Schedule::Static => Self::Fixed(Fixed::new(n, participants)),
            Schedule::Dynamic { chunk } => Self::Dynamic(Dynamic::new(n, chunk)),
            Schedule::Tapered { min } => {
                Self::Tapered(Tapered::new(n, participants, Tapering::Guided, min))
            }
            Schedule::Factoring { min } => {
                Self::Tapered(Tapered::new(n, participants, Tapering::Factoring, min))
            }
            Schedule::Affinity => Self::Partitioned(Partitioned::affine(n, participants, memory)),
            Schedule::Weighted => Self::Partitioned(Partitioned::weighted(n, participants, memory)),
            Schedule::Simple { grain } => {
                Self::Stealing(Stealing::with_grain(n, participants, first, grain))
            }
            // The rest of the enum is open; halving suits any loop.
            _ => Self::Stealing(Stealing::new(n, participants, first)),
        }
    }

    /// [`Schedule::Weighted`] for as many participants as there are speeds, of which it learns
    /// nothing more.
    pub fn by_speed(n: usize, speeds: Speeds) -> Self {
        Self::Partitioned(Partitioned::by_speed(n, speeds))
    }

    /// The most participants that could all get something.
    #[inline]
    pub fn pieces(schedule: Schedule, n: usize) -> usize {
        match schedule {
            Schedule::Dynamic { chunk } => n.div_ceil(chunk.max(1)),
            Schedule::Tapered { min } | Schedule::Factoring { min } => n.div_ceil(min.max(1)),
            Schedule::Simple { grain } | Schedule::Adaptive { grain } => n.div_ceil(grain.max(1)),
            _ => n,
        }
    }

    /// The next range for the participant with number `slot`; `None` when there is nothing for it
    /// but, perhaps, what it can [`steal`](Self::steal).
    ///
    /// With [`Schedule::Static`] there may be something again after another participant has called
    /// [`leave`](Self::leave).
    #[inline]
    pub fn claim(&self, slot: usize) -> Option<Range<usize>> {
        match self {
            Self::Fixed(source) => source.claim(slot),
            Self::Dynamic(source) => source.claim(),
            Self::Tapered(source) => source.claim(),
            Self::Stealing(source) => source.claim(slot),
            Self::Partitioned(source) => source.claim(slot),
        }
    }

    /// How many iterations [`steal`](Self::steal) would find at its first victim; `None` if there
    /// is nothing to steal.
    ///
    /// The owner claims a range that a thief leaves alone.
    #[inline]
    pub fn stealable(&self, slot: usize) -> Option<usize> {
        match self {
            Self::Stealing(source) => source.stealable(slot),
            Self::Partitioned(source) => source.stealable(slot),
            _ => None,
        }
    }

    /// Waits before a [`steal`](Self::steal) while the owner of the range is as good as done with
    /// it, for a participant that has run `items` in `elapsed_ns`. Returns how long it waited, in
    /// nanoseconds; `None` if there is nothing to steal.
    #[cold]
    pub(crate) fn wait_before_steal(
        &self,
        slot: usize,
        items: usize,
        elapsed_ns: impl FnOnce() -> u64,
    ) -> Option<u64> {
        let left = self.stealable(slot)?;
        let began = now_ns();
        let patience_ns = Halving::patience_ns(left, items, elapsed_ns());
        // No shared line is touched meanwhile, because that would slow the owner down.
        while now_ns() - began < patience_ns {
            spin_loop();
        }
        Some(now_ns() - began)
    }

    /// A range out of another participant's, for one whose claims have come to an end.
    #[inline]
    pub fn steal(&self, slot: usize) -> Option<Range<usize>> {
        match self {
            Self::Stealing(source) => source.steal(slot),
            Self::Partitioned(source) => source.steal(slot),
            _ => None,
        }
    }

    /// The participant with number `slot` claims no more; what it has not claimed is for the
    /// others.
    #[inline]
    pub fn leave(&self, slot: usize) {
        if let Self::Fixed(source) = self {
            source.leave(slot);
        }
    }

    /// Whether every index has been claimed, as far as can be seen.
    ///
    /// It may miss a range that a thief has taken and not yet deposited; the thief sees to that
    /// range itself.
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

    /// Takes away the rest: the returned ranges belong to the caller alone, and later claims fail.
    pub fn close(&self) -> Vec<Range<usize>> {
        match self {
            Self::Fixed(source) => source.close(),
            Self::Dynamic(source) => source.close().into_iter().collect(),
            Self::Tapered(source) => source.close().into_iter().collect(),
            Self::Stealing(source) => source.close(),
            Self::Partitioned(source) => source.close(),
        }
    }

    /// Whether the source was closed before the participant with number `slot` could share a range
    /// that it has just [stolen](Self::steal). No other participant can then steal from that range.
    pub fn is_closed(&self, slot: usize) -> bool {
        match self {
            Self::Stealing(source) => source.is_closed(slot),
            Self::Partitioned(source) => source.is_closed(slot),
            _ => false,
        }
    }

    /// Whether it wants to be told how long participants took.
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

    /// Gives a memory back what was taken from it, with what this loop has added if it `ran` to its
    /// end.
    #[inline]
    pub fn save_to(self, memory: &LoopMemory, completed: bool) {
        if let Self::Partitioned(source) = self {
            source.save_to(memory, completed);
        }
    }
}
