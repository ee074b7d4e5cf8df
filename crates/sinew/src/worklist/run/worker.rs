//! A slot that runs units.
//!
//! # Cost
//!
//! Short units are run in *batches*. Between two batches the worker checks settings, requests,
//! limits, cancellation, the tuner, and missing workers. The size of a batch follows from the time
//! that the last units took ([`Participant::items_until_poll`]): from 1 to 64. Each unit costs an
//! attempt, a fold, and a check whether it has added units. A batch ends early after a failed
//! attempt, and once it has added units: with the order `Lifo` after the first, as the worker runs
//! these next, otherwise after [`MOST_ADDED`]. They enter the list together.
//!
//! # Invariants
//!
//! - W1: however a batch ends, also by a panic of a unit or of a fold, the committed units are
//!   counted and no longer held, and all others return to the lists, with those that the committed
//!   ones have added.
//!
//! Planted bugs of the model: `LostBatch` and `LostAdditions` (W1).

use fastrand::Rng;
use sinew_core::Scope;
use sinew_loops::Participant;
use sinew_policy::worklist::{Settings, swap, units};
use sinew_stm::Change;
use sinew_sync::atomic::{self, Ordering, spin_loop};
use sinew_sync::clock::{TICKS_PER_US, ticks};
use sinew_sync::fence;
use sinew_sync::plant::{Bug, planted};

use super::{PoolWorker, RunState, Version, or_resume};
use crate::worklist::lists::Access;
use crate::worklist::local_units::LocalUnits;
use crate::worklist::places::PagePolicy;
use crate::worklist::tally::Tally;
use crate::worklist::team::{InForce, Role};
use crate::worklist::work::{AttemptOptions, Failure, More, Run};

/// Consecutive failed attempts, of any units, before the next attempt is irrevocable. So each
/// worker commits after a bounded number of attempts.
const FAILURES_BEFORE_TOKEN: u32 = if cfg!(shuttle) { 3 } else { 64 };

/// The most units that a batch adds before it ends.
const MOST_ADDED: usize = if cfg!(shuttle) { 2 } else { 256 };

/// How long a worker without units searches before it leaves, in ticks.
const SEARCH: u64 = 20 * TICKS_PER_US;

/// The longest pause after a failed attempt is two to this power spins.
const MAX_PAUSE_EXPONENT: u32 = if cfg!(shuttle) { 1 } else { 10 };

/// Why a slot's role has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// There is no work for the slot.
    Over,
    /// The slot has another role.
    RoleChanged,
    /// Another worker of the pool should take the slot.
    Replaced,
}

pub(super) struct Worker<'w, 'scope, 'env, 'r, R: Run> {
    state: &'scope RunState<'r, R>,
    w: &'w PoolWorker,
    participant: Participant<'w>,
    s: &'scope Scope<'scope, 'env>,
    slot: usize,
    in_force: InForce,
    version: Version,
    /// The role of this slot.
    role: Role,
    /// Whether the worker has a helper.
    helped: bool,
    /// The taken units: those of the next transaction, then those that only the helper runs yet.
    held: LocalUnits<'scope, R::Unit>,
    values: Vec<R::Value>,
    more: More<R::Unit>,
    local: Option<R::Local>,
    page_policy: PagePolicy,
    rng: Rng,
    /// Failed attempts since the last commit.
    failures: u32,
    /// Failed attempts since the last commit or swap.
    retries: u32,
    /// The number of commits at which the tuner is polled next: a part of its epoch, which has a
    /// number of commits and no duration, so no clock paces it.
    next_poll: u64,
    /// Units run since the last poll of the participant.
    ran: u32,
}

