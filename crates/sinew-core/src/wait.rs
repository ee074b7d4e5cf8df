//! Waiting for something that another worker does, without wasting this one.
//!
//! A join whose task was stolen first helps the thief: it steals the thief's own tasks, which are parts of the stolen task
//! (*leapfrogging*, Wagner and Calder 1993), then any task farther from the root than the blocked join (Sukha's depth restriction, which bounds
//! the stack), and if there is none it parks. Ends of scopes wait alike, without a thief to help.
//!
//! # Blocking
//!
//! A parked waiter is woken by whoever finishes what it waits for, and, when no idle worker is asleep, for new work that may suit it.

use sinew_sync::atomic::spin_loop;
use sinew_sync::clock::{TICKS_A_US, now_ns, ticks};

use crate::fork;
use crate::latch::Latch;
use crate::search::{Allowed, Job, Patience, Silence};
use crate::stack::{At, Slot};
use crate::worker::Worker;

/// What a worker does while it waits in a join, or at the end of a scope, for tasks that others run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Wait {
    /// Help the thief of the joined task, then run deeper tasks only, then park.
    #[default]
    Leapfrog,
    /// Run nothing and park. Programs that hold a lock across a join may need it; others lose by it.
    Block,
}

impl std::fmt::Display for Wait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Leapfrog => "leapfrog",
            Self::Block => "block",
        })
    }
}

impl std::str::FromStr for Wait {
    type Err = ParseWaitError;

    fn from_str(text: &str) -> Result<Self, ParseWaitError> {
        match text {
            "leapfrog" => Ok(Self::Leapfrog),
            "block" => Ok(Self::Block),
            _ => Err(ParseWaitError(text.to_owned())),
        }
    }
}

/// A text that names no [`Wait`] policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseWaitError(String);

impl std::fmt::Display for ParseWaitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unknown wait policy `{}`; use `leapfrog` or `block`", self.0)
    }
}

impl std::error::Error for ParseWaitError {}

/// How long a waiting worker only watches before it looks for something to do.
const MOMENT: u64 = TICKS_A_US / 3;

/// Something that another thread brings about.
pub(crate) trait Awaited {
    fn is_done(&self) -> bool;

    /// Before the waiter parks: asks to be woken. False if it is done already.
    fn will_park(&self) -> bool {
        !self.is_done()
    }

    /// Whose tasks are parts of what is awaited.
    fn thief(&self) -> Option<usize> {
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

impl Awaited for Latch {
    fn is_done(&self) -> bool {
        self.is_set()
    }
}

impl Worker {
    /// Waits for the thief of the task in slot `at`, which is free afterwards.
    ///
    /// # Safety
    ///
    /// `at` is the newest slot, and a pop has just found it stolen.
    pub(crate) unsafe fn wait_for_thief(&self, at: At) {
        // SAFETY: as the caller says.
        unsafe { self.stack.pin(at) };
        // SAFETY: the stack is this worker's.
        let slot = unsafe { at.slot() };
        if !slot.is_done() {
            if self.pool().is_of_another_process() {
                fork::die_of_lost_task();
            }
            self.counters.blocked_joins.add(1);
            self.wait(slot, self.allowed_while_waiting());
        }
        // SAFETY: done, and every task above was joined by the job that pushed it.
        unsafe { self.stack.unpin(at) };
    }

    /// What the pool's policy lets a blocked worker run: deeper tasks, or none.
    pub(crate) fn allowed_while_waiting(&self) -> Option<Allowed> {
        match self.pool().wait {
            Wait::Leapfrog => Some(Allowed::Deeper(self.stack.depth())),
            Wait::Block => None,
        }
    }

    /// Waits until `awaited` is done, running what is `allowed` meanwhile.
    pub(crate) fn wait(&self, awaited: &dyn Awaited, allowed: Option<Allowed>) {
        if self.will_soon_be_done(awaited) {
            return;
        }
        while !awaited.is_done() {
            if self.pool().is_of_another_process() {
                self.go_on_alone(allowed);
                continue;
            }
            let began = now_ns();
            let helped = self.help_or_park(awaited, allowed);
            if !helped {
                self.counters.blocked_ns.add(now_ns().saturating_sub(began));
            }
        }
    }

    /// In a forked child: what this worker cannot do itself is lost.
    #[cold]
    fn go_on_alone(&self, allowed: Option<Allowed>) {
        match allowed.and_then(|allowed| self.pop_own(allowed)) {
            Some(queued) => self.execute(Job::Queued(queued)),
            None => fork::die_of_lost_task(),
        }
    }

    /// Watches `awaited` for a moment and touches nothing else: whoever finishes a short task should not meet this worker at its own lines.
    fn will_soon_be_done(&self, awaited: &dyn Awaited) -> bool {
        let began = ticks();
        while !awaited.is_done() {
            if ticks().saturating_sub(began) > MOMENT {
                return false;
            }
            spin_loop();
        }
        true
    }

    /// Runs one task, or waits for a spin window and then in the parker. True if a task was run.
    fn help_or_park(&self, awaited: &dyn Awaited, allowed: Option<Allowed>) -> bool {
        if allowed.is_some() {
            self.start_policy();
        }
        let mut patience = Patience::new(self.window_ns());
        loop {
            if awaited.is_done() {
                return false;
            }
            if allowed.is_some_and(|allowed| self.help(awaited, allowed, patience.rounds > 0)) {
                return true;
            }
            if patience.is_left(self.own.silence_ns.get()) {
                continue;
            }
            let Some(allowed) = allowed else {
                if patience.is_over() {
                    return self.park_for(awaited);
                }
                continue;
            };
            match self.break_silence(allowed, &patience) {
                Silence::Broken(job) => {
                    self.execute(job);
                    return true;
                }
                Silence::Empty if patience.is_over() => return self.lie_down_for(awaited, allowed),
                Silence::Lasts | Silence::Empty => {}
            }
        }
    }

    /// Runs one task for the time of waiting, if there is one: of the thief first.
    fn help(&self, awaited: &dyn Awaited, allowed: Allowed, ask: bool) -> bool {
        if let Some(thief) = awaited.thief()
            && thief != self.index()
            && let Ok(job) = self.try_victim(thief, allowed, ask)
        {
            self.counters.leapfrogged.add(1);
            self.execute(job);
            return true;
        }
        let job = self.look_around(allowed, ask);
        job.map(|job| self.execute(job)).is_some()
    }

    fn park_for(&self, awaited: &dyn Awaited) -> bool {
        if awaited.will_park() {
            self.counters.parks.add(1);
            self.parker.park();
        }
        false
    }

    /// Parks where new work can find it.
    fn lie_down_for(&self, awaited: &dyn Awaited, allowed: Allowed) -> bool {
        self.pool().sleepers.lie_down(self.index());
        if !self.last_look(allowed) {
            self.park_for(awaited);
        }
        self.pool().sleepers.get_up(self.index());
        false
    }
}
