//! Fork-join: two arms, of which another worker may steal the second.
//!
//! The second arm is stored in the frame of the join; the task stack holds only a pointer to it. If
//! it is not stolen, the join calls it directly, and the compiler inlines the call; the descriptor
//! is then never read. Both arms always run. A panic of the first arm is caught until the second
//! has ended, because the second may borrow from the frame. So neither the second arm nor a task
//! that the worker runs while it waits runs in a destructor of an unwinding thread.
//!
//! The first arm is compiled once, into the fast path, and no path calls it elsewhere: what it
//! captures by reference then need not be in memory. The second is compiled twice, into the fast
//! path and as a function ([`Frame::run`]) for thieves and for the slow paths (`slow`, `outside`).
//! More copies would make programs large, and the compiler would optimise each copy less.
//!
//! # Out of line or not
//!
//! Arms that capture a word each go to a function of their own in registers
//! ([`Worker::join_of_words`]). The compiler then puts the test for the end of a recursion before
//! the call, which is a quarter of fib's time. Larger captures would go there through memory, and
//! be read back in larger pieces than they were written in, for which a processor waits: half as
//! much again as n queens takes. So other joins are inlined into the function that joins.
//!
//! # Cost
//!
//! Not stolen: some ten instructions beside the two calls, no locked instruction and no fence.
//! Overflow, unwinding, requests and stolen arms are calls that are never inlined. Catching the
//! first arm's panic costs at most one instruction a join (a move of registers).

mod outside;
mod slow;

use std::any::Any;
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use sinew_deque::stack::{Popped, SlotPtr, Task, reason};

use crate::seams::observer::{Activity, Event};
use crate::state::worker::Worker;

pub use outside::{Entering, join, join_context};

/// The payload of a panic.
type Payload = Box<dyn Any + Send>;

/// The result of an arm, or its panic.
type Outcome<R> = Result<R, Payload>;

/// An arm before it runs, or its result if it did not run on the fast path.
struct Frame<F, R> {
    arm: UnsafeCell<ManuallyDrop<F>>,
    result: UnsafeCell<MaybeUninit<Outcome<R>>>,
}

