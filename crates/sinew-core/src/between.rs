//! Between two pieces of its work, a worker checks the limits of the process and serves a call.
//!
//! [`Glances`](crate::glance) says when it is time for the limits; `service` has the calls.

use sinew_sync::clock::ticks;

use crate::worker::Worker;

impl Worker {
    /// A piece of work has ended: looks at the limits of the process if it is time to, and serves a
    /// call from outside if one waits (`service`).
    #[inline]
    pub(crate) fn glance(&self) {
        if self.own.glances.wants_time() {
            self.glance_cold();
        }
    }

    /// The same where the time, in ticks, is known anyway.
    #[inline]
    pub(crate) fn glance_at(&self, now: u64) {
        if self.pool().limit.follows() && self.own.glances.is_time(now) {
            self.pool().follow_limits();
        }
    }

    #[cold]
    fn glance_cold(&self) {
        if !self.pool().limit.follows() {
            self.own.glances.never();
        } else if self.own.glances.asked(ticks()) {
            self.pool().follow_limits();
        }
        self.serve_calls();
    }
}
