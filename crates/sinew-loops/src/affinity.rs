//! Pins the threads that work on a loop by the mapping of its control.
//!
//! Each thread that works under a control has a *place* there. In a loop it is the number of its
//! rank, or the lowest free place if a participant of another loop has that one. The mapping of the
//! control assigns a processor to each place. In a loop nested in a loop of the same control a
//! thread keeps its place. So the threads of one loop take the first processors of the mapping, and
//! two threads never share a place, however loops are nested. When a participant leaves, its thread
//! is pinned again as the enclosing loop, or the pool, says.
//!
//! A helper of another worker is pinned beside it, at no place of a control
//! (`control::helper_pin`).
//!
//! # Invariants
//!
//! - B1: a worker's pins are in the order of the loops that it is in. The last one decides where
//!   its thread runs; without any, the pool's mapping does.
//! - B2: a place is one thread's at a time; the thread that has taken it gives it back.
//!
//! # Cost
//!
//! Nothing while the control has no mapping, but for helpers. A change: a lock, an entry, and one
//! or two system calls of the thread that moves.
//!
//! # Not handled
//!
//! External threads, which are never pinned, and pools on described machines. A task that a worker
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

use sinew_sync::lock::Mutex;
use sinew_sync::plant::{Bug, planted};
use sinew_topology::{CpuSet, Mapping, MappingError, place};

use sinew_core::{Pin, Worker, WorkerLocal, machine_cached};

/// A mapping that a control requests, and the processors of its places.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pinning {
    mapping: Mapping,
    /// Empty if the system is to decide. Further places begin anew.
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
        Ok(Self { mapping: mapping.clone(), cpus })
    }

    pub(crate) fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// One processor.
    pub(crate) fn at(cpu: usize) -> Self {
        Self { mapping: Mapping::Explicit(vec![cpu]), cpus: vec![CpuSet::from_iter([cpu])] }
    }

    /// No pin: the system decides.
    pub(crate) fn nowhere() -> Self {
        Self { mapping: Mapping::None, cpus: Vec::new() }
    }

    /// The processors of its places; none if the system is to decide.
    pub(crate) fn cpus(&self) -> &[CpuSet] {
        &self.cpus
    }

    fn of_place(&self, place: usize) -> Option<CpuSet> {
        let number = place.checked_rem(self.cpus.len())?;
        Some(self.cpus[number].clone())
    }
}

/// The places of a control, each with whether it is taken (B2).
#[derive(Debug, Default)]
pub(crate) struct Places(Mutex<Vec<bool>>);

impl Places {
    /// The place of this number if it is free, otherwise the lowest that is.
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

    fn give_back(&self, place: usize) {
        self.0.lock()[place] = false;
    }

    #[cfg(test)]
    pub(crate) fn all_free(&self) -> bool {
        self.0.lock().iter().all(|taken| !taken)
    }
}

/// The pin of a worker's thread by one of the loops that it works on.
#[derive(Debug)]
pub(crate) struct LoopPin {
    /// The control of the loop, by the address of its places.
    control: usize,
    place: usize,
    /// Whether the place is given back with this entry.
    owns_place: bool,
    pinning: Arc<Pinning>,
}

impl LoopPin {
    /// The processors to pin the thread to, if any.
    pub(crate) fn pin(&self) -> Option<CpuSet> {
        self.pinning.of_place(self.place)
    }
}

/// A thread that can be pinned: a worker, or a stand-in for one in a model.
pub(crate) trait Pinned {
    /// The pins of the loops that it is in.
    fn pins(&self) -> RefMut<'_, Vec<LoopPin>>;
    /// Moves the calling thread, which must be this one's, to the last of its pins.
    fn settle(&self);
    fn can_be_pinned(&self) -> bool;
}

/// The pins of a worker; the last one decides (B1).
static PINS: WorkerLocal<RefCell<Vec<LoopPin>>> = WorkerLocal::new(RefCell::default);

