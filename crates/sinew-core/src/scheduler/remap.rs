//! Which processors a pool's workers are pinned to: a mapping that can change at any time.
//!
//! A thread pins itself, before its next task or at its next safe point. It keeps its earlier mask,
//! and restores it when a mapping leaves the placement to the system. External threads are never
//! pinned. A thread that the program or its user has bound is left alone until the program's next
//! request (`sinew_topology`'s P1, `seams/pins`).
//!
//! # Orderings
//!
//! M10: the pins are stored under their lock, the version is raised, MOVE is set at every slot
//! (Release) ↔ the owner takes its reasons (Acquire), or finds a task that was queued later, and
//! reads the version. Otherwise `Relaxed`: a thread that sees an old version moves a little later.
//!
//! # Cost
//!
//! One load of a read-only line for each task that a worker finds. A move is three system
//! calls, and so is the return.
//!
//! # Not handled
//!
//! Distances between slots, packages and locality domains remain those of the mapping with which
//! the pool was built; victims are chosen by them. A worker that computes without a safe point
//! moves when its task ends. A worker's own memory remains where the first mapping put it
//! (`worker_memory`). A thread that the program starts itself (`build_with`) and binds before it
//! runs the worker: that binding counts as the mask that it began with. A thread that is bound
//! after a request, but before it has followed it: the request counts as the newer one.

use sinew_topology::{CpuAssignment, CpuSet, Mapping, MappingError, record_mask};

use crate::host::machine;
use crate::seams::pins::{Pin, Posted};
use crate::state::poll::PollReason;
use crate::state::pool_state::PoolState;
use crate::state::worker::Worker;

/// The pool's mapping has changed: pin the thread anew.
static MOVE: PollReason = PollReason::new(Worker::follow_mapping_inside);

impl Worker {
    /// Pins the calling thread, which is the slot's own, by the current mapping.
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

    /// A number that changes with the pool's mapping.
    ///
    /// # Cost
    ///
    /// A load of a read-only line.
    #[inline]
    pub fn mapping_version(&self) -> usize {
        self.pool().pins.version()
    }

    /// The processors that the pool's mapping allows for a helper thread near a worker.
    pub fn mapping_cpus(&self) -> CpuSet {
        self.pool().pins.room()
    }

    /// The time at which the program requested the pool's mapping; 0 if that pins no thread.
    pub fn mapping_requested_ns(&self) -> u64 {
        self.pool().pins.requested_ns()
    }

    /// Whether the calling thread is the slot's own, in a pool whose threads can be pinned.
    pub fn can_be_pinned(&self) -> bool {
        self.pool().can_pin && self.pool().threaded_slots().contains(&self.index())
    }

    /// For skeletons: the CPU to which this worker's thread, the calling one, is pinned by the
    /// mapping of the pool or of a control; `None` if it may run on several.
    pub fn pinned_cpu(&self) -> Option<usize> {
        self.own.pin.borrow().cpu()
    }

    #[cold]
    fn move_cold(&self, version: usize) {
        self.own.pin.borrow_mut().follows(version);
        self.settle();
    }

    /// Pins this worker's thread, the calling one, until the next call. For skeletons that [can
    /// pin](Self::can_be_pinned) it; they restore the earlier pin.
    pub fn pin(&self, pin: Pin) {
        self.own.pin.borrow_mut().set_pin(pin);
        self.settle();
    }

    /// Pins the calling thread as its skeleton requests, or else as the pool does.
    fn settle(&self) {
        // A mask without its waker's core is ours, too.
        self.placement.restore_mask();
        let pools = self.pool().pins.pin_of(self.index());
        self.own.pin.borrow_mut().settle(pools);
        self.placement.thread_moved();
    }

    /// The calling thread begins at this slot: any mask that it gets from other code later is a
    /// binding.
    pub(crate) fn record_mask(&self) {
        // The threads of a model are not threads of the system.
        if self.pool().can_pin && cfg!(not(any(loom, shuttle))) {
            record_mask();
        }
    }

    /// The thread leaves the slot, and gets its earlier mask back.
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

    /// The workers whose threads other code has bound.
    pub(crate) fn bound_workers(&self) -> Vec<usize> {
        // The threads of a model are not threads of the system.
        if !self.can_pin || cfg!(any(loom, shuttle)) {
            return Vec::new();
        }
        self.threaded_slots().filter(|&slot| self.slots[slot].placement.is_bound()).collect()
    }

    /// The mapping that the threads follow.
    pub(crate) fn mapping(&self) -> Mapping {
        self.pins.mapping()
    }
}
