//! A worker's queue of spawned tasks: the owner works at one end, thieves at the other.
//!
//! Source: D. Chase and Y. Lev, "Dynamic Circular Work-Stealing Deque" (2005), with the orderings
//! of N. M. Lê, A. Pop, A. Cohen and F. Zappa Nardelli, "Correct and Efficient Work-Stealing for
//! Weak Memory Models" (2013). Difference: an entry contains the task's depth besides its pointer,
//! so that a thief can decline a task before it claims it.
//!
//! # Invariants
//!
//! - D1: `top` only grows; the entries `top..bottom` are tasks.
//! - D2: a thread claims an entry by moving `top` over it; the owner's pop may also take one
//!   without that while at least two are left.
//! - D3: a replaced buffer lives as long as the deque. So a thief with an old pointer reads an
//!   entry that was valid when it loaded the pointer, and its claim fails if the entry was taken
//!   meanwhile.
//!
//! # Orderings
//!
//! - Q1: every store of `bottom` (Release) ↔ steal loads it (Acquire): the entry and the task
//!   behind it.
//! - Q2: pop lowers `bottom`, `fence(SeqCst)`, loads `top` ↔ steal loads `top`, `fence(SeqCst)`,
//!   loads `bottom`: the owner and a thief cannot both take the last entry without a
//!   compare-and-swap on `top`, which decides between them.
//!
//! # Cost
//!
//! Push: two stores and a load. Pop: a full fence, unless the deque is seen empty. Steal: a fence
//! and a compare-and-swap.

use std::ptr::NonNull;

use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering, fence};
use sinew_sync::lock::Mutex;
use sinew_sync::plant::{Bug, planted};

use crate::task::{Queued, TaskRef};

/// Entries of the first buffer.
const START: usize = if cfg!(any(loom, shuttle)) { 2 } else { 64 };

/// The result of an attempt to take a task.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// A task, which the caller must now run.
    Task(Queued),
    /// No task that the caller may take.
    Empty,
    /// Another thread was faster.
    Lost,
}

#[derive(Debug)]
struct Entry {
    task: AtomicPtr<()>,
    depth: AtomicU32,
}

#[derive(Debug)]
struct Buffer {
    entries: Box<[Entry]>,
}

impl Buffer {
    fn new(size: usize) -> Self {
        let empty =
            || Entry { task: AtomicPtr::new(std::ptr::null_mut()), depth: AtomicU32::new(0) };
        Self { entries: (0..size).map(|_| empty()).collect() }
    }

    #[inline]
    fn put(&self, at: usize, queued: Queued) {
        let entry = &self.entries[at & (self.entries.len() - 1)];
        // Relaxed, both: published by the store of `bottom` (Q1).
        entry.task.store(queued.task.pointer().as_ptr(), Ordering::Relaxed);
        entry.depth.store(queued.depth, Ordering::Relaxed);
    }

    /// The entry as it is now: valid only after a claim of `at` has succeeded.
    #[inline]
    fn get(&self, at: usize) -> Option<Queued> {
        let entry = &self.entries[at & (self.entries.len() - 1)];
        let task = NonNull::new(entry.task.load(Ordering::Relaxed))?;
        Some(Queued { task: TaskRef::new(task), depth: entry.depth.load(Ordering::Relaxed) })
    }
}

/// The deque. Only the owner calls push and pop; any thread may call the rest.
#[derive(Debug)]
pub struct Deque {
    bottom: CachePadded<AtomicUsize>,
    top: CachePadded<AtomicUsize>,
    buffer: AtomicPtr<Buffer>,
    /// All buffers so far, the current one last (D3).
    #[expect(clippy::vec_box, reason = "buffers are pointed to, so they must not move")]
    buffers: Mutex<Vec<Box<Buffer>>>,
}

impl Default for Deque {
    fn default() -> Self {
        Self::new()
    }
}

impl Deque {
    /// An empty deque.
    pub fn new() -> Self {
        let mut first = Box::new(Buffer::new(START));
        let buffer = AtomicPtr::new(&raw mut *first);
        Self {
            bottom: CachePadded::new(AtomicUsize::new(0)),
            top: CachePadded::new(AtomicUsize::new(0)),
            buffer,
            buffers: Mutex::new(vec![first]),
        }
    }

    #[inline]
    fn buffer(&self) -> &Buffer {
        // Acquire: pairs with Release in `grow`.
        // SAFETY: the pointer is to a box in `buffers`, which only grows (D3).
        unsafe { &*self.buffer.load(Ordering::Acquire) }
    }

    /// Adds a task at the owner's end.
    ///
    /// # Safety
    ///
    /// Owner only.
    #[inline]
    pub unsafe fn push(&self, queued: Queued) {
        let bottom = self.bottom.load(Ordering::Relaxed);
        // Acquire: entries below `top` have been read by their thieves before they are overwritten.
        let top = self.top.load(Ordering::Acquire);
        if bottom.wrapping_sub(top) == self.buffer().entries.len() {
            self.grow(top, bottom);
        }
        self.buffer().put(bottom, queued);
        self.bottom.store(bottom.wrapping_add(1), Ordering::Release); // Q1
    }

