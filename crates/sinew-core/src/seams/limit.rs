//! The limit on a pool's working workers, which can change at any time.
//!
//! It is the minimum of the numbers of three [sources](Source): the program, the limits of the
//! process, other programs. Each sets only its own number, by `PoolState::set_limit`. Floors above
//! set that of the program, by `PoolControl::set_threads`. `surplus` describes what workers above
//! the limit do.
//!
//! # Pace
//!
//! A pool that follows the limits of its process reads them at most every [`READ_GAP_NS`]. The
//! reader is a worker without work (`search`), or one between two pieces of a loop or skeleton
//! (`between`, at the pace of `limit_checks`). A worker that always finds tasks of plain joins and
//! scopes does not read them. A pool with a set number of threads does not follow them, unless its
//! builder says so.

use std::path::PathBuf;

use std::ops::Range;

use sinew_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sinew_sync::clock::now_ns;
use sinew_sync::lock::Mutex;

use crate::seams::preset::Preset;

/// Time between two reads of affinity, cpuset and quota.
const READ_GAP_NS: u64 = 100_000_000;

/// The limit of one pool, and the schedule of its loops, which running loops read.
#[derive(Debug)]
pub struct Limit {
    pub(crate) workers: AtomicUsize,
    /// The numbers by [`Source`]. The lock keeps them consistent with `workers` and `requested`.
    parts: Mutex<[usize; SOURCES]>,
    /// Their minimum, which may be less than the pool needs to serve callers. Loops and skeletons
    /// obey it.
    requested: AtomicUsize,
    /// The schedule of the pool's loops.
    pub(crate) schedule: Preset,
    /// The root folder of the process's limits, if the pool follows them.
    follows: Option<PathBuf>,
    next_read_ns: AtomicU64,
}

/// A source of limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The program, through the pool's handles.
    Program,
    /// Affinity, cpuset and quota of the process.
    Process,
    /// The share of the machine that other programs leave.
    Others,
}

const SOURCES: usize = 3;

/// The bounds of a pool's limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// The smallest limit by the program and the limits of the process.
    pub(crate) fewest: usize,
    /// The smallest limit by other programs.
    pub(crate) fewest_by_others: usize,
    pub(crate) most: usize,
}

impl Room {
    fn fewest(&self, source: usize) -> usize {
        if source == Source::Others as usize { self.fewest_by_others } else { self.fewest }
    }
}

impl Limit {
    /// No limit at first. If `follows` is given, it follows affinity, and the cpuset and quota
    /// below that folder.
    pub(crate) fn new(follows: Option<PathBuf>) -> Self {
        let parts = Mutex::new([usize::MAX; SOURCES]);
        let [workers, requested] = [0; 2].map(|_| AtomicUsize::new(usize::MAX));
        let (schedule, next_read_ns) = (Preset::default(), AtomicU64::new(0));
        Self { workers, parts, requested, schedule, follows, next_read_ns }
    }

    /// How many may take part in a loop. At least 1.
    #[inline]
    pub fn requested_threads(&self) -> usize {
        // Relaxed: nothing is published by it.
        self.requested.load(Ordering::Relaxed)
    }

    /// The pool's schedule for its loops.
    #[inline]
    pub fn schedule(&self) -> &Preset {
        &self.schedule
    }

    /// A limit without a pool that allows all workers: for models of loops.
    pub fn unlimited() -> Self {
        Self::new(None)
    }

    /// Whether affinity, cpuset and quota set the limit.
    pub(crate) fn follows(&self) -> bool {
        self.follows.is_some()
    }

    /// The limit: workers with a number below it may work. It may exceed the number of workers.
    pub fn get(&self) -> usize {
        // Acquire: M8.
        self.workers.load(Ordering::Acquire)
    }

    /// Sets the number of a source. Returns the limit before and after.
    pub(crate) fn set(&self, source: Source, workers: usize, room: Room) -> Range<usize> {
        let mut parts = self.parts.lock();
        parts[source as usize] = workers;
        let least = parts.iter().copied().min().unwrap_or(usize::MAX);
        // Relaxed: see `requested`.
        self.requested.store(least.max(1), Ordering::Relaxed);
        let served = parts.iter().enumerate().map(|(source, n)| (*n).max(room.fewest(source)));
        let workers = served.fold(room.most, usize::min);
        // AcqRel: M8.
        self.workers.swap(workers, Ordering::AcqRel)..workers
    }

    /// The root folder of the limits of the process, if the pool follows them and the caller has
    /// claimed a read that is due.
    pub(crate) fn root_of_due_read(&self) -> Option<&PathBuf> {
        self.follows.as_ref().filter(|_| self.claim_read())
    }

    /// Claims a read of the limits of the process if one is due: one caller gets true.
    fn claim_read(&self) -> bool {
        if !self.follows() || cfg!(any(loom, shuttle)) {
            return false;
        }
        let (now, next) = (now_ns(), self.next_read_ns.load(Ordering::Relaxed));
        // Relaxed: limits a rate.
        now >= next
            && self
                .next_read_ns
                .compare_exchange(next, now + READ_GAP_NS, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}
