//! The pace at which a busy worker checks the limits of the process: affinity, cpuset and quota.
//!
//! An idle worker checks anyway. While all workers have work, they check between two pieces of it:
//! chunks, items, steps. Most pieces are too short for a read of the clock after each, so a worker
//! reads the clock at the [`Pace`] of its pieces.
//!
//! # Cost
//!
//! A decrement of a counter of the worker for each piece; a read of the clock, once in up to
//! [`LONGEST`] pieces; a read of the limits at most ten times a second for the whole pool
//! ([`limit`](crate::seams::limit)).

use std::cell::Cell;

use sinew_policy::pace::Pace;
use sinew_sync::clock::TICKS_PER_US;

/// The time between two checks of one worker, in ticks.
const CHECK_GAP: u64 = 20_000 * TICKS_PER_US;

/// The most pieces between two reads of the clock.
const LONGEST: usize = 32;

/// The state of one worker's checks.
#[derive(Debug)]
pub(crate) struct LimitChecks {
    /// Pieces that may end before the one after which the clock is read.
    left: Cell<u32>,
    pace: Cell<Pace>,
    /// The last read of the clock, in ticks.
    read_at: Cell<u64>,
    /// The time of the worker's last check.
    last: Cell<u64>,
}

impl Default for LimitChecks {
    fn default() -> Self {
        Self {
            left: Cell::new(0),
            pace: Cell::new(Pace::up_to(LONGEST)),
            read_at: Cell::new(0),
            last: Cell::new(0),
        }
    }
}

impl LimitChecks {
    /// Makes a check due after the next piece.
    pub(crate) fn hurry(&self) {
        self.left.set(0);
    }

    /// Disables checks until the next [`hurry`](Self::hurry).
    pub(crate) fn never(&self) {
        self.left.set(u32::MAX);
    }

    /// A piece has ended: returns whether to read the clock.
    #[inline]
    pub(crate) fn count_piece(&self) -> bool {
        match self.left.get() {
            0 => true,
            left => {
                self.left.set(left - 1);
                false
            }
        }
    }

    /// Gets the time that was read; returns whether a check is due.
    pub(crate) fn clock_was_read(&self, now: u64) -> bool {
        let (mut pace, elapsed) = (self.pace.get(), now.saturating_sub(self.read_at.replace(now)));
        // Fewer pieces have run after `hurry`; then the next reads correct the pace.
        pace.record(pace.slice(), elapsed, CHECK_GAP);
        self.pace.set(pace);
        self.left.set(pace.slice() as u32 - 1);
        self.begin_check(now)
    }

    /// Whether a check is due. If so, the next one is due [`CHECK_GAP`] later.
    #[inline]
    pub(crate) fn begin_check(&self, now: u64) -> bool {
        let is_due = now.saturating_sub(self.last.get()) > CHECK_GAP;
        if is_due {
            self.last.set(now);
        }
        is_due
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Catches: a check after every piece, or none while the time is unknown.
    #[test]
    fn a_worker_looks_now_and_then() {
        let limit_checks = LimitChecks::default();
        let looked = [CHECK_GAP + 1, CHECK_GAP + 2, 2 * CHECK_GAP, 2 * CHECK_GAP + 2]
            .map(|now| limit_checks.begin_check(now));
        assert_eq!(looked, [true, false, false, true]);
    }

    /// Catches: a read of the clock after every short piece, and one only after every thirtieth
    /// long piece.
    #[test]
    fn the_time_is_asked_for_the_more_rarely_the_faster_pieces_come() {
        let limit_checks = LimitChecks::default();
        let mut now = 10 * CHECK_GAP;
        let mut gaps = |limit_checks: &LimitChecks, length: u64| -> Vec<u32> {
            let gap = |_| {
                let mut pieces = 1;
                now += length;
                while !limit_checks.count_piece() {
                    pieces += 1;
                    now += length;
                }
                limit_checks.clock_was_read(now);
                pieces
            };
            (0..8).map(gap).collect()
        };
        assert_eq!(gaps(&limit_checks, 1), [1, 1, 2, 4, 8, 16, 32, 32]);
        assert_eq!(gaps(&limit_checks, 2 * CHECK_GAP), [32, 1, 1, 1, 1, 1, 1, 1]);
    }
}
