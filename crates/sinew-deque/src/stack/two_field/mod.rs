//! The two-field task stack, for experiments: a steal needs only a test-and-set.
//!
//! Descriptors are as in the parent's stack, last in first out for the owner and stolen from the
//! bottom, but without a private part and without compare-and-swap. Each descriptor has a `state`,
//! which is taken by test-and-set, and an `alarm`, by which a thief reports to the owner. The
//! holder of the bottom task owns `bottom`, so a thief may act on an old value of it and must then
//! back out.
//! Source: K.-F. Faxén and J. Ardelius, "Manycore Work Stealing" (2011), figure 3. Differences: the
//! owner reads the thief's number from `alarm`, and lowers `bottom` only after a committed steal.
//! While it waits, its `top` is above the stolen task; it may park, and the report wakes it.
//! Thieves may refuse a task by its depth, and back out of that claim too.
//!
//! # States of a descriptor
//!
//! | state | `state` | `alarm` | entered by | left by |
//! |---|---|---|---|---|
//! | empty | empty | any | the owner's join | the owner's push |
//! | task | task | not stolen | the owner's push | a test-and-set, the owner's or a thief's |
//! | busy | empty | not stolen | a thief's test-and-set | its commit, or its backing out |
//! | stolen | empty | the thief, perhaps `WAITED` | the thief's commit | its report |
//! | done | empty | `DONE` | the thief's report | the owner's next push |
//!
//! # Invariants
//!
//! - F1: a task is taken by exactly one test-and-set that is not undone.
//! - F2: only the owner fills a descriptor, and only while it is empty or done. A join does not
//!   leave a busy descriptor behind.
//! - F3: `bottom` is changed only by a thief that holds the task at `bottom`, to one more, and by
//!   the owner after a stolen task is done, back to that task. While a thief holds the task that
//!   `bottom` names, no other worker changes it: a thief would need that task, and the owner waits
//!   for it.
//! - F4: a thief commits only to the task that `bottom` names, so tasks are stolen oldest first.
//!
//! # Orderings
//!
//! - T1: a push sets `state` (Release) ↔ a test-and-set (Acquire): the task, its depth, `alarm` as
//!   not stolen, and the `bottom` that the owner lowered before.
//! - T2: the report (AcqRel) ↔ `is_done` (Acquire): the result, and the thief's `bottom`, which the
//!   owner may then lower.
//! - T3: push sets `state`, *light*, loads `poll` ↔ a sleeper sets `poll`, *heavy*, loads `top`: as
//!   M5 of the parent.
//!
//! # Cost
//!
//! Two locked instructions per join, one of them the owner's test-and-set. A steal accesses the
//! descriptor's line and that of `bottom`.
//!
//! # Tests
//!
//! `loom` runs an owner and one or two thieves, and plants bugs that it must catch. The test below
//! checks the node of the memory.

#[cfg(all(test, loom))]
mod loom;

use std::mem::MaybeUninit;

use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use sinew_sync::cell::Cell;
use sinew_sync::plant::{self, Bug, planted};
use sinew_topology::{PlacementError, page_nodes};

use super::pages::{Blank, Pages};
use super::{CAPACITY, Popped, Steal, Task};
use crate::node::PreferredNode;

const NOT_STOLEN: u64 = 0;
const DONE: u64 = 1;
const WAITED: u64 = 2;
const THIEF_SHIFT: u32 = 2;

/// A task descriptor, on a cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
pub struct Descriptor {
    /// Whether the task can be taken.
    state: AtomicBool,
    alarm: AtomicU64,
    depth: AtomicU32,
    task: Cell<MaybeUninit<Task>>,
}

// SAFETY: the owner writes `task` while no other worker may take it; only the worker that took it
// reads it (F1, F2).
unsafe impl Sync for Descriptor {}
// SAFETY: only the worker that runs the task uses the pointers in it.
unsafe impl Send for Descriptor {}

// SAFETY: atomics at zero, which mean that there is no task and that none was stolen, and a task
// that is not initialised.
unsafe impl Blank for Descriptor {
    #[cfg(any(loom, shuttle))]
    fn blank() -> Self {
        Self {
            state: AtomicBool::new(false),
            alarm: AtomicU64::new(NOT_STOLEN),
            depth: AtomicU32::new(0),
            task: Cell::new(MaybeUninit::uninit()),
        }
    }
}

impl Descriptor {
    /// Test-and-set: returns whether there was a task, which is then the caller's.
    fn take(&self) -> bool {
        // Acquire: T1.
        self.state.swap(false, plant::ordering(Bug::RelaxedTestAndSet, Ordering::Acquire))
    }

    /// Makes the task available.
    fn offer(&self) {
        let order = plant::ordering(Bug::RelaxedPush, Ordering::Release); // T1
        if cfg!(loom) {
            // loom may put a store after an exchange that did not see it, as if exchanges were not
            // atomic; between exchanges it does not.
            self.state.swap(true, order);
        } else {
            self.state.store(true, order);
        }
    }

