//! A call of an external thread, from entering slot 0 to leaving it, also after a panic.
//!
//! A panic of the closure is caught until the external thread has left the slot. So tasks that the
//! thread runs before it leaves do not run in a destructor of an unwinding thread.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use sinew_deque::Priority;

use crate::scheduler::job::{Allowed, Job};
use crate::seams::observer::{Activity, Event};
use crate::state::pool_state::PoolState;
use crate::state::tls;
use crate::state::work::Interrupted;
use crate::state::worker::Worker;

impl PoolState {
    /// Runs `f`, a call of that priority, with the worker at the external slot, which the caller
    /// has taken.
    pub(crate) fn as_external_thread<R>(
        &self,
        priority: Priority,
        f: impl for<'w> FnOnce(&'w Worker) -> R,
    ) -> R {
        let worker = &self.slots[0];
        tls::within(worker, || {
            let interrupted = self.begin_visit(worker);
            worker.work.belongs_to(priority);
            let result = catch_unwind(AssertUnwindSafe(|| f(worker)));
            worker.work.end(interrupted);
            self.end_visit(worker);
            result.unwrap_or_else(|payload| resume_unwind(payload))
        })
    }

    /// Runs all waiting tasks on the external thread.
    pub(crate) fn run_what_waits(&self) {
        self.as_external_thread(Priority::Normal, |worker| {
            let _search = worker.begin(Activity::Search);
            while let Some(job) = worker.search_once(Allowed::Any, false) {
                worker.execute(job);
            }
        });
    }

    fn begin_visit(&self, worker: &Worker) -> Interrupted {
        worker.stack.set_depth(0);
        worker.tell(Event::Enter { calls: true });
        worker.activate();
        worker.counters.visits.add(1);
        self.hooks.iter().for_each(|hook| hook.external_thread_came());
        self.root_begins(0);
        worker.work.begin(0)
    }

    fn end_visit(&self, worker: &Worker) {
        debug_assert!(worker.stack.is_empty());
        worker.tell(Event::CallEnd);
        if !worker.deque.is_empty() {
            self.leave_tasks_cold(worker);
        }
        self.root_ends();
        worker.deactivate();
        worker.tell(Event::Leave);
        self.external_slot.leave();
        self.relieve_external_thread();
    }

    /// Detached tasks remain in the slot's queue, from which the pool's threads take them. In a
    /// pool without threads the external thread runs them.
    #[cold]
    fn leave_tasks_cold(&self, worker: &Worker) {
        if self.is_of_another_process() {
            while let Some(queued) = worker.pop_own(Allowed::Any) {
                worker.execute(Job::Queued(queued));
            }
            return;
        }
        if self.has_threads() {
            worker.wake_one();
            return;
        }
        let _search = worker.begin(Activity::Search);
        while let Some(job) = worker.search_once(Allowed::Any, false) {
            worker.execute(job);
        }
    }
}
