//! The parallel merge of two sorted runs.
//!
//! A merge copies the elements of two adjacent runs to a destination, in a stable order. It never
//! changes its source. So the source holds every element once, also after a panic of the user's
//! comparator.
//!
//! A large merge is split in halves: a binary search finds the cut of one run, and with it that of
//! the other, so that half of all elements are below the cuts. A worker merges two halves in turns.

use super::Executor;
use sinew_core::Worker;
use std::cmp::Ordering;
use std::marker::PhantomData;

/// Merges of at most this many elements are not split.
const LEAF: usize = if cfg!(shuttle) { 3 } else { 8 * 1024 };

/// A sorted run of elements that do not change for `'r`.
pub(super) struct Run<'r, T> {
    start: *const T,
    len: usize,
    borrow: PhantomData<&'r [T]>,
}

/// A merge, or a part of one.
pub(super) struct Section<'r, T> {
    pub(super) left: Run<'r, T>,
    pub(super) right: Run<'r, T>,
    pub(super) destination: Destination<'r, T>,
}

/// The destination of a merge.
pub(super) struct Destination<'r, T> {
    start: *mut T,
    borrow: PhantomData<&'r mut [T]>,
}

impl<T> Clone for Run<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Run<'_, T> {}

// SAFETY: a run is visited by one worker at a time: a merge gives each part of it to one of its
// halves. So `T: Send` is enough, as if the elements themselves moved from worker to worker.
unsafe impl<T: Send> Send for Run<'_, T> {}
// SAFETY: a destination is written by one worker at a time, like a `&mut [T]`.
unsafe impl<T: Send> Send for Destination<'_, T> {}

impl<'r, T> Run<'r, T> {
    /// # Safety
    ///
    /// `len` initialised elements lie at `start`; for `'r` they do not change, and are read through
    /// this run or parts of it only.
    pub(super) unsafe fn new(start: *const T, len: usize) -> Self {
        Self { start, len, borrow: PhantomData }
    }

    fn slice(&self) -> &'r [T] {
        // SAFETY: the promise of `new`.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    fn split(self, at: usize) -> (Self, Self) {
        debug_assert!(at <= self.len);
        // SAFETY: parts of a run; `at` is within it.
        unsafe { (Self::new(self.start, at), Self::new(self.start.add(at), self.len - at)) }
    }
}

impl<T> Destination<'_, T> {
    /// # Safety
    ///
    /// At `start` there is room for as many elements as will be merged; for `'r` no other code
    /// touches it, and it does not overlap with the runs.
    pub(super) unsafe fn new(start: *mut T) -> Self {
        Self { start, borrow: PhantomData }
    }

    /// Copies all of `run`, and advances.
    ///
    /// # Safety
    ///
    /// There is room left for it.
    unsafe fn append(&mut self, run: Run<'_, T>) {
        // SAFETY: the run is initialised, the destination is large enough, and they do not overlap.
        unsafe {
            std::ptr::copy_nonoverlapping(run.start, self.start, run.len);
            self.start = self.start.add(run.len);
        }
    }
}

/// Copies both runs of `section` in order to its destination, equal elements of `left` first; in
/// any order once cancelled.
///
/// # Safety
///
/// The destination has space for both.
pub(super) unsafe fn merge<T: Send, C, E: Executor>(
    w: &Worker,
    mut section: Section<'_, T>,
    compare: &C,
    executor: &E,
) where
    C: Fn(&T, &T) -> Ordering + Sync,
{
    if executor.is_cancelled() || are_in_order(section.left, section.right, compare) {
        // SAFETY: there is space for both.
        unsafe {
            section.destination.append(section.left);
            section.destination.append(section.right);
        }
        return;
    }
    if section.left.len + section.right.len <= LEAF {
        // SAFETY: the same.
        unsafe { merge_serially(section, compare) };
        w.serve_calls();
        return;
    }
    // SAFETY: the same.
    let (low, high) = unsafe { section.halves(compare) };
    executor.join(
        w,
        // SAFETY: each half has space for its runs.
        |w| unsafe { merge(w, low, compare, executor) },
        // SAFETY: the same.
        move |w| unsafe { merge(w, high, compare, executor) },
    );
}

