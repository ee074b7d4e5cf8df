//! A guest's stay at seat 0, from taking the seat to leaving it, also by a panic.

use crate::inner::Inner;
use crate::profile::Activity;
use crate::search::{Allowed, Job};
use crate::tls;
use crate::worker::Worker;

impl Inner {
    /// Runs `f` with the worker at the guest seat, which the caller has taken.
    pub(crate) fn as_guest<R>(&self, f: impl for<'w> FnOnce(&'w Worker) -> R) -> R {
        tls::within(&self.seats[0], || {
            let visit = Visit::begin(self);
            f(visit.worker)
        })
    }

    /// As a guest, runs everything that waits.
    pub(crate) fn run_what_waits(&self) {
        self.as_guest(|worker| {
            let _search = worker.enter(Activity::Search);
            while let Some(job) = worker.look_around(Allowed::Any, false) {
                worker.execute(job);
            }
        });
    }
}

struct Visit<'p> {
    pool: &'p Inner,
    worker: &'p Worker,
}

impl<'p> Visit<'p> {
    fn begin(pool: &'p Inner) -> Self {
        let worker = &pool.seats[0];
        worker.stack.set_depth(0);
        worker.arrive(Activity::Application);
        worker.activate();
        worker.counters.visits.add(1);
        if let Some(sharing) = &pool.sharing {
            sharing.visited();
        }
        pool.root_begins(0);
        Self { pool, worker }
    }

    /// Detached tasks stay behind in the guest's queue: the pool's threads take them from there. A pool without threads has only the
    /// guest to run them.
    #[cold]
    fn leave_tasks_cold(&self) {
        if self.pool.is_of_another_process() {
            while let Some(queued) = self.worker.pop_own(Allowed::Any) {
                self.worker.execute(Job::Queued(queued));
            }
            return;
        }
        if self.pool.has_threads() {
            self.worker.wake_one();
            return;
        }
        let _search = self.worker.enter(Activity::Search);
        while let Some(job) = self.worker.look_around(Allowed::Any, false) {
            self.worker.execute(job);
        }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        debug_assert!(self.worker.stack.is_empty());
        self.worker.end_call();
        if !self.worker.deque.is_empty() {
            self.leave_tasks_cold();
        }
        self.pool.root_ends();
        self.worker.deactivate();
        self.worker.turn(Activity::Away);
        self.pool.guest.leave();
        self.pool.relieve_guest();
    }
}
