//! Jobs: work that was found, and how a worker runs it.

use sinew_deque::Queued;
use sinew_deque::stack::Claim;
use sinew_policy::Wait;
use sinew_sync::atomic::spin_loop;
use sinew_sync::clock::{TICKS_PER_US, ticks};
use sinew_sync::plant::{Bug, planted};

use crate::idle::wake_up_cost::ENOUGH;
use crate::seams::observer::{Event, Source};
use crate::state::worker::Worker;

/// A stolen task that runs for longer is long. While tasks are long, a thief requests the next one
/// before it runs the stolen one, so that a task is public when it returns. While tasks are short,
/// the read of the owner's cache line would be a large part of the steal.
const SHORT: u64 = TICKS_PER_US;

/// A stolen task that took no longer cost more than the steal saved.
const SCRAP: u64 = TICKS_PER_US / 4;

/// A thief that has stolen so many of them in a row rests before it looks for another, unless its
/// pool never parks: such thieves search without a pause.
const SCRAPS: u32 = 8;

/// Work that was found, and its source.
pub(crate) enum Job<'p> {
    Stolen {
        claim: Claim<'p>,
        victim: usize,
    },
    Queued(Queued),
    /// From another worker's queue.
    Taken {
        queued: Queued,
        victim: usize,
    },
    /// From the worker's inbox.
    Delivered(Queued),
    Injected(Queued),
}

/// Which tasks a worker may run now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allowed {
    Any,
    /// Tasks farther from the root than this.
    Deeper(u32),
}

impl Allowed {
    pub(crate) fn above(self) -> Option<u32> {
        match self {
            Self::Any => None,
            Self::Deeper(depth) => Some(depth),
        }
    }
}

impl Worker {
    /// Runs what was found.
    pub(crate) fn execute(&self, job: Job<'_>) {
        let depth = self.stack.depth();
        let began = if let Job::Stolen { .. } | Job::Injected(_) = job { ticks() } else { 0 };
        let interrupted = self.work.begin(began);
        if let Job::Stolen { victim, .. } | Job::Taken { victim, .. } = job {
            self.work.is_part_of(&self.pool().slots[victim].work);
        }
        match job {
            Job::Stolen { claim, victim } => {
                let task_depth = claim.depth();
                // As `run_task`: a worker that yields, or that may run any task while it waits, may
                // have taken a task of lower depth than the one that it interrupts.
                self.stack.set_depth(depth.max(task_depth));
                if self.own.tasks_are_long.get() {
                    self.pool().slots[victim].stack.request_steal();
                    self.be_generous();
                }
                let source = Source::Join { owner: victim, frame: claim.task.data.addr() };
                self.tell(Event::TaskBegin(source));
                // SAFETY: the claim is this worker's, and run once. The arm catches its own panics.
                unsafe { (claim.task.run)(claim.task.data, std::ptr::from_ref(self).cast(), true) };
                if !planted(Bug::LateEvent) {
                    self.tell(Event::TaskEnd(source)); // E3
                }
                if self.pool().wait == Wait::Descendants && !planted(Bug::StaleEpoch) {
                    // SAFETY: this is the owner, and the task has joined what it pushed.
                    unsafe { self.stack.end_epoch() };
                }
                if claim.finish() && !planted(Bug::ForgottenJoiner) {
                    self.pool().slots[victim].parker.unpark();
                }
                if planted(Bug::LateEvent) {
                    spin_loop(); // The checker may run other threads first.
                    self.tell(Event::TaskEnd(source));
                }
                self.tell(Event::StealEnd);
                let took = ticks().saturating_sub(began);
                self.own.gain.set(self.own.gain.get().saturating_add(took));
                self.stolen_task_took(task_depth, took);
                self.own.tasks_are_long.set(took > SHORT);
                self.count_scrap(took < SCRAP);
            }
            Job::Queued(queued) | Job::Taken { queued, .. } => {
                self.own.gain.set(ENOUGH);
                self.run_queued(queued);
                self.tell(Event::StealEnd);
            }
            Job::Delivered(queued) => {
                self.own.gain.set(ENOUGH);
                self.counters.queued_tasks.add(1);
                self.run_task_from(queued, Source::Broadcast);
                self.pool().retire();
            }
            Job::Injected(queued) => {
                self.own.gain.set(ENOUGH);
                self.counters.injected.add(1);
                self.be_generous();
                self.pool().root_begins(self.index());
                self.run_task_from(queued, Source::Outside);
                self.pool().root_ends();
            }
        }
        self.work.end(interrupted);
        self.stack.set_depth(depth);
    }

    fn count_scrap(&self, scrap: bool) {
        let scraps = if scrap { self.own.scraps.get() + 1 } else { 0 };
        self.own.scraps.set(scraps % SCRAPS);
        if scraps == SCRAPS && !self.pool().never_parks() {
            self.counters.rests.add(1);
            rest(u64::from(SCRAPS) * TICKS_PER_US);
        }
    }
}

/// Does nothing for `time` ticks.
pub(crate) fn rest(time: u64) {
    if time == 0 {
        return;
    }
    let began = ticks();
    while ticks().saturating_sub(began) < time {
        spin_loop();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::SCRAPS;
    use crate::{Pool, Spin};

    /// Pauses of a thief after so many short steals in a row.
    fn rests(spin: Spin, steals: u32) -> u64 {
        let pool = Pool::builder().threads(1).spin(spin).build().unwrap();
        pool.run(|w| (0..steals).for_each(|_| w.count_scrap(true)));
        pool.counters().rests
    }

    /// Catches: a pause where thieves search without one.
    #[test]
    fn thieves_pause_after_short_steals_unless_they_never_park() {
        assert_eq!(rests(Spin::Adaptive, SCRAPS - 1), 0);
        assert_eq!(rests(Spin::Adaptive, 2 * SCRAPS), 2);
        assert_eq!(rests(Spin::Forever, 2 * SCRAPS), 0);
    }
}