    /// Makes a claimed task available again.
    fn give_back(&self) {
        // Relaxed: an exchange, so that it continues the release sequence of the push (T1).
        self.state.swap(true, Ordering::Relaxed);
    }

    /// Distance of the task from the root; a hint for callers that did not take it.
    pub fn depth(&self) -> u32 {
        // Relaxed: a heuristic, or read after a claim (T1).
        self.depth.load(Ordering::Relaxed)
    }

    /// The worker that runs the stolen task, once known.
    pub fn thief(&self) -> Option<usize> {
        // Relaxed: a hint.
        ((self.alarm.load(Ordering::Relaxed) >> THIEF_SHIFT) as usize).checked_sub(1)
    }

    /// The thief reports the task as finished; returns whether the owner is parked for it.
    pub fn finish(&self) -> bool {
        // AcqRel: T2, and Acquire sees what the owner wrote before it set WAITED.
        self.alarm.swap(DONE, plant::ordering(Bug::RelaxedDone, Ordering::AcqRel)) & WAITED != 0
    }

    /// Whether the thief has finished.
    pub fn is_done(&self) -> bool {
        // Acquire: T2.
        self.alarm.load(Ordering::Acquire) & DONE != 0
    }

    /// The owner of a stolen task requests a wake-up at its end; returns false if it has already
    /// ended.
    pub fn await_finish(&self) -> bool {
        // AcqRel: Acquire as in `is_done`; Release pairs with the swap in `finish`.
        self.alarm.fetch_or(WAITED, Ordering::AcqRel) & DONE == 0
    }
}

/// A worker's two-field stack, if its pool has such stacks.
#[derive(Debug)]
pub(super) struct Optional(Option<Box<TwoField>>);

impl Optional {
    pub(super) fn new(wanted: bool, node: PreferredNode) -> Self {
        Self(wanted.then(|| Box::new(TwoField::new(node))))
    }

    #[inline]
    pub(super) fn get(&self) -> Option<&TwoField> {
        self.0.as_deref()
    }
}

/// The stack.
#[derive(Debug)]
pub struct TwoField {
    /// The next free descriptor. The owner's; for other workers a hint, exact before their heavy
    /// fence.
    top: CachePadded<AtomicUsize>,
    /// The next descriptor to steal; see F3.
    bottom: CachePadded<AtomicUsize>,
    descriptors: Pages<Descriptor>,
}

impl TwoField {
    fn new(node: PreferredNode) -> Self {
        Self {
            top: CachePadded::new(AtomicUsize::new(0)),
            bottom: CachePadded::new(AtomicUsize::new(0)),
            descriptors: Pages::new(CAPACITY as usize, node),
        }
    }

    /// Whether the owner may push nothing. Owner only.
    pub fn is_full(&self) -> bool {
        // Relaxed: the owner's own.
        self.top.load(Ordering::Relaxed) >= self.descriptors.len()
    }