/// Whether no element of `right` belongs before one of `left`: the runs are copied, not merged.
fn are_in_order<T>(
    left: Run<'_, T>,
    right: Run<'_, T>,
    compare: &impl Fn(&T, &T) -> Ordering,
) -> bool {
    match (left.slice().last(), right.slice().first()) {
        (Some(last), Some(first)) => compare(last, first) != Ordering::Greater,
        _ => true,
    }
}

/// Cuts both runs so that the elements below the cuts are the first half of the merge.
fn split_points<T>(
    left: &[T],
    right: &[T],
    compare: &impl Fn(&T, &T) -> Ordering,
) -> (usize, usize) {
    let half = (left.len() + right.len()) / 2;
    // The cut of `left` is the first at which the last element of `right` below comes earlier.
    let (mut low, mut high) = (half.saturating_sub(right.len()), half.min(left.len()));
    while low < high {
        let at = low + (high - low) / 2;
        // Equal elements of `right` come after those of `left`.
        if compare(&right[half - at - 1], &left[at]) == Ordering::Less {
            high = at;
        } else {
            low = at + 1;
        }
    }
    (low, half - low)
}

impl<'r, T> Section<'r, T> {
    /// The first and the second half of the merge.
    ///
    /// # Safety
    ///
    /// The destination has room for both runs.
    unsafe fn halves(self, compare: &impl Fn(&T, &T) -> Ordering) -> (Self, Self) {
        let (at_left, at_right) = split_points(self.left.slice(), self.right.slice(), compare);
        let (low_left, high_left) = self.left.split(at_left);
        let (low_right, high_right) = self.right.split(at_right);
        // SAFETY: the first half fills the destination up to here, the second the rest, so both
        // destinations do not overlap.
        let high = unsafe { Destination::new(self.destination.start.add(at_left + at_right)) };
        (
            Self { left: low_left, right: low_right, destination: self.destination },
            Self { left: high_left, right: high_right, destination: high },
        )
    }

    /// Whether both runs have elements left.
    fn has_both(&self) -> bool {
        self.left.len > 0 && self.right.len > 0
    }

    /// Copies one element.
    ///
    /// # Safety
    ///
    /// Neither run is empty, and there is room for one more element.
    #[inline(always)]
    unsafe fn step(&mut self, compare: &impl Fn(&T, &T) -> Ordering) {
        // SAFETY: the promise of the caller.
        unsafe {
            let from_right = compare(&*self.right.start, &*self.left.start) == Ordering::Less;
            let from = if from_right { self.right.start } else { self.left.start };
            std::ptr::copy_nonoverlapping(from, self.destination.start, 1);
            self.destination.start = self.destination.start.add(1);
            // Without a branch, which processors could not predict.
            self.right.start = self.right.start.add(usize::from(from_right));
            self.right.len -= usize::from(from_right);
            self.left.start = self.left.start.add(usize::from(!from_right));
            self.left.len -= usize::from(!from_right);
        }
    }

    /// Copies what is left.
    ///
    /// # Safety
    ///
    /// There is room for it.
    unsafe fn finish(mut self, compare: &impl Fn(&T, &T) -> Ordering) {
        while self.has_both() {
            // SAFETY: neither run is empty, and there is room for all of them.
            unsafe { self.step(compare) };
        }
        // SAFETY: there is room for what is left of the runs.
        unsafe {
            self.destination.append(self.left);
            self.destination.append(self.right);
        }
    }
}

/// Merges the halves of a section in turns. The next step of a half waits for its comparison, but
/// not for that of the other half.
///
/// # Safety
///
/// There is room in the destination for both runs.
unsafe fn merge_serially<T>(section: Section<'_, T>, compare: &impl Fn(&T, &T) -> Ordering) {
    // SAFETY: the same room, divided; a step follows the check that neither run is empty.
    unsafe {
        let (mut a, mut b) = section.halves(compare);
        while a.has_both() && b.has_both() {
            a.step(compare);
            b.step(compare);
        }
        a.finish(compare);
        b.finish(compare);
    }
}
