//! Waiting for another worker's result, while this worker runs other tasks.
//!
//! A join whose task was stolen helps the thief first: it steals the thief's own tasks, which are
//! parts of the stolen task (*leapfrogging*, Wagner and Calder 1993). Then it runs any task farther
//! from the root than the blocked join (Sukha's depth restriction, which bounds the stack). If
//! there is none, it parks. The end of a scope waits in the same way, without a thief to help.
//!
//! # Blocking
//!
//! The thief that finishes the awaited task wakes a parked waiter, in `Worker::execute` of `job`
//! (M6). A scope's last task wakes it by its [`Latch`]. If no idle worker is asleep, new work wakes
//! a waiter that may run any task or deeper ones: it sleeps in the list of `Worker::sleep_for`.
//!
//! If a join does not return, look at the state of its slot first. ARCHITECTURE.md has the whole
//! order.

use std::sync::Arc;

use sinew_deque::stack::{Descriptor, Slot, SlotPtr};
use sinew_policy::Wait;
use sinew_policy::idle::Idle;
use sinew_sync::atomic::{Ordering, spin_loop};
use sinew_sync::clock::{TICKS_PER_US, now_ns, ticks};
use sinew_sync::plant::{Bug, planted};

use crate::fork;
use crate::idle::backoff::{Backoff, micros};
use crate::scheduler::job::{Allowed, Job};
use crate::scheduler::latch::Latch;
use crate::scheduler::park::Parking;
use crate::scheduler::search::Silence;
use crate::seams::observer::Activity;
use crate::state::scope_tasks::ScopeTasks;
use crate::state::worker::Worker;

/// The tasks that a waiting worker may run, in addition to its parts of broadcasts: any of them, or
/// only deeper ones.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Help<'a> {
    /// None.
    Nothing,
    /// The tasks that the thief of the awaited task has pushed for it.
    Thief,
    /// The same, and the tasks that thieves of the thief's task have pushed, transitively.
    Thieves,
    /// The tasks of the awaited scope.
    Scope(&'a ScopeTasks),
    /// Any task.
    Tasks(Allowed),
}

/// How long a waiting worker only spins before it searches for a task.
const ONLY_SPIN: u64 = TICKS_PER_US / 3;

/// An event that another thread causes.
pub(crate) trait Awaited {
    fn is_done(&self) -> bool;

    /// Before the waiter parks: requests a wake-up. False if the event has happened already.
    fn will_park(&self) -> bool {
        !self.is_done()
    }

    /// The nanoseconds until the event happens without a wake-up, because a deadline passes.
    fn left_ns(&self) -> Option<u64> {
        None
    }

    /// The worker whose tasks are parts of the awaited task.
    fn thief(&self) -> Option<usize> {
        None
    }

    /// The time of the event, by [`now_ns`](sinew_sync::clock::now_ns), if it is known.
    fn done_at_ns(&self) -> Option<u64> {
        None
    }
}

impl Awaited for Slot {
    fn is_done(&self) -> bool {
        Self::is_done(self)
    }

    fn will_park(&self) -> bool {
        self.await_finish()
    }

    fn thief(&self) -> Option<usize> {
        Self::thief(self)
    }
}

impl Awaited for Descriptor {
    fn is_done(&self) -> bool {
        Self::is_done(self)
    }

    fn will_park(&self) -> bool {
        self.await_finish()
    }

    fn thief(&self) -> Option<usize> {
        Self::thief(self)
    }
}

impl Awaited for Latch {
    fn is_done(&self) -> bool {
        self.is_set()
    }

    fn done_at_ns(&self) -> Option<u64> {
        self.set_at_ns()
    }
}

/// The park of a worker that waits.
struct Waiting<'a> {
    awaited: &'a dyn Awaited,
    /// The tasks for which it can be woken; `None` if it is in no list of sleepers.
    allowed: Option<Allowed>,
}

impl Parking for Waiting<'_> {
    fn looks_for(&self) -> Option<Allowed> {
        self.allowed
    }

    fn will_park(&mut self, worker: &Worker) -> bool {
        worker.resign_mastership();
        self.awaited.will_park()
    }

    fn left_ns(&self) -> Option<u64> {
        self.awaited.left_ns()
    }
}

