//! A share for each participant, computed from earlier runs; a participant without iterations
//! steals.
//!
//! The words and the protocol are those of [`Stealing`], but each slot begins with a range. Ranges
//! are of *positions*: the iterations in an order in which the parts of a slot are adjacent. A
//! *segment* is a range of positions whose iterations are adjacent, too. A claim and a steal stop
//! at the end of a segment, so they return one range of iterations.
//!
//! # Invariants
//!
//! - T1: a deposit lies in one segment; only initial shares span several.
//! - T2: steals are recorded in an order in which no steal of a range comes before the steal that
//!   brought the victim that range. A thief records a steal before it deposits the rest; the part
//!   that it keeps cannot be stolen.
//!
//! # Orderings
//!
//! `Relaxed`, as in all sources, is enough for T2: a thief that steals from a deposit has read it.
//! If it took the lock of the record before the depositor did, the lock would order its read of the
//! deposit before the write that it has read.

use super::memory::{LoopMemory, Parts, SharedSpeeds};
use super::stealing::Stealing;
use sinew_policy::affinity::{OwnerOrder, Stolen, worth_keeping};
use sinew_policy::chunk::Shares;
use sinew_policy::weighted::Speeds;
use std::ops::Range;

/// The source of [`Schedule::Affinity`](sinew_policy::chunk::Schedule::Affinity) and
/// [`Schedule::Weighted`](sinew_policy::chunk::Schedule::Weighted).
#[derive(Debug)]
pub struct Partitioned {
    ranges: Stealing,
    n: usize,
    /// Whether each position is the iteration of the same number.
    in_order: bool,
    feedback: Feedback,
}

/// The measurements of this run for the next, by the kind of memory.
#[derive(Debug)]
enum Feedback {
    None,
    Owners(Box<Parts>),
    Speeds(Box<SharedSpeeds>),
}

impl Partitioned {
    /// `n` iterations for `participants`: each begins with the parts that it ran in the last run in
    /// `memory`.
    pub fn affine(n: usize, participants: usize, memory: Option<&LoopMemory>) -> Self {
        let mut source = Self::empty(n, participants);
        let Some(memory) = memory.filter(|_| source.can_learn()) else {
            return source.filled_equally();
        };
        let parts = memory.take_parts(n, source.ranges.participants());
        source.in_order = parts.deal.is_in_order();
        for slot in 0..source.ranges.participants() {
            let Range { start, end } = parts.deal.share(slot);
            source.ranges.fill(slot, start, end);
        }
        source.feedback = Feedback::Owners(parts);
        source
    }

    /// `n` iterations for `participants`, in shares by their speeds in `memory`.
    pub fn weighted(n: usize, participants: usize, memory: Option<&LoopMemory>) -> Self {
        let mut source = Self::empty(n, participants);
        let Some(memory) = memory.filter(|_| source.can_learn()) else {
            return source.filled_equally();
        };
        let speeds = memory.take_speeds(source.ranges.participants());
        source.fill_by(&mut speeds.lock());
        source.feedback = Feedback::Speeds(speeds);
        source
    }

    /// `n` iterations in shares by these speeds, one for each slot.
    pub fn by_speed(n: usize, mut speeds: Speeds) -> Self {
        let source = Self::empty(n, speeds.workers());
        source.fill_by(&mut speeds);
        source
    }

    fn fill_by(&self, speeds: &mut Speeds) {
        for (slot, share) in speeds.begins(self.ranges.units()).windows(2).enumerate() {
            self.ranges.fill(slot, share[0], share[1]);
        }
    }

    fn empty(n: usize, participants: usize) -> Self {
        Self {
            ranges: Stealing::empty(n, participants),
            n,
            in_order: true,
            feedback: Feedback::None,
        }
    }

    /// Not if a unit is several iterations: the data of such a long loop stay in no cache.
    fn can_learn(&self) -> bool {
        self.ranges.units() == self.n
    }

    fn filled_equally(self) -> Self {
        let shares = Shares::new(self.ranges.units(), self.ranges.participants());
        for slot in 0..self.ranges.participants() {
            let Range { start, end } = shares.get(slot);
            self.ranges.fill(slot, start, end);
        }
        self
    }

