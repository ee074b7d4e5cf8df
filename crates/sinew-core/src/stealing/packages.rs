//! Packages and their masters: a word for each package, which says which of its workers may leave
//! it.
//!
//! Who may put its number there is the decision of `sinew_policy::victim::takes_over`. A worker
//! stands for the mastership when a search begins, and resigns when it parks, stands down or
//! leaves. Whoever is deposed meanwhile finds out at its next attempt.
//!
//! # Orderings
//!
//! Everything here is relaxed: mastership decides whom a worker asks, and nothing is published by
//! it.

use sinew_policy::victim::{Candidate, Holder, takes_over};
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicUsize, Ordering};
use sinew_topology::{Machine, Seating};

use crate::worker::Worker;

const NOBODY: usize = usize::MAX;

/// The packages of a pool's seats.
#[derive(Debug)]
pub(super) struct Packages {
    /// For each seat, numbered without gaps.
    of: Box<[usize]>,
    masters: Box<[CachePadded<AtomicUsize>]>,
    pub(super) last_level: u8,
}

impl Packages {
    pub(super) fn new(machine: &Machine, seating: &Seating) -> Self {
        let of = seating.packages(machine).into_boxed_slice();
        let count = of.iter().max().map_or(0, |last| last + 1);
        let masters = (0..count).map(|_| CachePadded::new(AtomicUsize::new(NOBODY))).collect();
        Self { of, masters, last_level: seating.last_level_distance(machine) }
    }

    pub(super) fn count(&self) -> usize {
        self.masters.len()
    }

    /// The package of a seat.
    #[inline]
    pub(super) fn of(&self, seat: usize) -> usize {
        self.of[seat]
    }

    fn master(&self, seat: usize) -> &AtomicUsize {
        &self.masters[self.of(seat)]
    }
}

impl Worker {
    pub(super) fn is_master(&self) -> bool {
        self.pool().stealing.packages.master(self.index()).load(Ordering::Relaxed) == self.index()
    }

    /// Becomes its package's master, if that one cannot use it.
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

    /// Gives the mastership up, if it is this worker's.
    #[inline]
    pub(crate) fn resign_mastership(&self) {
        if self.own.has_masters.get() && self.is_master() {
            let word = self.pool().stealing.packages.master(self.index());
            // It may be somebody else's by now, which is as good.
            let _ =
                word.compare_exchange(self.index(), NOBODY, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    fn holder(&self, master: usize) -> Holder {
        let Some(master) = self.pool().seats.get(master) else { return Holder::Nobody };
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
