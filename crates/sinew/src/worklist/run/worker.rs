//! A seat that runs units.

use std::collections::VecDeque;

use fastrand::Rng;
use sinew_core::{Occupant, Scope};
use sinew_policy::worklist::{Settings, swap, units};
use sinew_sync::atomic::spin_loop;
use sinew_sync::clock::{TICKS_A_US, ticks};
use sinew_sync::thread::yield_now;

use super::{Arena, Hand, Version};
use crate::worklist::lists::{Access, Entry};
use crate::worklist::places::Place;
use crate::worklist::tally::Tally;
use crate::worklist::team::{Role, Terms};
use crate::worklist::work::{Failure, More, Run, Turn};

/// Attempts given up in a row, of whichever units, before the next one is made irrevocable: so that each worker commits after a bounded number.
const PATIENCE: u32 = if cfg!(shuttle) { 3 } else { 64 };

/// How long a worker without units searches before it leaves, in ticks.
const SEARCH: u64 = 20 * TICKS_A_US;

/// The longest pause after an attempt that was given up is two to this power looks.
const LONGEST_PAUSE: u32 = if cfg!(shuttle) { 1 } else { 10 };

/// Why a seat's task is done with what it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// There is nothing left to do here.
    Over,
    /// The terms want something else of this seat.
    Moved,
    /// Another worker of the pool is to have this seat.
    Relieved,
}

pub(super) struct Worker<'w, 'scope, 'env, 'r, R: Run> {
    arena: &'scope Arena<'r, R>,
    w: &'w Hand,
    part: Occupant<'w>,
    s: &'scope Scope<'scope, 'env>,
    seat: usize,
    terms: Terms,
    version: Version,
    /// What the terms want of this seat.
    role: Role,
    /// Whether a helper may run the next unit ahead.
    helped: bool,
    /// The units taken: those of the transaction that is next, then those that a helper runs ahead.
    held: VecDeque<Entry<R::Unit>>,
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
}

