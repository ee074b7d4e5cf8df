//! A vector that several workers fill in any order.
//!
//! The buffer begins uninitialised. Each worker writes the ranges that it claimed and remembers
//! them, adjacent ones as one. If everything was written, the buffer becomes the vector; if a body
//! panicked or the loop was stopped, exactly the elements that were written are dropped.
//!
//! # Invariants
//!
//! - O1: an element of the buffer is initialised if and only if a record covers it: of the output,
//!   of a writer, or of the filling that is under way.
//! - O2: ranges that are filled lie within the buffer and are disjoint (the callers' promise), so
//!   an element is recorded at most once.
//!
//! # Cost
//!
//! One allocation for the buffer. Types without drop glue keep a count and no record; the others
//! allocate for the runs of adjacent chunks of a worker, beyond its first.
//!
//! # Tests
//!
//! Values that count their drops, written in part, with panics at any element (O1); every index
//! once (O2) is what the tests of the chunk sources show.

use sinew_sync::lock::Mutex;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit, needs_drop};
use std::ops::Range;

/// The runs that have been written.
#[derive(Debug, Default)]
struct Record {
    count: usize,
    /// Empty if the elements have no drop glue.
    runs: Vec<Range<usize>>,
}

/// A vector that is being filled.
#[derive(Debug)]
pub(crate) struct Output<T> {
    /// The buffer of an empty vector with this capacity.
    start: *mut T,
    capacity: usize,
    len: usize,
    record: Mutex<Record>,
    owns: PhantomData<T>,
}

// SAFETY: writers on other threads move values of `T` in, each into places of its own (O2); no
// thread reads them there.
unsafe impl<T: Send> Sync for Output<T> {}
// SAFETY: it owns its elements as a vector does.
unsafe impl<T: Send> Send for Output<T> {}

impl<T> Output<T> {
    /// Room for `len` elements.
    pub(crate) fn new(len: usize) -> Self {
        let mut buffer = ManuallyDrop::new(Vec::with_capacity(len));
        let record = Mutex::new(Record::default());
        Self {
            start: buffer.as_mut_ptr(),
            capacity: buffer.capacity(),
            len,
            record,
            owns: PhantomData,
        }
    }

    /// A writer for one worker.
    #[inline]
    pub(crate) fn writer(&self) -> Writer<'_, T> {
        Writer { output: self, run: 0..0, earlier: Record::default() }
    }

    /// The vector, if every element was written; otherwise what was written is dropped.
    pub(crate) fn finish(self) -> Option<Vec<T>> {
        if self.record.lock().count != self.len {
            return None;
        }
        let this = ManuallyDrop::new(self);
        *this.record.lock() = Record::default();
        // SAFETY: the buffer is that of a vector with this capacity, and `this` is not dropped. By
        // O2 the elements that were counted are different ones, so all `len` of them are
        // initialised (O1).
        Some(unsafe { Vec::from_raw_parts(this.start, this.len, this.capacity) })
    }
}

impl<T> Drop for Output<T> {
    fn drop(&mut self) {
        // SAFETY: the buffer is that of a vector with this capacity; its elements are not the
        // vector's to drop.
        let _buffer = unsafe { Vec::from_raw_parts(self.start, 0, self.capacity) };
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
pub(crate) struct Writer<'o, T> {
    output: &'o Output<T>,
    /// The run that the next range may continue.
    run: Range<usize>,
    earlier: Record,
}

impl<'o, T> Writer<'o, T> {
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
    ) -> impl FnMut(T) + use<'w, 'o, T> {
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
    ) -> (&'w mut [MaybeUninit<T>], Filling<'w, 'o, T>) {
        debug_assert!(range.start <= range.end && range.end <= self.output.len);
        // SAFETY: the places lie within the buffer, may be uninitialised, and belong to no other
        // writer (O2).
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
struct Filling<'w, 'o, T> {
    writer: &'w mut Writer<'o, T>,
    start: usize,
    done: usize,
}

impl<T> Filling<'_, '_, T> {
    #[inline]
    fn wrote_one(&mut self) {
        self.done += 1;
    }
}

impl<T> Drop for Filling<'_, '_, T> {
    #[inline]
    fn drop(&mut self) {
        self.writer.record(self.start..self.start + self.done);
    }
}

impl<T> Drop for Writer<'_, T> {
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
