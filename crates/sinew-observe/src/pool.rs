//! The state that the workers of a profiled pool share, and the profiles made of it.
//!
//! Counters only grow. A profile is the difference between two readings, so a reader never writes
//! to the counters of a worker.

use std::sync::Arc;

use sinew_policy::graph::Graph;
use sinew_sync::clock::{start_measuring, ticks, ticks_per_ns};
use sinew_sync::lock::Mutex;

use crate::paths::{BURDENS, DEFAULT_BURDENS, Paths};
use crate::profile::{Profile, WorkerProfile};
use crate::recorder::Recording;
use crate::scopes::ScopePaths;
use crate::state::{Reading, Shared, WorkerState};
use crate::timeline::Timeline;
use crate::times::{Ticks, clock_cost};

/// The requested measurements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) burdens: [u64; BURDENS],
    pub(crate) timeline: bool,
    pub(crate) record: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { burdens: DEFAULT_BURDENS, timeline: false, record: false }
    }
}

/// The state that the workers of a profiled pool share.
#[derive(Debug)]
pub(crate) struct PoolState {
    burdens: Paths,
    cost: u64,
    /// When the pool was built, in ticks.
    began: u64,
    pub(crate) workers: Box<[Arc<Shared>]>,
    unowned: Mutex<UnownedPaths>,
    /// The readings when the last profile was taken, or when the pool was built.
    before: Mutex<Vec<Reading>>,
    /// The recorder, if the profiler records.
    recording: Option<Recording>,
}

/// Paths that belong to no call of a worker.
#[derive(Debug, Clone, Copy, Default)]
struct UnownedPaths {
    /// Through scopes whose body runs outside the pool, one after another.
    scopes: Paths,
    /// Through the longest detached task.
    longest: Paths,
}

impl PoolState {
    pub(crate) fn new(workers: usize, options: Options) -> Self {
        start_measuring();
        let (cost, began) = (clock_cost(), ticks());
        let workers: Box<[_]> =
            (0..workers).map(|_| Arc::new(Shared::new(Ticks, cost, options.timeline))).collect();
        Self {
            burdens: Paths(options.burdens),
            cost,
            began,
            before: Mutex::new(workers.iter().map(|worker| worker.read()).collect()),
            workers,
            unowned: Mutex::default(),
            recording: options.record.then(Recording::new),
        }
    }

    /// The state of the worker with this number.
    pub(crate) fn worker(&self, index: usize) -> WorkerState {
        let shared = Arc::clone(&self.workers[index]);
        WorkerState::new(shared, self.burdens, self.recording.is_some())
    }

    pub(crate) fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    pub(crate) fn detached_ended(&self, path: Paths) {
        let mut unowned = self.unowned.lock();
        unowned.longest = unowned.longest.max(path);
    }

    /// Ends a scope whose body ran outside the pool.
    pub(crate) fn scope_ended(&self, paths: &ScopePaths) {
        if let Some(recording) = &self.recording {
            // No worker did the work of its body.
            recording.record_call(ticks(), paths.marks());
        }
        let mut unowned = self.unowned.lock();
        unowned.scopes = unowned.scopes.plus(paths.end(Paths::default()));
    }

    /// The profile since the last call with `take`.
    pub(crate) fn profile(&self, take: bool) -> Profile {
        let mut before = self.before.lock();
        let mut unowned = self.unowned.lock();
        let now: Vec<Reading> = self.workers.iter().map(|worker| worker.read()).collect();
        let workers = now
            .iter()
            .zip(&*before)
            .map(|(now, before)| WorkerProfile::between(before, now))
            .collect();
        let profile = Profile {
            workers,
            burdens: self.burdens.0,
            scopes: unowned.scopes,
            longest_detached: unowned.longest,
            ticks_per_ns: ticks_per_ns(),
            clock_cost: self.cost,
        };
        if take {
            *before = now;
            *unowned = UnownedPaths::default();
        }
        profile
    }

    pub(crate) fn timeline(&self) -> Option<Timeline> {
        Timeline::read(&self.workers, self.began)
    }

    pub(crate) fn take_recording(&self) -> Option<Graph> {
        Some(self.recording.as_ref()?.take())
    }
}
