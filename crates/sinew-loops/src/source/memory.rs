//! The memory of a loop: measurements of its last run, for the next one.
//!
//! A loop takes the measurements out of the memory when it begins and returns them when it has
//! ended. So no lock is held while it runs. A second loop that begins meanwhile finds no
//! measurements.

use sinew_policy::affinity::{OwnerOrder, Owners, Stolen};
use sinew_policy::weighted::Speeds;
use sinew_sync::lock::Mutex;

/// The memory of a loop from run to run: the parts that each worker ran, and how fast each worker
/// was.
///
/// For loops that run repeatedly over the same data: keep one memory for each such loop, and pass
/// it to every run. [`Schedule::Affinity`](sinew_policy::chunk::Schedule::Affinity) and
/// [`Schedule::Weighted`](sinew_policy::chunk::Schedule::Weighted) use it; other schedules ignore
/// it. A run with another length or number of workers begins without measurements. Two loops may
/// use it at once, but the second begins without measurements, and the one that ends last is
/// remembered.
///
/// # Cost
///
/// Two uncontended locks for a run. It allocates at its first use and when a worker's parts have
/// changed: some words for each of at most eight parts of a worker.
#[derive(Debug, Default)]
pub struct LoopMemory {
    parts: Mutex<Option<Box<Parts>>>,
    speeds: Mutex<Option<Box<SharedSpeeds>>>,
}

/// Speeds that participants add to.
pub(super) type SharedSpeeds = Mutex<Speeds>;

/// The owners of the iterations of a loop.
#[derive(Debug)]
pub(super) struct Parts {
    /// The owners when the present run began.
    pub(super) owners: Owners,
    /// The order of iterations that follows from the owners.
    pub(super) deal: OwnerOrder,
    /// The steals of the present run, in their order.
    pub(super) stolen: Mutex<Vec<Stolen>>,
}

impl Parts {
    pub(super) fn equal(n: usize, slots: usize) -> Self {
        let owners = Owners::equal(n, slots);
        Self { deal: owners.order(), owners, stolen: Mutex::new(Vec::new()) }
    }

    /// Ends the present run, and updates the owners by its steals if it was `completed`.
    pub(super) fn end_run(&mut self, completed: bool) {
        let stolen = std::mem::take(&mut *self.stolen.lock());
        if completed && self.owners.learn(stolen) {
            self.deal = self.owners.order();
        }
    }
}

impl LoopMemory {
    /// An empty memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties the memory: the next run begins with equal shares.
    pub fn clear(&self) {
        *self.parts.lock() = None;
        *self.speeds.lock() = None;
    }

    /// Takes the parts of a loop of `n` iterations for `slots` workers; equal ones if unknown.
    pub(super) fn take_parts(&self, n: usize, slots: usize) -> Box<Parts> {
        let known = self.parts.lock().take().filter(|parts| parts.owners.fits(n, slots));
        known.unwrap_or_else(|| Box::new(Parts::equal(n, slots)))
    }

    pub(super) fn keep_parts(&self, parts: Box<Parts>) {
        *self.parts.lock() = Some(parts);
    }

    /// Takes the speeds of `slots` workers; equal ones if unknown.
    pub(super) fn take_speeds(&self, slots: usize) -> Box<SharedSpeeds> {
        let known = self.speeds.lock().take().filter(|speeds| speeds.lock().workers() == slots);
        known.unwrap_or_else(|| Box::new(Mutex::new(Speeds::new(slots))))
    }

    pub(super) fn keep_speeds(&self, speeds: Box<SharedSpeeds>) {
        *self.speeds.lock() = Some(speeds);
    }
}
