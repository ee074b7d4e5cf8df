//! The settings in force in a controlled loop, and the replacement of its source.
//!
//! A source is made for a schedule and a number of threads. When either changes, a participant
//! *closes* the source, takes the iterations that it still had, and builds a new one over them. The
//! others find the old source empty and move on to the new one. A source and its iterations are an
//! *epoch*.
//!
//! Shares by speed follow from the iterations that participants have done in the loop so far, which
//! each of them reports to the plan.
//!
//! A participant that moves on while it has claimed more than it has run *gives it back*. So does a
//! thief that stole a range from a source that was closed before the range could be shared: no
//! other participant could steal from it any more. The next source gets the ranges that were given
//! back. When the present one has nothing more, a new one is made of them.
//!
//! # Invariants
//!
//! - P1: an iteration is in the source of the present epoch, or given back, or in the hands of one
//!   participant, or done with (I1 of the [sources](crate::source)).
//! - P2: a source is closed before the next is published. It lives until the last participant has
//!   moved on.
//! - P3: no participant leaves for want of work while something is given back.
//! - P4: ranks are taken and left under the plan's lock. A participant that leaves decides so under
//!   the same lock, by the latest requests. So either it or the next participant that looks for
//!   free ranks sees that a rank is wanted again.
//!
//! # Tests
//!
//! `loom`: P1 for two participants and a thread that changes the schedule, every interleaving;
//! planted bugs. `tests` of the room: P1 to P4 for whole loops.

use sinew_policy::chunk::Schedule;
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

/// How a loop is run at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LoopSettings {
    /// Participants with this rank or a higher one leave. At least 1.
    pub(super) threads: usize,
    pub(super) schedule: Schedule,
}

impl LoopSettings {
    /// The requested settings, and these where none are requested; never more threads than `most`.
    /// A loop that is `open` to the pool's schedule is so while none is requested.
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

    /// The same where a loop that leaves the choice of the schedule has `auto`.
    pub(super) fn resolved(self, auto: Schedule) -> Self {
        Self {
            schedule: if self.schedule == Schedule::Auto { auto } else { self.schedule },
            ..self
        }
    }

    /// The slot by which a participant claims. If all workers may take part it is the worker's
    /// number, so that it finds the data of its last loop. Otherwise it is the rank, because slots
    /// beyond the participants would be shared.
    pub(super) fn slot(self, workers: usize, worker: usize, rank: usize) -> usize {
        if self.threads == workers { worker } else { rank }
    }

    /// How many can get something of so many iterations.
    fn participants(self, iterations: usize) -> usize {
        self.threads.min(Source::pieces(self.schedule, iterations)).max(1)
    }
}

/// A source and the iterations that it hands out.
#[derive(Debug)]
pub(super) struct Epoch {
    pub(super) source: Source,
    pub(super) iterations: IterationSet,
    /// The settings that it was made for.
    pub(super) settings: LoopSettings,
    /// How many can get something.
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

    /// The epoch after another one. Shares by speed are in proportion to the speeds of `ranks` so
    /// far.
    fn next(
        iterations: IterationSet,
        settings: LoopSettings,
        first: usize,
        ranks: &[Option<Arc<Progress>>],
    ) -> Self {
        if settings.schedule != Schedule::Weighted {
            return Self::new(iterations, settings, first, None);
        }
        let participants = settings.participants(iterations.len());
        let source = Source::by_speed(iterations.len(), speeds(ranks, settings, participants));
        Self { source, iterations, settings, participants }
    }

    /// Takes what has not been claimed.
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
    /// Kept for what it is to save_to.
    first: Arc<Epoch>,
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
    /// It has run so many iterations in all.
    #[inline]
    pub(super) fn did(&self, items: usize) {
        // Relaxed: what shares are made of may be a little old.
        self.items.store(items, Ordering::Relaxed);
    }
}

/// How fast the participants of each slot have been.
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

    /// Makes `settings` the ones in force.
    pub(super) fn follow(&mut self, settings: LoopSettings, slot: usize) {
        if !self.is_in_force(settings) {
            self.replace(settings, slot);
        }
    }

    /// P2: closes the source and goes on with one over all that is left, which begins at `slot`
    /// where it begins at one.
    fn replace(&mut self, settings: LoopSettings, slot: usize) {
        let left = self.epoch.close().union(std::mem::take(&mut self.returned));
        self.epoch = Arc::new(Epoch::next(left, settings, slot, &self.progress));
    }

    /// The epoch for a participant that has found nothing more in `old`, if there is one.
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

    /// Whether the settings in force are for fewer threads.
    pub(super) fn has_fewer_than(&self, threads: usize) -> bool {
        self.epoch.settings.threads < threads
    }

    pub(super) fn is_current(&self, epoch: &Arc<Epoch>) -> bool {
        Arc::ptr_eq(epoch, &self.epoch)
    }

    /// Takes back what a participant has claimed from `epoch` and not run; nothing is left of
    /// `positions`.
    pub(super) fn return_claim(&mut self, epoch: &Epoch, positions: &mut Range<usize>) {
        if !Range::is_empty(positions) {
            self.returned = self.returned.union(epoch.iterations.slice(positions.clone()));
        }
        if !planted(Bug::KeptChunk) {
            positions.start = positions.end;
        }
    }

    /// Participants with lower ranks than this find something to do.
    pub(super) fn wanted(&self) -> usize {
        if self.is_over() { 0 } else { self.epoch.participants }
    }

    /// The participant of this rank begins to work.
    pub(super) fn begin(&mut self, rank: usize, worker: usize, since_ns: u64) -> Arc<Progress> {
        let progress = Arc::new(Progress { worker, since_ns, items: CachePadded::default() });
        self.progress[rank] = Some(Arc::clone(&progress));
        progress
    }

    /// A participant leaves; its rank is free as soon as the plan is unlocked (P4).
    pub(super) fn leave(&mut self, registration: Registration<'_>) {
        self.progress[registration.rank()] = None;
    }

    /// Whether nothing is left to be claimed. Exact when there are no participants.
    pub(super) fn is_over(&self) -> bool {
        self.returned.is_empty() && self.epoch.source.is_exhausted()
    }

    /// Whether the first source is still in its place.
    pub(super) fn is_unchanged(&self) -> bool {
        self.is_current(&self.first)
    }

    /// Gives `memory` back what was taken from it. A loop that was changed, or not `ran` to its
    /// end, adds nothing.
    pub(super) fn save_to(self, memory: &LoopMemory, ran: bool) {
        let unchanged = self.is_unchanged();
        drop(self.epoch);
        if let Ok(first) = Arc::try_unwrap(self.first) {
            first.source.save_to(memory, ran && unchanged);
        }
    }
}
