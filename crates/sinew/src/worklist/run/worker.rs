//! A slot that runs units.
//!
//! # Cost
//!
//! Short units are run in *stretches*, one after the other. After the last one the worker checks
//! all that is to be checked between units: settings, requests, limits, cancellation, the tuner,
//! missing workers. How many follows from how long the last ones took
//! ([`Participant::items_until_poll`]): one, if they are long, up to 64. Each unit costs an
//! attempt, a fold, and a check whether it has added units. A stretch ends early with a unit that
//! adds others, so that thieves find these, or is given up.
//!
//! # Invariants
//!
//! - W1: however a stretch ends, also by a panic of a unit or of a fold, the units that have
//!   committed are counted and no longer held, and all others go back to the lists.

use fastrand::Rng;
use sinew_core::Scope;
use sinew_loops::Participant;
use sinew_policy::worklist::{Settings, swap, units};
use sinew_stm::Change;
use sinew_sync::atomic::spin_loop;
use sinew_sync::clock::{TICKS_A_US, ticks};
use sinew_sync::plant::{Bug, planted};

use super::{PoolWorker, RunState, Version};
use crate::worklist::lists::{Access, Entry};
use crate::worklist::local_units::LocalUnits;
use crate::worklist::places::Place;
use crate::worklist::tally::Tally;
use crate::worklist::team::{InForce, Role};
use crate::worklist::work::{Failure, More, Run, Turn};

/// Attempts given up in a row, of whichever units, before the next one is made irrevocable: so that
/// each worker commits after a bounded number.
const FAILURES_BEFORE_TOKEN: u32 = if cfg!(shuttle) { 3 } else { 64 };

/// How long a worker without units searches before it leaves, in ticks.
const SEARCH: u64 = 20 * TICKS_A_US;

/// The longest pause after an attempt that was given up is two to this power looks.
const LONGEST_PAUSE: u32 = if cfg!(shuttle) { 1 } else { 10 };

