//! The claims of one participant of a controlled loop, and how the participant follows the plan.

use sinew_policy::chunk::Schedule;
use sinew_sync::clock::now_ns;
use sinew_sync::lock::Mutex;

use super::super::ending::Ending;
use super::plan::{Epoch, LoopSettings, Plan, Progress};
use crate::Control;
use crate::affinity::Pinning;
use crate::control::{Requests, is_cancelled};
use crate::participants::{Participants, Registration};
use sinew_core::CancelRegistration;
use sinew_core::Limit;
use std::ops::Range;
use std::sync::Arc;

/// The state that the participants of a loop share.
pub(super) struct Shared<'c> {
    pub(super) control: &'c Control,
    /// The pool's limit on its workers, which may change while the loop runs.
    pub(super) limit: &'c Limit,
    /// The loop's own settings, in force without requests.
    pub(super) own: LoopSettings,
    /// By which the pool may cancel the loop.
    pub(super) cancel_registration: CancelRegistration,
    /// Whether the pool's schedule replaces the loop's own.
    pub(super) open: bool,
    /// The schedule in place of `Schedule::Auto`.
    pub(super) auto: Schedule,
    pub(super) workers: usize,
    /// Ranks are taken and released under the lock of the plan (P4).
    pub(super) participants: Participants,
    pub(super) plan: Mutex<Plan>,
    pub(super) ending: Ending,
}

impl Shared<'_> {
    /// Whether the loop is cancelled, by its control's version or by its pool.
    pub(super) fn is_cancelled(&self, version: u64) -> bool {
        is_cancelled(version) || self.cancel_registration.is_cancelled()
    }

    pub(super) fn is_over(&self) -> bool {
        self.ending.is_stopped() || self.plan.lock().is_over()
    }

    /// Registers a participant with the lowest free rank of those that are wanted.
    pub(super) fn register(&self) -> Option<Registration<'_>> {
        let plan = self.plan.lock();
        self.participants.register_rank(0..plan.wanted())
    }

    /// Updates the plan for the participant of this rank on this worker, if more threads are
    /// requested. Returns whether they are.
    pub(super) fn grow(&self, worker: usize, rank: usize) -> bool {
        let mut plan = self.plan.lock();
        let (limit, (version, requests)) =
            (self.limit.requested_threads(), self.control.requests());
        let settings = self.settings(&requests, limit);
        let grows = plan.has_fewer_than(settings.threads) && !self.is_cancelled(version);
        if grows {
            plan.follow(settings, settings.slot(self.workers, worker, rank));
        }
        grows
    }

    /// The settings in force by these requests and this limit of the pool.
    fn settings(&self, requests: &Requests, limit: usize) -> LoopSettings {
        let most = self.workers.min(limit);
        self.own.requested(self.open, self.limit, most, requests).resolved(self.auto)
    }
}

/// The claims of one participant.
pub(super) struct Claims<'c> {
    shared: &'c Shared<'c>,
    /// Recruits participants for the free ranks.
    recruit: &'c dyn Fn(),
    worker: usize,
    rank: usize,
    /// `None` once this participant has decided to leave.
    registration: Option<Registration<'c>>,
    slot: usize,
    /// The version of the requests that this participant follows.
    seen: u64,
    /// The limit of the pool that this participant follows.
    limit: usize,
    /// The schedule of the pool that this participant follows, as a word.
    preset: u64,
    /// The requested mapping, if any.
    pinning: Option<Arc<Pinning>>,
    epoch: Arc<Epoch>,
    /// Positions that are claimed and not run.
    claimed: Range<usize>,
    /// Claims that [`take_chunks`](Self::take_chunks) has not returned yet.
    chunks: u64,
    done: usize,
    /// The plan's copy of `done`.
    progress: Arc<Progress>,
    since_ns: u64,
    /// Time spent waiting for the plan's lock, and for owners about to finish their range.
    blocked_ns: u64,
}

