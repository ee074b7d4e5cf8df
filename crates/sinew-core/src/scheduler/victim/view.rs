//! The pool as a victim policy sees it.
//!
//! The view reads the indices of stacks and queues directly, without a lock or a counter, and
//! distances from the CPU assignment. Its values may be out of date at once.

use sinew_policy::victim::{Reach, View};
use sinew_sync::atomic::Ordering;

use crate::scheduler::job::Allowed;
use crate::state::worker::Worker;

/// The view of one thief.
pub(super) struct PoolView<'a> {
    thief: &'a Worker,
    /// Tasks that the thief may not run do not count.
    above: Option<u32>,
}

impl<'a> PoolView<'a> {
    pub(super) fn of(thief: &'a Worker, allowed: Allowed) -> Self {
        Self { thief, above: allowed.above() }
    }

    fn slot(&self, worker: usize) -> &'a Worker {
        &self.thief.pool().slots[worker]
    }

    fn may_run(&self, depth: u32) -> bool {
        self.above.is_none_or(|above| depth > above)
    }
}

impl View for PoolView<'_> {
    fn workers(&self) -> usize {
        self.thief.pool().slots.len()
    }

    fn me(&self) -> usize {
        self.thief.index()
    }

    fn is_active(&self, worker: usize) -> bool {
        // Relaxed: a hint.
        self.slot(worker).active.load(Ordering::Relaxed)
    }

    fn load(&self, worker: usize) -> usize {
        if self.above.is_some() && self.oldest_depth(worker).is_none() {
            return 0;
        }
        let slot = self.slot(worker);
        slot.stack.load() + slot.deque.len()
    }

    fn oldest_depth(&self, worker: usize) -> Option<u32> {
        let slot = self.slot(worker);
        let joins = slot.stack.oldest_depth().filter(|&depth| self.may_run(depth));
        joins.or_else(|| slot.deque.oldest_depth().filter(|&depth| self.may_run(depth)))
    }

    fn distance(&self, worker: usize) -> u8 {
        self.thief.pool().distance(self.thief.index(), worker)
    }

    fn package(&self, worker: usize) -> usize {
        self.thief.pool().stealing.packages.of(worker)
    }

    fn last_level(&self) -> u8 {
        self.thief.pool().stealing.packages.last_level
    }

    fn reach(&self) -> Reach {
        if self.thief.is_stranded() {
            Reach::Everywhere
        } else if self.thief.is_master() {
            Reach::Machine
        } else {
            Reach::Package
        }
    }

    fn boundary(&self) -> Option<u32> {
        self.thief.pool().stealing.classes.boundary()
    }

    fn wants_piece(&self) -> bool {
        self.thief.pool().stealing.pieces.are_wanted_by(self.package(self.thief.index()))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::Pool;

    /// Catches: a view that leaves out the tasks which no thief can take yet, or counts those that
    /// the thief may not run.
    #[test]
    fn a_thief_sees_the_private_tasks_of_a_worker() {
        let seen = |w: &Worker, allowed| {
            let view = PoolView::of(w, allowed);
            (view.load(w.index()), view.oldest_depth(w.index()))
        };
        Pool::builder().threads(1).build().unwrap().run(|w| {
            assert_eq!(seen(w, Allowed::Any), (0, None));
            let inner = |w: &Worker| {
                let oldest = PoolView::of(w, Allowed::Any).oldest_depth(w.index()).unwrap();
                assert_eq!(seen(w, Allowed::Any), (2, Some(oldest)));
                assert_eq!(seen(w, Allowed::Deeper(oldest)), (0, None));
            };
            w.join(|w| w.join(inner, |_| ()), |_| ());
        });
    }
}
