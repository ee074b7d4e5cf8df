//! Where the threads of a pool are to be pinned, and where each of them is.
//!
//! [`PoolPins`] is what the pool posts for all of them, [`ThreadPin`] is what one worker knows of
//! its own thread. `remap` says when a thread moves.

use std::sync::Arc;

use sinew_sync::atomic::{AtomicUsize, Ordering};
use sinew_sync::lock::Mutex;
use sinew_topology::{CpuAssignment, CpuSet, Mapping, Pinned, pin_current_thread};

/// For each slot what its thread is pinned to, if anything.
pub(crate) type Pins = Arc<[Option<CpuSet>]>;

/// Where the workers of a pool belong.
#[derive(Debug)]
pub(crate) struct PoolPins {
    version: AtomicUsize,
    now: Mutex<Posted>,
}

/// A mapping, and what follows from it.
#[derive(Debug)]
pub(crate) struct Posted {
    mapping: Mapping,
    pins: Pins,
    /// Where it has room for a thread that is to be near another.
    room: CpuSet,
}

impl Posted {
    pub(crate) fn new(mapping: Mapping, cpu_assignment: &CpuAssignment, allowed: &CpuSet) -> Self {
        let pins = (0..cpu_assignment.workers()).map(|slot| cpu_assignment.pin_of(slot)).collect();
        Self { room: room(&mapping, allowed), mapping, pins }
    }
}

/// The CPUs of a mapping: all that it may use, if it is a rule; none if it is none.
pub(crate) fn room(mapping: &Mapping, allowed: &CpuSet) -> CpuSet {
    match mapping {
        Mapping::Scatter | Mapping::Compact => allowed.clone(),
        Mapping::Explicit(cpus) => cpus.iter().copied().collect(),
        Mapping::None => CpuSet::new(),
    }
}

impl PoolPins {
    /// The first mapping, of slots on the allowed CPUs; nobody is pinned unless `pins`, because the
    /// machine is a real one.
    pub(crate) fn new(
        mapping: Mapping,
        cpu_assignment: &CpuAssignment,
        allowed: &CpuSet,
        pins: bool,
    ) -> Self {
        let mut now = Posted::new(mapping, cpu_assignment, allowed);
        if !pins {
            now.pins = vec![None; cpu_assignment.workers()].into();
        }
        Self { version: AtomicUsize::new(1), now: Mutex::new(now) }
    }

    /// A number that is another one whenever the pins have changed.
    pub(crate) fn version(&self) -> usize {
        self.version.load(Ordering::Relaxed)
    }

    /// Where the mapping has room for a thread that is to be near another.
    pub(crate) fn room(&self) -> CpuSet {
        self.now.lock().room.clone()
    }

    /// Where the mapping has the thread of a slot, if it says so.
    pub(crate) fn pin_of(&self, slot: usize) -> Option<CpuSet> {
        self.now.lock().pins[slot].clone()
    }

    pub(crate) fn mapping(&self) -> Mapping {
        self.now.lock().mapping.clone()
    }

    /// The pins of all slots and the room, and the mapping as it was.
    #[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
    pub(crate) fn set_pins(&self, pins: Pins, room: CpuSet) {
        let mut now = self.now.lock();
        (now.pins, now.room) = (pins, room);
        drop(now);
        // Relaxed: M10.
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, posted: Posted) {
        *self.now.lock() = posted;
        // Relaxed: M10.
        self.version.fetch_add(1, Ordering::Relaxed);
    }
}

/// The pin of a worker's thread, and the version of the mapping that it follows.
#[derive(Debug, Default)]
pub(crate) struct ThreadPin {
    followed: usize,
    pinned: Option<Pinned>,
    /// What it is pinned to, if it could be.
    at: Option<CpuSet>,
    /// Where the work that it is in wants it.
    pin: Pin,
}

/// Where a worker's thread is to run while it does certain work.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Pin {
    /// Where the pool's mapping has it.
    #[default]
    ByPool,
    /// Wherever the system decides.
    Nowhere,
    /// On these processors.
    To(CpuSet),
}

impl ThreadPin {
    /// Whether the mapping of this version has not been followed yet.
    #[inline]
    pub(crate) fn is_behind(&self, version: usize) -> bool {
        self.followed != version
    }

    /// The mapping of this version is followed from now on.
    pub(crate) fn follows(&mut self, version: usize) {
        self.followed = version;
    }

    pub(crate) fn set_pin(&mut self, pin: Pin) {
        self.pin = pin;
    }

    /// The only processor that the thread is pinned to.
    pub(crate) fn cpu(&self) -> Option<usize> {
        self.at.as_ref().filter(|cpus| cpus.len() == 1).and_then(CpuSet::lowest)
    }

    /// Moves the calling thread to where its work wants it, or else where the pool has it. A thread
    /// that cannot be pinned (a mask that shrank) works where it is.
    pub(crate) fn settle(&mut self, pools: Option<CpuSet>) {
        let wanted = match &self.pin {
            Pin::ByPool => pools,
            Pin::Nowhere => None,
            Pin::To(cpus) => Some(cpus.clone()),
        };
        // The threads of a model are none of the system's.
        if self.at == wanted || cfg!(any(loom, shuttle)) {
            return;
        }
        self.at.clone_from(&wanted);
        match (wanted, &mut self.pinned) {
            (None, pinned) => *pinned = None,
            (Some(cpus), Some(pinned)) => drop(pinned.move_to(&cpus)),
            (Some(cpus), pinned) => *pinned = pin_current_thread(&cpus).ok(),
        }
    }
}
