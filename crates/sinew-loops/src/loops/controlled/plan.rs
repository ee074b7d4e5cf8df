//! The settings in force in a controlled loop, and the replacement of its source.
//!
//! A source is made for a schedule and a number of threads. When either changes, a participant
//! *closes* the source and makes a new one over its remaining iterations. The others find the old
//! source empty and move to the new one. A source and its iterations are an *epoch*.
//!
//! Under `Schedule::Weighted` the shares of the next epoch follow from the iterations that each
//! participant has done so far, which it reports to the plan.
//!
//! A participant that moves to the next epoch *returns* what it has claimed and not run. So does a
//! thief whose source was closed before it could share the stolen range, because no other
//! participant could steal from that range. The next source contains the returned iterations. If
//! the present source is exhausted, a new one is made of them.
//!
//! # Invariants
//!
//! - P1: an iteration is in the source of the present epoch, or returned, or claimed by one
//!   participant, or done (I1 of the [sources](crate::source)).
//! - P2: a source is closed before the next is published. It lives until the last participant has
//!   moved to the next.
//! - P3: no participant leaves for lack of work while there are returned iterations.
//! - P4: ranks are taken and released under the plan's lock. A participant decides to leave under
//!   the same lock, by the latest requests. So either it or the next participant that looks for
//!   free ranks sees that a rank is wanted again.
//!
//! # Tests
//!
//! `loom`: P1 for two participants and a thread that changes the schedule, every interleaving;
//! planted bugs. `tests`: P1 to P4 for whole loops.

use sinew_policy::chunk::Schedule;
use sinew_policy::schedule::{Feedback, Mechanism};
use sinew_policy::weighted::Speeds;
use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicUsize, Ordering};
use sinew_sync::clock::now_ns;
use sinew_sync::plant::{Bug, planted};

use super::iterations::IterationSet;
use crate::control::Requests;
use crate::participants::Registration;
use crate::source::{LoopMemory, Source};
use sinew_core::Limit;
use std::ops::Range;
use std::sync::Arc;

/// The settings of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LoopSettings {
    /// The number of ranks: participants with higher ranks leave. At least 1.
    pub(super) threads: usize,
    pub(super) schedule: Schedule,
}

impl LoopSettings {
    /// The requested settings, with these as defaults, and at most `most` threads. The pool's
    /// schedule replaces the default one if the loop is `open`.
    pub(super) fn requested(
        self,
        open: bool,
        limit: &Limit,
        most: usize,
        requests: &Requests,
    ) -> Self {
        let threads = requests.threads.unwrap_or(self.threads).min(most);
        let schedule = requests.schedule.unwrap_or(self.schedule);
        let open = open && requests.schedule.is_none();
        Self { threads, schedule: limit.schedule().of_loop(schedule, open) }
    }

    /// These settings with `auto` in place of `Schedule::Auto`.
    pub(super) fn resolved(self, auto: Schedule) -> Self {
        Self {
            schedule: if self.schedule == Schedule::Auto { auto } else { self.schedule },
            ..self
        }
    }

    /// The slot number with which a participant claims. If all workers may participate it is the
    /// worker's number, so that the worker finds the data of its last loop. Otherwise it is the
    /// rank, because slot numbers beyond the participants would be shared.
    pub(super) fn slot(self, workers: usize, worker: usize, rank: usize) -> usize {
        if self.threads == workers { worker } else { rank }
    }

    /// The number of participants that can get some of `iterations`.
    fn participants(self, iterations: usize) -> usize {
        self.threads.min(Source::pieces(self.schedule, iterations)).max(1)
    }
}

/// A source and its iterations.
#[derive(Debug)]
pub(super) struct Epoch {
    pub(super) source: Source,
    pub(super) iterations: IterationSet,
    /// The settings of the source.
    pub(super) settings: LoopSettings,
    /// The number of participants that can get some iterations.
    participants: usize,
}

impl Epoch {
    fn new(
        iterations: IterationSet,
        settings: LoopSettings,
        first: usize,
        memory: Option<&LoopMemory>,
    ) -> Self {
        let participants = settings.participants(iterations.len());
        let source =
            Source::with_memory(settings.schedule, iterations.len(), participants, first, memory);
        Self { source, iterations, settings, participants }
    }

    /// The next epoch. Weighted shares are proportional to the speeds of `ranks` so far.
    fn next(
        iterations: IterationSet,
        settings: LoopSettings,
        first: usize,
        ranks: &[Option<Arc<Progress>>],
    ) -> Self {
        if Mechanism::of(settings.schedule) != Mechanism::Partition(Feedback::Speeds) {
            return Self::new(iterations, settings, first, None);
        }
        let participants = settings.participants(iterations.len());
        let source = Source::by_speed(iterations.len(), speeds(ranks, settings, participants));
        Self { source, iterations, settings, participants }
    }

    /// Closes the source. Returns the unclaimed iterations.
    fn close(&self) -> IterationSet {
        let left = self.source.close().into_iter();
        left.fold(IterationSet::default(), |all, positions| {
            all.union(self.iterations.slice(positions))
        })
    }
}

