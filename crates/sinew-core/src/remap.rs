//! Which processors a pool's workers are pinned to: a mapping that can change at any time.
//!
//! A thread pins itself, before its next task or at its next safe point: only the thread knows the
//! mask that it had before, which it gets back when a mapping leaves the placing to the system
//! again. Guests are never pinned.
//!
//! # Orderings
//!
//! M10: the pins are stored under their lock, the version is raised, MOVE is set at every seat
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
//! Distances between seats, packages and locality domains stay those of the mapping that the pool
//! was built with: victims are chosen by them. A worker that computes without a safe point moves
//! when it is done. A worker's own memory stays where the first mapping has put it
//! (`worker_memory`).

use std::sync::Arc;

use sinew_sync::atomic::{AtomicUsize, Ordering};
use sinew_sync::lock::Mutex;
use sinew_topology::{CpuSet, Mapping, MappingError, Pinned, Seating, pin_current_thread};

use crate::host::machine;
use crate::inner::Inner;
use crate::lodging::Lodging;
use crate::poll::MOVE;
use crate::pool::Pool;
use crate::worker::Worker;

/// For each seat what its thread is pinned to, if anything.
type Pins = Arc<[Option<CpuSet>]>;

/// Where the workers of a pool belong.
#[derive(Debug)]
pub(crate) struct Berths {
    version: AtomicUsize,
    now: Mutex<Posted>,
}

/// A mapping, and what follows from it.
#[derive(Debug)]
struct Posted {
    mapping: Mapping,
    pins: Pins,
    /// Where it has room for a thread that is to be near another.
    room: CpuSet,
}

impl Posted {
    fn new(mapping: Mapping, seating: &Seating, allowed: &CpuSet) -> Self {
        let pins = (0..seating.seats()).map(|seat| seating.pin_of(seat)).collect();
        Self { room: room(&mapping, allowed), mapping, pins }
    }
}

/// The CPUs of a mapping: all that it may use, if it is a rule; none if it is none.
fn room(mapping: &Mapping, allowed: &CpuSet) -> CpuSet {
    match mapping {
        Mapping::Scatter | Mapping::Compact => allowed.clone(),
        Mapping::Explicit(cpus) => cpus.iter().copied().collect(),
        Mapping::None => CpuSet::new(),
    }
}

