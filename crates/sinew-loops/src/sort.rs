//! A stable parallel merge sort.
//!
//! Two tasks sort the halves of a part, and both halves are merged, alternately into a scratch
//! buffer and back. So each level copies every element once. The standard library's stable sort
//! sorts the leaves in place. `merge` is the parallel merge. The crate `sinew` offers the sort as
//! `Over::sort`.
//!
//! # Invariants
//!
//! A *part* is a range of the slice together with the same range of the scratch buffer.
//!
//! - S1: when the sort of a part returns, every element of the part is once in the requested place,
//!   slice or buffer. The other place holds stale copies, which are neither dropped nor read.
//! - S2: when it unwinds, every element of the part is once in the slice.
//!
//! By S2 a panic of the comparator leaves a permutation. A merge never changes its source. So
//! unwinding only copies finished halves back from the buffer (S1); an unfinished half has already
//! restored its elements.
//!
//! # Cost
//!
//! Work O(n log n), span O(log³ n) above the leaves; a buffer of n elements unless all is one leaf.
//!
//! # Tests
//!
//! `data::tests`: against the standard sort, with values that show stability, and with comparators
//! that panic, on values that count their drops. `control::shuttle`: random schedules, with a
//! planted bug.

use sinew_sync::plant::{Bug, planted};

mod merge;

use self::merge::{Destination, Run, Section, merge};
use crate::{Control, Operation};
use sinew_core::{Cancelled, Worker};
use std::cmp::Ordering;
use std::mem::forget;

/// The least elements of a leaf: one task sorts it.
const LEAF: usize = 4 * 1024;
/// The elements of a leaf under a control, so that a cancelled sort ends within about a
/// millisecond.
const CONTROLLED_LEAF: usize = if cfg!(shuttle) { 2 } else { 16 * 1024 };
/// More leaves than workers balance unequal speeds.
const LEAVES_PER_WORKER: usize = 8;

/// Sorts `slice` by `compare`; equal elements keep their order. At most `threads` workers sort at
/// once.
///
/// # Panics
///
/// If `compare` does; the slice then holds its elements in some order. If `compare` is not a total
/// order, the result is some order as well, or a panic.
///
/// # Cost
///
/// Work O(n log n), one allocation of the slice's size.
pub fn sort_by<T: Send, C>(w: &Worker, slice: &mut [T], threads: usize, compare: C)
where
    C: Fn(&T, &T) -> Ordering + Sync,
{
    sort(w, slice, threads, true, &compare);
}

/// As [`sort_by`], but equal elements may change places.
///
/// # Panics
///
/// As [`sort_by`].
///
/// # Cost
///
/// As [`sort_by`]. Its leaves are sorted faster, without memory of their own.
pub fn sort_unstable_by<T: Send, C>(w: &Worker, slice: &mut [T], threads: usize, compare: C)
where
    C: Fn(&T, &T) -> Ordering + Sync,
{
    sort(w, slice, threads, false, &compare);
}

/// Sorts `slice`, without a control.
pub(crate) fn sort<T: Send, C>(
    w: &Worker,
    slice: &mut [T],
    threads: usize,
    is_stable: bool,
    compare: &C,
) where
    C: Fn(&T, &T) -> Ordering + Sync,
{
    let workers = threads.min(w.max_threads()).max(1);
    let most = slice.len().div_ceil(LEAVES_PER_WORKER * workers).max(LEAF);
    let leaf = Leaf { most, is_stable };
    if workers == 1 || slice.len() <= most || size_of::<T>() == 0 {
        return leaf.sort(slice, compare);
    }
    sort_in_parts(w, slice, leaf, compare, &Uncontrolled);
}

/// A part that one task sorts.
#[derive(Debug, Clone, Copy)]
struct Leaf {
    /// The most elements that it has.
    most: usize,
    /// Whether equal elements keep their order.
    is_stable: bool,
}

impl Leaf {
    #[inline]
    fn sort<T>(self, slice: &mut [T], compare: &impl Fn(&T, &T) -> Ordering) {
        if self.is_stable {
            slice.sort_by(compare);
        } else {
            slice.sort_unstable_by(compare);
        }
    }
}

