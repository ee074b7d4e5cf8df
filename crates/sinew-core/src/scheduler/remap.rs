//! Which processors a pool's workers are pinned to: a mapping that can change at any time.
//!
//! A thread pins itself, before its next task or at its next safe point: only the thread knows the
//! mask that it had before, which it gets back when a mapping leaves the placing to the system
//! again. External threads are never pinned.
//!
//! # Orderings
//!
//! M10: the pins are stored under their lock, the version is raised, MOVE is set at every slot
//! (Release) ↔ the owner takes its reasons (Acquire), or finds a task that was queued later, and
//! reads the version. Otherwise `Relaxed`: who sees an old version moves a little later.
//!
//! # Cost
//!
//! A load of a line that nobody writes, for each task that a worker finds. A move is one or two
//! system calls.
//!
//! # Not handled
//!
//! Distances between slots, packages and locality domains stay those of the mapping that the pool
//! was built with: victims are chosen by them. A worker that computes without a safe point moves
//! when it is done. A worker's own memory stays where the first mapping has put it
//! (`worker_memory`).

use sinew_topology::{CpuAssignment, CpuSet, Mapping, MappingError};

use crate::host::machine;
use crate::seams::pins::{Pin, Posted};
use crate::state::poll::PollReason;
use crate::state::pool_state::PoolState;
use crate::state::worker::Worker;

/// The pool's mapping has changed: pin the thread anew.
static MOVE: PollReason = PollReason::new(Worker::follow_mapping_inside);

impl Worker {
    /// Moves the calling thread, which is the slot's for good, to where it belongs now.
    #[inline]
    pub(crate) fn follow_mapping(&self) {
        let version = self.pool().pins.version();
        if self.own.pin.borrow().is_behind(version) {
            self.move_cold(version);
        }
    }

    /// The same from within a task, where the slot may be an external thread's.
    pub fn follow_mapping_inside(&self) {
        if self.pool().threaded_slots().contains(&self.index()) {
            self.follow_mapping();
        }
    }

    /// A number that is another one whenever the pool's mapping has changed.
    ///
    /// # Cost
    ///
    /// A load of a line that nobody writes.
    #[inline]
    pub fn mapping_version(&self) -> usize {
        self.pool().pins.version()
    }

    /// The processors on which the pool's mapping has room for a thread that is to be near another.
    pub fn mapping_cpus(&self) -> CpuSet {
        self.pool().pins.room()
    }

    /// Whether the calling thread is the slot's for good, on a pool whose threads can be pinned at
    /// all.
    pub fn can_be_pinned(&self) -> bool {
        self.pool().can_pin && self.pool().threaded_slots().contains(&self.index())
    }

    /// The CPU that the calling thread, which is this worker's, is pinned to, by the pool's mapping
    /// or a control's; `None` if it may run on several. For whoever writes skeletons.
    pub fn pinned_cpu(&self) -> Option<usize> {
        self.own.pin.borrow().cpu()
    }

    #[cold]
    fn move_cold(&self, version: usize) {
        self.own.pin.borrow_mut().follows(version);
        self.settle();
    }

    /// Moves the calling thread, which is this worker's, until the next call. For skeletons that
    /// [can pin](Self::can_be_pinned) it; they put back what was there before.
    pub fn pin(&self, pin: Pin) {
        self.own.pin.borrow_mut().set_pin(pin);
        self.settle();
    }

    /// Moves the calling thread to where its work has it, or else the pool.
    fn settle(&self) {
        let pools = self.pool().pins.pin_of(self.index());
        self.own.pin.borrow_mut().settle(pools);
    }

    /// The thread leaves the slot, and runs where it did before.
    pub(crate) fn unpin(&self) {
        self.own.pin.take();
    }
}

impl PoolState {
    pub(crate) fn call_to_move(&self) {
        for slot in self.threaded_slots() {
            self.slots[slot].ask(&MOVE);
        }
    }
}

impl PoolState {
    /// As [`Pool::set_mapping`](crate::Pool::set_mapping).
    pub(crate) fn set_mapping(&self, mapping: &Mapping) -> Result<(), MappingError> {
        let (machine, limits) = machine();
        let cpu_assignment =
            CpuAssignment::new(machine, limits.allowed(), mapping, self.slots.len())?;
        if self.can_pin {
            self.pins.set(Posted::new(mapping.clone(), &cpu_assignment, limits.allowed()));
            self.call_to_move();
            self.tell_choice();
        }
        Ok(())
    }

    /// The mapping that the threads follow.
    pub(crate) fn mapping(&self) -> Mapping {
        self.pins.mapping()
    }
}
