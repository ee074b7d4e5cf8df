//! Fork-join: two arms, the second of which may run elsewhere.
//!
//! The second arm stays in the frame of the join; the task stack holds only a pointer to it. If nobody steals it, the join calls it
//! directly, a call that the compiler knows and inlines; the descriptor is then never read. Both arms always run, and a panic of
//! the first is held back until the second is over, for the second may borrow from the frame.
//!
//! # Cost
//!
//! Not stolen: some ten instructions beside the two calls, no locked instruction and no fence. Overflow, unwinding, requests and stolen
//! arms are calls that are never inlined.

use std::any::Any;
use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use sinew_sync::thread::yield_now;

use crate::fork;
use crate::profile::{Activity, Fork};
use crate::stack::{At, Popped, Task, TwoField, reason};
use crate::worker::Worker;

/// What a panic carries.
type Payload = Box<dyn Any + Send>;

/// What came of an arm.
type Outcome<R> = Result<R, Payload>;

/// The second arm, until it is run, and its result if a thief ran it.
struct Frame<B, RB> {
    arm: UnsafeCell<ManuallyDrop<B>>,
    result: UnsafeCell<MaybeUninit<Outcome<RB>>>,
}

impl<B, RB> Frame<B, RB>
where
    B: for<'w> FnOnce(&'w Worker, bool) -> RB,
{
    /// The second arm as a task.
    #[inline(always)]
    fn task(&self) -> Task {
        Task { run: Self::run_stolen, data: std::ptr::from_ref(self).cast() }
    }

    /// What a thief calls.
    ///
    /// # Safety
    ///
    /// `data` is a `Frame<B, RB>` whose arm nobody else takes, and which outlives the call; `worker` is the caller's.
    unsafe fn run_stolen(data: *const (), worker: *const ()) {
        // SAFETY: the caller vouches for both.
        let (frame, worker) = unsafe { (&*data.cast::<Self>(), &*worker.cast::<Worker>()) };
        // SAFETY: the thief has claimed the task, so it is the only one that takes the arm (I5).
        let arm = unsafe { frame.take() };
        let result = catch_unwind(AssertUnwindSafe(|| arm(worker, true)));
        // SAFETY: the joiner reads the result only after the thief's report (M6).
        unsafe { (*frame.result.get()).write(result) };
    }

    /// # Safety
    ///
    /// Called once.
    #[inline(always)]
    unsafe fn take(&self) -> B {
        // SAFETY: called once, and nobody else accesses the arm meanwhile.
        unsafe { ManuallyDrop::take(&mut *self.arm.get()) }
    }

    /// # Safety
    ///
    /// Called once, after the thief's report.
    unsafe fn take_result(&self) -> Outcome<RB> {
        // SAFETY: written by the thief before its report.
        unsafe { (*self.result.get()).assume_init_read() }
    }
}

/// On the stack while the first arm runs: if it panics, the second is still brought to its end.
struct Unjoined<'a, B, RB>
where
    B: for<'w> FnOnce(&'w Worker, bool) -> RB,
{
    worker: &'a Worker,
    frame: &'a Frame<B, RB>,
    at: At,
    depth: u32,
}

impl<B, RB> Drop for Unjoined<'_, B, RB>
where
    B: for<'w> FnOnce(&'w Worker, bool) -> RB,
{
    /// Inlined, so that the fields can stay in registers until they are needed here.
    #[inline(always)]
    fn drop(&mut self) {
        self.worker.abandon(self.frame, self.at, self.depth);
    }
}

/// The results of both arms; if both panicked, the first one wins.
fn both<RA, RB>(ra: Outcome<RA>, rb: Outcome<RB>) -> (RA, RB) {
    match (ra, rb) {
        (Ok(ra), Ok(rb)) => (ra, rb),
        (Err(payload), _) | (_, Err(payload)) => resume_unwind(payload),
    }
}

