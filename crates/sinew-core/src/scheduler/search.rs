//! The search for work: in which places, in which order, and for how long.
//!
//! An idle worker looks at its own queue, at the pool's injector and at its victims, in rounds.
//! From the second round on it sets steal requests: at its next push an owner publishes half of its
//! private tasks. An owner that does not push for 50 µs computes or blocks. Its tasks are then
//! exposed without its help, by one exposer for each process, since every exposure interrupts all
//! cores. When the spin window is over and there is nothing to expose, the worker sleeps by the
//! protocol of `sleep`.
//!
//! # Cost
//!
//! A round reads two cache lines of each victim. An exposure takes 5 to 10 µs, also of its victims'
//! time.

use sinew_deque::Queued;
use sinew_deque::deque::Taken;
use sinew_deque::stack::{Claim, Exposure, Steal};
use sinew_policy::idle::Idle;
use sinew_policy::victim::Outcome;
use sinew_sync::atomic::{Ordering, spin_loop};
use sinew_sync::clock::now_ns;
use sinew_sync::plant::{Bug, planted};
use sinew_sync::statics::AtomicU32;

use crate::fork;
use crate::idle::backoff::{Backoff, micros};
use crate::scheduler::job::{Allowed, Job, rest};
use crate::scheduler::park::{Parked, Parking};
use crate::seams::observer::Event;
use crate::state::worker::{SILENCE_NS, Worker};

/// The longest silence before an exposure, after many that were cancelled.
const LONGEST_SILENCE_NS: u64 = 400_000;

/// No thread executes an exposure.
const NO_PROCESS: u32 = 0;

/// The process in which a thread executes an exposure, as one more than its number of forks. A
/// forked child may inherit its parent's number. It differs from the child's own, so the child does
/// not wait for a thread that does not exist.
#[cfg(not(shuttle))]
static EXPOSING: AtomicU32 = AtomicU32::new(NO_PROCESS);

// Each execution of a model is a process of its own.
#[cfg(shuttle)]
shuttle::lazy_static! {
    static ref EXPOSING: AtomicU32 = AtomicU32::new(NO_PROCESS);
}

/// The result of a search.
enum Search<'p> {
    Found(Job<'p>),
    /// The worker is surplus.
    Surplus,
    /// The pool has ended.
    Over,
}

/// The park of a worker without work, which is in the list of idle sleepers.
struct Idling {
    /// It was the last searcher (S3).
    was_last: bool,
    /// The pool ends, and the worker resigns while it is parked.
    resigns: bool,
    /// When it began to park.
    began_ns: u64,
}

impl Parking for Idling {
    fn looks_for(&self) -> Option<Allowed> {
        self.was_last.then_some(Allowed::Any)
    }

    /// False if the pool is over.
    fn will_park(&mut self, worker: &Worker) -> bool {
        let pool = worker.pool();
        self.resigns |= planted(Bug::StaleSearch) && pool.is_ending();
        self.began_ns = now_ns();
        worker.deactivate();
        if self.resigns && pool.resign() {
            return false;
        }
        worker.placement.before_park(&pool.wake_placement);
        pool.wake_up_cost.learn(worker.own.gain.replace(0));
        true
    }

    fn timed_park(&self, worker: &Worker) -> bool {
        worker.timed_park()
    }
}

