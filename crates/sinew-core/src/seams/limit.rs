//! How many of a pool's workers may work: a number that can change at any time.
//!
//! It is the least of what several [sources](Source) allow. Each source sets its own number, and
//! knows none of the others. `surplus` says what the workers beyond the number do.

use std::path::PathBuf;

use std::ops::Range;

use sinew_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sinew_sync::clock::now_ns;
use sinew_sync::lock::Mutex;

use crate::seams::preset::Preset;

/// Time between two looks at affinity, cpuset and quota.
const LOOK_NS: u64 = 100_000_000;

/// How many workers of one pool may work, and by which schedule its loops run: what loops look at
/// while they run.
#[derive(Debug)]
pub struct Limit {
    pub(crate) workers: AtomicUsize,
    /// The numbers by [`Source`]. The lock makes them, `workers` and `asked` one.
    parts: Mutex<[usize; SOURCES]>,
    /// The number that all of them allow, which may be less than the pool needs to serve callers:
    /// loops and skeletons keep to it.
    asked: AtomicUsize,
    /// What loops look at beside it.
    pub(crate) schedule: Preset,
    /// Where the limits of the process are read, if they are followed.
    follows: Option<PathBuf>,
    next_look_ns: AtomicU64,
}

/// Says how many workers may work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The program, by the pool's own handles.
    Program,
    /// Affinity, cpuset and quota of the process.
    Process,
    /// Other programs, by agreement.
    Others,
}

const SOURCES: usize = 3;

/// Between which numbers the limit of a pool lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// The fewest by the program and the limits of the process.
    pub(crate) fewest: usize,
    /// The fewest by other programs.
    pub(crate) fewest_by_others: usize,
    pub(crate) most: usize,
}

impl Room {
    fn fewest(&self, source: usize) -> usize {
        if source == Source::Others as usize { self.fewest_by_others } else { self.fewest }
    }
}

impl Limit {
    /// No limit. It follows affinity, and the cpuset and quota found below `follows`, if that is
    /// given.
    pub(crate) fn new(follows: Option<PathBuf>) -> Self {
        let parts = Mutex::new([usize::MAX; SOURCES]);
        let [workers, asked] = [0; 2].map(|_| AtomicUsize::new(usize::MAX));
        let (schedule, next_look_ns) = (Preset::default(), AtomicU64::new(0));
        Self { workers, parts, asked, schedule, follows, next_look_ns }
    }

    /// How many may take part in a loop. At least 1.
    #[inline]
    pub fn asked(&self) -> usize {
        // Relaxed: nothing is published by it.
        self.asked.load(Ordering::Relaxed)
    }

    /// The schedule that the pool has for its loops.
    #[inline]
    pub fn schedule(&self) -> &Preset {
        &self.schedule
    }

    /// The limit of no pool, which lets everybody work: for models of loops.
    pub fn unlimited() -> Self {
        Self::new(None)
    }

    /// Whether affinity, cpuset and quota set the limit.
    pub(crate) fn follows(&self) -> bool {
        self.follows.is_some()
    }

    /// How many of the workers may work, which may be more than there are: those with a number
    /// below it.
    pub fn get(&self) -> usize {
        // Acquire: M8.
        self.workers.load(Ordering::Acquire)
    }

    /// From now on the source allows so many. Returns the limit before and after.
    pub(crate) fn set(&self, source: Source, workers: usize, room: Room) -> Range<usize> {
        let mut parts = self.parts.lock();
        parts[source as usize] = workers;
        let least = parts.iter().copied().min().unwrap_or(usize::MAX);
        // Relaxed: see `asked`.
        self.asked.store(least.max(1), Ordering::Relaxed);
        let served = parts.iter().enumerate().map(|(source, n)| (*n).max(room.fewest(source)));
        let workers = served.fold(room.most, usize::min);
        // AcqRel: M8.
        self.workers.swap(workers, Ordering::AcqRel)..workers
    }

    /// Where the limits of the process are to be read, if they are followed and it is time to.
    pub(crate) fn due(&self) -> Option<&PathBuf> {
        self.follows.as_ref().filter(|_| self.is_time_to_look())
    }

    /// Whether it is time to look at the limits of the process; true for one caller.
    fn is_time_to_look(&self) -> bool {
        if !self.follows() || cfg!(any(loom, shuttle)) {
            return false;
        }
        let (now, next) = (now_ns(), self.next_look_ns.load(Ordering::Relaxed));
        // Relaxed: limits a rate.
        now >= next
            && self
                .next_look_ns
                .compare_exchange(next, now + LOOK_NS, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}
