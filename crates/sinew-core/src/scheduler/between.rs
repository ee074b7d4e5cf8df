//! Between two pieces of its work, a worker checks the limits of the process and serves a call.
//!
//! [`LimitChecks`](crate::state::limit_checks) says when it is time for the limits; `service` has
//! the calls.

use sinew_sync::clock::ticks;

use crate::state::worker::Worker;

impl Worker {
    /// A piece of work has ended: looks at the limits of the process if it is time to, and serves a
    /// [call](Self::serve_calls) from outside if one waits. For whoever writes skeletons.
    ///
    /// # Cost
    ///
    /// A number that is counted down, mostly.
    #[inline]
    pub fn check_limits(&self) {
        if self.own.limit_checks.wants_time() {
            self.check_limits_cold();
        }
    }

    /// The first half of it, where the time, in ticks, is known anyway; the call is left to the
    /// caller.
    #[inline]
    pub fn check_limits_at(&self, now: u64) {
        if self.pool().limit.follows() && self.own.limit_checks.is_time(now) {
            self.pool().follow_limits();
        }
    }

    #[cold]
    fn check_limits_cold(&self) {
        if !self.pool().limit.follows() {
            self.own.limit_checks.never();
        } else if self.own.limit_checks.asked(ticks()) {
            self.pool().follow_limits();
        }
        self.serve_calls();
    }
}