    /// The order of iterations, if it is not their own.
    #[inline]
    fn deal(&self) -> Option<&OwnerOrder> {
        match &self.feedback {
            Feedback::Owners(parts) if !self.in_order => Some(&parts.deal),
            _ => None,
        }
    }

    /// The next piece of the slot's own range; `least` iterations are not worth a steal.
    #[inline]
    pub fn claim(&self, slot: usize, least: usize) -> Option<Range<usize>> {
        let Some(deal) = self.deal() else { return self.ranges.claim(slot, least) };
        let end_of_segment = |start| deal.segment(start as usize).positions.end as u32;
        let (start, end) = self.ranges.claim_units(slot, least, end_of_segment)?;
        Some(self.indices(start, end))
    }

    /// The number of iterations in the range from which [`steal`](Self::steal) would take a part.
    pub fn stealable(&self, slot: usize) -> Option<usize> {
        self.ranges.stealable(slot)
    }

    /// The first piece of a range stolen from another slot.
    pub fn steal(&self, slot: usize) -> Option<Range<usize>> {
        let start_of_segment = |end: u32| {
            self.deal().map_or(0, |deal| deal.segment(end as usize - 1).positions.start as u32)
        };
        let (start, end) = self
            .ranges
            .steal_units(slot, start_of_segment, |start, end| self.note(slot, start, end))?;
        Some(self.indices(start, end))
    }

    /// Records a steal (T2), unless it is too small to matter.
    fn note(&self, slot: usize, start: u32, end: u32) {
        let Feedback::Owners(parts) = &self.feedback else { return };
        let participants = self.ranges.participants();
        if (end - start) as usize >= worth_keeping(self.n, participants) {
            let stolen = Stolen { range: self.indices(start, end), by: slot % participants };
            parts.stolen.lock().push(stolen);
        }
    }

    /// The iterations of positions in one segment.
    #[inline]
    fn indices(&self, start: u32, end: u32) -> Range<usize> {
        let Some(deal) = self.deal() else { return self.ranges.indices(start, end) };
        let index = deal.segment(start as usize).index(start as usize);
        index..index + (end - start) as usize
    }

    /// Whether every range is empty.
    pub fn is_exhausted(&self) -> bool {
        self.ranges.is_exhausted()
    }

    /// Whether the slot's word was closed.
    pub fn is_closed(&self, slot: usize) -> bool {
        self.ranges.is_closed(slot)
    }

    /// Closes the source, and returns all ranges.
    pub fn close(&self) -> Vec<Range<usize>> {
        let Some(deal) = self.deal() else { return self.ranges.close() };
        self.ranges
            .close_units()
            .flat_map(|(start, end)| self.segments_of(deal, start, end))
            .collect()
    }

    /// The iterations of positions in any segments.
    fn segments_of(&self, deal: &OwnerOrder, mut start: u32, end: u32) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        while start < end {
            let stop = end.min(deal.segment(start as usize).positions.end as u32);
            ranges.push(self.indices(start, stop));
            start = stop;
        }
        ranges
    }

    /// Whether it needs the times of participants.
    #[inline]
    pub fn is_timed(&self) -> bool {
        matches!(self.feedback, Feedback::Speeds(_))
    }

    /// A participant took `elapsed_ns` for `items` iterations.
    pub fn measured(&self, slot: usize, items: usize, elapsed_ns: u64) {
        if let Feedback::Speeds(speeds) = &self.feedback {
            speeds.lock().learn(slot % self.ranges.participants(), items, elapsed_ns, self.n);
        }
    }

    /// Returns to `memory` what was taken from it, with the feedback of this run if it was
    /// `completed`.
    pub fn save_to(self, memory: &LoopMemory, completed: bool) {
        match self.feedback {
            Feedback::None => {}
            Feedback::Speeds(speeds) => memory.keep_speeds(speeds),
            Feedback::Owners(mut parts) => {
                parts.end_run(completed);
                memory.keep_parts(parts);
            }
        }
    }
}
