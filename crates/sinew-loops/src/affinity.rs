//! The pins of threads that participate in an operation whose control has a mapping.
//!
//! The mapping assigns a processor to each *place* of the control, and each participating thread
//! has a place. In a loop the place is the thread's rank, or the lowest free place if a participant
//! of another loop has taken that one. In a loop nested in a loop of the same control the thread
//! keeps its place. So the threads of one loop have the first processors of the mapping, and no two
//! threads share a place. When a participant leaves, its thread is pinned again as the enclosing
//! loop, or the pool, requires.
//!
//! `control::participant` and `loops::controlled::slices` call this module. Helpers have no place
//! of a control; `control::helper_pin` pins them beside their worker.
//!
//! # Invariants
//!
//! - B1: a worker's pins are a stack, in the order of the loops that enclose its code. The last one
//!   decides where its thread runs; without any, the pool's mapping does.
//! - B2: a place has at most one thread; the thread that took it releases it.
//!
//! # Cost
//!
//! Nothing while the control has no mapping, except for helpers. A change: a lock, an entry, and
//! one or two system calls of the thread that moves.
//!
//! # Not handled
//!
//! External threads, which are never pinned, and pools on synthetic machines. A task that a worker
//! steals while it waits inside such a loop runs where the loop has pinned the worker.
//!
//! # Tests
//!
//! `sinew-core`'s `tests/pool/mapping.rs`, as the kernel sees it; `loops/controlled`: B1 and B2
//! under random changes; `loom`: B2 for every interleaving of two threads.

#[cfg(all(test, loom))]
mod loom;

use std::cell::{RefCell, RefMut};
use std::sync::Arc;

use sinew_sync::clock::now_ns;
use sinew_sync::lock::Mutex;
use sinew_sync::plant::{Bug, planted};
use sinew_topology::{CpuSet, Mapping, MappingError, place};

use sinew_core::{Pin, Worker, WorkerLocal, machine_cached};

/// A requested mapping, resolved to processors.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pinning {
    mapping: Mapping,
    /// When the program requested it.
    requested_ns: u64,
    /// The processor of each place, repeated for further places. Empty if the system decides.
    cpus: Vec<CpuSet>,
}

impl Pinning {
    /// # Errors
    ///
    /// If the mapping names a processor that this process may not use, or none.
    pub(crate) fn new(mapping: &Mapping) -> Result<Self, MappingError> {
        let (machine, limits) = machine_cached();
        let places = match mapping {
            Mapping::Explicit(cpus) => cpus.len(),
            _ => limits.allowed().len(),
        };
        let pus = place(machine, limits.allowed(), mapping, places)?;
        let cpus =
            pus.into_iter().flatten().map(|pu| CpuSet::from_iter([machine.pu(pu).cpu])).collect();
        Ok(Self { mapping: mapping.clone(), requested_ns: now_ns(), cpus })
    }

    pub(crate) fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// A pin to one processor, which follows from a request at this time.
    pub(crate) fn at(cpu: usize, requested_ns: u64) -> Self {
        let cpus = vec![CpuSet::from_iter([cpu])];
        Self { mapping: Mapping::Explicit(vec![cpu]), requested_ns, cpus }
    }

    /// No pin: the system decides.
    pub(crate) fn nowhere() -> Self {
        Self { mapping: Mapping::None, requested_ns: 0, cpus: Vec::new() }
    }

    pub(crate) fn requested_ns(&self) -> u64 {
        self.requested_ns
    }

    /// The processors of the places; empty if the system decides.
    pub(crate) fn cpus(&self) -> &[CpuSet] {
        &self.cpus
    }

    fn of_place(&self, place: usize) -> Option<CpuSet> {
        let number = place.checked_rem(self.cpus.len())?;
        Some(self.cpus[number].clone())
    }
}

/// The places of a control: whether each is taken (B2).
#[derive(Debug, Default)]
pub(crate) struct Places(Mutex<Vec<bool>>);

impl Places {
    /// Takes the place `wanted` if it is free, otherwise the lowest free one.
    fn take(&self, wanted: usize) -> usize {
        let mut taken = self.0.lock();
        let is_free = |place: &usize| !taken.get(*place).copied().unwrap_or(false);
        let place = Some(wanted).filter(is_free).or_else(|| (0..).find(is_free)).unwrap_or(wanted);
        if planted(Bug::TornCpuChoice) {
            drop(taken);
            taken = self.0.lock();
        }
        if taken.len() <= place {
            taken.resize(place + 1, false);
        }
        taken[place] = true;
        place
    }

    fn release(&self, place: usize) {
        self.0.lock()[place] = false;
    }

    #[cfg(test)]
    pub(crate) fn all_free(&self) -> bool {
        self.0.lock().iter().all(|taken| !taken)
    }
}

/// The pin of a worker's thread by one of the loops that enclose its code.
#[derive(Debug)]
pub(crate) struct LoopPin {
    /// The identity of the loop's control: the address of its places.
    control: usize,
    place: usize,
    /// Whether the removal of this entry releases the place.
    owns_place: bool,
    pinning: Arc<Pinning>,
}

impl LoopPin {
    /// The processors to pin the thread to, if any.
    pub(crate) fn pin(&self) -> Option<CpuSet> {
        self.pinning.of_place(self.place)
    }
}

/// A thread that can be pinned: a worker, or its stand-in in a model.
pub(crate) trait Pinned {
    /// The stack of its pins.
    fn pins(&self) -> RefMut<'_, Vec<LoopPin>>;
    /// Moves the calling thread, which must be this one, to the last of its pins.
    fn apply_pin(&self);
    fn can_be_pinned(&self) -> bool;
}