/// Why a slot's task is done with what it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// There is nothing left to do here.
    Over,
    /// The slot has another role now.
    Moved,
    /// Another worker of the pool is to have this slot.
    Relieved,
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
    /// Whether a helper may run the next unit ahead.
    helped: bool,
    /// The units taken: those of the transaction that is next, then those that a helper runs ahead.
    held: LocalUnits<R::Unit>,
    values: Vec<R::Value>,
    more: More<R::Unit>,
    local: Option<R::Local>,
    place: Place,
    rng: Rng,
    /// Attempts given up since the last commit, and since the last swap.
    failures: u32,
    retries: u32,
    /// Commits at which the tuner is asked to look next.
    next_look: u64,
    /// Units run since it last looked for changes.
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
        state.tell_cores(w);
        let in_force = state.in_force(w);
        let participant = Participant::enter(w, state.operation.as_ref(), slot);
        state.sites.note(slot, w.pinned_cpu());
        Self {
            state,
            w,
            participant,
            s,
            slot,
            version,
            role: in_force.role(slot),
            helped: in_force.helps(slot),
            in_force,
            held: LocalUnits::new(),
            values: Vec::with_capacity(2),
            more: More(Vec::new()),
            local: Some(local),
            place: Place::new(state.settings.pages(), state.several_nodes),
            // To the model checker a schedule has to be the same again.
            rng: if cfg!(shuttle) { Rng::with_seed(slot as u64) } else { Rng::new() },
            failures: 0,
            retries: 0,
            next_look: 0,
            ran: 0,
        }
    }

    /// Runs units until there are none for a while, or the settings have no use for this worker.
    pub(super) fn run(mut self) -> End {
        loop {
            let now = self.state.version(self.w);
            if now != self.version && self.follow(now) {
                return End::Relieved;
            }
            if self.state.is_over() {
                return End::Over;
            }
            if self.role != Role::Work {
                return End::Moved;
            }
            if self.participant.poll_after(std::mem::take(&mut self.ran)) {
                self.note_site();
            }
            self.steer();
            if !self.fill() {
                return End::Over;
            }
            self.call_others();
            if self.is_plain() {
                self.process_plain();
            } else {
                self.process();
            }
        }
    }

    /// Says where its thread is now, for the helpers.
    fn note_site(&self) {
        self.state.sites.note(self.slot, self.w.pinned_cpu());
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
            brief: self.participant.items_until_poll() as usize,
            tally: self.tally(),
        }
    }

    /// Takes up what has changed. True if another worker of the pool is to go on here.
    #[cold]
    fn follow(&mut self, now: Version) -> bool {
        let before = std::mem::replace(&mut self.version, now);
        self.state.tell_cores(self.w);
        if let Some(operation) = &self.state.operation {
            operation.follow(self.w);
        }
        self.note_site();
        self.place.choose(self.state.settings.pages());
        let Settings { stealing: stole, .. } = self.in_force.settings;
        self.in_force = self.state.in_force(self.w);
        self.role = self.in_force.role(self.slot);
        self.helped = self.in_force.helps(self.slot);
        let Settings { stealing, threads, .. } = self.in_force.settings;
        if stealing && !stole {
            self.state.lists.deal(threads, self.tally());
        }
        self.state.spawn_missing(self.s, &self.in_force, 0);
        RunState::<R>::is_relieved(self.slot, self.w, before, now)
    }

    #[inline]
    fn steer(&mut self) {
        let Some(steering) = self.state.steering else { return };
        let commits = self.tally().commits.get();
        if commits >= self.next_look {
            self.state.steer(steering);
            self.next_look = commits + self.state.look_every(steering);
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

    /// Looks everywhere, until there are units, all workers search, or it has taken too long. Woken
    /// units come before a steal, since they disturb no other worker.
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

    /// Moves the units that were woken into the list that is preferred, where others can steal
    /// them, and takes some.
    fn take_woken(&mut self) -> bool {
        if !self.state.parked.any_woken() {
            return false;
        }
        self.state.lists.add(self.access(), self.state.parked.take_woken());
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

    /// Has a worker that has left come back where there is something for it.
    #[inline]
    fn call_others(&self) {
        let state = self.state;
        if state.team.is_short(&self.in_force)
            && (state.lists.has_spare(self.access()) || state.parked.any_woken())
        {
            self.state.spawn_missing(self.s, &self.in_force, 0);
        }
    }

    /// Whether units are run one by one and not reported, and the last one was not given up.
    #[inline]
    fn is_plain(&self) -> bool {
        !self.helped
            && !self.in_force.settings.coalescing
            && self.failures == 0
            && !self.state.run.is_watched()
    }

    /// Runs units as long as nothing else is to be done between them: until it is time to look for
    /// changes, one is given up, or one has added others.
    #[inline]
    fn process_plain(&mut self) {
        let Some(local) = &mut self.local else { return };
        let (state, w, tally) = (self.state, self.w, &self.state.slots[self.slot].tally);
        let most = self.held.len().min(self.participant.items_until_poll() as usize);
        let mut stretch = Stretch { state, w, tally, held: &mut self.held, ran: 0 };
        let attempt = state.run.one_by_one();
        let mut last = None;
        for unit in stretch.held.first_ones(most) {
            match attempt(unit, &mut self.more) {
                Ok(value) if self.more.0.is_empty() => {
                    stretch.ran += 1;
                    state.run.fold(local, value);
                }
                other => {
                    stretch.ran += usize::from(other.is_ok());
                    last = Some(other);
                    break;
                }
            }
        }
        // An attempt that was given up took its time as well.
        self.ran = stretch.ran.max(1) as u32;
        drop(stretch);
        match last {
            Some(Ok(value)) => self.add_and_fold(value),
            Some(Err(Failure::Waits(change))) => self.park(change),
            Some(Err(_)) => self.give_up(),
            None => {}
        }
        state.report_progress();
    }

    /// After the commit of a unit that has added others: these first, as the fold may panic.
    fn add_and_fold(&mut self, value: R::Value) {
        self.add();
        if let Some(local) = &mut self.local {
            self.state.run.fold(local, value);
        }
    }

    /// Runs the next transaction until it commits, or another unit is to be tried first.
    #[inline(never)]
    fn process(&mut self) {
        let mut count = self.held.len().min(1 + usize::from(self.in_force.settings.coalescing));
        self.hand_over(count);
        loop {
            let favoured = self.failures >= FAILURES_BEFORE_TOKEN;
            if self.held.is_empty() {
                return;
            }
            let units = [self.held.first(), self.held.second().filter(|_| count > 1)];
            let turn = Turn { slot: self.slot, favoured };
            match self.state.run.attempt(units, &mut self.values, &mut self.more, turn) {
                Ok(()) => return self.commit(favoured),
                Err(Failure::Waits(change)) => return self.park(change),
                Err(Failure::SecondWaits) => {
                    count = 1;
                    self.count_failure();
                }
                Err(Failure::Conflict) => self.give_up(),
            }
            if self.state.is_over() {
                return;
            }
        }
    }

    /// Offers the unit after the next `count` to the helper.
    #[inline]
    fn hand_over(&mut self, count: usize) {
        if self.helped {
            let ahead = &self.state.slots[self.slot].ahead;
            ahead.offer(self.held.share(count));
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
        self.state.report_progress();
    }

    /// Adds what the transaction has added.
    fn add(&mut self) {
        self.place.adds_units();
        self.tally().added.add(self.more.0.len() as u64);
        self.state.add_items(self.more.0.len());
        let access = self.access();
        self.state.lists.add(access, self.more.0.drain(..).map(Entry::Own));
    }

    /// After a conflict: another unit, if it is time for that, or a pause.
    #[cold]
    fn give_up(&mut self) {
        self.count_failure();
        if !(swap::is_due(self.retries, self.in_force.settings.swap_after) && self.swap()) {
            self.pause();
        }
    }

    /// After an attempt of the first unit that waits for `change`: it is not among the local units
    /// until then.
    #[cold]
    fn park(&mut self, change: Change) {
        self.forget_attempt();
        self.tally().waits.add(1);
        (self.failures, self.retries) = (0, 0);
        // An attempt that waits took its time as well.
        self.ran += 1;
        if let Some(unit) = self.held.take_first() {
            self.state.parked.park(unit, change);
        }
    }

    /// Drops what an attempt has left that did not commit.
    fn forget_attempt(&mut self) {
        self.values.clear();
        self.more.0.clear();
    }

    fn count_failure(&mut self) {
        self.forget_attempt();
        self.tally().aborts.add(1);
        self.failures += 1;
        self.retries += 1;
        if self.helped {
            self.state.slots[self.slot].ahead.again();
        }
    }

    fn swap(&mut self) -> bool {
        let (access, random) = (self.access(), self.rng.u64(..));
        let swapped =
            self.held.first_mut().is_some_and(|first| self.state.lists.swap(access, first, random));
        if swapped {
            self.retries = 0;
            self.tally().swaps.add(1);
        }
        swapped
    }

    fn pause(&mut self) {
        (0..self.rng.u32(0..1 << self.failures.min(LONGEST_PAUSE))).for_each(|_| spin_loop());
    }
}

/// Units that are run one after the other. Its drop counts those that have run, and takes them out
/// of the worker's local units (W1).
struct Stretch<'a, 'r, R: Run> {
    state: &'a RunState<'r, R>,
    w: &'a PoolWorker,
    tally: &'a Tally,
    held: &'a mut LocalUnits<R::Unit>,
    ran: usize,
}

impl<R: Run> Drop for Stretch<'_, '_, R> {
    #[inline]
    fn drop(&mut self) {
        if planted(Bug::LostStretch) && std::thread::panicking() {
            return;
        }
        self.tally.commits.add(self.ran as u64);
        self.state.count(self.w, self.ran);
        self.held.drop_first(self.ran);
    }
}

impl<R: Run> Drop for Worker<'_, '_, '_, '_, R> {
    /// Leaves everything as it was found: units go back to the lists, what is kept goes back to the
    /// slot.
    fn drop(&mut self) {
        if self.helped {
            self.state.slots[self.slot].ahead.offer(None);
        }
        if std::thread::panicking() {
            self.state.team.stop();
        }
        if !self.held.is_empty() {
            let access = self.access();
            self.state.lists.add(access, self.held.drain());
        }
        *self.state.slots[self.slot].local.lock() = self.local.take();
        self.state.team.leave();
    }
}