impl Berths {
    /// The first mapping, of seats on the allowed CPUs; nobody is pinned unless `pins`, because the
    /// machine is a real one.
    pub(crate) fn new(mapping: Mapping, seating: &Seating, allowed: &CpuSet, pins: bool) -> Self {
        let mut now = Posted::new(mapping, seating, allowed);
        if !pins {
            now.pins = vec![None; seating.seats()].into();
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

    /// The pins of all seats and the room, and the mapping as it was.
    #[cfg(not(any(loom, shuttle)))]
    fn set_pins(&self, pins: Pins, room: CpuSet) {
        let mut now = self.now.lock();
        (now.pins, now.room) = (pins, room);
        drop(now);
        // Relaxed: M10.
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    fn set(&self, posted: Posted) {
        *self.now.lock() = posted;
        // Relaxed: M10.
        self.version.fetch_add(1, Ordering::Relaxed);
    }
}

/// The pin of a worker's thread, and the version of the mapping that it follows.
#[derive(Debug, Default)]
pub(crate) struct Berth {
    followed: usize,
    pinned: Option<Pinned>,
    /// What it is pinned to, if it could be.
    at: Option<CpuSet>,
    /// By the loops that its worker is in; the last one decides.
    pub(crate) lodgings: Vec<Lodging>,
}

impl Berth {
    /// Moves the calling thread. One that cannot be pinned (a mask that shrank) works where it is.
    fn settle(&mut self, wanted: Option<CpuSet>) {
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

impl Worker {
    /// Moves the calling thread, which is the seat's for good, to where it belongs now.
    #[inline]
    pub(crate) fn follow_mapping(&self) {
        let version = self.pool().berths.version();
        if self.own.berth.borrow().followed != version {
            self.move_cold(version);
        }
    }

    /// The same from within a task, where the seat may be a guest's.
    pub(crate) fn follow_mapping_inside(&self) {
        if self.pool().threaded_seats().contains(&self.index()) {
            self.follow_mapping();
        }
    }

    /// Whether the calling thread is the seat's for good, on a pool whose threads can be pinned at
    /// all.
    pub(crate) fn can_be_pinned(&self) -> bool {
        self.pool().pins && self.pool().threaded_seats().contains(&self.index())
    }

    /// The CPU that the calling thread, which is this worker's, is pinned to, by the pool's mapping
    /// or a control's; `None` if it may run on several. For whoever writes skeletons.
    pub fn pinned_cpu(&self) -> Option<usize> {
        self.own.berth.borrow().at.as_ref().filter(|cpus| cpus.len() == 1).and_then(CpuSet::lowest)
    }

    #[cold]
    fn move_cold(&self, version: usize) {
        self.own.berth.borrow_mut().followed = version;
        self.settle();
    }

    /// Moves the calling thread to where the innermost loop that says something has it, or else the
    /// pool.
    pub(crate) fn settle(&self) {
        let pools = self.pool().berths.now.lock().pins[self.index()].clone();
        let mut berth = self.own.berth.borrow_mut();
        let wanted = berth.lodgings.last().map_or(pools, Lodging::pin);
        berth.settle(wanted);
    }

    /// The thread leaves the seat, and runs where it did before.
    pub(crate) fn leave_berth(&self) {
        self.own.berth.take();
    }
}

impl Inner {
    /// Keeps the threads on the cores that other programs leave, or, with `None`, where the mapping
    /// alone says. Of a mapping that was given seat by seat those processors are left, in its
    /// order: the first seats are those that may work.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn keep_to(&self, cores: Option<&CpuSet>) {
        if !self.pins {
            return;
        }
        let mapping = self.berths.now.lock().mapping.clone();
        let seats = self.seats.len();
        let (pins, room): (Pins, _) = match (&mapping, cores) {
            (Mapping::Explicit(cpus), cores) => {
                let left = |cpu: &&usize| cores.is_none_or(|cores| cores.contains(**cpu));
                let left: Vec<usize> = cpus.iter().filter(left).copied().collect();
                // None is left where the share was made before the others knew of the mapping.
                let cpus = if left.is_empty() { cpus } else { &left };
                let pins = (0..seats)
                    .map(|seat| Some(CpuSet::from_iter([cpus[seat % cpus.len()]])))
                    .collect();
                (pins, cpus.iter().copied().collect())
            }
            (Mapping::None, cores) => (vec![cores.cloned(); seats].into(), CpuSet::new()),
            (mapping, cores) => {
                let (machine, limits) = machine();
                let cores = cores.unwrap_or(limits.allowed());
                let Ok(seating) = Seating::new(machine, cores, mapping, seats) else { return };
                ((0..seats).map(|seat| seating.pin_of(seat)).collect(), room(mapping, cores))
            }
        };
        self.berths.set_pins(pins, room);
        self.call_to_move();
    }

    /// The processors that the program has pinned its threads to by their numbers; none if it has
    /// not.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn pinned_to(&self) -> Vec<usize> {
        match &self.berths.now.lock().mapping {
            Mapping::Explicit(cpus) => cpus.iter().copied().take(self.seats.len()).collect(),
            _ => Vec::new(),
        }
    }

    fn call_to_move(&self) {
        for seat in self.threaded_seats() {
            self.seats[seat].stack.set_poll_reason(MOVE);
        }
    }
}

impl Inner {
    /// As [`Pool::set_mapping`].
    pub(crate) fn set_mapping(&self, mapping: &Mapping) -> Result<(), MappingError> {
        let (machine, limits) = machine();
        let seating = Seating::new(machine, limits.allowed(), mapping, self.seats.len())?;
        if self.pins {
            self.berths.set(Posted::new(mapping.clone(), &seating, limits.allowed()));
            self.call_to_move();
            self.tell_choice();
        }
        Ok(())
    }

    /// The mapping that the threads follow.
    pub(crate) fn mapping(&self) -> Mapping {
        self.berths.now.lock().mapping.clone()
    }
}

impl Pool {
    /// Moves the pool's threads: each is pinned by `mapping`, or let go by [`Mapping::None`],
    /// before its next task or at the next safe point of a loop. From any thread, at any time.
    /// Guests, and pools on a described machine, are left where they are.
    ///
    /// # Errors
    ///
    /// [`MappingError`] if the mapping names a processor that this process may not use; everything
    /// stays as it was.
    ///
    /// ```
    /// use sinew_core::{Mapping, Pool};
    ///
    /// let pool = Pool::builder().threads(2).build()?;
    /// pool.set_mapping(&Mapping::Compact)?;
    /// assert_eq!(pool.mapping(), Mapping::Compact);
    /// assert!(pool.set_mapping(&Mapping::Explicit(vec![123_456])).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_mapping(&self, mapping: &Mapping) -> Result<(), MappingError> {
        self.inner.set_mapping(mapping)
    }

    /// The mapping that the threads follow.
    pub fn mapping(&self) -> Mapping {
        self.inner.mapping()
    }
}
