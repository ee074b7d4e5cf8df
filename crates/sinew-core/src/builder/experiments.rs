//! Settings that only experiments make.

use std::time::Duration;

use crate::builder::PoolBuilder;

/// With the feature `experiments`.
impl PoolBuilder {
    /// Cycles that a thief spins between a successful steal and the stolen task of any kind: for
    /// experiments about the cost of steals. Default: 0.
    pub fn steal_delay(mut self, cycles: u32) -> Self {
        self.experiments.steal_delay = u64::from(cycles);
        self
    }

    /// How long a victim policy may keep a worker from work that it sees, before that worker takes
    /// any task, whether or not it ever parks. Default: 200 µs. The time begins when the worker has
    /// searched in vain for a spin window, or for 50 to 400 µs, if the window is longer. With a
    /// longer time the policy holds more strictly, and tasks may wait for as long.
    pub fn withhold(mut self, time: Duration) -> Self {
        self.experiments.withheld_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self
    }
}