impl Worker {
    /// Runs two closures, possibly in parallel, and returns both results.
    ///
    /// `a` runs at once on this worker; `b` is offered to others meanwhile, and run here if nobody took it. Arms get the worker that
    /// runs them. While this worker waits for a stolen `b`, it runs other tasks as its pool's [`Wait`](crate::Wait) says.
    ///
    /// # Panics
    ///
    /// If an arm panics, after both have ended; with the first arm's payload if both did.
    ///
    /// # Cost
    ///
    /// About 3 ns beyond the two calls if `b` is not stolen, some 300 ns if it is. No allocation.
    ///
    /// # Blocking
    ///
    /// Until both arms have ended.
    ///
    /// ```
    /// use sinew_core::Worker;
    ///
    /// fn fib(w: &Worker, n: u64) -> u64 {
    ///     if n < 2 {
    ///         return n;
    ///     }
    ///     let (a, b) = w.join(|w| fib(w, n - 1), |w| fib(w, n - 2));
    ///     a + b
    /// }
    /// assert_eq!(sinew_core::run(|w| fib(w, 20)), 6765);
    /// ```
    ///
    /// The second arm may run on another thread, so it must be able to go there:
    ///
    /// ```compile_fail
    /// let here = std::rc::Rc::new(1);
    /// sinew_core::run(|w| w.join(|_| (), |_| *here)); // `Rc` is not `Send`
    /// ```
    #[inline]
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: for<'w> FnOnce(&'w Self) -> RA,
        B: for<'w> FnOnce(&'w Self) -> RB + Send,
        RB: Send,
    {
        self.join_context(a, |worker, _migrated| b(worker))
    }

    /// [`join`](Self::join) whose second arm learns whether it *migrated*: whether it was stolen rather than run by this join itself.
    ///
    /// Code that splits work adaptively splits further where its parts are taken, and not where they are not.
    ///
    /// # Panics
    ///
    /// As [`join`](Self::join).
    ///
    /// # Cost
    ///
    /// As [`join`](Self::join).
    ///
    /// ```
    /// let (here, migrated) = sinew_core::run(|w| w.join_context(|w| w.index(), |v, migrated| (v.index(), migrated)));
    /// assert!(migrated.1 || migrated.0 == here);
    /// ```
    #[inline]
    pub fn join_context<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: for<'w> FnOnce(&'w Self) -> RA,
        B: for<'w> FnOnce(&'w Self, bool) -> RB + Send,
        RB: Send,
    {
        let frame = Frame {
            arm: UnsafeCell::new(ManuallyDrop::new(b)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        };
        let depth = self.stack.depth();
        // SAFETY: this is the owner (W1); the stack was not full, or the join that filled it would have run inline; the frame
        // outlives the task, because every way out of here takes the task back or waits for its thief.
        let (at, look_up) = unsafe { self.stack.push(frame.task(), depth + 1) };
        if look_up && self.after_push_cold(at) {
            return self.join_slowly(a, &frame, at);
        }
        self.stack.set_depth(depth + 1);
        let unjoined = Unjoined { worker: self, frame: &frame, at, depth };
        let ra = a(self);
        std::mem::forget(unjoined);
        // SAFETY: the slot is the newest, as the first arm has joined all it pushed; `take_back` at most once.
        let rb = if unsafe { self.stack.pop(at) || self.take_back_cold(at) } {
            // SAFETY: taken back, so it is nobody else's.
            let arm = unsafe { frame.take() };
            arm(self, false)
        } else {
            // SAFETY: `take_back_cold` waited for the thief.
            unsafe { frame.take_result() }.unwrap_or_else(|payload| self.rethrow(depth, payload))
        };
        self.stack.set_depth(depth);
        (ra, rb)
    }

    /// After a panic of the first arm: brings the second to its end.
    #[cold]
    #[inline(never)]
    fn abandon<B, RB>(&self, frame: &Frame<B, RB>, at: At, depth: u32)
    where
        B: for<'w> FnOnce(&'w Self, bool) -> RB,
    {
        self.stack.set_depth(depth);
        // SAFETY: the slot is the newest: what the first arm pushed, it has joined, by this very code where it panicked.
        let mine = unsafe { self.take_back(at) };
        let result = self.second_arm(frame, mine, &mut self.fork());
        // The first arm's panic wins. If the payload of the second panics when it is dropped, that is a panic while unwinding, and aborts.
        drop(result);
    }

    /// Resumes the panic of a stolen arm.
    #[cold]
    #[inline(never)]
    fn rethrow(&self, depth: u32, payload: Payload) -> ! {
        self.stack.set_depth(depth);
        resume_unwind(payload)
    }

    /// After a push that asks for a look: answers requests. True if the join must leave the fast path.
    #[cold]
    #[inline(never)]
    fn after_push_cold(&self, at: At) -> bool {
        if self.is_profiled() {
            self.turn(Activity::Spawn);
        }
        self.look_up();
        self.stack.is_full(at) || self.stack.has_slow_joins()
    }

    /// A join off the fast path.
    #[cold]
    #[inline(never)]
    fn join_slowly<A, B, RA, RB>(&self, a: A, frame: &Frame<B, RB>, at: At) -> (RA, RB)
    where
        A: for<'w> FnOnce(&'w Self) -> RA,
        B: for<'w> FnOnce(&'w Self, bool) -> RB + Send,
    {
        let stack = self.stack.two_field();
        if stack.map_or(self.stack.is_full(at), TwoField::is_full) {
            return self.join_full(a, frame, at);
        }
        match stack {
            Some(stack) => self.join_two_field(a, frame, at, stack),
            None => self.join_profiled(a, frame, at),
        }
    }

    /// A join of a pool with two-field stacks: its task moves from the slot of the fast path, where no thief of such a pool looks, to that stack.
    fn join_two_field<A, B, RA, RB>(&self, a: A, frame: &Frame<B, RB>, slot: At, stack: &TwoField) -> (RA, RB)
    where
        A: for<'w> FnOnce(&'w Self) -> RA,
        B: for<'w> FnOnce(&'w Self, bool) -> RB + Send,
    {
        // SAFETY: the slot is the newest, and nobody else's.
        unsafe { self.take_back(slot) };
        let depth = self.stack.depth();
        // SAFETY: this is the owner, and there is room; the task is popped or waited for below, before the frame ends.
        let at = unsafe { stack.push(frame.task(), depth + 1) };
        self.safe_point(); // T3 of `two_field`
        let mut fork = self.fork();
        self.stack.set_depth(depth + 1);
        let ra = fork.first(|| a(self));
        self.stack.set_depth(depth + 1);
        // SAFETY: the newest task, as the first arm has joined all it pushed.
        let mine = unsafe { self.take_back_two_field(at, stack) };
        let rb = self.second_arm(frame, mine, &mut fork);
        self.stack.set_depth(depth);
        fork.joined();
        both(ra, rb)
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
    fn join_profiled<A, B, RA, RB>(&self, a: A, frame: &Frame<B, RB>, at: At) -> (RA, RB)
    where
        A: for<'w> FnOnce(&'w Self) -> RA,
        B: for<'w> FnOnce(&'w Self, bool) -> RB + Send,
    {
        let depth = self.stack.depth();
        let mut fork = self.fork();
        self.stack.set_depth(depth + 1);
        let ra = fork.first(|| a(self));
        self.stack.set_depth(depth + 1);
        // SAFETY: the slot is the newest: what the first arm pushed, it has joined.
        let mine = unsafe { self.take_back(at) };
        let rb = self.second_arm(frame, mine, &mut fork);
        self.stack.set_depth(depth);
        fork.joined();
        both(ra, rb)
    }

    /// The second arm's outcome: from running it here, if it is `mine`, or else from its thief, which has finished.
    fn second_arm<B, RB>(&self, frame: &Frame<B, RB>, mine: bool, fork: &mut Fork<'_>) -> Outcome<RB>
    where
        B: for<'w> FnOnce(&'w Self, bool) -> RB,
    {
        if mine {
            // SAFETY: taken back, so it is nobody else's.
            let arm = unsafe { frame.take() };
            fork.second(|| arm(self, false))
        } else {
            fork.stolen(std::ptr::from_ref(frame).cast());
            // SAFETY: whoever answered that the task was stolen has waited for the thief.
            unsafe { frame.take_result() }
        }
    }

    /// A join whose task took the last slot: the task is taken back (or waited for) first, so that the first arm finds a slot.
    fn join_full<A, B, RA, RB>(&self, a: A, frame: &Frame<B, RB>, at: At) -> (RA, RB)
    where
        A: for<'w> FnOnce(&'w Self) -> RA,
        B: for<'w> FnOnce(&'w Self, bool) -> RB + Send,
    {
        self.counters.overflows.add(1);
        // SAFETY: the slot is the newest.
        let mine = unsafe { self.take_back(at) };
        let mut fork = self.fork();
        let ra = fork.first(|| a(self));
        let rb = self.second_arm(frame, mine, &mut fork);
        fork.joined();
        both(ra, rb)
    }

    /// Takes the newest task back, or waits until its thief has finished it. True if it is this worker's to run.
    ///
    /// # Safety
    ///
    /// `at` is the newest slot.
    unsafe fn take_back(&self, at: At) -> bool {
        // SAFETY: as the caller says.
        unsafe { self.stack.pop(at) || self.take_back_cold(at) }
    }

    /// The rest of `take_back`, after a pop that was warned.
    ///
    /// # Safety
    ///
    /// Directly after `pop(at)` answered false.
    #[cold]
    #[inline(never)]
    unsafe fn take_back_cold(&self, at: At) -> bool {
        let mine = {
            let _queue = self.enter_queue();
            // SAFETY: as the caller says.
            unsafe { self.stack.pop_cold(at) == Popped::Mine }
        };
        if !mine {
            // Somebody is about who takes tasks: the next push is to be published.
            self.stack.call_attention(reason::HUNGRY);
            // SAFETY: just found stolen.
            unsafe { self.wait_for_thief(at) };
        }
        mine
    }
}