/// The stack of a worker's pins (B1).
static PINS: WorkerLocal<RefCell<Vec<LoopPin>>> = WorkerLocal::new(RefCell::default);

impl Pinned for Worker {
    fn pins(&self) -> RefMut<'_, Vec<LoopPin>> {
        self.local(&PINS).borrow_mut()
    }

    fn apply_pin(&self) {
        let innermost = |pin: &LoopPin| {
            let requested_ns = pin.pinning.requested_ns;
            pin.pin().map_or(Pin::Nowhere, |cpus| Pin::To { cpus, requested_ns })
        };
        let pin = self.pins().last().map_or(Pin::ByPool, innermost);
        self.pin(pin);
    }

    fn can_be_pinned(&self) -> bool {
        Worker::can_be_pinned(self)
    }
}

/// A participant's pin, which is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct PinGuard<'c, L: Pinned = Worker> {
    w: &'c L,
    places: &'c Places,
    rank: usize,
    /// Whether the worker's innermost pin is this one.
    is_pinned: bool,
}

impl<'c, L: Pinned> PinGuard<'c, L> {
    pub(crate) fn new(w: &'c L, places: &'c Places, rank: usize) -> Self {
        Self { w, places, rank, is_pinned: false }
    }

    /// Moves the thread to its place in `pinning`; without one, back to its former pin.
    pub(crate) fn follow(&mut self, pinning: Option<&Arc<Pinning>>) {
        self.is_pinned = follow(self.w, self.places, self.rank, self.is_pinned, pinning);
    }
}

impl<L: Pinned> Drop for PinGuard<'_, L> {
    fn drop(&mut self) {
        if self.is_pinned {
            unpin(self.w, self.places);
        }
    }
}

/// Moves the thread to its place in `pinning`; without one, back to its former pin. `is_pinned`:
/// whether the worker's innermost pin is the participant's. Returns whether it is now.
pub(crate) fn follow<L: Pinned>(
    w: &L,
    places: &Places,
    rank: usize,
    is_pinned: bool,
    pinning: Option<&Arc<Pinning>>,
) -> bool {
    let Some(pinning) = pinning.filter(|_| w.can_be_pinned()) else {
        if is_pinned {
            unpin(w, places);
        }
        return false;
    };
    push(w, places, rank, is_pinned, pinning);
    w.apply_pin();
    true
}

fn push<L: Pinned>(w: &L, places: &Places, rank: usize, is_pinned: bool, pinning: &Arc<Pinning>) {
    let mut pins = w.pins();
    if is_pinned {
        // B1: inner loops have ended.
        pins.last_mut().expect("a pin of its own").pinning = Arc::clone(pinning);
        return;
    }
    let identity = std::ptr::from_ref(places).addr();
    let enclosing = pins.iter().find(|pin| pin.control == identity);
    let (place, owns_place) = match enclosing {
        Some(pin) => (pin.place, planted(Bug::InnerCpuRelease)),
        None => (places.take(rank), true),
    };
    pins.push(LoopPin { control: identity, place, owns_place, pinning: Arc::clone(pinning) });
}

/// Removes the innermost pin of the worker, which is the participant's.
pub(crate) fn unpin<L: Pinned>(w: &L, places: &Places) {
    let Some(left) = w.pins().pop() else { return };
    let release = || {
        if left.owns_place {
            places.release(left.place);
        }
    };
    if planted(Bug::EarlyCpuRelease) {
        release();
        return w.apply_pin();
    }
    w.apply_pin();
    // The thread has moved away, so another may take the place (B2).
    release();
}

/// The identity of no control; identities are addresses.
const NO_CONTROL: usize = 0;

/// Moves the thread to `pinning`, which belongs to no place of a control, or back to its former pin
/// without one. `is_pinned`: whether the worker's innermost pin is the caller's. Returns whether it
/// is now.
pub(crate) fn pin_beside<L: Pinned>(w: &L, is_pinned: bool, pinning: Option<Pinning>) -> bool {
    let pinning = pinning.filter(|_| w.can_be_pinned());
    let pins_now = pinning.is_some();
    let mut pins = w.pins();
    if is_pinned {
        // B1: inner loops have ended.
        pins.pop();
    }
    let pin = |pinning| LoopPin {
        control: NO_CONTROL,
        place: 0,
        owns_place: false,
        pinning: Arc::new(pinning),
    };
    pins.extend(pinning.map(pin));
    drop(pins);
    if is_pinned || pins_now {
        w.apply_pin();
    }
    pins_now
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Catches: a place that two threads have, or that stays taken.
    #[test]
    fn a_thread_gets_the_place_of_its_rank_or_else_the_lowest() {
        let places = Places::default();
        assert_eq!([places.take(2), places.take(2), places.take(2), places.take(1)], [2, 0, 1, 3]);
        places.release(0);
        assert_eq!((places.take(1), places.take(7)), (0, 7));
        assert!(!places.all_free());
        (0..4).chain([7]).for_each(|place| places.release(place));
        assert!(places.all_free());
    }

    /// Catches: places without a processor, and a bad mapping that is accepted.
    #[test]
    fn places_beyond_the_mapping_repeat_it() {
        let compact = Pinning::new(&Mapping::Compact).unwrap();
        let number = compact.cpus.len();
        assert_eq!(compact.of_place(number + 1), compact.of_place(1));
        assert_eq!(Pinning::new(&Mapping::None).unwrap().of_place(3), None);
        assert_eq!(Pinning::new(&Mapping::Explicit(Vec::new())), Err(MappingError::Empty));
        let error = Pinning::new(&Mapping::Explicit(vec![999_999])).unwrap_err().to_string();
        assert!(error.contains("CPU 999999"), "{error}");
    }
}
