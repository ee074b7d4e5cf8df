//! The checks of a worker between two pieces of its work: the limits of the process, and calls from
//! outside.
//!
//! [`LimitChecks`](crate::state::limit_checks) decides when to check the limits; `service` serves
//! calls.

use sinew_sync::clock::ticks;

use crate::state::worker::Worker;

impl Worker {
    /// To be called by a skeleton after each piece of work: checks the limits of the process if a
    /// check is due, and serves a [call](Self::serve_calls) from outside if one waits.
    ///
    /// # Cost
    ///
    /// Usually a decrement of a counter.
    #[inline]
    pub fn check_limits(&self) {
        if self.own.limit_checks.count_piece() {
            self.check_limits_cold();
        }
    }

    /// Checks the limits only, for callers that have read the time, in ticks, anyway.
    #[inline]
    pub fn check_limits_at(&self, now: u64) {
        if self.pool().limit.follows() && self.own.limit_checks.begin_check(now) {
            self.pool().follow_limits();
        }
    }

    #[cold]
    fn check_limits_cold(&self) {
        if !self.pool().limit.follows() {
            self.own.limit_checks.never();
        } else if self.own.limit_checks.clock_was_read(ticks()) {
            self.pool().follow_limits();
        }
        self.serve_calls();
    }
}