impl<'w, 'scope: 'w, 'env, 'r, R: Run> Worker<'w, 'scope, 'env, 'r, R> {
    pub(super) fn new(
        state: &'scope RunState<'r, R>,
        w: &'w PoolWorker,
        s: &'scope Scope<'scope, 'env>,
        slot: usize,
    ) -> Self {
        let kept = state.slots[slot].local.lock().take();
        let local = kept.unwrap_or_else(|| state.run.init(slot));
        state.team.enter();
        let version = state.version(w);
        state.update_cores(w);
        let in_force = state.in_force(w);
        let participant = Participant::enter(w, state.operation.as_ref(), slot);
        state.worker_cpus.record(slot, w.pinned_cpu());
        let mut worker = Self {
            state,
            w,
            participant,
            s,
            slot,
            version,
            role: in_force.role(slot),
            helped: false,
            in_force,
            held: LocalUnits::new(),
            values: Vec::with_capacity(2),
            more: More(Vec::new()),
            local: Some(local),
            page_policy: PagePolicy::new(state.settings.pages(), state.several_nodes),
            // The model checker needs reproducible schedules.
            rng: if cfg!(shuttle) { Rng::with_seed(slot as u64) } else { Rng::new() },
            failures: 0,
            retries: 0,
            next_poll: 0,
            ran: 0,
        };
        worker.show_units();
        worker
    }

    /// Shows its units to its helper, if it has one now.
    fn show_units(&mut self) {
        let helped = self.in_force.helps(self.slot);
        if helped != self.helped {
            self.helped = helped;
            let ring = &self.state.slots[self.slot].lookahead;
            self.held.show_in(helped.then(|| ring.owner()).flatten());
        }
    }

    /// Runs units until there are none for a while, or the slot's role changes.
    pub(super) fn run(mut self) -> End {
        loop {
            let now = self.state.version(self.w);
            if now != self.version && self.follow(now) {
                return End::Replaced;
            }
            if self.state.is_over() || self.is_paused() {
                return End::Over;
            }
            if self.role != Role::Work {
                return End::RoleChanged;
            }
            if self.participant.poll_after(std::mem::take(&mut self.ran)) {
                self.record_cpu();
                self.state.check_round();
            }
            self.poll_tuner();
            if !self.fill() {
                return End::Over;
            }
            self.recruit();
            if self.runs_one_by_one() {
                self.process_batch();
            } else {
                self.process();
            }
        }
    }

    /// Whether the round is over. A failed attempt is repeated first: its worker would begin the
    /// next round without a count of failures, and so might never become irrevocable.
    #[inline]
    fn is_paused(&self) -> bool {
        self.failures == 0 && self.state.team.is_paused()
    }

    /// Records the CPU of its thread, for the helpers.
    fn record_cpu(&self) {
        self.state.worker_cpus.record(self.slot, self.w.pinned_cpu());
    }

    fn tally(&self) -> &'scope Tally {
        &self.state.slots[self.slot].tally
    }

    fn access(&self) -> Access<'scope> {
        let Settings { stealing, threads, .. } = self.in_force.settings;
        Access {
            worker: self.slot,
            stealing,
            alone: threads == 1,
            max_batch: self.participant.items_until_poll() as usize,
            tally: self.tally(),
        }
    }

    /// Follows changes. True if another worker of the pool should take the slot.
    #[cold]
    fn follow(&mut self, now: Version) -> bool {
        let before = std::mem::replace(&mut self.version, now);
        self.state.update_cores(self.w);
        if let Some(operation) = &self.state.operation {
            operation.follow(self.w);
        }
        self.record_cpu();
        self.page_policy.choose(self.state.settings.pages());
        let Settings { stealing: stole, .. } = self.in_force.settings;
        self.in_force = self.state.in_force(self.w);
        self.role = self.in_force.role(self.slot);
        self.show_units();
        let Settings { stealing, threads, .. } = self.in_force.settings;
        if stealing && !stole {
            self.state.lists.deal(threads, self.tally());
        }
        self.state.spawn_missing(self.s, &self.in_force, 0);
        RunState::<R>::is_replaced(self.slot, self.w, before, now)
    }

    #[inline]
    fn poll_tuner(&mut self) {
        let Some(list_tuner) = self.state.list_tuner else { return };
        let commits = self.tally().commits.get();
        if commits >= self.next_poll {
            self.state.poll_tuner(list_tuner);
            self.next_poll = commits + self.state.poll_interval(list_tuner);
        }
    }

    /// Takes units for the next transaction. False if there are none.
    #[inline]
    fn fill(&mut self) -> bool {
        self.take() || self.search()
    }

    fn take(&mut self) -> bool {
        let wanted =
            units::to_take(self.in_force.settings.coalescing, self.helped, self.held.len());
        wanted == 0
            || self.state.lists.take(self.access(), wanted, &mut self.held)
            || !self.held.is_empty()
    }

    /// Searches all lists until it finds units, all workers search, or the time is over. Takes
    /// woken units before it steals, because they disturb no other worker.
    #[cold]
    fn search(&mut self) -> bool {
        let (team, began) = (&self.state.team, ticks());
        team.begin_search();
        while !self.is_over() && ticks().saturating_sub(began) < SEARCH {
            if self.state.has_ready() {
                team.end_search();
                if self.take() || self.take_woken() || self.steal() {
                    return true;
                }
                team.begin_search();
            }
            spin_loop();
        }
        team.end_search();
        false
    }

    /// Moves the woken units to the preferred list, from which others can steal, and takes some.
    fn take_woken(&mut self) -> bool {
        if !self.state.parked.any_woken() {
            return false;
        }
        or_resume(self.state.lists.add(self.access(), self.state.parked.take_woken()));
        self.take()
    }

    fn steal(&mut self) -> bool {
        self.state.lists.steal(self.access(), self.rng.usize(..)) && self.take()
    }

    /// Whether no unit is left (E2 of `team`).
    fn is_over(&self) -> bool {
        let team = &self.state.team;
        team.is_stopped() || (team.all_search() && !self.state.has_ready() && team.all_search())
    }

    /// Spawns missing workers if there are units for them.
    #[inline]
    fn recruit(&self) {
        let state = self.state;
        if !(state.lists.has_spare(self.access()) || state.parked.any_woken()) {
            return;
        }
        // E3.
        if fence::is_asymmetric() {
            fence::light();
        } else {
            atomic::fence(Ordering::SeqCst);
        }
        if state.team.is_short(&self.in_force) {
            state.spawn_missing(self.s, &self.in_force, 0);
        }
    }

    /// Whether units run one by one without a report, and the last attempt did not fail.
    #[inline]
    fn runs_one_by_one(&self) -> bool {
        !self.helped
            && !self.in_force.settings.coalescing
            && self.failures == 0
            && !self.state.run.is_watched()
    }

    /// Runs a batch of units: until a poll is due, an attempt fails, or enough units were added.
    #[inline]
    fn process_batch(&mut self) {
        let access = self.access();
        let Some(local) = &mut self.local else { return };
        let (state, w) = (self.state, self.w);
        let most_added = if state.is_lifo { 0 } else { MOST_ADDED };
        let most = self.held.len().min(access.max_batch);
        let (held, more, page_policy) = (&mut self.held, &mut self.more, &mut self.page_policy);
        let mut batch = Batch { state, w, access, held, more, page_policy, ran: 0, added: 0 };
        let attempt = state.run.one_by_one();
        let mut failure = None;
        for unit in batch.held.first_ones(most) {
            match attempt(unit, local, batch.more) {
                Ok(value) => {
                    batch.ran += 1;
                    batch.added = batch.more.0.len();
                    state.run.fold(local, value);
                    if batch.added > most_added {
                        break;
                    }
                }
                Err(why) => {
                    failure = Some(why);
                    break;
                }
            }
        }
        // A failed attempt took time as well.
        self.ran = batch.ran.max(1) as u32;
        drop(batch);
        match failure {
            Some(Failure::Waits(change)) => self.park(change),
            Some(_) => self.handle_conflict(),
            None => {}
        }
        state.check_clock();
    }

    /// Runs the next transaction until it commits, waits or is swapped.
    #[inline(never)]
    fn process(&mut self) {
        let mut count = self.held.len().min(1 + usize::from(self.in_force.settings.coalescing));
        self.held.show();
        loop {
            let favoured = self.failures >= FAILURES_BEFORE_TOKEN;
            let Some(local) = self.local.as_mut().filter(|_| !self.held.is_empty()) else { return };
            let units = [self.held.get(0), self.held.get(1).filter(|_| count > 1)];
            let options = AttemptOptions { slot: self.slot, favoured };
            match self.state.run.attempt(units, local, &mut self.values, &mut self.more, options) {
                Ok(()) => return self.commit(favoured),
                Err(Failure::Waits(change)) => return self.park(change),
                Err(Failure::SecondWaits) => {
                    count = 1;
                    self.count_failure();
                }
                Err(Failure::Conflict) => self.handle_conflict(),
            }
            if self.state.is_over() {
                return;
            }
        }
    }

    fn commit(&mut self, favoured: bool) {
        let (count, tally) = (self.values.len(), self.tally());
        tally.commits.add(count as u64);
        if count > 1 {
            tally.coalesced.add(1);
        }
        if favoured {
            tally.favoured.add(1);
        }
        (self.failures, self.retries) = (0, 0);
        self.held.drop_first(count);
        self.ran += count as u32;
        if !self.more.0.is_empty() {
            self.add();
        }
        let Some(local) = &mut self.local else { return };
        self.values.drain(..).for_each(|value| self.state.run.fold(local, value));
        self.state.count(self.w, count);
        self.state.check_clock();
    }

    /// Adds the units that the transaction has added.
    fn add(&mut self) {
        let access = self.access();
        or_resume(add(self.state, access, &mut self.page_policy, &mut self.more));
    }

    /// After a conflict: swaps the unit if that is due, or pauses if the contention manager does.
    #[cold]
    fn handle_conflict(&mut self) {
        self.count_failure();
        let swapped = swap::is_due(self.retries, self.in_force.settings.swap_after) && self.swap();
        if !swapped && self.state.run.pauses() {
            self.pause();
        }
    }

    /// Parks the first unit, which waits for `change`.
    #[cold]
    fn park(&mut self, change: Change) {
        self.forget_attempt();
        self.tally().waits.add(1);
        (self.failures, self.retries) = (0, 0);
        // The attempt took time as well.
        self.ran += 1;
        if let Some(unit) = self.held.take_first() {
            self.state.parked.park(unit, change);
        }
    }

    /// Drops the values and units of an attempt that did not commit.
    fn forget_attempt(&mut self) {
        self.values.clear();
        self.more.0.clear();
    }

    fn count_failure(&mut self) {
        self.forget_attempt();
        self.tally().aborts.add(1);
        self.failures += 1;
        self.retries += 1;
    }

    fn swap(&mut self) -> bool {
        let (access, random) = (self.access(), self.rng.u64(..));
        let lists = &self.state.lists;
        let swapped = self.held.swap_first(|first| lists.swap(access, first, random));
        if swapped {
            self.retries = 0;
            self.tally().swaps.add(1);
        }
        swapped
    }

    fn pause(&mut self) {
        self.tally().pauses.add(1);
        (0..self.rng.u32(0..1 << self.failures.min(MAX_PAUSE_EXPONENT))).for_each(|_| spin_loop());
    }
}

