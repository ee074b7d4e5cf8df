//! The parallel merge of two sorted runs.
//!
//! A merge copies the elements of two adjacent runs to a destination, in a stable order. It never
//! changes its source. So the source holds every element once, also after a panic of the user's
//! comparator.
//!
//! A large merge is split at the middle element of the longer run, whose position in the shorter
//! run a binary search finds. The elements below and above are two merges.

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

/// Copies `left` and `right` in order to `destination`, equal elements of `left` first; in any
/// order once cancelled.
///
/// # Safety
///
/// `destination` has space for both.
pub(super) unsafe fn merge<T: Send, C, E: Executor>(
    w: &Worker,
    left: Run<'_, T>,
    right: Run<'_, T>,
    mut destination: Destination<'_, T>,
    compare: &C,
    executor: &E,
) where
    C: Fn(&T, &T) -> Ordering + Sync,
{
    if executor.is_cancelled() || are_in_order(left, right, compare) {
        // SAFETY: there is space for both.
        unsafe {
            destination.append(left);
            destination.append(right);
        }
        return;
    }
    if left.len + right.len <= LEAF {
        // SAFETY: the same.
        unsafe { merge_serially(left, right, destination, compare) };
        w.serve_calls();
        return;
    }
    let (at_left, at_right) = split_points(left.slice(), right.slice(), compare);
    let ((low_left, high_left), (low_right, high_right)) =
        (left.split(at_left), right.split(at_right));
    // SAFETY: the lower halves fill the destination up to there, the upper halves the rest, so both
    // destinations do not overlap.
    let (low, high) = unsafe {
        (
            Destination::new(destination.start),
            Destination::new(destination.start.add(at_left + at_right)),
        )
    };
    executor.join(
        w,
        // SAFETY: each destination is as large as its two halves.
        |w| unsafe { merge(w, low_left, low_right, low, compare, executor) },
        // SAFETY: the same.
        move |w| unsafe { merge(w, high_left, high_right, high, compare, executor) },
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

/// Cuts for both runs, near the middle: all elements below the cuts belong before all above.
fn split_points<T>(
    left: &[T],
    right: &[T],
    compare: &impl Fn(&T, &T) -> Ordering,
) -> (usize, usize) {
    if left.len() >= right.len() {
        let middle = left.len() / 2;
        // Equal elements of `right` come after the pivot, which is of `left`.
        (middle, right.partition_point(|element| compare(element, &left[middle]) == Ordering::Less))
    } else {
        let middle = right.len() / 2;
        // Equal elements of `left` come before the pivot, which is of `right`.
        (
            left.partition_point(|element| compare(element, &right[middle]) != Ordering::Greater),
            middle,
        )
    }
}

/// # Safety
///
/// As for [`merge`].
unsafe fn merge_serially<T>(
    mut left: Run<'_, T>,
    mut right: Run<'_, T>,
    mut destination: Destination<'_, T>,
    compare: &impl Fn(&T, &T) -> Ordering,
) {
    while left.len > 0 && right.len > 0 {
        // SAFETY: neither run is empty; one element is copied per round, and there is room for all
        // of them.
        unsafe {
            let from_right = compare(&*right.start, &*left.start) == Ordering::Less;
            let from = if from_right { right.start } else { left.start };
            std::ptr::copy_nonoverlapping(from, destination.start, 1);
            destination.start = destination.start.add(1);
            // Without a branch, which processors could not predict.
            right.start = right.start.add(usize::from(from_right));
            right.len -= usize::from(from_right);
            left.start = left.start.add(usize::from(!from_right));
            left.len -= usize::from(!from_right);
        }
    }
    // SAFETY: what is left of the runs fits into what is left of the destination.
    unsafe {
        destination.append(left);
        destination.append(right);
    }
}