/// As [`sort_by`], under a control. When it is cancelled, the sort ends after the leaves that are
/// being sorted or merged.
///
/// # Errors
///
/// [`Cancelled`]; the slice then holds its elements in some order.
///
/// # Panics
///
/// As [`sort_by`].
///
/// # Cost
///
/// As [`sort_by`], and some more merges, because leaves are shorter. Workers read the control's
/// number of threads and mapping at each join ([`Operation::join`]).
pub fn sort_by_under<T: Send, C>(
    w: &Worker,
    slice: &mut [T],
    threads: usize,
    control: &Control,
    compare: C,
) -> Result<(), Cancelled>
where
    C: Fn(&T, &T) -> Ordering + Sync,
{
    let operation =
        Operation::begin(control, count_steps(slice.len(), CONTROLLED_LEAF))?.with_threads(threads);
    let participant = operation.register(w);
    if size_of::<T>() == 0 {
        slice.sort_by(&compare);
        operation.done(w, slice.len());
    } else {
        let leaf = Leaf { most: CONTROLLED_LEAF, is_stable: true };
        sort_in_parts(w, slice, leaf, &compare, &operation);
    }
    drop(participant);
    // The slice may be sorted all the same, but that is not known.
    let cancelled = operation.is_cancelled();
    operation.end();
    if cancelled { Err(Cancelled) } else { Ok(()) }
}

/// Runs the joins of a sort, with or without a control.
pub(super) trait Executor: Sync {
    fn is_cancelled(&self) -> bool;
    /// `elements` have been sorted or merged.
    fn done(&self, w: &Worker, elements: usize);
    fn join<A, B>(&self, w: &Worker, a: A, b: B)
    where
        A: for<'w> FnOnce(&'w Worker),
        B: for<'w> FnOnce(&'w Worker) + Send;
}

/// Plain joins.
struct Uncontrolled;

impl Executor for Uncontrolled {
    #[inline(always)]
    fn is_cancelled(&self) -> bool {
        false
    }

    #[inline(always)]
    fn done(&self, _: &Worker, _: usize) {}

    #[inline(always)]
    fn join<A, B>(&self, w: &Worker, a: A, b: B)
    where
        A: for<'w> FnOnce(&'w Worker),
        B: for<'w> FnOnce(&'w Worker) + Send,
    {
        w.join(a, b);
    }
}

impl Executor for Operation<'_> {
    fn is_cancelled(&self) -> bool {
        Operation::is_cancelled(self)
    }

    fn done(&self, w: &Worker, elements: usize) {
        Operation::done(self, w, elements);
    }

    fn join<A, B>(&self, w: &Worker, a: A, b: B)
    where
        A: for<'w> FnOnce(&'w Worker),
        B: for<'w> FnOnce(&'w Worker) + Send,
    {
        Operation::join(self, w, a, b);
    }
}

/// The elements that all leaves sort and all merges copy, with leaves of at most `leaf` elements.
///
/// Counted level by level: the parts of a level differ by at most one element, so most levels are
/// split as a whole. A slice of zero-sized values may have any length.
fn count_steps(length: usize, leaf: usize) -> u64 {
    let mut all = length as u64;
    for level in 0..usize::BITS {
        let (shorter, longer) = (length >> level, length % (1 << level));
        if shorter <= leaf {
            // Only the parts that have one more element are split.
            let split = if shorter == leaf { longer * (leaf + 1) } else { 0 };
            return all.saturating_add(split as u64);
        }
        all = all.saturating_add(length as u64);
    }
    all
}

fn sort_in_parts<T: Send, C, E: Executor>(
    w: &Worker,
    slice: &mut [T],
    leaf: Leaf,
    compare: &C,
    executor: &E,
) where
    C: Fn(&T, &T) -> Ordering + Sync,
{
    let mut buffer = Vec::with_capacity(slice.len());
    let part = Part { slice: slice.as_mut_ptr(), buffer: buffer.as_mut_ptr(), len: slice.len() };
    // SAFETY: slice and buffer have room for `len` elements, do not overlap and are ours; the slice
    // is initialised. The buffer keeps length 0, so its copies are never dropped.
    unsafe { sort_part(w, part, Place::Slice, leaf, compare, executor) };
}

/// The destination of sorted elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Slice,
    Buffer,
}

impl Place {
    fn other(self) -> Self {
        if self == Self::Slice { Self::Buffer } else { Self::Slice }
    }
}

/// A range of the slice and the same range of the buffer.
struct Part<T> {
    slice: *mut T,
    buffer: *mut T,
    len: usize,
}

impl<T> Clone for Part<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Part<T> {}

// SAFETY: a part stands for two `&mut [T]`; each part goes to one task.
unsafe impl<T: Send> Send for Part<T> {}