impl<'c> Claims<'c> {
    /// A participant on this worker, if its rank is still wanted.
    pub(super) fn enter(
        shared: &'c Shared<'c>,
        recruit: &'c dyn Fn(),
        worker: usize,
        registration: Registration<'c>,
    ) -> Option<Self> {
        let rank = registration.rank();
        let came_ns = now_ns();
        let mut plan = shared.plan.lock();
        let (limit, preset) = (shared.limit.requested_threads(), shared.limit.schedule().word());
        let (version, requests) = shared.control.requests();
        if shared.is_cancelled(version) {
            shared.ending.stop();
        }
        let settings = shared.settings(&requests, limit);
        let slot = settings.slot(shared.workers, worker, rank);
        plan.follow(settings, slot);
        if rank >= settings.threads || shared.ending.is_stopped() {
            plan.leave(registration);
            return None;
        }
        let (epoch, since_ns) = (plan.epoch(), now_ns());
        let progress = plan.begin(rank, worker, since_ns);
        drop(plan);
        Some(Self {
            shared,
            recruit,
            worker,
            rank,
            registration: Some(registration),
            slot,
            seen: version,
            limit,
            preset,
            pinning: requests.pinning,
            epoch,
            claimed: 0..0,
            chunks: 0,
            done: 0,
            progress,
            since_ns,
            blocked_ns: since_ns - came_ns,
        })
    }

    /// At most `most` iterations to run now, and whether more are claimed; `None` if the
    /// participant leaves.
    #[inline]
    pub(super) fn next(&mut self, most: usize) -> Option<(Range<usize>, bool)> {
        if self.shared.ending.is_stopped() {
            return None;
        }
        if self.is_behind() && !self.follow_cold() {
            return None;
        }
        if self.claimed.is_empty() && !self.claim() {
            return None;
        }
        let range = self.epoch.iterations.first_run(&self.claimed, most);
        self.claimed.start += range.len();
        Some((range, !self.claimed.is_empty()))
    }

    /// Whether a request, or the pool's limit or schedule, has changed, or the pool has cancelled.
    #[inline]
    fn is_behind(&self) -> bool {
        let Shared { control, limit, cancel_registration, .. } = self.shared;
        control.version() != self.seen
            || limit.requested_threads() != self.limit
            || limit.schedule().word() != self.preset
            || cancel_registration.is_cancelled()
    }

    /// The version of the requests that this participant follows.
    #[inline]
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// The mapping of that version, if any.
    pub(super) fn pinning(&self) -> Option<&Arc<Pinning>> {
        self.pinning.as_ref()
    }

    /// Counts `items` iterations that were run.
    #[inline]
    pub(super) fn ran(&mut self, items: usize) {
        self.done += items;
        self.progress.did(self.done);
        self.shared.control.count(self.worker, items);
        self.shared.control.check_clock(self.seen);
    }

    pub(super) fn stop(&self) {
        self.shared.ending.stop();
    }

    pub(super) fn blocked_ns(&self) -> u64 {
        self.blocked_ns
    }

    pub(super) fn done(&self) -> usize {
        self.done
    }

    /// The number of chunks claimed since the last call.
    #[inline]
    pub(super) fn take_chunks(&mut self) -> u64 {
        std::mem::take(&mut self.chunks)
    }

    /// Claims the next chunk, from this epoch or the next. False if the participant leaves.
    #[inline]
    fn claim(&mut self) -> bool {
        loop {
            let elapsed_ns = || now_ns() - self.since_ns;
            let (positions, waited_ns) =
                self.epoch.source.claim_or_steal(self.slot, 1, self.done, elapsed_ns);
            if let Some(positions) = positions {
                self.chunks += 1;
                self.claimed = positions;
            }
            if let Some(waited_ns) = waited_ns {
                self.tried_to_steal_cold(waited_ns);
            }
            if !self.claimed.is_empty() {
                return true;
            }
            if !self.move_on_cold() {
                return false;
            }
        }
    }

