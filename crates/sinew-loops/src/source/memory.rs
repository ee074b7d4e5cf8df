//! The memory of a loop, for its next run.
//!
//! A loop takes its knowledge out of the memory when it begins and puts it back when it has ended,
//! so nothing is locked while it runs. A second loop that begins meanwhile finds an empty memory.

use sinew_policy::affinity::{Deal, Owners, Stolen};
use sinew_policy::weighted::Speeds;
use sinew_sync::lock::Mutex;

/// The memory of a loop from run to run: the parts that each worker ran, and how fast each worker
/// was.
///
/// For loops that run again and again over the same data: hold one memory for each such loop and
/// hand it to every run. It serves [`Schedule::Affinity`](sinew_policy::chunk::Schedule::Affinity)
/// and [`Schedule::Weighted`](sinew_policy::chunk::Schedule::Weighted); other schedules pass over
/// it. A run of another length, or for another number of workers, begins anew. Two loops may use it
/// at once, but the one that begins second finds it empty, and the one that ends last is
/// remembered.
///
/// # Cost
///
/// Two uncontended locks a run. It allocates when it is first used and when something has changed:
/// some words for each separate part of a worker, of which there are at most eight.
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
    /// As it was when the present run began.
    pub(super) owners: Owners,
    /// The order of iterations that follows.
    pub(super) deal: Deal,
    /// The thefts of the present run, in their order.
    pub(super) stolen: Mutex<Vec<Stolen>>,
}

impl Parts {
    pub(super) fn equal(n: usize, slots: usize) -> Self {
        let owners = Owners::equal(n, slots);
        Self { deal: owners.deal(), owners, stolen: Mutex::new(Vec::new()) }
    }

    /// The present run has ended, and teaches nothing unless it ran to its end.
    pub(super) fn end_run(&mut self, completed: bool) {
        let stolen = std::mem::take(&mut *self.stolen.lock());
        if completed && self.owners.learn(stolen) {
            self.deal = self.owners.deal();
        }
    }
}

impl LoopMemory {
    /// A memory that knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets everything: the next run begins with equal shares.
    pub fn clear(&self) {
        *self.parts.lock() = None;
        *self.speeds.lock() = None;
    }

    /// The parts of loops of `n` iterations for `slots`, if they are known.
    pub(super) fn take_parts(&self, n: usize, slots: usize) -> Box<Parts> {
        let known = self.parts.lock().take().filter(|parts| parts.owners.fits(n, slots));
        known.unwrap_or_else(|| Box::new(Parts::equal(n, slots)))
    }

    pub(super) fn keep_parts(&self, parts: Box<Parts>) {
        *self.parts.lock() = Some(parts);
    }

    /// The speeds of `slots` workers, if they are known.
    pub(super) fn take_speeds(&self, slots: usize) -> Box<SharedSpeeds> {
        let known = self.speeds.lock().take().filter(|speeds| speeds.lock().workers() == slots);
        known.unwrap_or_else(|| Box::new(Mutex::new(Speeds::new(slots))))
    }

    pub(super) fn keep_speeds(&self, speeds: Box<SharedSpeeds>) {
        *self.speeds.lock() = Some(speeds);
    }
}
