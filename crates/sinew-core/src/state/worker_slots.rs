//! The workers of a pool in memory: in one slice, or, on a machine of several nodes, each in pages
//! of its own on its preferred node.
//!
//! # Invariants
//!
//! - S1: the slots own the memory of `count` workers, `stride` bytes apart, the first one at
//!   `first`. The workers neither move nor are dropped before the slots are.
//!
//! # Cost
//!
//! An access to a worker by its number is a multiplication by a number that is not a constant.
//!
//! # Tests
//!
//! Below, both forms; whole pools with workers in pages of their own, and their nodes, on the
//! emulated machine.

use std::ops::Index;
use std::ptr::{NonNull, slice_from_raw_parts_mut};

use sinew_deque::PreferredNode;
use sinew_topology::{Memory, Placement};

use crate::state::worker::Worker;

/// The workers of a pool.
pub(crate) struct WorkerSlots {
    first: NonNull<Worker>,
    stride: usize,
    count: usize,
    /// Their memory, if it is no boxed slice.
    pages: Option<Memory>,
}

// SAFETY: by invariant W2 other threads use only the synchronised parts of a worker.
unsafe impl Sync for WorkerSlots {}
// SAFETY: a worker is bound to no thread; its owner changes with the external slot.
unsafe impl Send for WorkerSlots {}

impl WorkerSlots {
    /// A worker for each of `nodes`, made by `worker`.
    pub(crate) fn new(
        nodes: &[PreferredNode],
        worker: impl FnMut(usize, PreferredNode) -> Worker,
    ) -> Self {
        let apart = nodes.iter().any(|preferred| *preferred != PreferredNode::OnlyNode);
        match apart.then(|| Memory::new(nodes.len() * page_stride(), Placement::FirstTouch)) {
            Some(Ok(pages)) => Self::apart(pages, nodes, worker),
            _ => Self::together(nodes, worker),
        }
    }

    fn together(
        nodes: &[PreferredNode],
        mut worker: impl FnMut(usize, PreferredNode) -> Worker,
    ) -> Self {
        let workers: Box<[Worker]> =
            nodes.iter().enumerate().map(|(slot, preferred)| worker(slot, *preferred)).collect();
        let workers = NonNull::from(Box::leak(workers));
        Self {
            first: workers.cast(),
            stride: size_of::<Worker>(),
            count: workers.len(),
            pages: None,
        }
    }

    /// In `pages`, which are large enough.
    fn apart(
        pages: Memory,
        nodes: &[PreferredNode],
        mut worker: impl FnMut(usize, PreferredNode) -> Worker,
    ) -> Self {
        const { assert!(align_of::<Worker>() <= 4096) };
        let stride = page_stride();
        assert!(nodes.len() * stride <= pages.bytes());
        for (slot, preferred) in nodes.iter().enumerate() {
            if let PreferredNode::Node(node) = *preferred {
                pages.prefer(slot * stride..(slot + 1) * stride, node);
            }
        }
        let mut slots = Self { first: pages.start().cast(), stride, count: 0, pages: Some(pages) };
        for (slot, &preferred) in nodes.iter().enumerate() {
            // SAFETY: within the pages, which the slots own, and aligned, as pages are.
            unsafe { slots.at(slot).write(worker(slot, preferred)) };
            // One by one: if the next one panics, these are dropped.
            slots.count += 1;
        }
        slots
    }

    /// # Safety
    ///
    /// The memory is large enough for this one.
    unsafe fn at(&self, slot: usize) -> NonNull<Worker> {
        // SAFETY: as the caller says; no memory is larger than fits an `isize`.
        unsafe { self.first.byte_add(slot * self.stride) }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    #[inline]
    pub(crate) fn get(&self, slot: usize) -> Option<&Worker> {
        // SAFETY: S1.
        (slot < self.count).then(|| unsafe { self.at(slot).as_ref() })
    }

    #[inline]
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Worker> + ExactSizeIterator {
        (0..self.count).map(|slot| &self[slot])
    }
}

/// Bytes from one worker to the next if each has pages of its own.
fn page_stride() -> usize {
    size_of::<Worker>().next_multiple_of(Memory::page_bytes())
}

impl Index<usize> for WorkerSlots {
    type Output = Worker;

    #[inline]
    #[track_caller]
    fn index(&self, slot: usize) -> &Worker {
        self.get(slot).unwrap_or_else(|| no_slot(slot, self.count))
    }
}

#[cold]
#[track_caller]
fn no_slot(slot: usize, count: usize) -> ! {
    panic!("there is no slot {slot} among {count}")
}

impl Drop for WorkerSlots {
    fn drop(&mut self) {
        if self.pages.is_none() {
            let workers = slice_from_raw_parts_mut(self.first.as_ptr(), self.count);
            // SAFETY: leaked by `together`; no thread uses a worker of a pool that has ended (S1).
            return drop(unsafe { Box::from_raw(workers) });
        }
        for slot in 0..self.count {
            // SAFETY: S1; as above.
            unsafe { self.at(slot).drop_in_place() };
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::ptr::null;
    use std::sync::Arc;

    use sinew_policy::victim::Victims;
    use sinew_sync::parker::Parker;

    use super::*;
    use sinew_policy::StackKind;

    /// The last is a node that does not exist, which must be harmless.
    const NODES: [PreferredNode; 3] =
        [PreferredNode::Any, PreferredNode::Node(0), PreferredNode::Node(1023)];

    /// Shows whether a worker still exists.
    type Signs = Vec<Arc<Parker>>;

    fn worker(slot: usize, preferred: PreferredNode, signs: &mut Signs) -> Worker {
        let worker =
            Worker::new(null(), slot, false, StackKind::Split, preferred, None, Victims::Random);
        signs.push(Arc::clone(&worker.parker));
        worker
    }

    fn all_gone(signs: &Signs) -> bool {
        signs.iter().all(|sign| Arc::strong_count(sign) == 1)
    }

    /// Catches: a worker that overlaps another one, has another's number, or outlives its pool.
    #[test]
    fn workers_are_found_by_their_numbers_and_end_with_the_slots() {
        for nodes in [[PreferredNode::OnlyNode; 3], NODES] {
            let mut signs = Signs::new();
            let slots =
                WorkerSlots::new(&nodes, |slot, preferred| worker(slot, preferred, &mut signs));
            assert!(slots.iter().map(Worker::index).eq(0..3) && slots.len() == 3);
            assert!((0..3).all(|slot| slots[slot].index() == slot) && slots.get(3).is_none());
            let places: Vec<usize> =
                slots.iter().map(|slot| std::ptr::from_ref(slot).addr()).collect();
            assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= size_of::<Worker>()));
            let page = Memory::page_bytes();
            assert!(
                nodes != NODES || places.iter().all(|place| place.is_multiple_of(page)),
                "{places:?}"
            );
            drop(slots);
            assert!(signs.len() == 3 && all_gone(&signs));
        }
    }

    /// Catches: workers that are leaked, or dropped without having been made, when there is no
    /// memory for the next one's stack.
    #[test]
    fn a_panic_between_two_workers_drops_those_that_are_there() {
        for nodes in [[PreferredNode::OnlyNode; 3], NODES] {
            let mut signs = Signs::new();
            let made = catch_unwind(AssertUnwindSafe(|| {
                WorkerSlots::new(&nodes, |slot, preferred| {
                    assert!(slot < 2, "no more");
                    worker(slot, preferred, &mut signs)
                })
            }));
            assert!(made.is_err() && signs.len() == 2 && all_gone(&signs));
        }
    }
}
