//! The slices of one participant of a controlled loop. Between two slices the participant follows
//! requests, polls its worker and measures.

use sinew_policy::pace::Pace;
use sinew_sync::clock::{TICKS_PER_US, ticks};

use super::super::auto::ChunkTimer;
use super::super::body::Ranges;
use super::super::meter::Stopwatch;
use super::Controlled;
use super::claims::Claims;
use crate::affinity::PinGuard;
use crate::participants::Registration;
use sinew_core::Worker;
use sinew_core::observer::Pieces;
use std::ops::{ControlFlow, Range};

/// A slice takes no longer than this, in ticks, unless a single iteration does.
const SLICE: u64 = 50 * TICKS_PER_US;

/// The slices of one participant.
pub(super) struct Slices<'c> {
    run: &'c Controlled<'c>,
    w: &'c Worker,
    pin: PinGuard<'c>,
    claims: Claims<'c>,
    /// The version of the requests that the thread's pin follows.
    pinned_version: Option<u64>,
    stopwatch: Option<Stopwatch<'c>>,
    /// Times the slices, if this run is a trial.
    timer: Option<ChunkTimer<'c>>,
    pace: Pace,
    pieces: Pieces<'c>,
    /// The number of iterations of the running slice, and the first one.
    running: usize,
    first: usize,
    /// When the slice began, in ticks, if its length depends on the time.
    began: Option<u64>,
}

impl<'c> Slices<'c> {
    /// A participant, if its rank is still wanted.
    pub(super) fn enter(
        run: &'c Controlled<'c>,
        w: &'c Worker,
        recruit: &'c dyn Fn(),
        registration: Registration<'c>,
    ) -> Option<Self> {
        let stopwatch = run.meter.map(|meter| meter.stopwatch(w.index()));
        let rank = registration.rank();
        let claims = Claims::enter(&run.shared, recruit, w.index(), registration)?;
        run.shared.control.begin_work();
        let pin = PinGuard::new(w, run.shared.control.places(), rank);
        let timer = run.trial.as_ref().and_then(|trial| trial.chunk_timer(w.served_ns()));
        let (pace, pieces) = (Pace::default(), w.pieces(true));
        Some(Self {
            run,
            w,
            claims,
            pin,
            pinned_version: None,
            stopwatch,
            timer,
            pace,
            pieces,
            running: 0,
            first: 0,
            began: None,
        })
    }

    /// Ends the present slice, and returns the next one; `None` if the participant leaves.
    #[inline]
    pub(super) fn next_slice(&mut self) -> Option<Range<usize>> {
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.end_work(self.running);
        }
        let range = self.find_slice();
        if let Some(stopwatch) = self.stopwatch.as_mut().filter(|_| range.is_some()) {
            stopwatch.start_work();
        }
        let start = self.run.start;
        range.map(|range| range.start + start..range.end + start)
    }

    #[inline]
    fn find_slice(&mut self) -> Option<Range<usize>> {
        let mut now = if self.running > 0 { self.end_slice() } else { None };
        let (range, more) = self.claims.next(self.pace.slice())?;
        if self.pinned_version != Some(self.claims.seen()) {
            self.pin_cold();
            now = None;
        }
        (0..self.claims.take_chunks()).for_each(|_| self.w.count_chunk());
        (self.running, self.first) = (range.len(), range.start);
        // A single iteration cannot be cut, so its time is of no use.
        let is_divisible = range.len() > 1 || more;
        self.began = is_divisible.then(|| now.unwrap_or_else(ticks));
        Some(range)
    }

    /// Pins the thread before the first slice under new requests.
    #[cold]
    fn pin_cold(&mut self) {
        let seen = self.claims.seen();
        self.pin.follow(self.claims.pinning());
        self.pinned_version = Some(seen);
        self.run.shared.control.mark_followed(seen);
    }

    /// Ends the running slice. Returns the time if the clock was read.
    #[inline]
    fn end_slice(&mut self) -> Option<u64> {
        let items = std::mem::take(&mut self.running);
        self.pieces.ended();
        if let Some(timer) = &mut self.timer {
            timer.ran(self.w.served_ns(), self.first, items);
        }
        self.claims.ran(items);
        self.w.safe_point();
        let now = self.began.map(|began| {
            let now = ticks();
            self.pace.record(items, now.saturating_sub(began), SLICE);
            now
        });
        match now {
            Some(now) => self.w.check_limits_at(now),
            None => self.w.check_limits(),
        }
        // After a served call the time is out of date.
        now.filter(|_| !self.w.serve_calls())
    }
}

impl Ranges for Slices<'_> {
    fn next(&mut self, flow: ControlFlow<()>) -> Option<Range<usize>> {
        if flow.is_break() {
            self.claims.stop();
        }
        self.next_slice()
    }
}

impl Drop for Slices<'_> {
    fn drop(&mut self) {
        self.run.finished(self.claims.done());
        if let Some(stopwatch) = self.stopwatch.take() {
            stopwatch.record(self.claims.blocked_ns());
        }
    }
}
