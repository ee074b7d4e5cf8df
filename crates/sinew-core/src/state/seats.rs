//! The workers of a pool in memory: side by side, or, on a machine of several nodes, each in pages
//! of its own, which lie at its home.
//!
//! # Invariants
//!
//! - S1: `count` workers lie in memory that belongs to the seats, `stride` bytes apart, the first
//!   one at `first`. They neither move nor end before the seats do.
//!
//! # Cost
//!
//! Finding a worker by its number is a multiplication by a number that the compiler does not know.
//!
//! # Tests
//!
//! Below, both ways; whole pools whose workers lie apart, and where, on the guest machine.

use std::ops::Index;
use std::ptr::{NonNull, slice_from_raw_parts_mut};

use sinew_deque::PreferredNode;
use sinew_topology::{Memory, Placement};

use crate::state::worker::Worker;

/// The workers of a pool.
pub(crate) struct Seats {
    first: NonNull<Worker>,
    stride: usize,
    count: usize,
    /// What they lie in, if it is no boxed slice.
    pages: Option<Memory>,
}

// SAFETY: workers are shared inside the crate by invariant W2: other threads use only their
// synchronised parts.
unsafe impl Sync for Seats {}
// SAFETY: a worker is bound to no thread; its owner changes with the external slot.
unsafe impl Send for Seats {}

impl Seats {
    /// A worker for each of `homes`, made by `worker`.
    pub(crate) fn new(
        homes: &[PreferredNode],
        worker: impl FnMut(usize, PreferredNode) -> Worker,
    ) -> Self {
        let apart = homes.iter().any(|home| *home != PreferredNode::OnlyNode);
        match apart.then(|| Memory::new(homes.len() * page_stride(), Placement::FirstTouch)) {
            Some(Ok(pages)) => Self::apart(pages, homes, worker),
            _ => Self::together(homes, worker),
        }
    }

    fn together(
        homes: &[PreferredNode],
        mut worker: impl FnMut(usize, PreferredNode) -> Worker,
    ) -> Self {
        let workers: Box<[Worker]> =
            homes.iter().enumerate().map(|(seat, home)| worker(seat, *home)).collect();
        let workers = NonNull::from(Box::leak(workers));
        Self {
            first: workers.cast(),
            stride: size_of::<Worker>(),
            count: workers.len(),
            pages: None,
        }
    }

    /// In `pages`, which have room for them.
    fn apart(
        pages: Memory,
        homes: &[PreferredNode],
        mut worker: impl FnMut(usize, PreferredNode) -> Worker,
    ) -> Self {
        const { assert!(align_of::<Worker>() <= 4096) };
        let stride = page_stride();
        assert!(homes.len() * stride <= pages.bytes());
        for (seat, home) in homes.iter().enumerate() {
            if let PreferredNode::Node(node) = *home {
                pages.prefer(seat * stride..(seat + 1) * stride, node);
            }
        }
        let mut seats = Self { first: pages.start().cast(), stride, count: 0, pages: Some(pages) };
        for (seat, &home) in homes.iter().enumerate() {
            // SAFETY: within the pages, which are the seats' own, and aligned, as pages are.
            unsafe { seats.at(seat).write(worker(seat, home)) };
            // One by one: should the next one panic, these are dropped.
            seats.count += 1;
        }
        seats
    }

    /// # Safety
    ///
    /// There is memory for this one.
    unsafe fn at(&self, seat: usize) -> NonNull<Worker> {
        // SAFETY: as the caller says; no memory is larger than fits an `isize`.
        unsafe { self.first.byte_add(seat * self.stride) }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    #[inline]
    pub(crate) fn get(&self, seat: usize) -> Option<&Worker> {
        // SAFETY: S1.
        (seat < self.count).then(|| unsafe { self.at(seat).as_ref() })
    }

    #[inline]
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Worker> + ExactSizeIterator {
        (0..self.count).map(|seat| &self[seat])
    }
}

/// Bytes from one worker to the next where each has pages of its own.
fn page_stride() -> usize {
    size_of::<Worker>().next_multiple_of(Memory::page_bytes())
}

impl Index<usize> for Seats {
    type Output = Worker;

    #[inline]
    #[track_caller]
    fn index(&self, seat: usize) -> &Worker {
        self.get(seat).unwrap_or_else(|| no_seat(seat, self.count))
    }
}

#[cold]
#[track_caller]
fn no_seat(seat: usize, count: usize) -> ! {
    panic!("there is no seat {seat} among {count}")
}

impl Drop for Seats {
    fn drop(&mut self) {
        if self.pages.is_none() {
            let workers = slice_from_raw_parts_mut(self.first.as_ptr(), self.count);
            // SAFETY: leaked by `together`; nobody has a worker of a pool that has ended (S1).
            return drop(unsafe { Box::from_raw(workers) });
        }
        for seat in 0..self.count {
            // SAFETY: S1; as above.
            unsafe { self.at(seat).drop_in_place() };
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

    /// The last is a node that does not exist, which must do no harm.
    const HOMES: [PreferredNode; 3] =
        [PreferredNode::Any, PreferredNode::Node(0), PreferredNode::Node(1023)];

    /// What tells whether a worker is still there.
    type Signs = Vec<Arc<Parker>>;

    fn worker(seat: usize, home: PreferredNode, signs: &mut Signs) -> Worker {
        let worker =
            Worker::new(null(), seat, false, StackKind::Split, home, None, Victims::Random);
        signs.push(Arc::clone(&worker.parker));
        worker
    }

    fn all_gone(signs: &Signs) -> bool {
        signs.iter().all(|sign| Arc::strong_count(sign) == 1)
    }

    /// Catches: a worker that lies where another does, is found under another number, or
    /// outlives its pool.
    #[test]
    fn workers_are_found_by_their_numbers_and_end_with_the_seats() {
        for homes in [[PreferredNode::OnlyNode; 3], HOMES] {
            let mut signs = Signs::new();
            let seats = Seats::new(&homes, |seat, home| worker(seat, home, &mut signs));
            assert!(seats.iter().map(Worker::index).eq(0..3) && seats.len() == 3);
            assert!((0..3).all(|seat| seats[seat].index() == seat) && seats.get(3).is_none());
            let places: Vec<usize> =
                seats.iter().map(|seat| std::ptr::from_ref(seat).addr()).collect();
            assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= size_of::<Worker>()));
            let page = Memory::page_bytes();
            assert!(
                homes != HOMES || places.iter().all(|place| place.is_multiple_of(page)),
                "{places:?}"
            );
            drop(seats);
            assert!(signs.len() == 3 && all_gone(&signs));
        }
    }

    /// Catches: workers that are lost, or ended without ever having been, when there is no
    /// memory for the next one's stack.
    #[test]
    fn a_panic_between_two_workers_drops_those_that_are_there() {
        for homes in [[PreferredNode::OnlyNode; 3], HOMES] {
            let mut signs = Signs::new();
            let made = catch_unwind(AssertUnwindSafe(|| {
                Seats::new(&homes, |seat, home| {
                    assert!(seat < 2, "no more");
                    worker(seat, home, &mut signs)
                })
            }));
            assert!(made.is_err() && signs.len() == 2 && all_gone(&signs));
        }
    }
}
