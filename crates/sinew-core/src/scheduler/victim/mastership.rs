//! When a worker becomes the master of its package.
//!
//! `sinew_policy::victim::takes_over` decides which worker may. A worker applies for the mastership
//! when a search begins, and resigns when it parks, stands down or leaves. A replaced master
//! notices at its next attempt.
//!
//! # Orderings
//!
//! Everything here is relaxed: see `stealing::packages`.

use sinew_policy::victim::{Candidate, Holder, takes_over};
use sinew_sync::atomic::Ordering;

use crate::state::worker::Worker;
use crate::stealing::NO_MASTER;

impl Worker {
    pub(super) fn is_master(&self) -> bool {
        self.pool().stealing.packages.master(self.index()).load(Ordering::Relaxed) == self.index()
    }

    /// Becomes its package's master, if the present master cannot use the role.
    pub(super) fn stand_for_mastership(&self) {
        let word = self.pool().stealing.packages.master(self.index());
        let master = word.load(Ordering::Relaxed);
        if master == self.index() {
            return;
        }
        // Relaxed: as above.
        let waits = self.waits.load(Ordering::Relaxed);
        let candidate = Candidate { waits, stranded: self.is_stranded() };
        if takes_over(self.holder(master), candidate)
            && word
                .compare_exchange(master, self.index(), Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            self.counters.masterships.add(1);
        }
    }

    /// Resigns, if this worker is the master.
    #[inline]
    pub(crate) fn resign_mastership(&self) {
        if self.own.has_masters.get() && self.is_master() {
            let word = self.pool().stealing.packages.master(self.index());
            // Another worker may be the master by now, which is equally good.
            let _ = word.compare_exchange(
                self.index(),
                NO_MASTER,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
    }

    fn holder(&self, master: usize) -> Holder {
        let Some(master) = self.pool().slots.get(master) else { return Holder::Vacant };
        // Relaxed: hints.
        if !master.active.load(Ordering::Relaxed) {
            Holder::Parked
        } else if master.searching.load(Ordering::Relaxed) {
            Holder::Searches
        } else if master.waits.load(Ordering::Relaxed) {
            Holder::Waits
        } else {
            Holder::Works
        }
    }
}
