//! The thieves' side of a task stack: steal requests, exposure, steals, and the facts that victim
//! rules use. The owner's side and the invariants are in `mod.rs`.

use sinew_sync::atomic::{Ordering, fence};
use sinew_sync::fence::heavy;
use sinew_sync::plant::{self, Bug};

use super::bounds::Bounds;
use super::two_field::Descriptor;
use super::{LAST, Slot, Task, TaskStack, reason};

/// The result of one attempt to steal.
#[derive(Debug)]
pub enum Steal<'a> {
    /// A task, which the thief must now run.
    Task(Claim<'a>),
    /// No public task that the thief may take.
    Empty,
    /// Another thief, or the owner, was faster.
    Lost,
    /// A claim that had to be undone; only two-field stacks have it.
    BackedOut,
}

/// A stolen task: the thief runs it, then reports it.
#[derive(Debug)]
pub struct Claim<'a> {
    /// The task to run.
    pub task: Task,
    place: Place<'a>,
}

/// The place for the report of a stolen task.
#[derive(Debug)]
enum Place<'a> {
    Slot(&'a Slot),
    Descriptor(&'a Descriptor),
}

impl Claim<'_> {
    /// Distance of the task from the root.
    #[inline]
    pub fn depth(&self) -> u32 {
        match self.place {
            Place::Slot(slot) => slot.depth(),
            Place::Descriptor(descriptor) => descriptor.depth(),
        }
    }

    /// Reports the task as finished; returns whether its owner is parked for it. From this call on
    /// the joiner's frame no longer exists.
    #[inline]
    pub fn finish(self) -> bool {
        match self.place {
            Place::Slot(slot) => slot.finish(),
            Place::Descriptor(descriptor) => descriptor.finish(),
        }
    }
}

/// The result of an exposure.
#[derive(Debug, PartialEq, Eq)]
pub enum Exposure {
    /// Tasks became public.
    Exposed,
    /// The owner took its tasks back meanwhile.
    Cancelled,
    /// There are no private tasks.
    Nothing,
    /// Another thief holds the token.
    Busy,
}

