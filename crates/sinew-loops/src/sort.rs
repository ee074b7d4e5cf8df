//! A stable parallel merge sort.
//!
//! Halves are sorted by two tasks and merged, alternately into a scratch buffer and back, so each
//! level copies every element once. Parts that are not worth a task are sorted by the standard
//! library's stable sort, in place.
//!
//! # Invariants
//!
//! A *part* is a range of the slice together with the same range of the scratch buffer.
//!
//! - S1: when the sort of a part returns, every element of the part is once in the requested place,
//!   slice or buffer. The other place holds stale copies, which are neither dropped nor read.
//! - S2: when it unwinds, every element of the part is once in the slice.
//!
//! By S2 a panic of the comparator leaves a permutation. A merge never changes its source, so
//! unwinding only copies elements back from the buffer, and only for halves that were finished
//! (S1); an unfinished half has done so itself.
//!
//! # Cost
//!
//! Work O(n log n), span O(log³ n) above the parts that one task sorts; a buffer of n elements,
//! unless one task sorts all.
//!
//! # Tests
//!
//! Against the standard sort, with values that show stability; and with comparators that panic at
//! any call, on values that count their drops. `control::shuttle`: under random schedules, with a
//! planted bug.

use sinew_sync::plant::{Bug, planted};

mod merge;

use self::merge::{Room, Run, merge};
use crate::{Control, Operation};
use sinew_core::{Cancelled, Worker};
use std::cmp::Ordering;
use std::mem::forget;

/// Parts of fewer elements are sorted by one task.
const ALONE: usize = 4 * 1024;
/// The same where a cancelled sort is to end soon: within some 100 µs to a millisecond.
const PROMPT: usize = if cfg!(shuttle) { 2 } else { 16 * 1024 };
/// Parts a worker, so that unequal speeds even out.
const PARTS: usize = 8;

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
    let workers = threads.min(w.max_threads()).max(1);
    let alone = slice.len().div_ceil(PARTS * workers).max(ALONE);
    if workers == 1 || slice.len() <= alone || size_of::<T>() == 0 {
        return slice.sort_by(compare);
    }
    sort_in_parts(w, slice, alone, &compare, &Unguided);
}

/// As [`sort_by`], and ends early when `control` is cancelled: after the parts that are being
/// sorted or merged, none of which takes long.
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
/// As [`sort_by`], and some merges more, because parts are shorter. The control's number of threads
/// and mapping are followed between two parts ([`Operation::join`]).
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
    let operation = Operation::begin(control, steps(slice.len(), PROMPT))?.with_threads(threads);
    let participant = operation.take_part(w);
    if size_of::<T>() == 0 {
        slice.sort_by(&compare);
        operation.done(w, slice.len());
    } else {
        sort_in_parts(w, slice, PROMPT, &compare, &operation);
    }
    drop(participant);
    // The rest may be sorted, but that is not known.
    let cancelled = operation.is_cancelled();
    operation.end();
    if cancelled { Err(Cancelled) } else { Ok(()) }
}

/// Decides when the sort is over and which workers take part, and counts what is done.
pub(super) trait Guide: Sync {
    fn is_over(&self) -> bool;
    fn done(&self, w: &Worker, elements: usize);
    /// Runs both, on two workers if another one comes.
    fn join<A, B>(&self, w: &Worker, a: A, b: B)
    where
        A: for<'w> FnOnce(&'w Worker),
        B: for<'w> FnOnce(&'w Worker) + Send;
}

/// Nobody.
struct Unguided;

