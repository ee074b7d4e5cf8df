//! Joins whose arms are known by pointers only: what leaves the fast path, and what comes from outside of the pool.
//!
//! None of these functions knows what the arms are, so each is compiled once, and not for every join of a program. Arms that are called like this keep
//! what comes of them in their frames, panics included: nothing unwinds through here.

use sinew_sync::thread::yield_now;

use crate::fork;
use crate::join::Entering;
use crate::profile::Fork;
use crate::stack::{At, Popped, Task, TwoField};
use crate::worker::Worker;

/// An arm without its type.
#[derive(Clone, Copy)]
pub(super) struct Arm {
    run: unsafe fn(data: *const (), worker: &Worker, migrated: bool),
    task: Task,
}

// SAFETY: whoever calls the arm on another thread vouches for its being allowed there.
unsafe impl Send for Arm {}

impl Arm {
    /// `run`, when it is called with the data of `task`, does what a thief of `task` would do.
    pub(super) fn new(run: unsafe fn(*const (), &Worker, bool), task: Task) -> Self {
        Self { run, task }
    }

    /// Runs it here.
    ///
    /// # Safety
    ///
    /// Its frame is there, and nobody else runs it.
    unsafe fn call(self, worker: &Worker, migrated: bool) {
        // SAFETY: as the caller says.
        unsafe { (self.run)(self.task.data, worker, migrated) }
    }
}

/// Both arms of a join.
#[derive(Clone, Copy)]
pub(super) struct Arms {
    pub(super) first: Arm,
    pub(super) second: Arm,
}

/// Has `enter` call the join of `arms` on some worker.
///
/// # Panics
///
/// If `enter` panics, or does not call it.
///
/// # Safety
///
/// The arms' frames outlive the call; arms and results may go to other threads.
pub(super) unsafe fn join_by(enter: impl FnOnce(Entering<'_>), arms: Arms) {
    let mut arms = Some(arms);
    enter(&mut |worker| {
        if let Some(Arms { first, second }) = arms.take() {
            // SAFETY: taken, so each is called once; the caller vouches for the rest.
            let calls = |arm: Arm| move |here: &Worker, _| unsafe { arm.call(here, true) };
            worker.join_arms(calls(first), calls(second));
        }
    });
    assert!(arms.is_none(), "a join was not called by what was to bring it to a worker");
}

impl Worker {
    /// A join off the fast path, after the push of its second arm to the slot `at`: both arms have run when this returns.
    ///
    /// # Safety
    ///
    /// `at` is the newest slot; the frames outlive the call, and nobody but the thief of the second arm runs an arm.
    pub(super) unsafe fn join_erased(&self, arms: Arms, at: At) {
        let stack = self.stack.two_field();
        // SAFETY: as the caller says.
        unsafe {
            if stack.map_or(self.stack.is_full(at), TwoField::is_full) {
                return self.join_full(arms, at);
            }
            match stack {
                Some(stack) => self.join_two_field(arms, at, stack),
                None => self.join_profiled(arms, at),
            }
        }
    }

    /// A join of a pool with two-field stacks: its task moves from the slot of the fast path, where no thief of such a pool looks, to that stack.
    ///
    /// # Safety
    ///
    /// As [`join_erased`](Self::join_erased).
    unsafe fn join_two_field(&self, arms: Arms, slot: At, stack: &TwoField) {
        // SAFETY: the slot is the newest, and nobody else's.
        unsafe { self.take_back(slot) };
        let depth = self.stack.depth();
        // SAFETY: this is the owner, and there is room; the task is popped or waited for below, before the frame ends.
        let at = unsafe { stack.push(arms.second.task, depth + 1) };
        self.safe_point(); // T3 of `two_field`
        let mut fork = self.fork();
        self.stack.set_depth(depth + 1);
        // SAFETY: as the caller says.
        fork.first(|| unsafe { arms.first.call(self, false) });
        self.stack.set_depth(depth + 1);
        // SAFETY: the newest task, as the first arm has joined all it pushed.
        let mine = unsafe { self.take_back_two_field(at, stack) };
        // SAFETY: as the caller says.
        unsafe { self.second_arm(arms.second, mine, &mut fork) };
        self.stack.set_depth(depth);
        fork.joined();
    }

    /// [`take_back`](Self::take_back) on a two-field stack.
    ///
    /// # Safety
    ///
    /// `at` is the newest task's.
    unsafe fn take_back_two_field(&self, at: usize, stack: &TwoField) -> bool {
        // SAFETY: as the caller says.
        let mut popped = unsafe { stack.pop(at) };
        while popped.is_none() {
            if self.pool().is_of_another_process() {
                fork::die_of_lost_task();
            }
            // The thief may have lost its core between its claim and what follows it.
            yield_now();
            // SAFETY: as the caller says.
            popped = unsafe { stack.pop_again(at) };
        }
        if popped == Some(Popped::Mine) {
            return true;
        }
        self.wait_for_stolen(stack.descriptor(at));
        // SAFETY: found stolen, and done; what was pushed above it meanwhile is joined.
        unsafe { stack.unpin(at) };
        false
    }

    /// A join that the profile looks at.
    ///
    /// # Safety
    ///
    /// As [`join_erased`](Self::join_erased).
    unsafe fn join_profiled(&self, arms: Arms, at: At) {
        let depth = self.stack.depth();
        let mut fork = self.fork();
        self.stack.set_depth(depth + 1);
        // SAFETY: as the caller says.
        fork.first(|| unsafe { arms.first.call(self, false) });
        self.stack.set_depth(depth + 1);
        // SAFETY: the slot is the newest: what the first arm pushed, it has joined.
        let mine = unsafe { self.take_back(at) };
        // SAFETY: as the caller says.
        unsafe { self.second_arm(arms.second, mine, &mut fork) };
        self.stack.set_depth(depth);
        fork.joined();
    }

    /// A join whose task took the last slot: the task is taken back (or waited for) first, so that the first arm finds a slot.
    ///
    /// # Safety
    ///
    /// As [`join_erased`](Self::join_erased).
    unsafe fn join_full(&self, arms: Arms, at: At) {
        self.counters.overflows.add(1);
        // SAFETY: the slot is the newest.
        let mine = unsafe { self.take_back(at) };
        let mut fork = self.fork();
        // SAFETY: as the caller says.
        fork.first(|| unsafe { arms.first.call(self, false) });
        // SAFETY: as the caller says.
        unsafe { self.second_arm(arms.second, mine, &mut fork) };
        fork.joined();
    }

    /// Brings the second arm of a join, whose first has panicked, to its end.
    ///
    /// # Safety
    ///
    /// `at` is the newest slot, and holds `second`.
    pub(super) unsafe fn finish(&self, second: Arm, at: At) {
        // SAFETY: as the caller says.
        unsafe {
            let mine = self.take_back(at);
            self.second_arm(second, mine, &mut self.fork());
        }
    }

    /// Runs the second arm, if it is `mine`; else its thief has.
    ///
    /// # Safety
    ///
    /// It was taken back, or its thief has been waited for, and `mine` says which.
    unsafe fn second_arm(&self, second: Arm, mine: bool, fork: &mut Fork<'_>) {
        if mine {
            // SAFETY: taken back, so it is nobody else's.
            fork.second(|| unsafe { second.call(self, false) });
        } else {
            fork.stolen(second.task.data);
        }
    }
}
