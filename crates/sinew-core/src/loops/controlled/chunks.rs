//! What a participant of a controlled loop asks for its work: the next slice, until it is to leave.

use super::super::meter::Sheet;
use super::Controlled;
use super::claims::Claims;
use crate::Worker;
use crate::lodging::Guided;
use crate::profile::Pieces;
use sinew_policy::pace::Pace;
use sinew_sync::clock::{TICKS_A_US, ticks};
use std::ops::Range;

/// A slice takes no longer than this, in ticks, unless a single iteration does.
const SLICE: u64 = 50 * TICKS_A_US;

/// Between two looks at the limits of the process, in ticks.
const LOOK: u64 = 20_000 * TICKS_A_US;
/// So many slices whose time is not taken may pass before somebody asks for it to see whether it is time to look.
const UNTIMED: u32 = 16;

/// The slices of one participant.
pub(in crate::loops) struct Chunks<'c> {
    run: &'c Controlled<'c>,
    w: &'c Worker,
    guided: Guided<'c>,
    claims: Claims<'c>,
    /// The version of the wishes that the thread's place is of.
    settled: Option<u64>,
    looks: Option<Looks>,
    sheet: Option<Sheet<'c>>,
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
        let sheet = run.meter.map(|meter| meter.sheet(w.index()));
        let claims = Claims::enter(&run.shared, hire, w.index(), rank)?;
        run.shared.control.begin_work();
        let guided = Guided::new(w, run.shared.control, rank);
        let looks = run.shared.limit.follows().then(Looks::default);
        let (pace, pieces) = (Pace::default(), w.pieces());
        Some(Self {
            run,
            w,
            claims,
            guided,
            settled: None,
            looks,
            sheet,
            pace,
            pieces,
            running: 0,
            began: None,
        })
    }

    /// Iterations to run now. What was answered before is done with. `None`: leave.
    #[inline]
    pub(in crate::loops) fn next(&mut self) -> Option<Range<usize>> {
        if let Some(sheet) = &mut self.sheet {
            sheet.rest(self.running);
        }
        let range = self.find();
        if let Some(sheet) = self.sheet.as_mut().filter(|_| range.is_some()) {
            sheet.work();
        }
        range
    }

    #[inline]
    fn find(&mut self) -> Option<Range<usize>> {
        let mut now = if self.running > 0 { self.account() } else { None };
        let (range, more) = self.claims.next(self.pace.slice())?;
        if self.settled != Some(self.claims.seen()) {
            self.settle_cold();
            now = None;
        }
        (0..self.claims.take_chunks()).for_each(|_| self.w.count_chunk());
        self.running = range.len();
        // A single iteration cannot be cut: its time does not matter.
        let matters = range.len() > 1 || more;
        self.began = matters.then(|| now.unwrap_or_else(ticks));
        Some(range)
    }

    /// There is work under wishes that this participant has not worked under yet.
    #[cold]
    fn settle_cold(&mut self) {
        let seen = self.claims.seen();
        self.guided.follow(self.claims.pinning());
        self.settled = Some(seen);
        self.run.shared.control.is_followed(seen);
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
        let now = self.began.map(|began| {
            let now = ticks();
            self.pace.ran(items, now.saturating_sub(began), SLICE);
            now
        });
        if let Some(looks) = &mut self.looks
            && looks.is_time(now)
        {
            self.w.pool().follow_limits();
        }
        now
    }
}

/// When a participant looks at the limits of the process.
#[derive(Debug, Default)]
struct Looks {
    last: u64,
    untimed: u32,
}

impl Looks {
    /// A slice has ended, at `now` if that is known.
    fn is_time(&mut self, now: Option<u64>) -> bool {
        self.untimed += 1;
        let now = match now {
            Some(now) => now,
            None if self.untimed >= UNTIMED => ticks(),
            None => return false,
        };
        self.untimed = 0;
        let is_time = now.saturating_sub(self.last) > LOOK;
        if is_time {
            self.last = now;
        }
        is_time
    }
}

impl Drop for Chunks<'_> {
    fn drop(&mut self) {
        self.run.finished(self.claims.done());
        if let Some(sheet) = self.sheet.take() {
            sheet.hand_in(self.claims.blocked_ns());
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Would miss: a look after every slice, or none where slices are not timed.
    #[test]
    fn a_participant_looks_now_and_then() {
        let mut looks = Looks::default();
        let at = |looks: &mut Looks, now| looks.is_time(Some(now));
        let looked = [LOOK + 1, LOOK + 2, 2 * LOOK, 2 * LOOK + 2].map(|now| at(&mut looks, now));
        assert_eq!(looked, [true, false, false, true]);
        let mut untimed = Looks::default();
        let looked: Vec<bool> = (0..UNTIMED).map(|_| untimed.is_time(None)).collect();
        assert_eq!(looked, [vec![false; UNTIMED as usize - 1], vec![true]].concat());
    }
}