impl Pinned for Worker {
    fn pins(&self) -> RefMut<'_, Vec<LoopPin>> {
        self.local(&PINS).borrow_mut()
    }

    fn settle(&self) {
        let innermost = |pin: &LoopPin| pin.pin().map_or(Pin::Nowhere, Pin::To);
        let pin = self.pins().last().map_or(Pin::ByPool, innermost);
        self.pin(pin);
    }

    fn can_be_pinned(&self) -> bool {
        Worker::can_be_pinned(self)
    }
}

/// The pin of a participant, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct PinGuard<'c, L: Pinned = Worker> {
    w: &'c L,
    places: &'c Places,
    rank: usize,
    /// Whether the innermost pin of the worker is this one's.
    is_pinned: bool,
}

impl<'c, L: Pinned> PinGuard<'c, L> {
    pub(crate) fn new(w: &'c L, places: &'c Places, rank: usize) -> Self {
        Self { w, places, rank, is_pinned: false }
    }

    /// Moves the thread as `pinning` says; without one, back to where it was.
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

/// Moves the thread as `pinning` says; without one, back to where it was. `is_pinned`: whether the
/// innermost pin of the worker is the participant's. Returns whether it is now.
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
    w.settle();
    true
}

fn push<L: Pinned>(w: &L, places: &Places, rank: usize, is_pinned: bool, pinning: &Arc<Pinning>) {
    let mut pins = w.pins();
    if is_pinned {
        // B1: the loops inside are over.
        pins.last_mut().expect("a pin of its own").pinning = Arc::clone(pinning);
        return;
    }
    let identity = std::ptr::from_ref(places).addr();
    let around = pins.iter().find(|pin| pin.control == identity);
    let (place, owns_place) = match around {
        Some(pin) => (pin.place, planted(Bug::InnerCpuRelease)),
        None => (places.take(rank), true),
    };
    pins.push(LoopPin { control: identity, place, owns_place, pinning: Arc::clone(pinning) });
}

/// Removes the innermost pin of the worker, which is the participant's.
pub(crate) fn unpin<L: Pinned>(w: &L, places: &Places) {
    let Some(left) = w.pins().pop() else { return };
    let give_back = || {
        if left.owns_place {
            places.give_back(left.place);
        }
    };
    if planted(Bug::EarlyCpuRelease) {
        give_back();
        return w.settle();
    }
    w.settle();
    // The thread has left the place, which another may take now (B2).
    give_back();
}

/// The identity of no control: identities are addresses.
const NO_CONTROL: usize = 0;

/// Moves the thread as `pinning` says, at no place of a control, or back to where it was without
/// one. `is_pinned`: whether the innermost pin of the worker is the caller's. Returns whether it is
/// now.
pub(crate) fn pin_beside<L: Pinned>(w: &L, is_pinned: bool, pinning: Option<Pinning>) -> bool {
    let pinning = pinning.filter(|_| w.can_be_pinned());
    let lodges = pinning.is_some();
    let mut pins = w.pins();
    if is_pinned {
        // B1: the loops inside are over.
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
    if is_pinned || lodges {
        w.settle();
    }
    lodges
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Catches: a place that two threads have, or that no thread gets again.
    #[test]
    fn the_place_of_ones_rank_comes_first_and_then_the_lowest() {
        let places = Places::default();
        assert_eq!([places.take(2), places.take(2), places.take(2), places.take(1)], [2, 0, 1, 3]);
        places.give_back(0);
        assert_eq!((places.take(1), places.take(7)), (0, 7));
        assert!(!places.all_free());
        (0..4).chain([7]).for_each(|place| places.give_back(place));
        assert!(places.all_free());
    }

    /// Catches: a mapping that runs out of processors, and one that is refused too late.
    #[test]
    fn places_beyond_the_mapping_begin_anew() {
        let compact = Pinning::new(&Mapping::Compact).unwrap();
        let number = compact.cpus.len();
        assert_eq!(compact.of_place(number + 1), compact.of_place(1));
        assert_eq!(Pinning::new(&Mapping::None).unwrap().of_place(3), None);
        assert_eq!(Pinning::new(&Mapping::Explicit(Vec::new())), Err(MappingError::Empty));
        let error = Pinning::new(&Mapping::Explicit(vec![999_999])).unwrap_err().to_string();
        assert!(error.contains("CPU 999999"), "{error}");
    }
}
