//! New elements of a vector, which several workers write in any order.
//!
//! They lie in the vector's spare room, which begins uninitialised. Each worker writes the ranges
//! that it claimed and remembers them, adjacent ones as one. If everything was written, the vector
//! gets its new length; if a body panicked or the loop was stopped, exactly the elements that were
//! written are dropped, and the vector is as before.
//!
//! # Invariants
//!
//! - O1: a new element is initialised if and only if a record covers it: of the output, of a
//!   writer, or of the filling that is under way.
//! - O2: ranges that are filled lie within the new elements and are disjoint (the callers'
//!   promise), so an element is recorded at most once.
//!
//! # Cost
//!
//! At most one allocation for the vector. Types without drop glue keep a count and no record; the
//! others allocate for the runs of adjacent chunks of a worker, beyond its first.
//!
//! # Tests
//!
//! Values that count their drops, written in part, with panics at any element (O1); every index
//! once (O2) is what the tests of the chunk sources show.

use sinew_sync::lock::Mutex;
use std::mem::{MaybeUninit, needs_drop};
use std::ops::Range;

/// The runs that have been written.
#[derive(Debug, Default)]
struct Record {
    count: usize,
    /// Empty if the elements have no drop glue.
    runs: Vec<Range<usize>>,
}

/// A vector to which elements are being added.
#[derive(Debug)]
pub(crate) struct Output<'v, T> {
    vec: &'v mut Vec<T>,
    /// The first new element.
    start: *mut T,
    len: usize,
    record: Mutex<Record>,
}

// SAFETY: writers on other threads move values of `T` in, each into places of its own (O2); no
// thread reads them there. They do not access the vector.
unsafe impl<T: Send> Sync for Output<'_, T> {}
// SAFETY: it has its elements as the vector does.
unsafe impl<T: Send> Send for Output<'_, T> {}

impl<'v, T> Output<'v, T> {
    /// Room for `len` elements behind those of `vec`.
    pub(crate) fn new(vec: &'v mut Vec<T>, len: usize) -> Self {
        vec.reserve(len);
        let start = vec.spare_capacity_mut().as_mut_ptr().cast();
        Self { vec, start, len, record: Mutex::new(Record::default()) }
    }

    /// A writer for one worker.
    #[inline]
    pub(crate) fn writer(&self) -> Writer<'_, 'v, T> {
        Writer { output: self, run: 0..0, earlier: Record::default() }
    }

    /// Adds the new elements to the vector, if all were written; otherwise drops those that were.
    /// Returns whether they were.
    pub(crate) fn finish(self) -> bool {
        let record = std::mem::take(&mut *self.record.lock());
        if record.count != self.len {
            *self.record.lock() = record;
            return false;
        }
        // SAFETY: there is room for them. By O2 the elements that were counted are different ones,
        // so all `len` of them are initialised (O1). No record has them any more.
        unsafe { self.vec.set_len(self.vec.len() + self.len) };
        true
    }

    /// Adds the new elements to the vector, after a loop that neither stopped nor panicked.
    pub(crate) fn complete(self) {
        assert!(self.finish(), "a loop that ran to its end has written every element");
    }
}

impl<T> Drop for Output<'_, T> {
    fn drop(&mut self) {
        for run in std::mem::take(&mut self.record.lock().runs) {
            // SAFETY: the run is initialised (O1), and its record is gone, so it is not dropped
            // again.
            unsafe {
                std::ptr::slice_from_raw_parts_mut(self.start.add(run.start), run.len())
                    .drop_in_place();
            };
        }
    }
}

/// One worker's access to an [`Output`], with its record of what it wrote.
#[derive(Debug)]
pub(crate) struct Writer<'o, 'v, T> {
    output: &'o Output<'v, T>,
    /// The run that the next range may continue.
    run: Range<usize>,
    earlier: Record,
}

impl<'o, 'v, T> Writer<'o, 'v, T> {
    /// Writes `values` into `range`, as many as there are and at most its length.
    ///
    /// # Safety
    ///
    /// `range` lies within the output and overlaps with no other range that is filled.
    #[inline]
    pub(crate) unsafe fn fill(&mut self, range: Range<usize>, values: impl Iterator<Item = T>) {
        // SAFETY: the caller's promise is the same.
        let (slots, mut filling) = unsafe { self.begin(range) };
        for (slot, value) in slots.iter_mut().zip(values) {
            slot.write(value);
            filling.wrote_one();
        }
    }

    /// A function that writes the value that it gets into the next slot of `range`.
    ///
    /// # Safety
    ///
    /// As for [`fill`](Self::fill). It is called at most once for each slot.
    #[inline]
    pub(crate) unsafe fn sink<'w>(
        &'w mut self,
        range: Range<usize>,
    ) -> impl FnMut(T) + use<'w, 'o, 'v, T> {
        // SAFETY: the caller's promise is the same.
        let (slots, mut filling) = unsafe { self.begin(range) };
        // A loop with one exit, which the compiler can vectorise.
        move |value| {
            debug_assert!(filling.done < slots.len(), "more items than positions");
            // SAFETY: each call has one slot, and there are as many as calls.
            unsafe { slots.get_unchecked_mut(filling.done) }.write(value);
            filling.wrote_one();
        }
    }

    /// The slots of `range`, and a guard that records those that were written, also after a panic.
    ///
    /// # Safety
    ///
    /// As for [`fill`](Self::fill).
    #[inline]
    unsafe fn begin<'w>(
        &'w mut self,
        range: Range<usize>,
    ) -> (&'w mut [MaybeUninit<T>], Filling<'w, 'o, 'v, T>) {
        debug_assert!(range.start <= range.end && range.end <= self.output.len);
        // SAFETY: the places lie within the spare room, may be uninitialised, and belong to no
        // other writer (O2).
        let slots = unsafe {
            let first = self.output.start.add(range.start).cast::<MaybeUninit<T>>();
            std::slice::from_raw_parts_mut(first, range.len())
        };
        (slots, Filling { writer: self, start: range.start, done: 0 })
    }

    /// Records that `range` is initialised.
    #[inline]
    fn record(&mut self, range: Range<usize>) {
        self.earlier.count += range.len();
        if !needs_drop::<T>() || range.is_empty() {
            return;
        }
        if self.run.end == range.start {
            self.run.end = range.end;
        } else {
            let before = std::mem::replace(&mut self.run, range);
            self.keep_cold(before);
        }
    }

    #[cold]
    fn keep_cold(&mut self, run: Range<usize>) {
        if !run.is_empty() {
            self.earlier.runs.push(run);
        }
    }
}

/// Records on drop that the first `done` slots from `start` on have been written.
struct Filling<'w, 'o, 'v, T> {
    writer: &'w mut Writer<'o, 'v, T>,
    start: usize,
    done: usize,
}

impl<T> Filling<'_, '_, '_, T> {
    #[inline]
    fn wrote_one(&mut self) {
        self.done += 1;
    }
}

impl<T> Drop for Filling<'_, '_, '_, T> {
    #[inline]
    fn drop(&mut self) {
        self.writer.record(self.start..self.start + self.done);
    }
}

impl<T> Drop for Writer<'_, '_, T> {
    fn drop(&mut self) {
        let run = std::mem::take(&mut self.run);
        let mut record = self.output.record.lock();
        record.count += self.earlier.count;
        record.runs.append(&mut self.earlier.runs);
        if !run.is_empty() {
            record.runs.push(run);
        }
    }
}