    /// Takes the newest task.
    ///
    /// # Safety
    ///
    /// Owner only.
    #[inline]
    pub unsafe fn pop(&self) -> Option<Queued> {
        let bottom = self.bottom.load(Ordering::Relaxed);
        // Relaxed: `top` never passes `bottom`, so a stale value can only make the deque seem less
        // empty than it is.
        if self.top.load(Ordering::Relaxed) == bottom {
            return None;
        }
        let last = bottom.wrapping_sub(1);
        self.bottom.store(last, Ordering::Release); // Q1
        if !planted(Bug::NoQueueFence) {
            fence(Ordering::SeqCst); // Q2
        }
        let top = self.top.load(Ordering::Relaxed);
        let left = last.wrapping_sub(top).cast_signed();
        let task = if left >= 0 { self.buffer().get(last) } else { None };
        if left > 0 {
            return task;
        }
        let mine = left == 0 && self.claim(top);
        self.bottom.store(bottom, Ordering::Release); // Q1
        task.filter(|_| mine)
    }

    /// The newest task. A thief may take it at any time, so the caller must not run it.
    ///
    /// # Safety
    ///
    /// Owner only.
    #[inline]
    pub unsafe fn newest(&self) -> Option<Queued> {
        // Relaxed: as in `pop`.
        let bottom = self.bottom.load(Ordering::Relaxed);
        if self.top.load(Ordering::Relaxed) == bottom {
            return None;
        }
        self.buffer().get(bottom.wrapping_sub(1))
    }

    /// Takes the oldest task, if it is deeper than `above` (`None`: any task).
    #[inline]
    pub fn steal(&self, above: Option<u32>) -> Taken {
        let top = self.top.load(Ordering::Acquire);
        fence(Ordering::SeqCst); // Q2
        let bottom = self.bottom.load(Ordering::Acquire); // Q1
        if bottom.wrapping_sub(top).cast_signed() <= 0 {
            return Taken::Empty;
        }
        let Some(queued) = self.buffer().get(top) else { return Taken::Lost };
        if above.is_some_and(|above| queued.depth <= above) {
            return Taken::Empty;
        }
        if self.claim(top) { Taken::Task(queued) } else { Taken::Lost }
    }

    /// Whether the deque seems empty. Exact for tasks pushed before the caller's heavy fence.
    #[inline]
    pub fn is_empty(&self) -> bool {
        let top = self.top.load(Ordering::Relaxed);
        self.bottom.load(Ordering::Relaxed).wrapping_sub(top).cast_signed() <= 0
    }

    /// Whether the oldest task is deeper than `above` (`None`: whether a task exists). As exact as
    /// `is_empty`.
    #[inline]
    pub fn has(&self, above: Option<u32>) -> bool {
        let top = self.top.load(Ordering::Acquire);
        let deep = |above| self.buffer().get(top).is_some_and(|queued| queued.depth > above);
        self.bottom.load(Ordering::Acquire).wrapping_sub(top).cast_signed() > 0
            && above.is_none_or(deep)
    }

    /// About how many tasks there are; a hint.
    #[inline]
    pub fn len(&self) -> usize {
        let top = self.top.load(Ordering::Relaxed);
        usize::try_from(self.bottom.load(Ordering::Relaxed).wrapping_sub(top).cast_signed())
            .unwrap_or(0)
    }

    /// Depth of the oldest task; a hint.
    #[inline]
    pub fn oldest_depth(&self) -> Option<u32> {
        let top = self.top.load(Ordering::Acquire);
        // Q1
        let has_tasks = self.bottom.load(Ordering::Acquire).wrapping_sub(top).cast_signed() > 0;
        let oldest = has_tasks.then(|| self.buffer().get(top)).flatten();
        oldest.map(|queued| queued.depth)
    }

    #[inline]
    fn claim(&self, top: usize) -> bool {
        self.top
            .compare_exchange(top, top.wrapping_add(1), Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }

    #[cold]
    fn grow(&self, top: usize, bottom: usize) {
        let old = self.buffer();
        let mut new = Box::new(Buffer::new(old.entries.len() * 2));
        let mut at = top;
        while at != bottom {
            if let Some(queued) = old.get(at) {
                new.put(at, queued);
            }
            at = at.wrapping_add(1);
        }
        let pointer = &raw mut *new;
        self.buffers.lock().push(new);
        // Release: a thief that sees the new buffer sees its entries.
        self.buffer.store(pointer, Ordering::Release);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    fn queued(depth: u32) -> Queued {
        Queued { task: TaskRef::new(NonNull::<u8>::dangling()), depth }
    }

    proptest! {
        /// Catches: entries lost or repeated when the buffer grows or wraps around.
        #[test]
        fn one_thread_sees_a_double_ended_queue(steps in prop::collection::vec(0_u8..5, 0..600)) {
            let (deque, mut model) = (Deque::new(), VecDeque::new());
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    0..=2 => {
                        // SAFETY: this is the only thread.
                        unsafe { deque.push(queued(number as u32)) };
                        model.push_back(number as u32);
                    }
                    3 => {
                        // SAFETY: as above.
                        let popped = unsafe { deque.pop() };
                        prop_assert_eq!(popped.map(|q| q.depth), model.pop_back());
                    }
                    _ => match deque.steal(None) {
                        Taken::Task(q) => prop_assert_eq!(Some(q.depth), model.pop_front()),
                        _ => prop_assert!(model.is_empty()),
                    },
                }
            }
            prop_assert_eq!(deque.is_empty(), model.is_empty());
        }
    }

    /// Catches: a thief that claims before it reads the depth.
    #[test]
    fn a_task_that_is_too_shallow_stays() {
        let deque = Deque::new();
        // SAFETY: this is the only thread.
        unsafe { deque.push(queued(3)) };
        assert_eq!(deque.steal(Some(3)), Taken::Empty);
        assert_eq!(deque.steal(Some(2)), Taken::Task(queued(3)));
    }
}
