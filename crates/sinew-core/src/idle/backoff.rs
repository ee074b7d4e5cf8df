//! Backoff: the end of a worker's spin window, and when it yields its core to other threads. The
//! length of the window comes from `sinew_policy::idle`; `search` and `wait` pass it in.
//!
//! A worker that spins may occupy the core that another thread needs to produce its work. Some
//! kernels put both threads on one core though others are idle, and on a busy machine there may be
//! no other core. So the worker yields its core after half a microsecond, then after twice as long
//! each time. If a yield takes long, the core is shared with a program that computes, and the
//! window ends at once. If it takes a moment, the other thread may be the one that has the work:
//! the worker then yields after every round, until no thread takes the core.
//!
//! # Cost
//!
//! A read of the clock every sixteen rounds, or more often where a round visits many workers; a
//! yield that no thread takes costs 0.4 µs.

use std::cell::Cell;

use sinew_sync::atomic::spin_loop;
use sinew_sync::clock::now_ns;
use sinew_sync::thread::yield_now;

/// The most rounds between two reads of the clock.
const ROUNDS_PER_READ: usize = if cfg!(shuttle) { 1 } else { 16 };

/// The most visits of other workers between two reads, unless one round has more: as many as
/// `ROUNDS_PER_READ` rounds of 16 workers. So the window ends as soon in a pool of any size.
const VISITS_PER_READ: usize = 16 * 16;

/// A gap between two reads of the clock which shows that the thread lost its core.
const GAP_NS: u64 = 500_000;

/// The shortest duration of a yield that another thread took.
pub(crate) const MOMENT_NS: u64 = 1_000;

/// Time before the first yield, and the longest time between two.
const FIRST_OFFER_NS: u64 = 500;
const LAST_OFFER_NS: u64 = 16_000;

/// The shortest duration of a yield to a thread that computes.
pub(crate) const TAKEN_NS: u64 = 1_000_000;

/// A window that only work ends.
pub(crate) const ENDLESS: u64 = u64::MAX;

/// One search.
pub(crate) struct Backoff<'w> {
    /// Whether the last yield was taken for a moment; kept from one search to the next.
    shared: &'w Cell<bool>,
    window_ns: u64,
    began: u64,
    last: u64,
    next_offer: u64,
    offer_ns: u64,
    rounds_per_read: u32,
    /// Rounds until the next read of the clock.
    until_read: u32,
    pub(crate) rounds: u32,
    pub(crate) lost_core: bool,
}

impl<'w> Backoff<'w> {
    /// A search whose rounds visit `visits` workers each.
    pub(crate) fn new(window_ns: u64, visits: usize, shared: &'w Cell<bool>) -> Self {
        let now = now_ns();
        let rounds_per_read = rounds_per_read(visits);
        Self {
            shared,
            window_ns,
            began: now,
            last: now,
            next_offer: now + FIRST_OFFER_NS,
            offer_ns: FIRST_OFFER_NS,
            rounds_per_read,
            until_read: rounds_per_read,
            rounds: 0,
            lost_core: false,
        }
    }

    /// Counts a round. Returns false when the window is over, or each time `silence_ns` has passed:
    /// then the worker checks for silent owners, however long the window is.
    pub(crate) fn next_round(&mut self, silence_ns: u64) -> bool {
        spin_loop();
        self.rounds = self.rounds.wrapping_add(1);
        self.until_read -= 1;
        if !self.shared.get() && self.until_read > 0 {
            return true;
        }
        self.until_read = self.rounds_per_read;
        let now = now_ns();
        self.note_gap(now, GAP_NS);
        if self.shared.get() || now >= self.next_offer {
            self.offer_core(now);
        }
        !self.is_over() && self.silence_ns() < silence_ns
    }

    /// Whether the window is over.
    pub(crate) fn is_over(&self) -> bool {
        self.window_ns != ENDLESS && (self.lost_core || self.silence_ns() >= self.window_ns)
    }

    fn offer_core(&mut self, now: u64) {
        yield_now();
        let after = now_ns();
        self.note_gap(after, TAKEN_NS);
        let took = after.saturating_sub(now);
        self.shared.set((MOMENT_NS..TAKEN_NS).contains(&took) && cfg!(not(shuttle)));
        self.offer_ns = (2 * self.offer_ns).min(LAST_OFFER_NS);
        self.next_offer = now.max(after) + self.offer_ns;
    }

    fn note_gap(&mut self, now: u64, gap_ns: u64) {
        self.lost_core |= cfg!(not(shuttle)) && now.saturating_sub(self.last) > gap_ns;
        self.last = now;
    }

    /// Time since the search began, at the last read of the clock.
    pub(crate) fn silence_ns(&self) -> u64 {
        self.last.saturating_sub(self.began)
    }
}

/// The rounds between two reads of the clock, if each visits `visits` workers.
#[expect(clippy::cast_possible_truncation, reason = "at most ROUNDS_PER_READ")]
fn rounds_per_read(visits: usize) -> u32 {
    (VISITS_PER_READ / visits.max(1)).clamp(1, ROUNDS_PER_READ) as u32
}

pub(crate) fn micros(ns: u64) -> u32 {
    u32::try_from(ns / 1_000).unwrap_or(u32::MAX)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// How many rounds pass until a search that visits `visits` workers in each reads the clock.
    fn rounds_until_read(visits: usize) -> u32 {
        let shared = Cell::new(false);
        let mut backoff = Backoff::new(ENDLESS, visits, &shared);
        let began = backoff.last;
        while backoff.last == began {
            backoff.next_round(u64::MAX);
        }
        backoff.rounds
    }

    /// Catches: a window that ends later the more workers a pool has.
    #[test]
    fn a_search_reads_the_clock_after_as_many_visits_in_a_large_pool_as_in_one_of_sixteen() {
        for (visits, rounds) in [(0, 16), (2, 16), (16, 16), (64, 4), (256, 1), (5_000, 1)] {
            assert_eq!((rounds_per_read(visits), visits), (rounds, visits));
            // A clock that stands still is read again.
            assert_eq!(rounds_until_read(visits) % rounds, 0, "{visits}");
        }
    }
}
