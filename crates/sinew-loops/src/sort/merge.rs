//! Merging two sorted runs, by several workers.
//!
//! A merge copies the elements of two adjacent runs into another place, in order; equal elements
//! keep theirs. It never changes its source, so whatever happens on the way (the comparator is the
//! user's and may panic), the source still holds every element once.
//!
//! Large merges are split: a binary search in the shorter run gives the place of the middle element
//! of the longer one. The elements before it and after it are two merges of their own.

use super::Guide;
use sinew_core::Worker;
use std::cmp::Ordering;
use std::marker::PhantomData;

/// Merges of fewer elements are not worth a task.
const ALONE: usize = if cfg!(shuttle) { 3 } else { 8 * 1024 };

/// A sorted run of elements that do not change for `'r`.
pub(super) struct Run<'r, T> {
    start: *const T,
    len: usize,
    borrow: PhantomData<&'r [T]>,
}

/// The destination of a merge.
pub(super) struct Room<'r, T> {
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
// SAFETY: a room is written by one worker at a time, like a `&mut [T]`.
unsafe impl<T: Send> Send for Room<'_, T> {}

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

impl<T> Room<'_, T> {
    /// # Safety
    ///
    /// At `start` there is room for as many elements as will be merged; for `'r` no other code
    /// touches it, and it does not overlap with the runs.
    pub(super) unsafe fn new(start: *mut T) -> Self {
        Self { start, borrow: PhantomData }
    }

    /// Copies all of `run` and moves on.
    ///
    /// # Safety
    ///
    /// There is room left for it.
    unsafe fn append(&mut self, run: Run<'_, T>) {
        // SAFETY: the run is initialised, the room is large enough, and they do not overlap.
        unsafe {
            std::ptr::copy_nonoverlapping(run.start, self.start, run.len);
            self.start = self.start.add(run.len);
        }
    }
}

/// Copies `left` and `right` in order to `room`, equal elements of `left` first; in any order when
/// all is over.
///
/// # Safety
///
/// `room` has space for both.
pub(super) unsafe fn merge<T: Send, C, G: Guide>(
    w: &Worker,
    left: Run<'_, T>,
    right: Run<'_, T>,
    mut room: Room<'_, T>,
    compare: &C,
    guide: &G,
) where
    C: Fn(&T, &T) -> Ordering + Sync,
{
    if guide.is_over() || are_in_order(left, right, compare) {
        // SAFETY: there is space for both.
        unsafe {
            room.append(left);
            room.append(right);
        }
        return;
    }
    if left.len + right.len <= ALONE {
        // SAFETY: the same.
        unsafe { merge_alone(left, right, room, compare) };
        w.serve_calls();
        return;
    }
    let (at_left, at_right) = split_points(left.slice(), right.slice(), compare);
    let ((low_left, high_left), (low_right, high_right)) =
        (left.split(at_left), right.split(at_right));
    // SAFETY: the lower halves fill the room up to there, the upper halves the rest, so the rooms
    // do not overlap.
    let (low, high) =
        unsafe { (Room::new(room.start), Room::new(room.start.add(at_left + at_right))) };
    guide.join(
        w,
        // SAFETY: each room is as large as its two halves.
        |w| unsafe { merge(w, low_left, low_right, low, compare, guide) },
        // SAFETY: the same.
        move |w| unsafe { merge(w, high_left, high_right, high, compare, guide) },
    );
}

/// Whether nothing of `right` belongs before something of `left`: sorted data are copied, not
/// merged.
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

/// Cuts for both runs, near the middle, such that everything below the cuts belongs before
/// everything above.
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
unsafe fn merge_alone<T>(
    mut left: Run<'_, T>,
    mut right: Run<'_, T>,
    mut room: Room<'_, T>,
    compare: &impl Fn(&T, &T) -> Ordering,
) {
    while left.len > 0 && right.len > 0 {
        // SAFETY: neither run is empty; one element is copied per round, and there is room for all
        // of them.
        unsafe {
            let from_right = compare(&*right.start, &*left.start) == Ordering::Less;
            let from = if from_right { right.start } else { left.start };
            std::ptr::copy_nonoverlapping(from, room.start, 1);
            room.start = room.start.add(1);
            // Without a branch: which run is next is what a processor cannot guess.
            right.start = right.start.add(usize::from(from_right));
            right.len -= usize::from(from_right);
            left.start = left.start.add(usize::from(!from_right));
            left.len -= usize::from(!from_right);
        }
    }
    // SAFETY: what is left of the runs fits into what is left of the room.
    unsafe {
        room.append(left);
        room.append(right);
    }
}