impl<T> Part<T> {
    fn split(self) -> (Self, Self) {
        let at = self.len / 2;
        // SAFETY: the middle of a part lies within it.
        let (slice, buffer) = unsafe { (self.slice.add(at), self.buffer.add(at)) };
        (Self { len: at, ..self }, Self { slice, buffer, len: self.len - at })
    }

    fn place(&self, place: Place) -> *mut T {
        if place == Place::Slice { self.slice } else { self.buffer }
    }

    /// # Safety
    ///
    /// The elements are in the place `from`, and those in the other place are stale.
    unsafe fn copy_to_other(&self, from: Place) {
        // SAFETY: both places have room for the part and do not overlap.
        unsafe {
            std::ptr::copy_nonoverlapping(self.place(from), self.place(from.other()), self.len);
        };
    }
}

/// Sorts `part`, leaving the result in the place `to` (S1); in any order once cancelled.
///
/// # Safety
///
/// The part's elements are in the slice, and no other thread touches the part.
unsafe fn sort_part<T: Send, C, E: Executor>(
    w: &Worker,
    part: Part<T>,
    to: Place,
    leaf: Leaf,
    compare: &C,
    executor: &E,
) where
    C: Fn(&T, &T) -> Ordering + Sync,
{
    if part.len <= leaf.most || executor.is_cancelled() {
        if !executor.is_cancelled() {
            // SAFETY: the elements are in the slice, and no other thread touches it. The standard
            // sorts keep S2.
            let slice = unsafe { std::slice::from_raw_parts_mut(part.slice, part.len) };
            leaf.sort(slice, compare);
            executor.done(w, part.len);
        }
        if to == Place::Buffer {
            // SAFETY: the elements are in the slice.
            unsafe { part.copy_to_other(Place::Slice) };
        }
        // S1 holds, so this is a safe point.
        w.serve_calls();
        return;
    }
    let (low, high) = part.split();
    let from = to.other();
    let mut halves = Halves { low, high, from, low_done: false, high_done: false };
    let (low_done, high_done) = (&mut halves.low_done, &mut halves.high_done);
    executor.join(
        w,
        |w| {
            // SAFETY: the halves are disjoint parts of a part that is ours, with their elements in
            // the slice.
            unsafe { sort_part(w, low, from, leaf, compare, executor) };
            *low_done = true;
        },
        move |w| {
            // SAFETY: the same.
            unsafe { sort_part(w, high, from, leaf, compare, executor) };
            *high_done = true;
        },
    );
    // SAFETY: both halves are sorted in the place `from` (S1), and the other place has room for
    // them.
    unsafe {
        let section = Section {
            left: Run::new(low.place(from), low.len),
            right: Run::new(high.place(from), high.len),
            destination: Destination::new(part.place(to)),
        };
        merge(w, section, compare, executor);
    }
    // If this panics, the merge's sources are unchanged (S2).
    executor.done(w, part.len);
    forget(halves);
}

/// Two halves being sorted and merged. Dropped only while unwinding, to restore S2.
struct Halves<T> {
    low: Part<T>,
    high: Part<T>,
    from: Place,
    low_done: bool,
    high_done: bool,
}

impl<T> Drop for Halves<T> {
    fn drop(&mut self) {
        if self.from == Place::Slice {
            // Finished halves (S1) and unfinished ones (S2) are in the slice; a merge changes no
            // source.
            return;
        }
        for (half, done) in [(self.low, self.low_done), (self.high, self.high_done)] {
            if done || planted(Bug::EarlyHalf) {
                // SAFETY: a finished half is in the buffer (S1), and a merge that was cut short has
                // written only copies into the slice, which may be overwritten.
                unsafe { half.copy_to_other(Place::Buffer) };
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::count_steps;
    use proptest::prelude::*;

    fn counted(length: usize, leaf: usize) -> u64 {
        let here = length as u64;
        if length <= leaf {
            here
        } else {
            here + counted(length / 2, leaf) + counted(length - length / 2, leaf)
        }
    }

    proptest! {
        /// Catches: a level that is left out, or counted although only some of its parts are split.
        #[test]
        fn steps_are_those_of_the_recursion(length in 0..100_000_usize, leaf in 1..300_usize) {
            prop_assert_eq!(count_steps(length, leaf), counted(length, leaf));
        }
    }

    /// Catches: a count that visits each part, which never ends, and one that wraps.
    #[test]
    fn the_longest_slice_is_counted_at_once() {
        assert_eq!(
            (count_steps(usize::MAX, 16 * 1024), count_steps(1 << 40, 1)),
            (u64::MAX, 41 << 40)
        );
    }
}
