//! Yielding: a task that waits for its own event lets its worker run other tasks meanwhile.

use sinew_policy::Wait;

use crate::scheduler::job::Allowed;
use crate::seams::observer::Activity;
use crate::state::worker::Worker;

impl Worker {
    /// Runs one task of this worker's own, if there is one: a spawned one, its part of a broadcast,
    /// or the second arm of a join that encloses the caller. Returns whether it did.
    ///
    /// The task runs on the caller's stack, whatever the pool's [`Wait`] policy: the caller asks
    /// for it.
    pub fn yield_local(&self) -> bool {
        let _search = self.begin(Activity::Search);
        let own = self.pop_own_or_delivered(Allowed::Any).or_else(|| self.take_own_join());
        own.map(|job| self.execute(job)).is_some()
    }

    /// Runs one task of the pool, this worker's own first, if there is one. Returns whether it did.
    pub fn yield_now(&self) -> bool {
        if self.yield_local() {
            return true;
        }
        if self.pool().wait == Wait::Descendants && self.stack.has_tasks() {
            // A task stolen now would count as part of the tasks above it on this worker's stack.
            return false;
        }
        let _search = self.begin(Activity::Search);
        self.start_policy();
        let job = self.search_once(Allowed::Any, true);
        job.map(|job| self.execute(job)).is_some()
    }

    /// Whether this worker's own queues have tasks: spawned ones and second arms.
    pub fn has_own_tasks(&self) -> bool {
        !self.deque.is_empty() || self.stack.has_tasks()
    }
}
