//! A worker in a transaction.

use sinew_policy::worklist::swap;

use super::memory::Found;
use super::mix::Access;
use super::run::{Run, State};
use crate::queue::Time;
use crate::trace::Step;

/// Failed attempts after which a worker takes the token.
const MOST_FAILURES: u32 = 64;

/// The state of a transaction.
#[derive(Debug, Default)]
pub(super) struct Attempt {
    accesses: Vec<Access>,
    /// Index of the next access; the commit follows the last one.
    next: usize,
    /// The number of commits in its snapshot.
    snapshot: u64,
    reads: Vec<(u32, u64)>,
    locks: Vec<u32>,
    /// The owner of the token has taken its locks.
    is_doomed: bool,
    began: Time,
    /// Duration of its units, and of the transaction around them.
    work: Time,
    frame: Time,
}

impl Attempt {
    /// Due time of the next access or of the commit.
    fn due(&self) -> Time {
        let (at, all) = (self.next as u128 + 1, self.accesses.len() as u128 + 1);
        let worked = (u128::from(self.work) * at / all) as Time;
        self.began + worked + if at == all { self.frame } else { 0 }
    }
}

impl Run<'_> {
    /// Begins the transaction of the current units after `delay`.
    pub(super) fn attempt(&mut self, me: usize, delay: Time) {
        let is_helped = self.is_helped(me);
        let factor = if is_helped { self.mix.helped(self.settings.lifespan) } else { 1.0 };
        let frame = self.draw(me, self.setup.transaction) + self.exchange(me, is_helped);
        if self.workers[me].in_vain >= MOST_FAILURES && self.token.is_none() {
            self.token = Some(me);
            self.counters.tokens += 1;
        }
        let (mix, snapshot, began) = (self.mix, self.memory.now(), self.queue.now() + delay);
        let worker = &mut self.workers[me];
        let work: Time = worker.current.iter().map(|unit| mix.work(unit)).sum();
        let attempt = &mut worker.attempt;
        attempt.accesses.clear();
        attempt.accesses.extend(worker.current.iter().flat_map(|unit| mix.accesses(unit)));
        attempt.reads.clear();
        attempt.locks.clear();
        (attempt.next, attempt.snapshot, attempt.is_doomed) = (0, snapshot, false);
        (attempt.began, attempt.frame) = (began, frame);
        attempt.work = crate::costs::times(work, factor * worker.slowness);
        let due = attempt.due();
        self.at(me, State::Attempts, due);
    }

    /// The time that the lines of the current units take to the worker's helper and back.
    fn exchange(&mut self, me: usize, is_helped: bool) -> Time {
        if !is_helped {
            return 0;
        }
        let lines = u64::from(self.mix.lines) * self.workers[me].current.len() as u64;
        self.draw(me, self.setup.exchange) * lines
    }

    /// Executes the next access or the commit.
    pub(super) fn advance(&mut self, me: usize) {
        let attempt = &self.workers[me].attempt;
        let may_go_on = match attempt.accesses.get(attempt.next) {
            _ if attempt.is_doomed => false,
            Some(&access) => self.access(me, access),
            None => return self.commit(me),
        };
        if !may_go_on {
            return self.abort(me);
        }
        let attempt = &mut self.workers[me].attempt;
        attempt.next += 1;
        let due = attempt.due();
        self.queue.set(me, due);
    }

    fn access(&mut self, me: usize, Access { variable, writes }: Access) -> bool {
        let version = match self.memory.look(variable, me) {
            Found::Version(version) => version,
            Found::Locked(_) if self.token != Some(me) => return false,
            Found::Locked(owner) => {
                self.workers[owner].attempt.is_doomed = true;
                self.memory.break_lock(variable);
                return self.access(me, Access { variable, writes });
            }
        };
        if version > self.workers[me].attempt.snapshot && !self.extend(me) {
            return false;
        }
        let attempt = &mut self.workers[me].attempt;
        if !writes {
            attempt.reads.push((variable, version));
        } else if self.memory.lock(variable, me) {
            attempt.locks.push(variable);
        }
        true
    }

    /// Takes a younger snapshot if no read variable has changed.
    fn extend(&mut self, me: usize) -> bool {
        let now = self.memory.now();
        let is_valid = self.is_valid(me);
        if is_valid {
            self.workers[me].attempt.snapshot = now;
        }
        is_valid
    }

    fn is_valid(&self, me: usize) -> bool {
        #[cfg(test)]
        if self.counters.skips_validation {
            return true;
        }
        let reads = &self.workers[me].attempt.reads;
        reads.iter().all(|&(variable, version)| self.memory.is_still(variable, version))
    }

    fn commit(&mut self, me: usize) {
        let writes = !self.workers[me].attempt.locks.is_empty();
        if writes && self.token.is_some_and(|holder| holder != me) {
            self.waiting.push(me);
            return self.rest(me, State::Waits);
        }
        if writes && !self.is_valid(me) {
            return self.abort(me);
        }
        let locks = std::mem::take(&mut self.workers[me].attempt.locks);
        self.check_reads(me);
        self.memory.publish(&locks, me);
        self.workers[me].attempt.locks = locks;
        self.give_token_back(me);
        self.settle(me);
    }

    /// Checks that all reads were true together at the end of the transaction or, if it wrote
    /// nothing, at its snapshot.
    fn check_reads(&mut self, me: usize) {
        let attempt = &self.workers[me].attempt;
        let writes = !attempt.locks.is_empty() || self.counters.skips_validation;
        let is_torn = |&(variable, version): &(u32, u64)| match writes {
            true => !self.memory.is_still(variable, version),
            false => version > attempt.snapshot,
        };
        self.counters.torn += u64::from(attempt.reads.iter().any(is_torn));
    }

    fn give_token_back(&mut self, me: usize) {
        if self.token == Some(me) {
            self.token = None;
            for waiter in std::mem::take(&mut self.waiting) {
                let now = self.now();
                self.at(waiter, State::Attempts, now);
            }
        }
    }

    /// Finishes the units and adds those that they create.
    fn settle(&mut self, me: usize) {
        let current = std::mem::take(&mut self.workers[me].current);
        self.counters.coalesced += u64::from(current.len() > 1);
        let list = if self.settings.stealing { me } else { self.lists.shared() };
        let mut added = 0;
        for unit in &current {
            self.trace.add(self.queue.now(), me, Step::Finishes, unit.id);
            self.counters.record_commit(unit.id, self.mix.work(unit));
            for bits in self.mix.added(unit) {
                let mut new = super::mix::Unit { id: 0, bits };
                new.id = self.counters.created(self.mix.work(&new));
                self.lists.push(list, new);
                added += 1;
            }
        }
        self.workers[me].current = current;
        let mut end = self.now();
        if added > 0 {
            let access = self.draw(me, self.setup.access);
            end = self.lists.use_lock(list, end, access);
            self.call(added);
        }
        self.at(me, State::Begins, end);
    }

    fn abort(&mut self, me: usize) {
        let now = self.now();
        self.trace.add(now, me, Step::Fails, u64::from(self.workers[me].in_vain));
        let worker = &mut self.workers[me];
        self.memory.release(&worker.attempt.locks, me);
        worker.in_row += 1;
        worker.in_vain += 1;
        self.counters.aborts += 1;
        self.counters.wasted += now.saturating_sub(worker.attempt.began);
        let mut delay = self.draw(me, self.setup.abort);
        if swap::is_due(self.workers[me].in_row, self.settings.swap_after) {
            delay += self.swap(me);
        }
        self.attempt(me, delay);
    }

    /// Swaps a unit for another; returns the cost.
    fn swap(&mut self, me: usize) -> Time {
        let list = if self.settings.stealing { me } else { self.lists.shared() };
        let random = self.chance.u64(..);
        let Some(place) = swap::partner(self.lists.len(list), random) else { return 0 };
        let Some(first) = self.workers[me].current.first().copied() else { return 0 };
        self.workers[me].current[0] = self.lists.swap(list, place, first);
        self.workers[me].in_row = 0;
        self.counters.swaps += 1;
        let access = self.draw(me, self.setup.access);
        self.lists.use_lock(list, self.now(), access) - self.now()
    }
}