/// The state that participants follow_requests on, under a lock.
#[derive(Debug)]
pub(super) struct Plan {
    /// The first epoch, whose feedback goes to the memory.
    first: Arc<Epoch>,
    /// The present epoch.
    epoch: Arc<Epoch>,
    returned: IterationSet,
    /// The progress of the participant of each rank, while it works.
    progress: Box<[Option<Arc<Progress>>]>,
}

/// The iterations of one participant so far.
#[derive(Debug)]
pub(super) struct Progress {
    worker: usize,
    since_ns: u64,
    items: CachePadded<AtomicUsize>,
}

impl Progress {
    /// Stores the number of iterations run so far.
    #[inline]
    pub(super) fn did(&self, items: usize) {
        // Relaxed: shares may follow from slightly old numbers.
        self.items.store(items, Ordering::Relaxed);
    }
}

/// The speed of each slot's participant so far.
fn speeds(ranks: &[Option<Arc<Progress>>], settings: LoopSettings, participants: usize) -> Speeds {
    let (mut measured, now) = (vec![(0, 0); participants], now_ns());
    for (rank, progress) in ranks.iter().enumerate() {
        if let Some(Progress { worker, since_ns, items }) = progress.as_deref() {
            let slot = settings.slot(ranks.len(), *worker, rank) % participants;
            measured[slot] = (items.load(Ordering::Relaxed), now.saturating_sub(*since_ns));
        }
    }
    Speeds::measured(&measured)
}

impl Plan {
    /// A loop over `n` iterations on a pool of `workers`. The caller, whose slot number is `first`,
    /// has rank 0.
    pub(super) fn new(
        n: usize,
        workers: usize,
        settings: LoopSettings,
        first: usize,
        memory: Option<&LoopMemory>,
    ) -> Self {
        let epoch = Arc::new(Epoch::new(IterationSet::of(0..n), settings, first, memory));
        let progress = (0..workers).map(|_| None).collect();
        Self { first: Arc::clone(&epoch), epoch, returned: IterationSet::default(), progress }
    }

    /// Puts `settings` into force.
    pub(super) fn follow(&mut self, settings: LoopSettings, slot: usize) {
        if !self.is_in_force(settings) {
            self.replace(settings, slot);
        }
    }

    /// Closes the source, and makes one over all that is left (P2). A source that begins with one
    /// participant's range begins with `slot`.
    fn replace(&mut self, settings: LoopSettings, slot: usize) {
        let left = self.epoch.close().union(std::mem::take(&mut self.returned));
        self.epoch = Arc::new(Epoch::next(left, settings, slot, &self.progress));
    }

    /// The next epoch for a participant that has exhausted `old`, if there is one.
    pub(super) fn after(&mut self, old: &Arc<Epoch>, slot: usize) -> Option<Arc<Epoch>> {
        if self.is_current(old) {
            if self.returned.is_empty() {
                return None;
            }
            self.replace(self.epoch.settings, slot);
        }
        Some(self.epoch())
    }

    pub(super) fn epoch(&self) -> Arc<Epoch> {
        Arc::clone(&self.epoch)
    }

    pub(super) fn is_in_force(&self, settings: LoopSettings) -> bool {
        settings == self.epoch.settings
    }

    /// Whether the settings in force have fewer threads.
    pub(super) fn has_fewer_than(&self, threads: usize) -> bool {
        self.epoch.settings.threads < threads
    }

    pub(super) fn is_current(&self, epoch: &Arc<Epoch>) -> bool {
        Arc::ptr_eq(epoch, &self.epoch)
    }

    /// Returns `positions` that a participant has claimed from `epoch` and not run. Empties them.
    pub(super) fn return_claim(&mut self, epoch: &Epoch, positions: &mut Range<usize>) {
        if !Range::is_empty(positions) {
            self.returned = self.returned.union(epoch.iterations.slice(positions.clone()));
        }
        if !planted(Bug::KeptChunk) {
            positions.start = positions.end;
        }
    }

    /// The number of ranks that are wanted: those below find work.
    pub(super) fn wanted(&self) -> usize {
        if self.is_over() { 0 } else { self.epoch.participants }
    }

    /// Begins the progress of the participant of this rank.
    pub(super) fn begin(&mut self, rank: usize, worker: usize, since_ns: u64) -> Arc<Progress> {
        let progress = Arc::new(Progress { worker, since_ns, items: CachePadded::default() });
        self.progress[rank] = Some(Arc::clone(&progress));
        progress
    }

    /// Removes a participant, and releases its rank (P4).
    pub(super) fn leave(&mut self, registration: Registration<'_>) {
        self.progress[registration.rank()] = None;
    }

    /// Whether nothing can be claimed. Exact when there are no participants.
    pub(super) fn is_over(&self) -> bool {
        self.returned.is_empty() && self.epoch.source.is_exhausted()
    }

    /// Whether the first source was never replaced.
    pub(super) fn is_unchanged(&self) -> bool {
        self.is_current(&self.first)
    }

    /// Returns to `memory` what was taken from it. The feedback of a loop that was changed, or that
    /// was not `completed`, is discarded.
    pub(super) fn save_to(self, memory: &LoopMemory, completed: bool) {
        let unchanged = self.is_unchanged();
        drop(self.epoch);
        if let Ok(first) = Arc::try_unwrap(self.first) {
            first.source.save_to(memory, completed && unchanged);
        }
    }
}