impl<'w, 'scope: 'w, 'env, 'r, R: Run> Worker<'w, 'scope, 'env, 'r, R> {
    pub(super) fn new(
        arena: &'scope Arena<'r, R>,
        w: &'w Hand,
        s: &'scope Scope<'scope, 'env>,
        seat: usize,
    ) -> Self {
        let kept = arena.seats[seat].local.lock().take();
        let local = kept.unwrap_or_else(|| arena.run.init(seat));
        arena.team.enter();
        let version = arena.version(w);
        arena.tell_cores(w);
        let terms = arena.terms(w);
        let part = Occupant::enter(w, arena.course.as_ref(), seat);
        arena.sites.note(seat, w.pinned_cpu());
        Self {
            arena,
            w,
            part,
            s,
            seat,
            version,
            role: terms.role(seat),
            helped: terms.helps(seat),
            terms,
            held: VecDeque::with_capacity(4),
            values: Vec::with_capacity(2),
            more: More(Vec::new()),
            local: Some(local),
            place: Place::new(arena.control.pages(), arena.several_nodes),
            // To the model checker a schedule has to be the same again.
            rng: if cfg!(shuttle) { Rng::with_seed(seat as u64) } else { Rng::new() },
            failures: 0,
            retries: 0,
            next_look: 0,
        }
    }

    /// Runs units until there are none for a while, or the settings have no use for this worker.
    pub(super) fn run(mut self) -> End {
        loop {
            let now = self.arena.version(self.w);
            if now != self.version && self.follow(now) {
                return End::Relieved;
            }
            if self.arena.is_over() {
                return End::Over;
            }
            if self.role != Role::Work {
                return End::Moved;
            }
            if self.part.look_around() {
                self.note_site();
            }
            self.steer();
            if !self.fill() {
                return End::Over;
            }
            self.call_others();
            self.process();
        }
    }

    /// Says where its thread is now, for the helpers.
    fn note_site(&self) {
        self.arena.sites.note(self.seat, self.w.pinned_cpu());
    }

    fn tally(&self) -> &'scope Tally {
        &self.arena.seats[self.seat].tally
    }

    fn access(&self) -> Access<'scope> {
        let Settings { stealing, threads, .. } = self.terms.settings;
        Access { worker: self.seat, stealing, alone: threads == 1, tally: self.tally() }
    }

    /// Takes up what has changed. True if another worker of the pool is to go on here.
    #[cold]
    fn follow(&mut self, now: Version) -> bool {
        let before = std::mem::replace(&mut self.version, now);
        self.arena.tell_cores(self.w);
        self.part.follow();
        self.note_site();
        self.place.choose(self.arena.control.pages());
        let Settings { stealing: stole, .. } = self.terms.settings;
        self.terms = self.arena.terms(self.w);
        self.role = self.terms.role(self.seat);
        self.helped = self.terms.helps(self.seat);
        let Settings { stealing, threads, .. } = self.terms.settings;
        if stealing && !stole {
            self.arena.lists.deal(threads, self.tally());
        }
        self.arena.spawn_missing(self.s, &self.terms, 0);
        Arena::<R>::is_relieved(self.seat, self.w, before, now)
    }

    #[inline]
    fn steer(&mut self) {
        let Some(steering) = self.arena.steering else { return };
        let commits = self.tally().commits.get();
        if commits >= self.next_look {
            self.arena.steer(steering);
            self.next_look = commits + self.arena.look_every(steering);
        }
    }

    /// Takes units for the next transaction. False if there are none.
    #[inline]
    fn fill(&mut self) -> bool {
        self.take() || self.search()
    }

    fn take(&mut self) -> bool {
        let wanted = units::to_take(self.terms.settings.coalescing, self.helped, self.held.len());
        wanted == 0 || self.arena.lists.take(self.access(), wanted, &mut self.held) || !self.held.is_empty()
    }

    /// Looks everywhere, until there are units, all workers search, or it has taken too long.
    #[cold]
    fn search(&mut self) -> bool {
        let (team, began) = (&self.arena.team, ticks());
        team.begin_search();
        while !self.is_over() && ticks().saturating_sub(began) < SEARCH {
            if self.arena.lists.any() {
                team.end_search();
                if self.take() || self.steal() {
                    return true;
                }
                team.begin_search();
            }
            spin_loop();
        }
        team.end_search();
        false
    }

    fn steal(&mut self) -> bool {
        self.arena.lists.steal(self.access(), self.rng.usize(..)) && self.take()
    }

    /// Whether no unit is left (E2 of `team`).
    fn is_over(&self) -> bool {
        let team = &self.arena.team;
        team.is_stopped() || (team.all_search() && !self.arena.lists.any() && team.all_search())
    }

    /// Has a worker that has left come back where there is something for it.
    #[inline]
    fn call_others(&self) {
        if self.arena.team.is_short(&self.terms) && self.arena.lists.has_spare(self.access()) {
            self.arena.spawn_missing(self.s, &self.terms, 0);
        }
    }

    /// Runs the next transaction until it commits, or another unit is to be tried first.
    fn process(&mut self) {
        let mut count = self.held.len().min(1 + usize::from(self.terms.settings.coalescing));
        self.hand_over(count);
        loop {
            let favoured = self.failures >= PATIENCE;
            let Some(first) = self.held.front() else { return };
            let units = [Some(first), self.held.get(1).filter(|_| count > 1)];
            let turn = Turn { seat: self.seat, favoured };
            let units = units.map(|entry| entry.map(Entry::unit));
            match self.arena.run.attempt(units, &mut self.values, &mut self.more, turn) {
                Ok(()) => return self.commit(count, favoured),
                Err(Failure::Conflict) => self.give_up(),
                Err(Failure::Waits) => {
                    count = 1;
                    self.give_way();
                }
            }
            if self.arena.is_over() {
                return;
            }
        }
    }

    /// Hands the unit after the next `count` to the helper.
    #[inline]
    fn hand_over(&mut self, count: usize) {
        if self.helped {
            let ahead = &self.arena.seats[self.seat].ahead;
            let next = if self.held.len() > count { self.held.remove(count) } else { None };
            ahead.hand(next.map(|next| {
                let (kept, handed) = next.share();
                self.held.insert(count, kept);
                handed
            }));
        }
    }

    fn commit(&mut self, count: usize, favoured: bool) {
        let tally = self.tally();
        tally.commits.add(count as u64);
        if count > 1 {
            tally.coalesced.add(1);
        }
        if favoured {
            tally.favoured.add(1);
        }
        (self.failures, self.retries) = (0, 0);
        (0..count).for_each(|_| drop(self.held.pop_front()));
        if !self.more.0.is_empty() {
            self.add();
        }
        let Some(local) = &mut self.local else { return };
        self.values.drain(..).for_each(|value| self.arena.run.fold(local, value));
        self.arena.count(self.w, count);
    }

    /// Adds what the transaction has added.
    fn add(&mut self) {
        self.place.adds_units();
        self.tally().added.add(self.more.0.len() as u64);
        self.arena.expect(self.more.0.len());
        let access = self.access();
        self.arena.lists.add(access, self.more.0.drain(..).map(Entry::Own));
    }

    /// After a conflict: another unit, if it is time for that, or a pause.
    #[cold]
    fn give_up(&mut self) {
        self.count_failure();
        if !(swap::is_due(self.retries, self.terms.settings.swap_after) && self.swap()) {
            self.pause();
        }
    }

    /// After an attempt that waits for others: another unit, wherever there is one.
    #[cold]
    fn give_way(&mut self) {
        self.count_failure();
        // Waiting is no conflict, and being irrevocable would not help.
        self.failures = 0;
        if !self.swap() {
            self.held.rotate_left(1);
            yield_now();
        }
    }

    fn count_failure(&mut self) {
        self.values.clear();
        self.more.0.clear();
        self.tally().aborts.add(1);
        self.failures += 1;
        self.retries += 1;
        if self.helped {
            self.arena.seats[self.seat].ahead.again();
        }
    }

    fn swap(&mut self) -> bool {
        let (access, random) = (self.access(), self.rng.u64(..));
        let swapped = self.arena.lists.swap(access, &mut self.held[0], random);
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

impl<R: Run> Drop for Worker<'_, '_, '_, '_, R> {
    /// Leaves everything as it was found: units go back to the lists, what is kept goes back to the seat.
    fn drop(&mut self) {
        if self.helped {
            self.arena.seats[self.seat].ahead.hand(None);
        }
        if std::thread::panicking() {
            self.arena.team.stop();
        }
        if !self.held.is_empty() {
            let access = self.access();
            self.arena.lists.add(access, self.held.drain(..));
        }
        *self.arena.seats[self.seat].local.lock() = self.local.take();
        self.arena.team.leave();
    }
}
