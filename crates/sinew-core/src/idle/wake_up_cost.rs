//! The cost of wake-ups: whether it pays to wake a worker for a push.
//!
//! A wake-up costs the waker 5 to 10 µs, and the woken worker needs as long until it searches. A
//! burst of tasks that ends by then gains nothing from the wake-up. So a worker that sleeps again
//! records how long it has worked since it last slept. After several wake-ups in a row that did not
//! pay, owners wake no worker during a timed park (`sleep`, S4). The first wake-up that pays ends
//! that.
//!
//! # Cost
//!
//! One relaxed load for each wake-up, and one store for each sleep.

use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicU32, Ordering};
use sinew_sync::clock::TICKS_PER_US;

/// The work that makes a wake-up pay, in ticks.
pub(crate) const ENOUGH: u64 = 5 * TICKS_PER_US;

/// The number of wake-ups in a row that must not pay before owners omit them. Under shuttle every
/// wake-up that may be omitted is omitted.
const IN_A_ROW: u32 = if cfg!(shuttle) { 0 } else { 4 };

/// How many wake-ups of a pool in a row have not paid.
#[derive(Debug)]
pub(crate) struct WakeUpCost(CachePadded<AtomicU32>);

impl WakeUpCost {
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(AtomicU32::new(0)))
    }

    /// A worker sleeps that has worked for `gain` ticks since it slept last.
    pub(crate) fn learn(&self, gain: u64) {
        // Relaxed, here and below: a hint; two sleepers at a time may count as one.
        let row = self.0.load(Ordering::Relaxed);
        let next = if gain >= ENOUGH { 0 } else { (row + 1).min(IN_A_ROW) };
        if next != row {
            self.0.store(next, Ordering::Relaxed);
        }
    }

    /// Whether recent wake-ups have paid.
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
