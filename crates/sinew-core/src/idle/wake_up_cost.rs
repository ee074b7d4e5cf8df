//! The cost of wake-ups: whether it pays to wake a worker for a push.
//!
//! A wake-up costs the waker 5 to 10 µs, and the woken one needs as long until it looks for work. A
//! burst of tasks that is over by then gains nothing, and its owner has paid. So a worker that
//! sleeps again says for how long it has worked since it slept last. After some wake-ups in a row
//! that did not pay, owners wake no worker during a timed park (`sleep`, S4). The first wake-up
//! that pays ends that.
//!
//! # Cost
//!
//! A relaxed load a wake-up, and a store a sleep.

use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicU32, Ordering};
use sinew_sync::clock::TICKS_A_US;

/// So much work is worth a wake-up, in ticks.
pub(crate) const ENOUGH: u64 = 5 * TICKS_A_US;

/// After so many in a row that were not. Under shuttle every wake-up is put off that may be.
const IN_A_ROW: u32 = if cfg!(shuttle) { 0 } else { 4 };

/// What a pool has learned of the cost of wake-ups: how many in a row have not paid.
#[derive(Debug)]
pub(crate) struct WakeUpCost(CachePadded<AtomicU32>);

impl WakeUpCost {
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(AtomicU32::new(0)))
    }

    /// A worker sleeps that has worked for `gain` ticks since it slept last.
    pub(crate) fn learn(&self, gain: u64) {
        // Relaxed, here and below: a hint; that two sleepers at a time may count for one does no
        // harm.
        let row = self.0.load(Ordering::Relaxed);
        let next = if gain >= ENOUGH { 0 } else { (row + 1).min(IN_A_ROW) };
        if next != row {
            self.0.store(next, Ordering::Relaxed);
        }
    }

    /// Whether wake-ups have been worth it lately.
    pub(crate) fn pays(&self) -> bool {
        self.0.load(Ordering::Relaxed) < IN_A_ROW
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn some_in_a_row_must_have_come_in_vain_and_one_in_time_is_enough() {
        let wake_up_cost = WakeUpCost::new();
        for _ in 0..IN_A_ROW {
            assert!(wake_up_cost.pays());
            wake_up_cost.learn(ENOUGH - 1);
        }
        assert!(!wake_up_cost.pays());
        wake_up_cost.learn(0);
        assert!(!wake_up_cost.pays());
        wake_up_cost.learn(ENOUGH);
        assert!(wake_up_cost.pays());
    }
}
