//! The slow paths of joins, except for the calls of their arms: this code is compiled once, and not
//! for every join of a program.

use sinew_deque::stack::{Popped, SlotPtr, Task, TwoField};
use sinew_sync::thread::yield_now;

use crate::fork;
use crate::seams::observer::Event;
use crate::state::worker::Worker;

/// A join that has left the fast path.
pub(super) struct Slowly<'w> {
    depth: u32,
    second: Second<'w>,
}

/// The place of the second arm while the first one runs.
enum Second<'w> {
    /// In no slot: it had the last one, which the first arm needs. Taken back by this worker, or
    /// done by its thief.
    Settled { is_mine: bool },
    /// In the slot of the fast path; an observer watches the join.
    Slot(SlotPtr),
    /// On the two-field stack of a pool that has such stacks.
    TwoField { at: usize, stack: &'w TwoField },
}

impl Worker {
    /// Leaves the fast path after the push of the second arm, which is `task`, to the slot `at`.
    /// The first arm is next.
    ///
    /// # Safety
    ///
    /// `at` is the newest slot. The task's frame is valid until
    /// [`takes_back_slowly`](Self::takes_back_slowly) has returned.
    pub(super) unsafe fn leave_fast_path(&self, task: Task, at: SlotPtr) -> Slowly<'_> {
        let (depth, stack) = (self.stack.depth(), self.stack.two_field());
        let is_full = stack.map_or(self.stack.is_full(at), TwoField::is_full);
        let second = match stack {
            _ if is_full => {
                self.counters.overflows.add(1);
                // SAFETY: the slot is the newest.
                Second::Settled { is_mine: unsafe { self.take_back(at) } }
            }
            // SAFETY: as the caller says, and there is room.
            Some(stack) => unsafe { self.move_to_two_field(task, at, stack) },
            None => Second::Slot(at),
        };
        self.stack.set_depth(depth + 1);
        self.tell(Event::Fork);
        Slowly { depth, second }
    }

    /// The task moves from the slot of the fast path, from which no thief of a pool with two-field
    /// stacks steals, to the two-field stack.
    ///
    /// # Safety
    ///
    /// As [`leave_fast_path`](Self::leave_fast_path).
    unsafe fn move_to_two_field<'w>(
        &self,
        task: Task,
        slot: SlotPtr,
        stack: &'w TwoField,
    ) -> Second<'w> {
        // SAFETY: the slot is the newest, and no thief takes it.
        unsafe { self.take_back(slot) };
        // SAFETY: this is the owner, and there is room; the task is popped or waited for before its
        // frame ends.
        let at = unsafe { stack.push(task, self.stack.depth() + 1) };
        self.safe_point(); // T3 of `two_field`
        Second::TwoField { at, stack }
    }

    /// After the first arm: whether this worker must run the second. Else its thief has run it.
    ///
    /// # Safety
    ///
    /// Called once, when the first arm has joined all that it pushed.
    pub(super) unsafe fn takes_back_slowly(&self, slowly: &Slowly<'_>) -> bool {
        self.stack.set_depth(slowly.depth + 1);
        self.tell(Event::FirstArmEnd);
        let is_mine = match slowly.second {
            Second::Settled { is_mine } => is_mine,
            // SAFETY: the newest slot, as the caller says.
            Second::Slot(at) => unsafe { self.take_back(at) },
            // SAFETY: the newest task, as the caller says.
            Second::TwoField { at, stack } => unsafe { self.take_back_two_field(at, stack) },
        };
        if is_mine {
            self.tell(Event::SecondArmBegin);
        }
        is_mine
    }

    /// Both arms are over. A thief ran the second one if it was `stolen`, with this frame.
    pub(super) fn end_slowly(&self, slowly: &Slowly<'_>, stolen: Option<*const ()>) {
        self.tell(Event::JoinEnd { stolen: stolen.map(<*const ()>::addr) });
        self.stack.set_depth(slowly.depth);
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