    /// Whether the stack is empty. Exact for the owner.
    pub(super) fn is_empty(&self) -> bool {
        self.top.load(Ordering::Relaxed) == 0
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.descriptors)
    }

    pub(super) fn page_nodes(&self) -> Result<Vec<Option<usize>>, PlacementError> {
        page_nodes(&self.descriptors)
    }

    /// Pushes a task, and returns its descriptor's number. The owner checks its poll word
    /// afterwards (T3).
    ///
    /// # Safety
    ///
    /// Owner only, with room left. The task's data stay valid until it is popped or finished.
    pub unsafe fn push(&self, task: Task, depth: u32) -> usize {
        // Relaxed: the owner's own.
        let at = self.top.load(Ordering::Relaxed);
        let descriptor = &self.descriptors[at];
        // SAFETY: empty or done, so no other worker reads it (F2).
        descriptor.task.with_mut(|slot| unsafe {
            (*slot).write(task);
        });
        // Relaxed: published by `state`.
        descriptor.depth.store(depth, Ordering::Relaxed);
        descriptor.alarm.store(NOT_STOLEN, Ordering::Relaxed);
        descriptor.offer();
        // Release: a sleeper that sees this value finds the task.
        self.top.store(at + 1, Ordering::Release);
        at
    }

    /// Takes the newest task back, or returns that a thief has it. `None` while a thief has claimed
    /// it and may still back out: then repeat with [`pop_again`](Self::pop_again). Until
    /// [`unpin`](Self::unpin), `top` stays above a stolen task.
    ///
    /// # Safety
    ///
    /// Owner only; `at` is the newest task's.
    pub unsafe fn pop(&self, at: usize) -> Option<Popped> {
        if self.descriptors[at].take() { Some(self.taken_back(at)) } else { self.look(at) }
    }

    /// The rest of a pop that found the task claimed.
    ///
    /// # Safety
    ///
    /// Owner only, after `pop(at)` returned `None`.
    #[cold]
    pub unsafe fn pop_again(&self, at: usize) -> Option<Popped> {
        let descriptor = &self.descriptors[at];
        // Relaxed: a check before the exchange.
        if descriptor.state.load(Ordering::Relaxed) && descriptor.take() {
            return Some(self.taken_back(at));
        }
        self.look(at)
    }

    fn taken_back(&self, at: usize) -> Popped {
        self.top.store(at, Ordering::Release);
        Popped::Mine
    }

    fn look(&self, at: usize) -> Option<Popped> {
        // Relaxed: the thief's writes are read after its report (T2).
        let stolen = self.descriptors[at].alarm.load(Ordering::Relaxed) != NOT_STOLEN;
        (stolen || planted(Bug::HastyJoin)).then_some(Popped::Stolen)
    }

    /// The number of the newest task if it is the one with these data. Owner only.
    pub fn newest(&self, data: *const ()) -> Option<usize> {
        // Relaxed: the owner's own.
        let at = self.top.load(Ordering::Relaxed).checked_sub(1)?;
        // SAFETY: filled by the owner, who alone writes it (F2).
        let task = self.descriptors[at].task.with(|task| unsafe { (*task).assume_init() });
        std::ptr::eq(task.data, data).then_some(at)
    }

    /// The descriptor with this number.
    pub fn descriptor(&self, at: usize) -> &Descriptor {
        &self.descriptors[at]
    }

    /// Frees the descriptor of a stolen task.
    ///
    /// # Safety
    ///
    /// Owner only, after a pop found the task at `at` stolen and its report was seen, with nothing
    /// above it.
    pub unsafe fn unpin(&self, at: usize) {
        // Relaxed: F3; published by the next push (T1). The thief's own store precedes, by its
        // report.
        debug_assert_eq!(self.bottom.load(Ordering::Relaxed), at + 1);
        self.bottom.store(at, Ordering::Relaxed);
        self.top.store(at, Ordering::Release);
    }

    /// Tries to take the oldest task, if it is deeper than `above`, and `still` holds once it is
    /// claimed. Returns the reason if it takes none.
    pub(super) fn steal(
        &self,
        thief: usize,
        above: Option<u32>,
        still: impl FnOnce() -> bool,
    ) -> Result<(&Descriptor, Task), Steal<'_>> {
        // Relaxed: it may be old; the check below finds that.
        let at = self.bottom.load(Ordering::Relaxed);
        let Some(descriptor) = self.descriptors.get(at) else { return Err(Steal::Empty) };
        let allowed = || above.is_none_or(|above| descriptor.depth() > above);
        // Relaxed: a check before the exchange.
        if !descriptor.state.load(Ordering::Relaxed) || !allowed() {
            return Err(Steal::Empty);
        }
        if !descriptor.take() {
            return Err(Steal::Lost);
        }
        // Relaxed: by T1 not older than the push of this task; and if it names this task, it is the
        // latest (F3).
        let is_bottom = planted(Bug::StaleBottom) || self.bottom.load(Ordering::Relaxed) == at;
        if !(is_bottom && allowed() && still()) {
            descriptor.give_back();
            return Err(Steal::BackedOut);
        }
        // Relaxed: it only says that a thief has the task, and which one; the result comes with the
        // report.
        descriptor.alarm.store((thief as u64 + 1) << THIEF_SHIFT, Ordering::Relaxed);
        // Relaxed: the next task is acquired by its own `state`; the owner sees this through the
        // report.
        self.bottom.store(at + 1, Ordering::Relaxed);
        // SAFETY: taken (F1), and acquired (T1).
        let task = descriptor.task.with(|task| unsafe { (*task).assume_init() });
        Ok((descriptor, task))
    }

    /// How many tasks could be stolen now; a hint. Not zero while there is a task that was pushed
    /// before the caller's heavy fence.
    pub(super) fn load(&self) -> usize {
        // Acquire: the tasks below are filled.
        let top = self.top.load(Ordering::Acquire);
        top.saturating_sub(self.bottom.load(Ordering::Relaxed))
    }

    /// Depth of the oldest task; a hint.
    pub(super) fn oldest_depth(&self) -> Option<u32> {
        let at = self.bottom.load(Ordering::Relaxed);
        let oldest = self.descriptors.get(at)?;
        oldest.state.load(Ordering::Acquire).then(|| oldest.depth())
    }
}

#[cfg(all(test, target_os = "linux", not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::stack::pages::tells_pages;

    unsafe fn never(_: *const (), _: *const (), _: bool) {
        unreachable!("nobody runs it")
    }

    /// Catches: descriptors written by the thread that builds the pool, which are then on that
    /// thread's node.
    #[test]
    fn pages_of_a_stack_are_there_once_its_owner_has_touched_them() {
        if !tells_pages() {
            println!("skipped: this kernel does not say which pages there are");
            return;
        }
        let stack = TwoField::new(PreferredNode::Any);
        let touched = || stack.page_nodes().unwrap().iter().flatten().count();
        assert_eq!(touched(), 0);
        let task = Task { run: never, data: std::ptr::null() };
        // SAFETY: this is the owner of an empty stack.
        unsafe { stack.push(task, 1) };
        assert_eq!(touched(), 1);
    }
}
