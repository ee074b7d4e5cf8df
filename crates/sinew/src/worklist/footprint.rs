//! Samples of the pages that units touch.
//!
//! After a fixed number of attempts a worker samples one address, at random, of those that its
//! transaction has accessed. So the cost of a sample does not depend on the transaction's length.
//! Without samples a unit costs a test of a pointer.
//!
//! Source: Góes, "Automatic Skeleton-Driven Performance Optimizations for Transactional Memory"
//! (2012), figure 7.1, which shows such samples over time.

use sinew_stm::Tx;
use sinew_sync::CachePadded;
use sinew_sync::clock::now_ns;
use sinew_sync::counter::Counter;
use sinew_sync::lock::Mutex;
use std::time::Duration;

/// The bytes of a page in a report, whatever the system's pages are.
const PAGE: usize = 4096;

/// The samples that a worker keeps of a run, the first ones.
const MAX_SAMPLES: usize = 100_000;

/// A page that a worker has touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Touch {
    /// The worker's number.
    pub worker: usize,
    /// The time since the beginning of the run.
    pub at: Duration,
    /// The number of the page: its address divided by its size.
    pub page: usize,
}

impl Touch {
    /// A touch of `page` by `worker` at the time `at`.
    pub fn new(worker: usize, at: Duration, page: usize) -> Self {
        Self { worker, at, page }
    }

    /// The same touch, later by `by`, to concatenate runs.
    #[must_use]
    pub fn later(self, by: Duration) -> Self {
        Self { at: self.at + by, ..self }
    }
}

#[derive(Debug, Default)]
struct Slot {
    attempts: Counter,
    touches: Mutex<Vec<Touch>>,
}

/// The samples of a run.
#[derive(Debug)]
pub(super) struct Footprint {
    every: u64,
    began_ns: u64,
    slots: Box<[CachePadded<Slot>]>,
}

impl Footprint {
    /// Takes a sample after each `every` attempts of a worker, for `slots` workers.
    pub(super) fn new(every: u64, slots: usize) -> Self {
        let slots = (0..slots).map(|_| CachePadded::new(Slot::default())).collect();
        Self { every: every.max(1), began_ns: now_ns(), slots }
    }

    /// Counts an attempt of `worker`, and takes a sample if it is due.
    pub(super) fn attempted(&self, worker: usize, tx: &Tx<'_, '_>) {
        let slot = &self.slots[worker];
        slot.attempts.add(1);
        let attempt = slot.attempts.get();
        if attempt.is_multiple_of(self.every) {
            self.take_sample(worker, tx, attempt);
        }
    }

    #[cold]
    fn take_sample(&self, worker: usize, tx: &Tx<'_, '_>, attempt: u64) {
        // A multiplicative hash: consecutive numbers choose pseudo-random addresses.
        let Some(address) = tx.accessed(attempt.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) else {
            return;
        };
        let at = Duration::from_nanos(now_ns().saturating_sub(self.began_ns));
        let mut touches = self.slots[worker].touches.lock();
        if touches.len() < MAX_SAMPLES {
            touches.push(Touch::new(worker, at, address / PAGE));
        }
    }

    /// All samples, in the order of their times.
    pub(super) fn into_touches(self) -> Vec<Touch> {
        let slots = self.slots.into_vec().into_iter();
        let mut all: Vec<Touch> = slots.flat_map(|slot| slot.0.touches.into_inner()).collect();
        all.sort_by_key(|touch| touch.at);
        all
    }
}