impl Guide for Unguided {
    #[inline(always)]
    fn is_over(&self) -> bool {
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

impl Guide for Operation<'_> {
    fn is_over(&self) -> bool {
        self.is_cancelled()
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

/// How many elements are sorted and merged in all when parts of at most `alone` are sorted by one
/// task.
///
/// Level by level: the halves of one level differ by one element at most, so most levels are split
/// as a whole. A slice of values without a size may have any length.
fn steps(length: usize, alone: usize) -> u64 {
    let mut all = length as u64;
    for level in 0..usize::BITS {
        let (shorter, longer) = (length >> level, length % (1 << level));
        if shorter <= alone {
            // The parts that have one element more, if only they are split.
            let split = if shorter == alone { longer * (alone + 1) } else { 0 };
            return all.saturating_add(split as u64);
        }
        all = all.saturating_add(length as u64);
    }
    all
}

fn sort_in_parts<T: Send, C, G: Guide>(
    w: &Worker,
    slice: &mut [T],
    alone: usize,
    compare: &C,
    guide: &G,
) where
    C: Fn(&T, &T) -> Ordering + Sync,
{
    let mut buffer = Vec::with_capacity(slice.len());
    let part = Part { slice: slice.as_mut_ptr(), buffer: buffer.as_mut_ptr(), len: slice.len() };
    // SAFETY: slice and buffer have room for `len` elements, do not overlap and are ours; the slice
    // is initialised. The buffer keeps length 0, so its copies are never dropped.
    unsafe { sort_part(w, part, Place::Slice, alone, compare, guide) };
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

/// Sorts `part`, leaving the result in the place `to` (S1); in any order when all is over.
///
/// # Safety
///
/// The part's elements are in the slice, and no other thread touches the part.
unsafe fn sort_part<T: Send, C, G: Guide>(
    w: &Worker,
    part: Part<T>,
    to: Place,
    alone: usize,
    compare: &C,
    guide: &G,
) where
    C: Fn(&T, &T) -> Ordering + Sync,
{
    if part.len <= alone || guide.is_over() {
        if !guide.is_over() {
            // SAFETY: the elements are in the slice, and no other thread touches it. The standard
            // sort keeps S2.
            unsafe { std::slice::from_raw_parts_mut(part.slice, part.len) }.sort_by(compare);
            guide.done(w, part.len);
        }
        if to == Place::Buffer {
            // SAFETY: the elements are in the slice.
            unsafe { part.copy_to_other(Place::Slice) };
        }
        // The part is as S1 has it, and no caller needs more than that.
        w.serve_calls();
        return;
    }
    let (low, high) = part.split();
    let from = to.other();
    let mut halves = Halves { low, high, from, low_done: false, high_done: false };
    let (low_done, high_done) = (&mut halves.low_done, &mut halves.high_done);
    guide.join(
        w,
        |w| {
            // SAFETY: the halves are disjoint parts of a part that is ours, with their elements in
            // the slice.
            unsafe { sort_part(w, low, from, alone, compare, guide) };
            *low_done = true;
        },
        move |w| {
            // SAFETY: the same.
            unsafe { sort_part(w, high, from, alone, compare, guide) };
            *high_done = true;
        },
    );
    // SAFETY: both halves are sorted in the place `from` (S1), and the other place has room for
    // them.
    unsafe {
        let low = Run::new(low.place(from), low.len);
        let high = Run::new(high.place(from), high.len);
        merge(w, low, high, Room::new(part.place(to)), compare, guide);
    }
    // It may panic, and then the merge's sources are still there (S2).
    guide.done(w, part.len);
    forget(halves);
}

/// Two halves being sorted and merged. Dropped only while unwinding, and then it restores S2.
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
            // A finished half is in the slice (S1), an unfinished one as well (S2), and a merge
            // changes no source.
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
    use super::steps;
    use proptest::prelude::*;

    fn counted(length: usize, alone: usize) -> u64 {
        let here = length as u64;
        if length <= alone {
            here
        } else {
            here + counted(length / 2, alone) + counted(length - length / 2, alone)
        }
    }

    proptest! {
        /// Catches: a level that is left out, or counted although only some of its parts are split.
        #[test]
        fn steps_are_those_of_the_recursion(length in 0..100_000_usize, alone in 1..300_usize) {
            prop_assert_eq!(steps(length, alone), counted(length, alone));
        }
    }

    /// Catches: a count of as many steps as there are parts, which never ends, and one that wraps.
    #[test]
    fn the_longest_slice_is_counted_at_once() {
        assert_eq!((steps(usize::MAX, 16 * 1024), steps(1 << 40, 1)), (u64::MAX, 41 << 40));
    }
}
