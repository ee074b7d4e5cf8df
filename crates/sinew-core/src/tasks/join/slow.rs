//! The slow paths of joins, except for the calls of their arms: this code is compiled once, and not
//! for every join of a program.

use sinew_deque::stack::{Popped, SlotPtr, Task, TwoField};
use sinew_sync::thread::yield_now;

use crate::fork;
use crate::seams::observer::Event;
use crate::state::worker::Worker;

impl Worker {
    /// After the push of a join that leaves the fast path: the first arm is next.
    ///
    /// # Safety
    ///
    /// `at` is the newest slot, just pushed, or withdrawn if it is the last one.
    pub(super) unsafe fn fork_slowly(&self, at: SlotPtr) {
        if let Some(stack) = self.stack.two_field() {
            // SAFETY: as the caller says; no thief takes tasks of this stack.
            unsafe {
                self.stack.withdraw(at);
                self.move_to_two_field(at.slot().task(), stack);
            }
            self.stack.set_depth(self.stack.depth() + 1);
        }
        self.tell(Event::Fork);
    }

    /// The task goes to the two-field stack, if there is room.
    ///
    /// # Safety
    ///
    /// The task's frame is valid until [`end_slowly`](Self::end_slowly) has returned.
    unsafe fn move_to_two_field(&self, task: Task, stack: &TwoField) {
        if stack.is_full() {
            self.counters.overflows.add(1);
            return;
        }
        // SAFETY: this is the owner, and there is room; the task is popped or waited for before its
        // frame ends.
        unsafe { stack.push(task, self.stack.depth() + 1) };
        self.safe_point(); // T3 of `two_field`
    }

    /// After the first arm: runs the second one, or waits for its thief. Its result is in the
    /// frame then.
    ///
    /// # Safety
    ///
    /// Called once, when the first arm has joined all that it pushed, with the slot and the task
    /// of the join.
    pub(super) unsafe fn end_slowly(&self, at: SlotPtr, task: Task) {
        self.tell(Event::FirstArmEnd);
        let is_mine = match self.stack.two_field() {
            // SAFETY: the newest task, as the caller says.
            Some(stack) => unsafe {
                stack.newest(task.data).is_none_or(|at| self.take_back_two_field(at, stack))
            },
            // SAFETY: the newest slot, as the caller says.
            None => self.stack.is_full(at) || unsafe { self.take_back_warned(at) },
        };
        if self.stack.two_field().is_some() {
            self.stack.set_depth(self.stack.depth() - 1);
        }
        if is_mine {
            self.tell(Event::SecondArmBegin);
            // SAFETY: taken back, so no thief has it.
            unsafe { (task.run)(task.data, std::ptr::from_ref(self).cast(), false) };
        }
        self.tell(Event::JoinEnd { stolen: (!is_mine).then(|| task.data.addr()) });
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
}