impl TaskStack {
    /// Tries to take the oldest task, if it is deeper than `above` (distance from the root; `None`:
    /// any task).
    #[inline]
    pub fn steal(&self, thief: usize, above: Option<u32>) -> Steal<'_> {
        self.steal_while(thief, above, || true)
    }

    /// As [`steal`](Self::steal), but takes nothing if `still` returns false. `still` runs after
    /// the read of the bounds on which the claim rests.
    #[inline]
    pub fn steal_while(
        &self,
        thief: usize,
        above: Option<u32>,
        still: impl FnOnce() -> bool,
    ) -> Steal<'_> {
        if let Some(two_field) = self.two_field() {
            return match two_field.steal(thief, above, still) {
                Ok((descriptor, task)) => {
                    Steal::Task(Claim { task, place: Place::Descriptor(descriptor) })
                }
                Err(failed) => failed,
            };
        }
        // Acquire: the slot's depth, read below, belongs to a task as new as these bounds.
        let old = self.shared.bounds.load(Ordering::Acquire);
        if !old.has_public() || !still() {
            return Steal::Empty;
        }
        let slot = self.slot(old.tail);
        if above.is_some_and(|above| slot.depth() <= above) {
            return Steal::Empty;
        }
        // SAFETY: executed only in models that must find this race.
        let early = plant::planted(Bug::EarlyRead).then(|| unsafe { slot.task() });
        // AcqRel: M2. The slot is read after the claim: by then it holds the task for which these
        // bounds stand, even if they were taken back and published again in between.
        if !self.shared.bounds.replace(old, Bounds { tail: old.tail + 1, ..old }) {
            return Steal::Lost;
        }
        slot.announce(thief);
        // SAFETY: claimed (I4).
        let task = early.unwrap_or_else(|| unsafe { slot.task() });
        Steal::Task(Claim { task, place: Place::Slot(slot) })
    }

    /// Makes half of the private tasks public without the owner's help. The last resort: it
    /// interrupts every core that runs this process. With `symmetric` owners use full fences, so
    /// the interruption is not needed.
    pub fn expose(&self, symmetric: bool) -> Exposure {
        if !self.has_private() {
            return Exposure::Nothing;
        }
        if !self.try_token() {
            return Exposure::Busy;
        }
        let exposure = self.expose_with_token(symmetric);
        self.release_token();
        exposure
    }

    fn expose_with_token(&self, symmetric: bool) -> Exposure {
        let limit = self.shared.bounds.load(Ordering::Acquire).limit;
        let head = self.head(Ordering::Acquire).min(LAST);
        if head <= limit {
            return Exposure::Nothing;
        }
        let wanted = limit + (head - limit).div_ceil(2);
        // The token keeps others from setting `pending`, so this cannot fail.
        let _ = self.shared.bounds.update(|b| Some(Bounds { pending: true, ..b }));
        self.set_split(wanted); // M4, I2
        if plant::planted(Bug::NoHeavyFence) {
        } else if symmetric {
            fence(Ordering::SeqCst); // M3
        } else {
            heavy(); // M3
        }
        let head = self.head(Ordering::Acquire).min(LAST); // M1
        let raised = self.shared.bounds.update(|b| {
            let limit = wanted.min(head).max(b.tail);
            b.pending.then_some(Bounds { limit, pending: false, ..b })
        });
        // The owner may lower `limit` further at any time; `split` may be too high, never too low.
        let (now, exposure) = match raised {
            Ok((_, new)) if new.has_public() => (new, Exposure::Exposed),
            Ok((_, new)) => (new, Exposure::Cancelled),
            Err(old) => (old, Exposure::Cancelled),
        };
        self.set_split(now.limit);
        exposure
    }

    /// Sets a steal request: the owner publishes tasks at its next push. Does nothing while a
    /// request is set.
    #[inline]
    pub fn request_steal(&self) {
        // Relaxed: a hint. Two thieves that both set it do no harm; a thief that reads a stale
        // `true` tries again in its next round.
        if !self.shared.has_request.load(Ordering::Relaxed) {
            self.shared.has_request.store(true, Ordering::Relaxed);
            self.set_poll_reason(reason::STEAL_REQUEST);
        }
    }

    /// Whether there are private tasks that an exposure could make public; a hint.
    #[inline]
    pub fn has_private(&self) -> bool {
        self.two_field().is_none()
            && self.head(Ordering::Relaxed) > self.shared.bounds.load(Ordering::Relaxed).limit
    }

    /// Whether any task could be stolen or exposed. Exact for tasks pushed before the caller's
    /// heavy fence.
    #[inline]
    pub fn has_tasks(&self) -> bool {
        if let Some(two_field) = self.two_field() {
            return two_field.load() > 0;
        }
        let bounds = self.shared.bounds.load(Ordering::Acquire);
        bounds.has_public() || self.head(Ordering::Acquire) > bounds.limit
    }

    /// How many tasks wait, public or private; a hint.
    ///
    /// # Cost
    ///
    /// This and [`oldest_depth`](Self::oldest_depth) read `head`, so the owner's next push or pop
    /// has to get its line back.
    #[inline]
    pub fn load(&self) -> usize {
        if let Some(two_field) = self.two_field() {
            return two_field.load();
        }
        let tail = self.shared.bounds.load(Ordering::Relaxed).tail;
        self.head(Ordering::Relaxed).saturating_sub(tail) as usize
    }

    /// Depth of the oldest task that waits, public or private; a hint.
    #[inline]
    pub fn oldest_depth(&self) -> Option<u32> {
        if let Some(two_field) = self.two_field() {
            return two_field.oldest_depth();
        }
        let tail = self.shared.bounds.load(Ordering::Acquire).tail;
        (self.head(Ordering::Acquire) > tail).then(|| self.slot(tail).depth())
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::super::{DEEPEST, Options};
    use super::*;

    unsafe fn never(_: *const (), _: *const (), _: bool) {
        unreachable!("nobody runs it")
    }

    /// Catches: private tasks that thieves do not see, so that a worker with many of them looks
    /// idle; and stolen ones that count.
    #[test]
    fn a_load_has_the_private_tasks_and_not_the_stolen_ones() {
        let stack = TaskStack::new(Options::default());
        let seen = || (stack.load(), stack.oldest_depth());
        assert_eq!(seen(), (0, None));
        let task = Task { run: never, data: std::ptr::null() };
        stack.set_depth(2);
        for _ in 0..3 {
            // SAFETY: this is the owner, the stack is not full, and nobody runs the tasks.
            let _ = unsafe { stack.push(task) };
        }
        assert_eq!(seen(), (3, Some(3)));
        assert!(matches!(stack.steal(1, None), Steal::Empty));
        // SAFETY: this is the owner.
        assert_eq!(unsafe { stack.publish() }, Some(true));
        assert_eq!(seen(), (3, Some(3)));
        assert!(matches!(stack.steal(1, None), Steal::Task(_)));
        assert_eq!(seen(), (2, Some(4)));
    }

    /// Catches: a task as deep as the one that pushed it, a pop, withdrawal or pin after which the
    /// depth is that of another task, and a depth that reaches into the state of a slot.
    #[test]
    fn the_depth_is_what_was_set_and_one_for_each_task_above() {
        let stack = TaskStack::new(Options::default());
        assert_eq!(stack.depth(), 0);
        let task = Task { run: never, data: std::ptr::null() };
        // SAFETY: this is the owner, and the stack is not full.
        let push = || unsafe { stack.push(task).0 };
        let first = push();
        for set in [0, 7, DEEPEST, u32::MAX] {
            stack.set_depth(set);
            let least = set.min(DEEPEST);
            let slots = [push(), push()];
            for (slot, above) in slots.iter().zip(1..) {
                // SAFETY: the stack lives.
                let slot = unsafe { slot.slot() };
                assert_eq!((slot.depth(), slot.is_done()), (least + above, false));
            }
            assert_eq!(stack.depth(), least + 2);
            // SAFETY: this is the owner, and the slot is the newest.
            unsafe {
                assert!(stack.pop(slots[1]));
                assert_eq!(stack.depth(), least + 1);
                stack.pin(slots[1]);
                assert_eq!(stack.depth(), least + 2);
                stack.withdraw(slots[0]);
            }
            assert_eq!(stack.depth(), least);
        }
        stack.set_depth(1);
        // SAFETY: as above.
        assert!(unsafe { stack.pop(first) } && stack.depth() == 0);
    }
}
