//! What one participant has claimed of a controlled loop, and how it keeps to the plan.

use super::super::ending::Ending;
use super::plan::{Epoch, Plan, Terms};
use crate::Control;
use crate::control::{Wishes, is_cancelled};
use sinew_policy::chunk::{Halving, Schedule};
use sinew_sync::atomic::spin_loop;
use sinew_sync::clock::now_ns;
use sinew_sync::lock::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// What the participants of a loop share.
pub(super) struct Shared<'c> {
    pub(super) control: &'c Control,
    /// What the loop itself has for wishes that there are not.
    pub(super) own: Terms,
    /// The schedule of those who leave the choice.
    pub(super) auto: Schedule,
    pub(super) workers: usize,
    pub(super) plan: Mutex<Plan>,
    pub(super) ending: Ending,
}

impl Shared<'_> {
    pub(super) fn is_over(&self) -> bool {
        self.ending.is_near() || self.plan.lock().is_over()
    }

    fn terms(&self, wishes: Wishes) -> Terms {
        self.own.wished(self.workers, wishes).resolved(self.auto)
    }
}

/// The claims of one participant.
pub(super) struct Claims<'c> {
    shared: &'c Shared<'c>,
    /// Calls others for the ranks that nobody has.
    hire: &'c dyn Fn(),
    worker: usize,
    rank: usize,
    /// Whether the rank is still this participant's.
    is_seated: bool,
    seat: usize,
    /// The version of the wishes that are followed.
    seen: u64,
    epoch: Arc<Epoch>,
    /// Places that are claimed and not run.
    claimed: Range<usize>,
    /// Claims so far.
    chunks: u64,
    done: usize,
    since_ns: u64,
}

impl<'c> Claims<'c> {
    /// A participant of this rank on this worker, if it is still wanted.
    pub(super) fn enter(
        shared: &'c Shared<'c>,
        hire: &'c dyn Fn(),
        worker: usize,
        rank: usize,
    ) -> Option<Self> {
        let mut plan = shared.plan.lock();
        let (version, wishes) = shared.control.follow();
        if is_cancelled(version) {
            shared.ending.stop();
        }
        let terms = shared.terms(wishes);
        let seat = terms.seat(shared.workers, worker, rank);
        plan.follow(terms, seat);
        if rank >= terms.threads || shared.ending.is_near() {
            plan.leave_rank(rank);
            return None;
        }
        let epoch = plan.epoch();
        drop(plan);
        let (since_ns, claimed) = (now_ns(), 0..0);
        Some(Self {
            shared,
            hire,
            worker,
            rank,
            is_seated: true,
            seat,
            seen: version,
            epoch,
            claimed,
            chunks: 0,
            done: 0,
            since_ns,
        })
    }

    /// At most `most` iterations to run now, and whether there are more where they come from. `None`: leave.
    #[inline]
    pub(super) fn next(&mut self, most: usize) -> Option<(Range<usize>, bool)> {
        if self.shared.ending.is_near() {
            return None;
        }
        if self.shared.control.version() != self.seen && !self.follow_cold() {
            return None;
        }
        if self.claimed.is_empty() && !self.claim() {
            return None;
        }
        let range = self.epoch.rest.first(&self.claimed, most);
        self.claimed.start += range.len();
        Some((range, !self.claimed.is_empty()))
    }

    /// So many iterations have been run.
    #[inline]
    pub(super) fn ran(&mut self, items: usize) {
        self.done += items;
        self.shared.control.count(self.worker, items);
        self.shared.control.tell(self.seen);
    }

    pub(super) fn stop(&self) {
        self.shared.ending.stop();
    }

    pub(super) fn done(&self) -> usize {
        self.done
    }

    /// How many chunks were claimed since this was asked last.
    #[inline]
    pub(super) fn take_chunks(&mut self) -> u64 {
        std::mem::take(&mut self.chunks)
    }

    /// Claims the next chunk, in whichever epoch has one.
    #[inline]
    fn claim(&mut self) -> bool {
        loop {
            if let Some(places) = self.epoch.source.claim(self.seat) {
                self.chunks += 1;
                self.claimed = places;
                return true;
            }
            if self.steal_cold() {
                return true;
            }
            if !self.move_on_cold() {
                return false;
            }
        }
    }

    /// A range of another participant's, unless its owner is as good as done with it.
    #[cold]
    fn steal_cold(&mut self) -> bool {
        let source = &self.epoch.source;
        let Some(left) = source.prospect(self.seat) else { return false };
        let now = now_ns();
        let patience_ns = Halving::patience_ns(left, self.done, now - self.since_ns);
        while now_ns() - now < patience_ns {
            spin_loop();
        }
        let Some(places) = source.steal(self.seat) else { return false };
        self.chunks += 1;
        self.claimed = places;
        if source.is_closed(self.seat) {
            self.shared.plan.lock().give_back(&self.epoch, &mut self.claimed);
        }
        !self.claimed.is_empty()
    }

    /// Goes on where something is left, or leaves.
    #[cold]
    fn move_on_cold(&mut self) -> bool {
        let mut plan = self.shared.plan.lock();
        if !self.agree(&mut plan) {
            return false;
        }
        match plan.after(&self.epoch, self.seat) {
            Some(next) => self.move_to(next),
            None => {
                self.leave(&mut plan);
                return false;
            }
        }
        drop(plan);
        (self.hire)();
        true
    }

    /// Follows wishes that have changed. False if there is nothing more to do here.
    #[cold]
    fn follow_cold(&mut self) -> bool {
        // Whoever holds the lock is about to close the source; meanwhile it can be claimed from.
        let Some(mut plan) = self.shared.plan.try_lock() else { return true };
        if !self.agree(&mut plan) {
            return false;
        }
        drop(plan);
        (self.hire)();
        true
    }

    /// Brings the plan and this participant to what is wished now. False if it has to leave.
    fn agree(&mut self, plan: &mut Plan) -> bool {
        let (version, wishes) = self.shared.control.follow();
        self.seen = version;
        if is_cancelled(version) {
            self.stop();
            return false;
        }
        let terms = self.shared.terms(wishes);
        let stays = self.rank < terms.threads;
        if !stays || !plan.is_in_force(terms) || !plan.is_current(&self.epoch) {
            plan.give_back(&self.epoch, &mut self.claimed);
        }
        plan.follow(terms, terms.seat(self.shared.workers, self.worker, self.rank));
        if !stays {
            self.leave(plan);
        } else if !plan.is_current(&self.epoch) {
            self.move_to(plan.epoch());
        }
        stays
    }

    fn move_to(&mut self, epoch: Arc<Epoch>) {
        self.end_claims();
        self.epoch = epoch;
        self.seat = self.epoch.terms.seat(self.shared.workers, self.worker, self.rank);
    }

    /// This participant claims no more from its epoch.
    fn end_claims(&self) {
        let source = &self.epoch.source;
        if source.is_timed() {
            source.measured(self.seat, self.done, now_ns() - self.since_ns);
        }
        source.leave(self.seat);
    }

    fn leave(&mut self, plan: &mut Plan) {
        self.is_seated = false;
        self.end_claims();
        plan.leave_rank(self.rank);
    }
}

impl Drop for Claims<'_> {
    fn drop(&mut self) {
        if self.is_seated {
            self.end_claims();
            self.shared.plan.lock().leave_rank(self.rank);
        }
    }
}