impl<F, R> Frame<F, R>
where
    F: for<'w> FnOnce(&'w Worker, bool) -> R,
{
    #[inline(always)]
    fn new(arm: F) -> Self {
        Self {
            arm: UnsafeCell::new(ManuallyDrop::new(arm)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// The arm as a task.
    #[inline(always)]
    fn task(&self) -> Task {
        Task { run: Self::run, data: std::ptr::from_ref(self).cast() }
    }

    /// Runs the arm and stores its result or its panic: what a thief calls, and the slow paths.
    ///
    /// # Safety
    ///
    /// `data` is a `Frame<F, R>` that outlives the call, and no other thread takes its arm;
    /// `worker` is the caller's.
    unsafe fn run(data: *const (), worker: *const (), migrated: bool) {
        // SAFETY: as the caller says.
        let (frame, worker) = unsafe { (&*data.cast::<Self>(), &*worker.cast::<Worker>()) };
        // SAFETY: no other thread takes it.
        let arm = unsafe { frame.take() };
        let result = catch_unwind(AssertUnwindSafe(|| arm(worker, migrated)));
        // SAFETY: the joiner reads the result only after this call, or after the thief's report
        // (M6).
        unsafe { (*frame.result.get()).write(result) };
    }

    /// # Safety
    ///
    /// Called once.
    #[inline(always)]
    unsafe fn take(&self) -> F {
        // SAFETY: called once, and no other thread accesses the arm meanwhile.
        unsafe { ManuallyDrop::take(&mut *self.arm.get()) }
    }

    /// # Safety
    ///
    /// Called once, after [`run`](Self::run).
    unsafe fn take_result(&self) -> Outcome<R> {
        // SAFETY: written by `run`.
        unsafe { (*self.result.get()).assume_init_read() }
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
    /// `a` runs at once on this worker. Meanwhile other workers may steal `b`; if none does, `b`
    /// runs here. Arms get the worker that runs them. While this worker waits for a stolen `b`, it
    /// runs other tasks as its pool's [`Wait`](crate::Wait) policy allows.
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
        self.join_arms(|worker, _| a(worker), |worker, _| b(worker))
    }

    /// As [`join`](Self::join). The second arm also gets whether it *migrated*: whether another
    /// worker stole it.
    ///
    /// Code that splits work adaptively splits further if its parts are stolen.
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
    /// let (here, migrated) = sinew_core::run(|w| {
    ///     w.join_context(|w| w.index(), |v, migrated| (v.index(), migrated))
    /// });
    /// assert!(migrated.1 || migrated.0 == here);
    /// ```
    #[inline]
    pub fn join_context<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: for<'w> FnOnce(&'w Self) -> RA,
        B: for<'w> FnOnce(&'w Self, bool) -> RB + Send,
        RB: Send,
    {
        self.join_arms(|worker, _| a(worker), b)
    }

    /// A join whose arms both get whether another thread than the caller's runs them.
    #[inline(always)]
    fn join_arms<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: for<'w> FnOnce(&'w Self, bool) -> RA,
        B: for<'w> FnOnce(&'w Self, bool) -> RB + Send,
        RB: Send,
    {
        if const { size_of::<A>() + size_of::<B>() <= 2 * size_of::<usize>() } {
            self.join_of_words(a, b)
        } else {
            self.join_by(a, b, |worker, at, a| {
                // SAFETY: as `join_by` says.
                unsafe { worker.after_push_cold(at) };
                a
            })
        }
    }

    /// A join of arms that fit into registers.
    #[inline(never)]
    fn join_of_words<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: for<'w> FnOnce(&'w Self, bool) -> RA,
        B: for<'w> FnOnce(&'w Self, bool) -> RB + Send,
        RB: Send,
    {
        // SAFETY: as `join_by` says.
        self.join_by(a, b, |worker, at, a| unsafe { worker.after_push_cold_with(at, a) })
    }

    /// The join. After a push that finds a poll reason it calls `cold` with the slot, which is the
    /// newest, and the first arm, which `cold` returns.
    #[inline(always)]
    fn join_by<A, B, RA, RB>(
        &self,
        a: A,
        b: B,
        cold: impl FnOnce(&Self, SlotPtr, A) -> A,
    ) -> (RA, RB)
    where
        A: for<'w> FnOnce(&'w Self, bool) -> RA,
        B: for<'w> FnOnce(&'w Self, bool) -> RB + Send,
        RB: Send,
    {
        let frame = Frame::new(b);
        // SAFETY: this is the owner (W1). The stack was not full, or the join that filled it would
        // have withdrawn its task. The frame outlives the task, because every path out of this
        // function takes the task back or waits for its thief.
        let (at, look_up) = unsafe { self.stack.push(frame.task()) };
        let a = if look_up { cold(self, at, a) } else { a };
        let ra = match catch_unwind(AssertUnwindSafe(|| a(self, false))) {
            Ok(ra) => ra,
            Err(payload) => self.abandon(&frame, at, payload),
        };
        // SAFETY: the slot is the newest, as the first arm has joined all it pushed; `take_back` at
        // most once.
        let rb = if unsafe { self.stack.pop(at) || self.take_back_cold(at, frame.task()) } {
            // SAFETY: taken back, so no thief has it.
            let arm = unsafe { frame.take() };
            arm(self, false)
        } else {
            // SAFETY: `take_back_cold` waited for the thief.
            unsafe { frame.take_result() }.unwrap_or_else(|payload| resume_unwind(payload))
        };
        (ra, rb)
    }

    /// After a caught panic of the first arm: runs the second arm or waits for it, and resumes the
    /// panic. Not a destructor, in which `thread::panicking()` would be true for all tasks that run
    /// here meanwhile.
    #[cold]
    #[inline(never)]
    fn abandon<B, RB>(&self, frame: &Frame<B, RB>, at: SlotPtr, payload: Payload) -> !
    where
        B: for<'w> FnOnce(&'w Worker, bool) -> RB,
    {
        // SAFETY: the slot is the newest: what the first arm pushed, it has joined, by this very
        // code where it panicked. The arm is run here or was by its thief.
        unsafe {
            let task = frame.task();
            if self.take_back(at, task) {
                (task.run)(task.data, std::ptr::from_ref(self).cast(), false);
            }
        }
        // The first arm's panic wins. The second arm's result is dropped before; if its destructor
        // panics, the process aborts. SAFETY: the arm has run.
        let _second = unsafe { frame.take_result() };
        resume_unwind(payload)
    }

    /// [`after_push_cold`](Self::after_push_cold) through which the first arm passes, so that the
    /// fast path needs no register to keep it: a store and a load less.
    ///
    /// # Safety
    ///
    /// As [`after_push_cold`](Self::after_push_cold).
    #[cold]
    #[inline(never)]
    unsafe fn after_push_cold_with<A>(&self, at: SlotPtr, a: A) -> A {
        // SAFETY: as the caller says.
        unsafe { self.after_push_cold(at) };
        // Else the compiler sees that the arm comes back unchanged, and keeps it.
        black_box(a)
    }

    /// After a push that finds a poll reason: handles the reasons.
    ///
    /// # Safety
    ///
    /// `at` is the newest slot, just pushed.
    #[cold]
    #[inline(never)]
    unsafe fn after_push_cold(&self, at: SlotPtr) {
        if self.stack.is_full(at) {
            self.counters.overflows.add(1);
            // SAFETY: the newest slot, which is never public.
            unsafe { self.stack.withdraw(at) };
        }
        self.tell(Event::Push);
        self.look_up();
        if self.stack.has_slow_joins() {
            // SAFETY: as the caller says.
            unsafe { self.fork_slowly(at) };
        }
    }

    /// Takes the newest task back, or waits until its thief has finished it, or runs it off the
    /// fast path. True if this worker must run it now; else its result is in its frame.
    ///
    /// # Safety
    ///
    /// `at` is the newest slot, and `task` was pushed to it.
    unsafe fn take_back(&self, at: SlotPtr, task: Task) -> bool {
        // SAFETY: as the caller says.
        unsafe { self.stack.pop(at) || self.take_back_cold(at, task) }
    }

    /// The rest of `take_back`, after a pop that was warned.
    ///
    /// # Safety
    ///
    /// Directly after `pop(at)` returned false.
    #[cold]
    #[inline(never)]
    unsafe fn take_back_cold(&self, at: SlotPtr, task: Task) -> bool {
        if self.stack.has_slow_joins() {
            // SAFETY: as the caller says.
            unsafe { self.end_slowly(at, task) };
            return false;
        }
        // SAFETY: as the caller says.
        unsafe { self.take_back_warned(at) }
    }

    /// The same on the fast path's stack.
    ///
    /// # Safety
    ///
    /// As [`take_back_cold`](Self::take_back_cold).
    unsafe fn take_back_warned(&self, at: SlotPtr) -> bool {
        let mine = {
            let _publish = self.begin(Activity::Publish);
            // SAFETY: as the caller says.
            unsafe { self.stack.pop_cold(at) == Popped::Mine }
        };
        if !mine {
            // There is a thief: the next push shall be published.
            self.stack.set_poll_reason(reason::STEAL_REQUEST);
            // SAFETY: just found stolen.
            unsafe { self.wait_for_thief(at) };
        }
        mine
    }
}