    /// Records the time that an attempt to steal has waited. Returns a stolen range that no other
    /// participant can steal from, because the source was closed.
    #[cold]
    fn tried_to_steal_cold(&mut self, waited_ns: u64) {
        self.blocked_ns += waited_ns;
        if !self.claimed.is_empty() && self.epoch.source.is_closed(self.slot) {
            self.shared.plan.lock().return_claim(&self.epoch, &mut self.claimed);
        }
    }

    /// Moves to an epoch that has iterations, or leaves. False if it has left.
    #[cold]
    fn move_on_cold(&mut self) -> bool {
        let came_ns = now_ns();
        let mut plan = self.shared.plan.lock();
        self.blocked_ns += now_ns() - came_ns;
        let exhausted = Arc::clone(&self.epoch);
        if !self.follow_requests(&mut plan) {
            return false;
        }
        // A request may have moved it to another source, from which it has not claimed yet.
        if Arc::ptr_eq(&exhausted, &self.epoch) {
            match plan.after(&exhausted, self.slot) {
                Some(next) => self.move_to(next),
                None => {
                    self.leave(&mut plan);
                    return false;
                }
            }
        }
        drop(plan);
        (self.recruit)();
        true
    }

    /// Follows changed requests. False if it leaves.
    #[cold]
    fn follow_cold(&mut self) -> bool {
        // The holder of the lock will close the source; until then claims are correct.
        let Some(mut plan) = self.shared.plan.try_lock() else { return true };
        let stays = self.follow_requests(&mut plan);
        drop(plan);
        // Also recruits for the rank that a surplus worker has released.
        (self.recruit)();
        stays
    }

    /// Updates the plan and this participant by the latest requests. False if it leaves.
    fn follow_requests(&mut self, plan: &mut Plan) -> bool {
        let limit = self.shared.limit.requested_threads();
        self.preset = self.shared.limit.schedule().word();
        let (version, requests) = self.shared.control.requests();
        let was_lowered = limit < std::mem::replace(&mut self.limit, limit);
        self.seen = version;
        if self.shared.is_cancelled(version) {
            self.stop();
            return false;
        }
        let settings = self.shared.settings(&requests, limit);
        self.pinning = requests.pinning;
        let stays = self.rank < settings.threads && !(was_lowered && self.is_surplus());
        if !stays || !plan.is_in_force(settings) || !plan.is_current(&self.epoch) {
            plan.return_claim(&self.epoch, &mut self.claimed);
        }
        plan.follow(settings, settings.slot(self.shared.workers, self.worker, self.rank));
        if !stays {
            self.leave(plan);
        } else if !plan.is_current(&self.epoch) {
            self.move_to(plan.epoch());
        }
        stays
    }

    /// Whether another worker should take this rank, because this one is to stand down. The caller
    /// stays.
    fn is_surplus(&self) -> bool {
        self.rank > 0 && self.worker >= self.shared.limit.get()
    }

    fn move_to(&mut self, epoch: Arc<Epoch>) {
        self.end_claims();
        self.epoch = epoch;
        self.slot = self.epoch.settings.slot(self.shared.workers, self.worker, self.rank);
    }

    /// Ends this participant's claims from its epoch.
    fn end_claims(&self) {
        let source = &self.epoch.source;
        if source.is_timed() {
            source.measured(self.slot, self.done, now_ns() - self.since_ns);
        }
        source.leave(self.slot);
    }

    fn leave(&mut self, plan: &mut Plan) {
        if let Some(registration) = self.registration.take() {
            self.end_claims();
            plan.leave(registration);
        }
    }
}

impl Drop for Claims<'_> {
    fn drop(&mut self) {
        if self.registration.is_some() {
            self.leave(&mut self.shared.plan.lock());
        }
    }
}
