//! One task descriptor: the function and its data, the depth, and the state.
//!
//! # States
//!
//! | state | entered by | left by |
//! |---|---|---|
//! | 0 | the owner's push | a thief's [`Slot::announce`]; the owner's pop (the slot is free then) |
//! | thief number | `announce` after a steal | `finish` → `DONE` |
//! | 0 or a thief number, and `WAITED` | the owner before it parks | `finish` → `DONE` |
//! | `DONE` | the thief's `finish` | the owner's next push |

use std::mem::MaybeUninit;

use sinew_sync::atomic::{AtomicU64, Ordering};
use sinew_sync::cell::Cell;
use sinew_sync::plant::{self, Bug};

use super::pages::Blank;

/// The state is the upper half of one word, the depth the lower, so that a push sets both in one
/// store. The depth is stored times the size of a slot, as it is computed from addresses.
const DONE: u64 = 1 << 32;
const WAITED: u64 = 2 << 32;
const THIEF_SHIFT: u32 = 34;

/// A function and the address of its closure and result: all that a thief needs to run a task.
///
/// The second argument of `run` is the worker that executes it, with its type erased so that the
/// stack can be modelled alone; the third says whether that worker stole the task.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    /// Runs the task.
    pub run: unsafe fn(data: *const (), worker: *const (), migrated: bool),
    /// The closure and its result.
    pub data: *const (),
}

/// A descriptor. 32 bytes, so that a push of the fast path touches one cache line.
#[derive(Debug)]
#[repr(align(32))]
pub struct Slot {
    task: Cell<MaybeUninit<Task>>,
    state_and_depth: AtomicU64,
}

// SAFETY: only the worker that runs the task uses the pointers in it.
unsafe impl Send for Slot {}
// SAFETY: an atomic at zero, and a task that is not initialised.
unsafe impl Blank for Slot {
    #[cfg(any(loom, shuttle))]
    fn blank() -> Self {
        Self { task: Cell::new(MaybeUninit::uninit()), state_and_depth: AtomicU64::new(0) }
    }
}

impl Slot {
    /// Fills the slot.
    ///
    /// # Safety
    ///
    /// The caller owns the slot: no thief can claim it until the caller publishes it. `depth`,
    /// times the size of a slot, is less than 2³².
    #[inline(always)]
    pub unsafe fn fill(&self, task: Task, depth: usize) {
        // SAFETY: the caller owns the slot.
        self.task.with_mut(|slot| unsafe {
            (*slot).write(task);
        });
        // Relaxed: published by the owner's Release store of `head` (push) and by `bounds`.
        self.state_and_depth.store(depth as u64, Ordering::Relaxed);
    }

    /// The task in the slot.
    ///
    /// # Safety
    ///
    /// The caller has claimed the slot by moving `tail` over it and has not finished it, or owns
    /// it.
    #[inline]
    pub unsafe fn task(&self) -> Task {
        // SAFETY: claimed by the caller, so the owner does not refill it before DONE.
        self.task.with(|slot| unsafe { (*slot).assume_init() })
    }

    /// Distance of the task from the root of its task tree; a hint for callers that do not own the
    /// slot.
    #[inline]
    pub fn depth(&self) -> u32 {
        // Relaxed: a heuristic, or read after a claim that acquired the slot.
        self.state_and_depth.load(Ordering::Relaxed) as u32 / size_of::<Self>() as u32
    }

    /// Stores the thief's number, so that the owner can leapfrog to it.
    #[inline]
    pub fn announce(&self, thief: usize) {
        // Relaxed: the number is a hint and publishes nothing. A read-modify-write, so that WAITED
        // is kept.
        self.state_and_depth.fetch_or((thief as u64 + 1) << THIEF_SHIFT, Ordering::Relaxed);
    }

    /// The worker that runs the stolen task, once known.
    #[inline]
    pub fn thief(&self) -> Option<usize> {
        // Relaxed: a hint.
        ((self.state_and_depth.load(Ordering::Relaxed) >> THIEF_SHIFT) as usize).checked_sub(1)
    }

    /// Reports the task as finished; returns whether the owner is parked for it. From this call on
    /// the joiner's frame no longer exists.
    #[inline]
    pub fn finish(&self) -> bool {
        // AcqRel: Release publishes the result to `is_done`; Acquire sees what the owner wrote
        // before it set WAITED.
        self.state_and_depth.swap(DONE, plant::ordering(Bug::RelaxedDone, Ordering::AcqRel))
            & WAITED
            != 0
    }

    /// Whether the thief has finished.
    #[inline]
    pub fn is_done(&self) -> bool {
        // Acquire: pairs with the swap in `finish`.
        self.state_and_depth.load(Ordering::Acquire) & DONE != 0
    }

    /// The owner requests a wake-up at the end of the task; returns false if the task has already
    /// ended.
    #[inline]
    pub fn await_finish(&self) -> bool {
        // AcqRel: Acquire as in `is_done`; Release pairs with the swap in `finish`.
        self.state_and_depth.fetch_or(WAITED, Ordering::AcqRel) & DONE == 0
    }
}
