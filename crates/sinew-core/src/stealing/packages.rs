//! Packages and their masters. The word of a package names the worker that may steal from other
//! packages. `victim::mastership` describes when a worker writes it.
//!
//! # Orderings
//!
//! Everything here is relaxed: mastership affects the choice of victims only, and publishes
//! nothing.

use sinew_sync::CachePadded;
use sinew_sync::atomic::AtomicUsize;
use sinew_topology::{CpuAssignment, Machine};

pub(crate) const NO_MASTER: usize = usize::MAX;

/// The packages of a pool's slots.
#[derive(Debug)]
pub(crate) struct Packages {
    /// The package of each slot, numbered without gaps.
    of: Box<[usize]>,
    masters: Box<[CachePadded<AtomicUsize>]>,
    pub(crate) last_level: u8,
}

impl Packages {
    pub(crate) fn new(machine: &Machine, cpu_assignment: &CpuAssignment) -> Self {
        let of = cpu_assignment.packages(machine).into_boxed_slice();
        let count = of.iter().max().map_or(0, |last| last + 1);
        let masters = (0..count).map(|_| CachePadded::new(AtomicUsize::new(NO_MASTER))).collect();
        Self { of, masters, last_level: cpu_assignment.last_level_distance(machine) }
    }

    pub(crate) fn count(&self) -> usize {
        self.masters.len()
    }

    /// The package of a slot.
    #[inline]
    pub(crate) fn of(&self, slot: usize) -> usize {
        self.of[slot]
    }

    pub(crate) fn master(&self, slot: usize) -> &AtomicUsize {
        &self.masters[self.of(slot)]
    }
}
