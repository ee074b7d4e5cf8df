//! What a participant of a controlled loop asks for its work: the next slice, until it is to leave.

use super::Controlled;
use super::claims::Claims;
use crate::Worker;
use crate::profile::Pieces;
use sinew_policy::pace::Pace;
use sinew_sync::clock::{TICKS_A_US, ticks};
use std::ops::Range;

/// A slice takes no longer than this, in ticks, unless a single iteration does.
const SLICE: u64 = 50 * TICKS_A_US;

/// The slices of one participant.
pub(in crate::loops) struct Chunks<'c> {
    run: &'c Controlled<'c>,
    w: &'c Worker,
    claims: Claims<'c>,
    pace: Pace,
    pieces: Pieces<'c>,
    /// Iterations of the slice under way.
    running: usize,
    /// When it began, in ticks, if it is worth knowing.
    began: Option<u64>,
}

impl<'c> Chunks<'c> {
    /// A participant of this rank, if it is still wanted.
    pub(super) fn enter(
        run: &'c Controlled<'c>,
        w: &'c Worker,
        hire: &'c dyn Fn(),
        rank: usize,
    ) -> Option<Self> {
        let claims = Claims::enter(&run.shared, hire, w.index(), rank)?;
        run.shared.control.begin_work();
        Some(Self { run, w, claims, pace: Pace::default(), pieces: w.pieces(), running: 0, began: None })
    }

    /// Iterations to run now. What was answered before is done with. `None`: leave.
    #[inline]
    pub(in crate::loops) fn next(&mut self) -> Option<Range<usize>> {
        let now = if self.running > 0 { self.account() } else { None };
        let (range, more) = self.claims.next(self.pace.slice())?;
        (0..self.claims.take_chunks()).for_each(|_| self.w.count_chunk());
        self.running = range.len();
        // A single iteration cannot be cut: its time does not matter.
        let matters = range.len() > 1 || more;
        self.began = matters.then(|| now.unwrap_or_else(ticks));
        Some(range)
    }

    /// The body wants the loop to stop.
    #[cold]
    pub(in crate::loops) fn stop(&self) {
        self.claims.stop();
    }

    /// The slice under way is done with. Answers the time if it was looked at.
    #[inline]
    fn account(&mut self) -> Option<u64> {
        let items = std::mem::take(&mut self.running);
        self.pieces.ended();
        self.claims.ran(items);
        self.w.safe_point();
        let began = self.began?;
        let now = ticks();
        self.pace.ran(items, now.saturating_sub(began), SLICE);
        Some(now)
    }
}

impl Drop for Chunks<'_> {
    fn drop(&mut self) {
        self.run.finished(self.claims.done());
    }
}