impl Worker {
    /// Waits for the thief of the task in slot `at`, which is free afterwards.
    ///
    /// # Safety
    ///
    /// `at` is the newest slot, and a pop has just found it stolen.
    pub(crate) unsafe fn wait_for_thief(&self, at: SlotPtr) {
        // SAFETY: as the caller says.
        unsafe { self.stack.pin(at) };
        // SAFETY: the stack is this worker's.
        self.wait_for_stolen(unsafe { at.slot() });
        // SAFETY: done, and every task above was joined by the job that pushed it.
        unsafe { self.stack.unpin(at) };
    }

    /// Waits for a task that was found stolen.
    pub(crate) fn wait_for_stolen(&self, stolen: &dyn Awaited) {
        if stolen.is_done() {
            return;
        }
        if self.pool().is_of_another_process() {
            fork::die_of_lost_task();
        }
        self.counters.blocked_joins.add(1);
        self.wait(stolen, self.help_for_thief());
        if self.pool().wait == Wait::Transitive {
            // Relaxed: a hint. An outer join that is blocked as well sets it again.
            self.blocked_on.store(0, Ordering::Relaxed);
        }
    }

    /// The tasks that the pool's policy allows this worker to run while it waits for the thief of a
    /// joined task.
    fn help_for_thief(&self) -> Help<'static> {
        match self.pool().wait {
            Wait::Leapfrog => Help::Tasks(Allowed::Deeper(self.stack.depth())),
            Wait::Any => Help::Tasks(Allowed::Any),
            Wait::Descendants => Help::Thief,
            Wait::Transitive => Help::Thieves,
            // `Block`. Running nothing keeps every promise, so a new policy begins with it.
            _ => Help::Nothing,
        }
    }

    /// The same for tasks of this worker's pool that other workers run: a broadcast.
    pub(crate) fn help_for_broadcast(&self) -> Help<'static> {
        match self.help_for_thief() {
            Help::Thief | Help::Thieves => Help::Nothing,
            help => help,
        }
    }

    /// The same for a scope whose tasks, which may all lie in this worker's own queue, are deeper
    /// than `depth`.
    pub(crate) fn help_for_scope<'s>(
        &self,
        depth: u32,
        tasks: Option<&'s Arc<ScopeTasks>>,
    ) -> Help<'s> {
        match (self.pool().wait, tasks) {
            (_, Some(tasks)) => Help::Scope(tasks),
            (Wait::Any, None) => Help::Tasks(Allowed::Any),
            (_, None) => Help::Tasks(Allowed::Deeper(depth)),
        }
    }

    /// The same for an event outside this worker's pool, which may in turn wait for that pool.
    pub(crate) fn help_for_foreign_work(&self) -> Help<'static> {
        match self.pool().wait {
            Wait::Descendants => Help::Nothing,
            _ => Help::Tasks(Allowed::Any),
        }
    }

    /// Waits until `awaited` is done, and meanwhile runs the tasks that `help` allows.
    pub(crate) fn wait(&self, awaited: &dyn Awaited, help: Help<'_>) {
        let _blocked = self.begin(Activity::Wait);
        if self.will_soon_be_done(awaited) {
            return;
        }
        let waited = self.set_waits(true);
        while !awaited.is_done() {
            if self.pool().is_of_another_process() {
                self.go_on_alone(help);
                continue;
            }
            let began = now_ns();
            let waited = self.help_or_park(awaited, help);
            if let Some(lost_core) = waited {
                let blocked_ns = now_ns().saturating_sub(began);
                self.counters.blocked_ns.add(blocked_ns);
                let mut window = self.own.waiting_window.get();
                window.record(Idle { searched_us: micros(blocked_ns), parked_us: None, lost_core });
                self.own.waiting_window.set(window);
            }
        }
        self.set_waits(waited);
    }

    /// [`wait`](Self::wait) for tasks of which some are in this worker's own queues: runs these
    /// first, without reading the clock.
    pub(crate) fn wait_for_own(&self, awaited: &dyn Awaited, help: Help<'_>) {
        let _take = self.begin(Activity::Take);
        while !awaited.is_done() {
            let own = match help {
                Help::Tasks(allowed) => match self.pop_own(allowed) {
                    Some(queued) => {
                        self.run_queued(queued);
                        continue;
                    }
                    None => self.pop_delivered(allowed),
                },
                _ => self.find_some(awaited, help, false),
            };
            match own {
                Some(job) => self.execute(job),
                None => return self.wait(awaited, help),
            }
        }
    }

    /// In a forked child: a task that this worker cannot run itself is lost.
    #[cold]
    fn go_on_alone(&self, help: Help<'_>) {
        let own = match help {
            Help::Tasks(allowed) => self.pop_own(allowed),
            Help::Scope(tasks) => tasks.pop(),
            Help::Nothing | Help::Thief | Help::Thieves => None,
        };
        match own {
            Some(queued) => self.execute(Job::Queued(queued)),
            None => fork::die_of_lost_task(),
        }
    }

    /// Spins on `awaited` for a moment and accesses nothing else, to leave the cache lines of the
    /// thread that finishes a short task alone.
    fn will_soon_be_done(&self, awaited: &dyn Awaited) -> bool {
        let began = ticks();
        while !awaited.is_done() {
            if self.own.shares_core.get() || ticks().saturating_sub(began) > ONLY_SPIN {
                return false;
            }
            spin_loop();
        }
        true
    }

    /// How long to spin while a join or a scope is blocked: parking would add a wake-up to the
    /// critical path.
    fn waiting_ns(&self) -> u64 {
        self.pool()
            .spin_ns
            .unwrap_or(u64::from(self.own.waiting_window.get().break_even_us()) * 1_000)
    }

    /// Runs one task, or waits for a spin window and then in the parker. If it waited, returns
    /// whether the core was lost meanwhile.
    fn help_or_park(&self, awaited: &dyn Awaited, help: Help<'_>) -> Option<bool> {
        let _search = self.begin(Activity::Search);
        let Help::Tasks(allowed) = help else { return self.help_some_or_park(awaited, help) };
        self.start_policy();
        let mut backoff =
            Backoff::new(self.waiting_ns(), self.pool().slots.len(), &self.own.shares_core);
        loop {
            if awaited.is_done() {
                return Some(backoff.lost_core);
            }
            if self.help(awaited, allowed, backoff.rounds > 0) {
                return None;
            }
            if backoff.next_round(self.own.silence_ns.get()) {
                continue;
            }
            match self.break_silence(allowed, &backoff) {
                Silence::Broken(job) => {
                    self.execute(job);
                    return None;
                }
                Silence::Empty if backoff.is_over() => {
                    self.sleep_for(awaited, allowed);
                    return Some(backoff.lost_core);
                }
                Silence::Empty => self.goes_on_searching(allowed),
                Silence::Lasts => {}
            }
        }
    }

    /// The same for a worker that may run only tasks whose owners notify it. It is in no list of
    /// sleepers while it is parked.
    #[cold]
    fn help_some_or_park(&self, awaited: &dyn Awaited, help: Help<'_>) -> Option<bool> {
        let mut backoff = Backoff::new(self.waiting_ns(), 1, &self.own.shares_core);
        loop {
            if awaited.is_done() {
                return Some(backoff.lost_core);
            }
            if let Some(job) = self.find_some(awaited, help, backoff.rounds > 0) {
                self.execute(job);
                return None;
            }
            if !backoff.next_round(u64::MAX) {
                self.park(&mut Waiting { awaited, allowed: None });
                return Some(backoff.lost_core);
            }
        }
    }

    fn find_some(&self, awaited: &dyn Awaited, help: Help<'_>, ask: bool) -> Option<Job<'_>> {
        let part = self.pop_delivered(Allowed::Deeper(self.stack.depth()));
        if part.is_some() {
            return part;
        }
        match help {
            Help::Scope(tasks) => self.pop_token(tasks).or_else(|| tasks.pop()).map(Job::Queued),
            Help::Thief => self.take_part(awaited, ask),
            Help::Thieves => self.take_of_thieves(awaited, ask),
            Help::Nothing | Help::Tasks(_) => None,
        }
    }

    /// A task that is certainly a part of the awaited one: its thief's oldest, claimed while the
    /// thief runs it (I6 of `stack`).
    fn take_part(&self, awaited: &dyn Awaited, ask: bool) -> Option<Job<'_>> {
        let thief = awaited.thief().filter(|&thief| thief != self.index())?;
        let worker = &self.pool().slots[thief];
        let unfinished = || planted(Bug::LateCheck) || !awaited.is_done();
        let claim = || self.claimed(worker.stack.steal_while(self.index(), None, unfinished));
        if let Ok(claim) = self.steal_from(thief, claim) {
            self.counters.leapfrogged.add(1);
            return Some(Job::Stolen { claim, victim: thief });
        }
        if ask {
            worker.stack.request_steal();
        }
        None
    }

    /// A task of the thief, or of the worker that the thief waits for. By the time of the claim
    /// they may run other tasks; only tasks deeper than the own join are taken, which bounds the
    /// stack.
    fn take_of_thieves(&self, awaited: &dyn Awaited, ask: bool) -> Option<Job<'_>> {
        let deeper = Allowed::Deeper(self.stack.depth());
        let mut thief = awaited.thief()?;
        // Relaxed: a hint for the others in here.
        self.blocked_on.store(thief + 1, Ordering::Relaxed);
        for _ in 0..self.pool().slots.len() {
            if thief == self.index() {
                return None;
            }
            if let Ok(job) = self.try_victim(thief, deeper, ask) {
                self.counters.leapfrogged.add(1);
                return Some(job);
            }
            thief = self.pool().slots[thief].waits_for()?;
        }
        None
    }

    /// The thief of the task this worker waits for in a join; a hint.
    fn waits_for(&self) -> Option<usize> {
        // Relaxed: a hint.
        self.blocked_on.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Runs one task while waiting, if there is one; the thief's first.
    fn help(&self, awaited: &dyn Awaited, allowed: Allowed, ask: bool) -> bool {
        if let Some(thief) = awaited.thief()
            && thief != self.index()
            && let Ok(job) = self.try_victim(thief, allowed, ask)
        {
            self.counters.leapfrogged.add(1);
            self.execute(job);
            return true;
        }
        let job = self.search_once(allowed, ask).or_else(|| match allowed {
            Allowed::Any => self.take_own_join(),
            Allowed::Deeper(_) => None,
        });
        job.map(|job| self.execute(job)).is_some()
    }

    /// Parks in the list of sleepers, so that new work can wake it.
    fn sleep_for(&self, awaited: &dyn Awaited, allowed: Allowed) {
        self.pool().sleepers.sleep_in_wait(self.index());
        self.park(&mut Waiting { awaited, allowed: Some(allowed) });
        self.pool().sleepers.wake_up(self.index());
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use sinew_deque::stack::Task;
    use sinew_policy::StackKind;

    use super::*;
    use crate::pool::Pool;

    unsafe fn never(_: *const (), _: *const (), _: bool) {
        unreachable!("a claim that was given back is run")
    }

    /// An awaited event that is done, though the thief has a task.
    struct Over {
        thief: usize,
    }

    impl Awaited for Over {
        fn is_done(&self) -> bool {
            true
        }

        fn thief(&self) -> Option<usize> {
            Some(self.thief)
        }
    }

    /// Catches: returned claims of workers that wait for parts of a task, which are not counted.
    #[test]
    fn a_worker_that_finds_its_task_done_backs_out_and_counts_it() {
        let builder = Pool::builder().threads(2).stack(StackKind::TwoField).wait(Wait::Descendants);
        // No thread uses the second slot, so this thread may push there.
        let pool = builder.build_with(|_| Ok(())).unwrap();
        let stack = pool.state.slots[1].stack.two_field().unwrap();
        // SAFETY: this thread is the only owner, and the stack is empty.
        let at = unsafe { stack.push(Task { run: never, data: std::ptr::null() }, 1) };
        pool.run(|w| assert!(w.take_part(&Over { thief: 1 }, false).is_none()));
        let counters = pool.counters();
        assert_eq!((counters.backed_out, counters.steals()), (1, 0));
        let (attempts, steals): (u64, u64) =
            (counters.attempts_at.iter().sum(), counters.steals_at.iter().sum());
        assert_eq!((attempts, steals), (1, 0));
        // SAFETY: as above; the task is the newest.
        assert!(unsafe { stack.pop(at) }.is_some());
    }
}