impl Worker {
    /// The next task for a worker with an empty stack; `None` when the pool ends.
    pub(crate) fn next_job(&self) -> Option<Job<'_>> {
        loop {
            if self.is_surplus() {
                // It runs only its parts of broadcasts.
                if let Some(queued) = self.inbox.pop(None) {
                    return Some(Job::Delivered(queued));
                }
                if let Some(queued) = self.take_overdue() {
                    return Some(Job::Queued(queued));
                }
                self.stand_down();
                continue;
            }
            if let Some(job) = self.search_once(Allowed::Any, false) {
                return Some(job);
            }
            match self.search_and_sleep() {
                Search::Found(job) => return Some(job),
                Search::Surplus => {}
                Search::Over => return None,
            }
        }
    }

    /// Searches and sleeps alternately until there is a result.
    fn search_and_sleep(&self) -> Search<'_> {
        let began = now_ns();
        self.tell(Event::Idle);
        self.pool().follow_limits();
        let sleepers = &self.pool().sleepers;
        let mut searching = sleepers.try_search(self.pool().most_searchers());
        let mut parked_ns = 0;
        loop {
            // Before the first look: a worker that resigns as the last searcher has looked after
            // the pool began to end, and has seen all earlier work.
            let resigns = self.pool().is_ending();
            let mut idling = Idling { was_last: false, resigns, began_ns: 0 };
            if searching {
                if self.is_surplus() {
                    self.placement.restore_mask();
                    self.resign_search();
                    return Search::Surplus;
                }
                // Relaxed: a hint.
                self.searching.store(true, Ordering::Relaxed);
                let (job, lost_core) = self.search();
                self.searching.store(false, Ordering::Relaxed);
                if let Some(job) = job {
                    self.end_search(began, parked_ns, lost_core);
                    return Search::Found(job);
                }
                if planted(Bug::EarlyEnd) && self.pool().is_ending() {
                    sleepers.found_work();
                    self.pool().resign();
                    return Search::Over;
                }
                idling.was_last = sleepers.fall_asleep(self.index());
            } else if !sleepers.fall_asleep_unless_needed(self.index()) {
                searching = sleepers.try_search(usize::MAX);
                continue;
            }
            match self.park(&mut idling) {
                Parked::SawWork => {}
                Parked::NotNeeded => return Search::Over,
                Parked::Woken => match self.resume(&idling) {
                    Some(ns) => parked_ns += ns,
                    None => return Search::Over,
                },
            }
            sleepers.wake_up(self.index());
            searching = true;
        }
    }

    /// After a park: returns how long it took, or `None` if the pool is over.
    fn resume(&self, idling: &Idling) -> Option<u64> {
        self.placement.after_park(&self.pool().wake_placement);
        if idling.resigns && !self.pool().serve() {
            return None;
        }
        self.activate();
        let parked_ns = now_ns().saturating_sub(idling.began_ns).max(1);
        self.counters.parked_ns.add(parked_ns);
        Some(parked_ns)
    }

    /// A search was successful: wakes another searcher if needed, restores the thread's mask, and
    /// adapts the spin window to the time that the search took.
    fn end_search(&self, began: u64, parked_ns: u64, lost_core: bool) {
        self.own.in_vain_since.set(0);
        let alone = self.pool().sleepers.found_work();
        if alone && !planted(Bug::NoNextSearcher) && self.pool().rouse() {
            self.counters.wakes.add(1);
        }
        self.pool().hand_on_calls();
        if parked_ns > 0 {
            self.placement.restore_mask();
        }
        let searched_ns = now_ns().saturating_sub(began).saturating_sub(parked_ns);
        self.counters.searching_ns.add(searched_ns);
        let mut window = self.own.window.get();
        window.record(Idle {
            searched_us: micros(searched_ns),
            parked_us: (parked_ns > 0).then(|| micros(parked_ns)),
            lost_core,
        });
        self.own.window.set(window);
    }

    /// Searches for one spin window, or longer while owners have private tasks. Also returns
    /// whether the core was lost meanwhile.
    fn search(&self) -> (Option<Job<'_>>, bool) {
        self.start_policy();
        let mut backoff =
            Backoff::new(self.window_ns(), self.pool().slots.len(), &self.own.shares_core);
        loop {
            if let Some(job) = self.search_once(Allowed::Any, backoff.rounds > 0) {
                return (Some(job), backoff.lost_core);
            }
            // A worker that may stand down checks that before it yields its core.
            let ends = self.pool().is_ending();
            if !ends && backoff.next_round(self.own.silence_ns.get()) {
                continue;
            }
            match self.break_silence(Allowed::Any, &backoff) {
                Silence::Broken(job) => return (Some(job), backoff.lost_core),
                Silence::Empty if ends || backoff.is_over() || self.is_surplus() => {
                    return (None, backoff.lost_core);
                }
                Silence::Empty => self.goes_on_searching(Allowed::Any),
                Silence::Lasts => {}
            }
            if ends {
                // It may not stand down: an owner has private tasks, and may need the core.
                backoff.next_round(self.own.silence_ns.get());
            }
        }
    }

    /// The silence has passed without a task that the worker may take, and its window, which may be
    /// endless, is not over (X1).
    #[cold]
    pub(crate) fn goes_on_searching(&self, allowed: Allowed) {
        match self.sees_work(allowed) {
            true => self.search_was_in_vain(),
            false => self.own.in_vain_since.set(0),
        }
    }

    /// How long to spin for new work, from the measured idle times.
    fn window_ns(&self) -> u64 {
        let mut window = self.own.window.get();
        let next_us = window.next_us();
        self.own.window.set(window);
        self.pool().spin_ns.unwrap_or(u64::from(next_us) * 1_000)
    }

    /// One round: own queue, injector, every victim once. With `ask`, victims with nothing public
    /// are asked to publish.
    pub(crate) fn search_once(&self, allowed: Allowed, ask: bool) -> Option<Job<'_>> {
        if let Some(job) = self.pop_own_or_delivered(allowed) {
            return Some(job);
        }
        if let Some(queued) = self.take_injected(allowed) {
            return Some(Job::Injected(queued));
        }
        loop {
            let victim = self.choose(|| self.next_victim(allowed))?;
            self.counters.chosen_victims.add(1);
            let job = self.try_victim(victim, allowed, ask);
            let outcome = match job {
                Ok(_) => Outcome::Stolen,
                Err(outcome) => outcome,
            };
            self.own.policy.borrow_mut().outcome(victim, outcome);
            if let Ok(job) = job {
                self.record_steal(victim, allowed);
                return Some(job);
            }
            self.counters.failed_steals.add(1);
        }
    }

    /// The newest task of the own queue, if it is allowed.
    #[inline]
    pub(crate) fn pop_own(&self, allowed: Allowed) -> Option<Queued> {
        if self.pool().oldest_first {
            return self.pop_oldest(allowed);
        }
        if allowed == Allowed::Any {
            // SAFETY: this is the owner.
            return unsafe { self.deque.pop() };
        }
        // SAFETY: this is the owner. A task that must wait is not removed: another worker that
        // searches meanwhile would not see it.
        unsafe {
            let newest = self.deque.newest();
            if newest.is_some_and(|newest| allowed.above().is_none_or(|above| newest.depth > above))
            {
                self.deque.pop()
            } else {
                None
            }
        }
    }

    /// A task that no other worker should run first.
    pub(crate) fn pop_own_or_delivered(&self, allowed: Allowed) -> Option<Job<'_>> {
        self.pop_own(allowed).map(Job::Queued).or_else(|| self.pop_delivered(allowed))
    }

    /// A part of a broadcast. A waiting worker runs any part, since the awaited task may wait for
    /// that part, also through another pool. Only the wait policies for programs that hold locks
    /// require deeper ones.
    pub(crate) fn pop_delivered(&self, allowed: Allowed) -> Option<Job<'_>> {
        let above = if self.pool().wait.allows_locks() { allowed.above() } else { None };
        self.inbox.pop(above).map(Job::Delivered)
    }

    /// The oldest join task of this worker's own, as a thief would take it. For a worker whose wait
    /// is not for a part of that task.
    pub(crate) fn take_own_join(&self) -> Option<Job<'_>> {
        if !self.stack.has_tasks() {
            return None;
        }
        // SAFETY: this is the owner.
        unsafe { self.stack.publish() };
        let claim = self.claimed(self.stack.steal(self.index(), None)).ok()?;
        Some(Job::Stolen { claim, victim: self.index() })
    }

    #[cold]
    fn pop_oldest(&self, allowed: Allowed) -> Option<Queued> {
        loop {
            match self.deque.steal(allowed.above()) {
                Taken::Task(queued) => return Some(queued),
                Taken::Empty => return None,
                Taken::Lost => {}
            }
        }
    }

    /// Tries to take one task from `victim`: of its stack, else of its queue.
    pub(crate) fn try_victim(
        &self,
        victim: usize,
        allowed: Allowed,
        ask: bool,
    ) -> Result<Job<'_>, Outcome> {
        self.steal_from(victim, || self.claim(victim, allowed, ask))
    }

    /// One attempt to steal from `victim`. After a success the thief spins for the steal delay of
    /// an experiment.
    pub(crate) fn steal_from<T, E>(
        &self,
        victim: usize,
        attempt: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let result = self.attempt(attempt);
        let distance = self.pool().distance(self.index(), victim);
        self.counters.by_distance.attempted(distance, result.is_ok());
        if result.is_ok() {
            rest(self.pool().stealing.experiments().steal_delay);
        }
        result
    }

    /// The claim, or the other result of an attempt at a stack. Counts claims that had to be
    /// returned.
    pub(crate) fn claimed<'p>(&self, steal: Steal<'p>) -> Result<Claim<'p>, Outcome> {
        match steal {
            Steal::Task(claim) => Ok(claim),
            Steal::Empty => Err(Outcome::Empty),
            Steal::Lost => Err(Outcome::Lost),
            Steal::BackedOut => {
                self.counters.backed_out.add(1);
                Err(Outcome::Lost)
            }
        }
    }

    fn claim(&self, victim: usize, allowed: Allowed, ask: bool) -> Result<Job<'_>, Outcome> {
        let worker = &self.pool().slots[victim];
        let outcome = match self.claimed(worker.stack.steal(self.index(), allowed.above())) {
            Ok(claim) => return Ok(Job::Stolen { claim, victim }),
            Err(outcome) => outcome,
        };
        if !worker.deque.is_empty()
            && let Taken::Task(queued) = worker.deque.steal(allowed.above())
        {
            return Ok(Job::Taken { queued, victim });
        }
        // A policy that has chosen the victim for its private tasks asks for them in every round.
        if ask || self.own.chooses_by_tasks.get() && worker.stack.has_private() {
            worker.stack.request_steal();
        }
        // Relaxed: a hint.
        let is_thief = outcome == Outcome::Empty && worker.searching.load(Ordering::Relaxed);
        Err(if is_thief { Outcome::Thief } else { outcome })
    }

    /// Checks the owners that have been silent for long enough, and exposes tasks of one.
    pub(crate) fn break_silence(&self, allowed: Allowed, backoff: &Backoff<'_>) -> Silence<'_> {
        let victims = self.pool().slots.iter().filter(|worker| worker.index() != self.index());
        let mut victims = victims.filter(|worker| {
            worker.stack.has_private()
                && self.may_take_from(worker, allowed)
                && self.policy_allows(worker.index(), allowed)
        });
        let Some(victim) = victims.next() else { return Silence::Empty };
        let this_process = fork::current() + 1;
        // Relaxed, here and below: the word limits a rate and protects nothing.
        if backoff.silence_ns() < self.own.silence_ns.get()
            || EXPOSING.swap(this_process, Ordering::Relaxed) == this_process
        {
            spin_loop();
            return Silence::Lasts;
        }
        let exposure = victim.stack.expose(!self.pool().may_rely_on_heavy_fences());
        EXPOSING.store(NO_PROCESS, Ordering::Relaxed);
        let silence = match exposure {
            Exposure::Exposed => {
                self.counters.exposures.add(1);
                SILENCE_NS
            }
            Exposure::Cancelled => {
                self.counters.cancelled_exposures.add(1);
                (self.own.silence_ns.get() * 2).min(LONGEST_SILENCE_NS)
            }
            Exposure::Nothing | Exposure::Busy => self.own.silence_ns.get(),
        };
        self.own.silence_ns.set(silence);
        match self.try_victim(victim.index(), allowed, true) {
            Ok(job) => {
                self.record_steal(victim.index(), allowed);
                Silence::Broken(job)
            }
            Err(_) => Silence::Lasts,
        }
    }

    pub(crate) fn may_take_from(&self, worker: &Self, allowed: Allowed) -> bool {
        allowed
            .above()
            .is_none_or(|above| worker.stack.oldest_depth().is_some_and(|depth| depth > above))
    }
}

/// The result of the check for silent owners.
pub(crate) enum Silence<'p> {
    /// A task was exposed and taken.
    Broken(Job<'p>),
    /// There are private tasks that cannot be taken yet.
    Lasts,
    /// There are no tasks.
    Empty,
}
