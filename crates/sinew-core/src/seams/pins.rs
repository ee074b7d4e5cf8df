//! The requested pins of a pool's threads, and the pin of each thread.
//!
//! [`PoolPins`] holds the pool's request for all threads, [`ThreadPin`] the pin of one worker's
//! thread. `remap` describes when a thread moves.

use std::sync::Arc;

use sinew_sync::atomic::{AtomicUsize, Ordering};
use sinew_sync::lock::Mutex;
use sinew_topology::{CpuAssignment, CpuSet, Mapping, PinError, Pinned, pin_current_thread};

/// The pin of each slot's thread; `None` for no pin.
pub(crate) type Pins = Arc<[Option<CpuSet>]>;

/// The requested pins of a pool.
#[derive(Debug)]
pub(crate) struct PoolPins {
    version: AtomicUsize,
    now: Mutex<Posted>,
}

/// A mapping, and the pins that follow from it.
#[derive(Debug)]
pub(crate) struct Posted {
    mapping: Mapping,
    pins: Pins,
    /// The CPUs that it allows for a helper thread near a worker.
    room: CpuSet,
}

impl Posted {
    pub(crate) fn new(mapping: Mapping, cpu_assignment: &CpuAssignment, allowed: &CpuSet) -> Self {
        let pins = (0..cpu_assignment.workers()).map(|slot| cpu_assignment.pin_of(slot)).collect();
        Self { room: room(&mapping, allowed), mapping, pins }
    }
}

/// The CPUs of a mapping: those of an explicit list, all allowed ones for a rule, none for
/// [`Mapping::None`].
pub(crate) fn room(mapping: &Mapping, allowed: &CpuSet) -> CpuSet {
    match mapping {
        Mapping::Scatter | Mapping::Compact => allowed.clone(),
        Mapping::Explicit(cpus) => cpus.iter().copied().collect(),
        Mapping::None => CpuSet::new(),
    }
}

impl PoolPins {
    /// The first mapping, of slots on the allowed CPUs. Threads are pinned only if `pins`, which is
    /// false for a described machine.
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

    /// A number that changes with the pins.
    pub(crate) fn version(&self) -> usize {
        self.version.load(Ordering::Relaxed)
    }

    /// The CPUs that the mapping allows for a helper thread near a worker.
    pub(crate) fn room(&self) -> CpuSet {
        self.now.lock().room.clone()
    }

    /// The pin of a slot's thread, if the mapping has one.
    pub(crate) fn pin_of(&self, slot: usize) -> Option<CpuSet> {
        self.now.lock().pins[slot].clone()
    }

    pub(crate) fn mapping(&self) -> Mapping {
        self.now.lock().mapping.clone()
    }

    /// Sets the pins of all slots and the CPUs for helpers; the mapping stays the same.
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
    /// Its pin, if the system allowed it.
    at: Option<CpuSet>,
    /// The pin that its present skeleton requests.
    pin: Pin,
}

/// The pin of a worker's thread during a skeleton.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Pin {
    /// By the pool's mapping.
    #[default]
    ByPool,
    /// No pin: the system decides.
    Nowhere,
    /// To these processors.
    To(CpuSet),
}

impl ThreadPin {
    /// Whether the thread still has to follow the mapping of this version.
    #[inline]
    pub(crate) fn is_behind(&self, version: usize) -> bool {
        self.followed != version
    }

    /// Records that the thread follows the mapping of this version.
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

    /// Pins the calling thread as its skeleton requests, or else as the pool does. A thread that
    /// cannot be pinned, because the process's mask shrank, runs as before. A thread that other
    /// code has bound is left alone for good.
    pub(crate) fn settle(&mut self, pools: Option<CpuSet>) {
        let wanted = match &self.pin {
            Pin::ByPool => pools,
            Pin::Nowhere => None,
            Pin::To(cpus) => Some(cpus.clone()),
        };
        // The threads of a model are not threads of the system.
        if self.at == wanted || cfg!(any(loom, shuttle)) {
            return;
        }
        let settled = match (&wanted, &mut self.pinned) {
            (None, pinned) => {
                *pinned = None;
                Ok(())
            }
            (Some(cpus), Some(pinned)) => pinned.move_to(cpus),
            (Some(cpus), pinned) => pin_current_thread(cpus).map(|new| *pinned = Some(new)),
        };
        match settled {
            Ok(()) => self.at = wanted,
            Err(PinError::Bound) => self.at = None,
            Err(PinError::Unsupported | PinError::Refused { .. }) => {}
        }
    }
}
