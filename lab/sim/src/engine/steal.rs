//! A worker without a task.
//!
//! The worker asks its policy for a victim, which costs the samples that the policy takes, and
//! reaches the victim after the cost of an attempt. It takes a task that exists then: other thieves
//! or the victim may have been faster. A round without any attempt takes as long as one attempt.

use sinew_policy::Wait;
use sinew_policy::victim::{Candidate, Holder, Outcome};

use super::Simulation;
use crate::models;
use crate::queue::Time;
use crate::random::Duration;
use crate::report::Activity;
use crate::setup::{Idle, Stack, Waiting};
use crate::trace::Step;
use crate::worker::{Frame, Origin, State, Task};
use crate::workload::Workload;

/// Failed rounds, while tasks exist, after which a thief ignores the restrictions of its policy.
pub(super) const LONG: u32 = 8;

impl<W: Workload> Simulation<'_, W> {
    /// The last frame has ended.
    pub(super) fn run_dry(&mut self, me: usize) {
        self.workers[me].state = State::Searches;
        if self.workers[me].is_about_to_leave() {
            self.leave(me);
        } else {
            self.search(me);
        }
    }

    /// Begins a search.
    pub(super) fn search(&mut self, me: usize) {
        (self.workers[me].in_vain, self.workers[me].attempts) = (0, 0);
        self.begin_to_spin(me);
        self.stand_for_mastership(me);
        let ((), price) = self.ask(me, |policy, sight, chance| policy.start(sight, chance));
        self.choose(me, price);
    }

    /// Chooses the next victim or ends the round; `spent` has already passed.
    pub(super) fn choose(&mut self, me: usize, spent: Time) {
        let (victim, price) = self.ask(me, |policy, sight, chance| policy.next(sight, chance));
        match victim {
            Some(victim) => self.set_out(me, victim, true, spent + price),
            None => self.end_round(me, spent + price),
        }
    }

    /// Goes to a victim.
    pub(super) fn set_out(&mut self, me: usize, victim: usize, advised: bool, spent: Time) {
        let cost = self.draw_between(me, victim, self.setup.costs.attempt) + self.miss(me, victim);
        let worker = &mut self.workers[me];
        worker.state = State::Tries { victim: victim as u32, advised };
        worker.attempts += u32::from(advised);
        let doing = worker.idleness();
        self.trace.add(self.queue.now(), me, Step::Tries, victim as u64);
        self.after(me, spent + cost, doing);
    }

    /// The time to fetch what a thief has to read of a victim and does not have in its caches.
    fn miss(&mut self, me: usize, victim: usize) -> Time {
        let seen = (victim as u32, self.workers[victim].tasks.oldest());
        if self.setup.costs.miss.is_zero() || self.workers[me].tried.contains(&seen) {
            return 0;
        }
        self.counters.counts.misses += 1;
        self.draw_between(me, victim, self.setup.costs.miss)
    }

    /// The thief has what it read of the victim, and loses what it has not read for longest.
    fn keep(&mut self, me: usize, victim: usize) {
        if self.setup.costs.miss.is_zero() {
            return;
        }
        let seen = (victim as u32, self.workers[victim].tasks.oldest());
        let tried = &mut self.workers[me].tried;
        tried.retain(|(other, _)| *other != seen.0);
        if tried.len() == models::TRIED {
            tried.remove(0);
        }
        tried.push(seen);
    }

    fn end_round(&mut self, me: usize, spent: Time) {
        let worker = &mut self.workers[me];
        let (idle_round, waits) = (std::mem::take(&mut worker.attempts) == 0, worker.waits());
        worker.in_vain = worker.in_vain.saturating_add(1);
        if self.gives_up(me) {
            return if waits { self.block(me) } else { self.park(me) };
        }
        self.stand_for_mastership(me);
        let spent = spent + self.break_silence(me);
        if idle_round || self.attempts_are_free() {
            self.pause(me, spent);
        } else if waits {
            self.try_thief(me, spent);
        } else {
            self.choose(me, spent);
        }
    }

    /// Whether thieves could repeat attempts in no time while they wait for an operation that takes
    /// time.
    fn attempts_are_free(&self) -> bool {
        self.setup.stack != Stack::Open && self.setup.costs.attempt.is_zero()
    }

    /// Pauses after a round without an attempt. The pause takes as long as an attempt or, if
    /// attempts are free, as long as the operation that the worker waits for.
    fn pause(&mut self, me: usize, spent: Time) {
        let least = match self.setup.stack {
            Stack::SPLIT if self.attempts_are_free() => self.setup.silence,
            Stack::TWO_FIELD if self.attempts_are_free() => self.draw(me, self.setup.costs.steal),
            _ => 1,
        };
        let pause = self.draw(me, self.setup.costs.attempt).max(least).max(1);
        self.workers[me].state = State::Pauses;
        let doing = self.workers[me].idleness();
        self.after(me, spent + pause, doing);
    }

    /// Continues after a pause.
    pub(super) fn ask_again(&mut self, me: usize) {
        if self.has_what_it_waits_for(me) {
            self.go_on_again(me);
        } else if self.workers[me].is_about_to_leave() {
            self.leave(me);
        } else {
            self.choose(me, 0);
        }
    }

    fn gives_up(&self, me: usize) -> bool {
        let rounds = if let Idle::Park { rounds } = self.setup.idle { rounds } else { 1 };
        // A worker that waits is not needed: its task is run by another worker, or that one waits
        // for another that works.
        self.has_spun_enough(me, rounds) && (self.workers[me].waits() || self.on_offer == 0)
    }

    fn park(&mut self, me: usize) {
        self.packages.resign(self.places.package(me), me);
        self.trace.add(self.queue.now(), me, Step::Parks, 0);
        self.calls += 1;
        self.ends_to_spin(me);
        self.parked.push(me as u32);
        self.rest(me, State::Parked, Activity::Parks);
    }

    /// Wakes a parked worker for a task.
    pub(super) fn call_sleeper(&mut self) {
        #[cfg(test)]
        if self.planted(super::plant::Bug::NobodyIsCalled) {
            return;
        }
        if let Some(sleeper) = self.parked.pop() {
            let sleeper = sleeper as usize;
            self.counters.counts.wakes += 1;
            let delay = self.draw(sleeper, self.setup.costs.wake);
            self.trace.add(self.queue.now(), sleeper, Step::Wakes, delay);
            self.workers[sleeper].state = State::Searches;
            self.after(sleeper, delay, Activity::Parks);
        }
    }

    /// An attempt reaches its victim.
    #[inline]
    pub(super) fn arrive(&mut self, me: usize, victim: usize, advised: bool) {
        self.counters.counts.attempts += 1;
        if self.has_what_it_waits_for(me) {
            return self.go_on_again(me);
        }
        if self.workers[me].is_about_to_leave() {
            return self.leave(me);
        }
        let backs_out = self.is_busy(victim);
        let found = if self.may_take(me, victim, advised) && !backs_out {
            self.workers[victim].tasks.steal(me)
        } else {
            None
        };
        self.note_offer(victim);
        self.keep(me, victim);
        if advised {
            let outcome = match found {
                Some(_) => Outcome::Stolen,
                None if backs_out => Outcome::Lost,
                None if self.workers[victim].is_thief() => Outcome::Thief,
                None => Outcome::Empty,
            };
            self.policies[me].outcome(victim, outcome);
        }
        self.counters.counts.back_outs += u64::from(backs_out);
        match found {
            Some((task, slot)) => self.carry_back(me, victim, task, slot, advised),
            None => self.come_away(me, victim, advised),
        }
    }

    /// Whether another thief is taking the victim's oldest task.
    fn is_busy(&self, victim: usize) -> bool {
        self.setup.stack == Stack::TWO_FIELD && self.queue.now() < self.workers[victim].busy_until
    }

    /// Whether this worker may run the victim's oldest task.
    fn may_take(&self, me: usize, victim: usize, advised: bool) -> bool {
        let Some(depth) = self.workers[victim].tasks.oldest_depth() else { return false };
        if advised {
            self.above(me).is_none_or(|above| depth > above)
        } else {
            self.may_help_with_oldest(me, victim)
        }
    }

    fn carry_back(
        &mut self,
        me: usize,
        victim: usize,
        mut task: Task<W::Node>,
        slot: usize,
        advised: bool,
    ) {
        self.on_offer -= 1;
        let is_piece = self.shares_loop(me, victim, &task.node);
        self.counters.counts.steals += u64::from(!is_piece);
        self.counters.counts.pieces += u64::from(is_piece);
        self.counters.counts.leaps += u64::from(!advised);
        self.trace.add(self.queue.now(), me, Step::Steals, task.id);
        #[cfg(test)]
        self.plant_in_steal(me, &mut task);
        let (mine, theirs) = (self.places.package(me), self.places.package(victim));
        if mine != theirs {
            self.packages.got_piece(mine);
        }
        let cost = self.draw_between(me, victim, self.setup.costs.steal);
        self.workers[victim].busy_until = self.queue.now() + cost;
        self.ask_for_more(me, victim);
        let refill = self.refill(me, victim);
        task.node = self.workload.stolen(&task.node);
        let origin = Origin { victim: victim as u32, slot: slot as u32, at: self.queue.now() };
        self.counters.begun(task.id);
        if !self.workers[me].waits() {
            self.learns_from_idle_time(me);
        }
        let worker = &mut self.workers[me];
        worker.state = State::Runs;
        worker.frames.push(Frame::of(task, Some(origin)));
        self.after(me, cost + refill, Activity::Schedules);
    }

    fn refill(&mut self, me: usize, victim: usize) -> Time {
        if self.setup.costs.refill.is_empty() {
            return 0;
        }
        let refill: Duration = self.setup.costs.refill(self.places.distance(me, victim));
        self.draw(me, refill)
    }

    fn come_away(&mut self, me: usize, victim: usize, advised: bool) {
        self.trace.add(self.queue.now(), me, Step::Fails, victim as u64);
        if self.ask_to_publish(me, victim, advised) {
            let price = self.expose(me, victim);
            return self.set_out(me, victim, advised, price);
        }
        if self.workers[me].waits() {
            self.help_on(me, victim);
        } else {
            self.choose(me, 0);
        }
    }

    /// Asks to become the master of its package, under policies that keep to packages.
    fn stand_for_mastership(&mut self, me: usize) {
        if !self.setup.victims.has_masters() {
            return;
        }
        let package = self.places.package(me);
        let holder = match self.packages.master(package) {
            None => Holder::Vacant,
            Some(master) if master == me => return,
            Some(master) => self.master_does(master),
        };
        let candidate = Candidate {
            waits: self.workers[me].waits(),
            stranded: self.workers[me].in_vain >= LONG,
        };
        self.packages.stand(package, me, holder, candidate);
    }

    fn master_does(&self, master: usize) -> Holder {
        let worker = &self.workers[master];
        match worker.state {
            State::Parked | State::Gone => Holder::Parked,
            State::Blocked => Holder::Waits,
            State::Runs => Holder::Works,
            _ if worker.waits() => Holder::Waits,
            _ => Holder::Searches,
        }
    }

    /// The depth below which the worker may steal at its policy's advice.
    pub(super) fn above(&self, me: usize) -> Option<u32> {
        match self.setup.wait {
            Waiting::Runtime(Wait::Any) | Waiting::Leave => None,
            _ => self.workers[me].frames.last().map(|frame| frame.task.depth),
        }
    }
}
