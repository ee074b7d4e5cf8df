//! Private tasks, and how thieves get them.
//!
//! In split stacks a spawned task is private. A thief that finds nothing sets a steal request, and
//! the owner's next spawn publishes half of its private tasks. If the owner computes and does not
//! spawn for a while, the thief exposes all private tasks, which costs every core a fence. Pieces
//! of a loop are visible to all participants once a second worker takes part: they lie in a shared
//! source.
//!
//! # Invariants
//!
//! E1 and E3 of the [engine](super).

use super::Simulation;
use super::steal::LONG;
use crate::queue::Time;
use crate::setup::Stack;
use crate::workload::Workload;

impl<W: Workload> Simulation<'_, W> {
    /// The worker has spawned. Returns whether it published tasks, which takes time.
    #[inline]
    pub(super) fn shows_spawn(&mut self, me: usize) -> bool {
        let worker = &mut self.workers[me];
        if self.setup.stack != Stack::SPLIT {
            worker.tasks.publish_all();
            self.call_sleeper();
            return false;
        }
        if worker.shares.is_some() && self.shows_pieces(me) {
            self.call_sleeper();
            return false;
        }
        let worker = &mut self.workers[me];
        if worker.asked.is_none() && worker.answered == self.calls {
            return false;
        }
        worker.tasks.publish_half();
        (worker.asked, worker.answered) = (None, self.calls);
        self.counters.counts.publications += 1;
        self.call_sleeper();
        true
    }

    /// Shows the pieces of a loop to its participants. Returns whether any were private.
    fn shows_pieces(&mut self, owner: usize) -> bool {
        let workload = self.workload;
        let worker = &mut self.workers[owner];
        let Some(shared) = worker.shares else { return false };
        worker.tasks.publish_while(|node| workload.of_loop(node) == Some(shared))
    }

    /// A thief has got `node`. If `node` is a piece of a loop, thief and owner are participants
    /// from now on. Returns whether the thief was one before.
    pub(super) fn shares_loop(&mut self, me: usize, owner: usize, node: &W::Node) -> bool {
        let shared = self.workload.of_loop(node);
        if shared.is_none() {
            return false;
        }
        let takes_part = self.workers[me].shares == shared;
        (self.workers[me].shares, self.workers[owner].shares) = (shared, shared);
        self.shows_pieces(owner);
        takes_part
    }

    /// A thief has got a task: it sets its next steal request before it runs, and wakes another
    /// thief.
    pub(super) fn ask_for_more(&mut self, me: usize, victim: usize) {
        if self.setup.stack != Stack::SPLIT {
            return;
        }
        if self.workers[victim].tasks.shown() == 0 {
            self.ask_to_publish(me, victim, false);
        }
        if self.on_offer > 0 {
            self.call_sleeper();
        } else {
            self.calls += 1;
        }
    }

    /// Sets a steal request on an owner without public tasks. Returns whether the request is old
    /// and the owner has a private task that this thief may run.
    pub(super) fn ask_to_publish(&mut self, me: usize, victim: usize, advised: bool) -> bool {
        if self.setup.stack != Stack::SPLIT {
            return false;
        }
        let silence = self.setup.silence;
        let now = self.now();
        let worker = &mut self.workers[victim];
        match worker.asked {
            _ if worker.tasks.shown() > 0 => false,
            None => {
                worker.asked = Some(now);
                self.asked.push_back((now, victim as u32));
                false
            }
            Some(since) => {
                now - since >= silence
                    && worker.tasks.hidden() > 0
                    && self.would_get(me, victim, advised)
            }
        }
    }

    /// Whether an exposure would yield a task that the thief may run. Otherwise the thief would pay
    /// for exposures without a gain.
    fn would_get(&self, me: usize, victim: usize, advised: bool) -> bool {
        let depth = self.workers[victim].tasks.oldest_hidden_depth();
        match advised {
            true => depth.is_some_and(|depth| self.above(me).is_none_or(|above| depth > above)),
            false => self.may_help_with_oldest(me, victim),
        }
    }

    /// Exposes the private tasks of an owner. Returns the cost.
    pub(super) fn expose(&mut self, me: usize, victim: usize) -> Time {
        let worker = &mut self.workers[victim];
        worker.tasks.publish_all();
        worker.asked = None;
        self.counters.counts.exposures += 1;
        self.draw(me, self.setup.costs.exposure)
    }

    /// Between two rounds, exposes the owner with the oldest unanswered request. A thief that has
    /// searched for long sets a request on every worker first.
    pub(super) fn break_silence(&mut self, me: usize) -> Time {
        let silence = self.setup.silence;
        if self.setup.stack != Stack::SPLIT || self.on_offer == 0 {
            return 0;
        }
        if self.workers[me].in_vain.is_multiple_of(LONG) {
            self.ask_all(me);
        }
        while let Some(&(since, owner)) = self.asked.front() {
            let owner = owner as usize;
            let is_open = self.workers[owner].asked == Some(since);
            if is_open && self.now() - since < silence {
                break;
            }
            self.asked.pop_front();
            if is_open && self.workers[owner].tasks.hidden() > 0 {
                return self.expose(me, owner);
            }
            if is_open {
                self.workers[owner].asked = None;
            }
        }
        0
    }

    fn ask_all(&mut self, me: usize) {
        for owner in 0..self.workers.len() {
            if self.workers[owner].tasks.hidden() > 0 {
                self.ask_to_publish(me, owner, false);
            }
        }
    }
}
