//! The requested pins of a pool's threads, and the pin of each thread.
//!
//! [`PoolPins`] holds the pool's request for all threads, [`ThreadPin`] the pin of one worker's
//! thread. `remap` describes when a thread moves.
//!
//! # Bindings
//!
//! Other code, or a user with `taskset`, may bind a thread. The newest of bindings and requests
//! decides. So a thread keeps a binding until a request that is newer than those that it has
//! followed. When it follows none such any more, it gets the binding back. A grant is no request of
//! the program, and moves no bound thread.

use std::sync::Arc;

use sinew_sync::atomic::{AtomicUsize, Ordering};
use sinew_sync::clock::now_ns;
use sinew_sync::lock::Mutex;
use sinew_topology::{
    CpuAssignment, CpuSet, Mapping, PinError, Pinned, override_binding, pin_current_thread,
};

/// The pin of each slot's thread; `None` for no pin.
pub(crate) type Pins = Arc<[Option<CpuSet>]>;

/// The requested pins of a pool.
#[derive(Debug)]
pub(crate) struct PoolPins {
    version: AtomicUsize,
    now: Mutex<Posted>,
}

/// The time of a request that names no processors.
const NO_REQUEST: u64 = 0;

/// A mapping, and the pins that follow from it.
#[derive(Debug)]
pub(crate) struct Posted {
    mapping: Mapping,
    /// When the program requested it; [`NO_REQUEST`] for [`Mapping::None`].
    requested_ns: u64,
    pins: Pins,
    /// The CPUs that it allows for a helper thread near a worker.
    room: CpuSet,
}

impl Posted {
    pub(crate) fn new(mapping: Mapping, cpu_assignment: &CpuAssignment, allowed: &CpuSet) -> Self {
        let pins = (0..cpu_assignment.workers()).map(|slot| cpu_assignment.pin_of(slot)).collect();
        let requested_ns = if mapping == Mapping::None { NO_REQUEST } else { now_ns() };
        Self { room: room(&mapping, allowed), mapping, requested_ns, pins }
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

    /// The pin of a slot's thread, if the mapping has one, and the time of the request.
    pub(crate) fn pin_of(&self, slot: usize) -> (Option<CpuSet>, u64) {
        let now = self.now.lock();
        (now.pins[slot].clone(), now.requested_ns)
    }

    /// The time of the program's request, for a helper that is pinned beside a worker.
    pub(crate) fn requested_ns(&self) -> u64 {
        self.now.lock().requested_ns
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
    /// The time of the newest request that it has followed.
    newest_ns: u64,
    /// If other code has bound the thread: the value of `newest_ns` when that was noticed last.
    bound_after_ns: Option<u64>,
}

/// The pin of a worker's thread during a skeleton.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Pin {
    /// By the pool's mapping.
    #[default]
    ByPool,
    /// No pin: the system decides.
    Nowhere,
    /// To these processors, as the program requested at this time.
    To {
        /// The processors.
        cpus: CpuSet,
        /// The time, by [`now_ns`].
        requested_ns: u64,
    },
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
    /// code has bound is left alone, unless the request is newer than the binding. `pools`: the
    /// pool's pin, and the time of its request.
    pub(crate) fn settle(&mut self, pools: (Option<CpuSet>, u64)) {
        let (wanted, requested_ns) = match &self.pin {
            Pin::ByPool => pools,
            Pin::Nowhere => (None, NO_REQUEST),
            Pin::To { cpus, requested_ns } => (Some(cpus.clone()), *requested_ns),
        };
        let is_older = self.bound_after_ns.is_some_and(|bound| requested_ns <= bound);
        let wanted = wanted.filter(|_| !is_older);
        let is_newest = requested_ns > self.newest_ns;
        // The threads of a model are not threads of the system.
        if (self.at == wanted && !is_newest) || cfg!(any(loom, shuttle)) {
            return;
        }
        let mut settled = self.set(wanted.as_ref());
        if is_newest && matches!(settled, Err(PinError::Bound)) {
            self.set_bound();
            override_binding();
            settled = self.set(wanted.as_ref());
        }
        self.newest_ns = self.newest_ns.max(requested_ns);
        match settled {
            Ok(()) => self.at = wanted,
            Err(PinError::Bound) => self.set_bound(),
            Err(PinError::Unsupported | PinError::Refused { .. }) => {}
        }
    }

    fn set(&mut self, wanted: Option<&CpuSet>) -> Result<(), PinError> {
        match (wanted, &mut self.pinned) {
            (None, pinned) => {
                *pinned = None;
                Ok(())
            }
            (Some(cpus), Some(pinned)) => pinned.move_to(cpus),
            (Some(cpus), pinned) => pin_current_thread(cpus).map(|new| *pinned = Some(new)),
        }
    }

    /// Records that other code has bound the thread.
    fn set_bound(&mut self) {
        // The end of the pin leaves a bound thread alone.
        (self.at, self.pinned) = (None, None);
        self.bound_after_ns = Some(self.newest_ns);
    }
}
