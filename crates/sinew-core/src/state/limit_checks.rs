//! When a worker that has work looks at the limits of the process: affinity, cpuset and quota.
//!
//! An idle worker looks anyway; while all of them have work, nobody would. So they do between two
//! pieces of it: chunks, items, steps. Most pieces are too short for a look at the clock each, so a
//! worker asks for the time the more rarely the faster they come.
//!
//! # Cost
//!
//! A number of the worker's own that is counted down for each piece; the time, once in up to
//! [`MOST`] pieces; the limits at most ten times a second for the whole pool
//! ([`limit`](crate::seams::limit)).

use std::cell::Cell;

use sinew_sync::clock::TICKS_A_US;

/// Between two looks of one worker, in ticks.
const LOOK: u64 = 20_000 * TICKS_A_US;

/// At most so many pieces pass without a look at the clock: few enough that pieces which have
/// become long do not keep the worker from looking.
const MOST: u32 = 31;

/// What one worker knows of its looks.
#[derive(Debug, Default)]
pub(crate) struct LimitChecks {
    /// Pieces that may pass before the time is asked for.
    left: Cell<u32>,
    /// How many those were at first.
    step: Cell<u32>,
    /// When the time was last asked for, in ticks.
    asked: Cell<u64>,
    /// When the worker has last looked.
    last: Cell<u64>,
}

impl LimitChecks {
    /// The next piece is followed by a look.
    pub(crate) fn hurry(&self) {
        self.left.set(0);
    }

    /// No piece is followed by a look any more, until the worker is hurried.
    pub(crate) fn never(&self) {
        self.left.set(u32::MAX);
    }

    /// A piece has ended: whether the time is to be asked for.
    #[inline]
    pub(crate) fn wants_time(&self) -> bool {
        match self.left.get() {
            0 => true,
            left => {
                self.left.set(left - 1);
                false
            }
        }
    }

    /// It was asked for, and is this: whether to look.
    pub(crate) fn asked(&self, now: u64) -> bool {
        let was_long = now.saturating_sub(self.asked.replace(now)) > LOOK;
        let step = if was_long { 0 } else { (2 * self.step.get() + 1).min(MOST) };
        self.step.set(step);
        self.left.set(step);
        self.is_time(now)
    }

    #[inline]
    pub(crate) fn is_time(&self, now: u64) -> bool {
        let is_time = now.saturating_sub(self.last.get()) > LOOK;
        if is_time {
            self.last.set(now);
        }
        is_time
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Catches: a look after every piece, or none where the time is not known.
    #[test]
    fn a_worker_looks_now_and_then() {
        let limit_checks = LimitChecks::default();
        let looked =
            [LOOK + 1, LOOK + 2, 2 * LOOK, 2 * LOOK + 2].map(|now| limit_checks.is_time(now));
        assert_eq!(looked, [true, false, false, true]);
    }

    /// Catches: a look at the clock after every short piece, and long pieces of which only every
    /// thirtieth is followed by one.
    #[test]
    fn the_time_is_asked_for_the_more_rarely_the_faster_pieces_come() {
        let limit_checks = LimitChecks::default();
        let mut now = 10 * LOOK;
        let mut gaps = |limit_checks: &LimitChecks, length: u64| -> Vec<u32> {
            let gap = |_| {
                let mut pieces = 1;
                now += length;
                while !limit_checks.wants_time() {
                    pieces += 1;
                    now += length;
                }
                limit_checks.asked(now);
                pieces
            };
            (0..8).map(gap).collect()
        };
        assert_eq!(gaps(&limit_checks, 1), [1, 1, 2, 4, 8, 16, 32, 32]);
        assert_eq!(gaps(&limit_checks, 2 * LOOK), [32, 1, 1, 1, 1, 1, 1, 1]);
    }
}