/// Adds the units in `more` to the lists.
///
/// # Errors
///
/// As [`Lists::add`](crate::worklist::lists::Lists::add).
fn add<R: Run>(
    state: &RunState<'_, R>,
    access: Access<'_>,
    page_policy: &mut PagePolicy,
    more: &mut More<R::Unit>,
) -> std::thread::Result<()> {
    page_policy.unit_added();
    access.tally.added.add(more.0.len() as u64);
    state.add_items(more.0.len());
    state.lists.add(access, more.0.drain(..))
}

/// A batch of units. Its drop counts those that have run, removes them from the worker's local
/// units, and adds those that they have added (W1).
struct Batch<'a, 'b, 'r, R: Run> {
    state: &'a RunState<'r, R>,
    w: &'a PoolWorker,
    access: Access<'a>,
    held: &'a mut LocalUnits<'b, R::Unit>,
    more: &'a mut More<R::Unit>,
    page_policy: &'a mut PagePolicy,
    ran: usize,
    /// The number of units in `more` that committed units have added.
    added: usize,
}

impl<R: Run> Drop for Batch<'_, '_, '_, R> {
    #[inline]
    fn drop(&mut self) {
        let panicking = std::thread::panicking();
        if panicking && planted(Bug::LostBatch) {
            return;
        }
        self.access.tally.commits.add(self.ran as u64);
        self.state.count(self.w, self.ran);
        self.held.drop_first(self.ran);
        self.more.0.truncate(self.added);
        if self.added == 0 || (panicking && planted(Bug::LostAdditions)) {
            return;
        }
        let result = add(self.state, self.access, self.page_policy, self.more);
        if !panicking {
            or_resume(result);
        }
    }
}

impl<R: Run> Drop for Worker<'_, '_, '_, '_, R> {
    /// Returns the units to the lists, and the local value to the slot.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.state.team.stop();
        }
        if !self.held.is_empty() {
            let access = self.access();
            self.state.lists.put_back(access, &mut self.held);
        }
        *self.state.slots[self.slot].local.lock() = self.local.take();
        self.state.team.leave();
    }
}
