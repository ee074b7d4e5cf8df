//! Chains over the parts of slices, and parallel sorts of slices.

use super::sorts;
use crate::data::{
    ArrayWindows, Chunks, ChunksExact, ChunksExactMut, ChunksMut, Cuts, PartsMut, RChunks,
    RChunksExact, RChunksExactMut, RChunksMut, SliceRuns, SplitSlice, Windows,
};
use crate::iter::{Mode, Over};
use std::cmp::Ordering;
use std::ops::Range;

/// The items of [`ParallelSlice::par_split`].
pub type SplitItems<'a, T, P> = Over<'static, Cuts<SplitSlice<'a, T, P>>>;

/// Chains over the parts of a shared slice.
///
/// ```
/// use sinew_loops::iter::*;
///
/// let xs = [1, 2, 3, 4, 5];
/// let sums = |parts: Vec<&[i32]>| -> Vec<i32> { parts.iter().map(|p| p.iter().sum()).collect() };
/// assert_eq!(sums(xs.par_windows(3).collect()), [6, 9, 12]);
/// assert_eq!(sums(xs.par_chunks(2).collect()), [3, 7, 5]);
/// assert_eq!(sums(xs.par_rchunks(2).collect()), [9, 5, 1]);
/// assert_eq!(sums(xs.par_split(|x| *x == 3).collect()), [3, 9]);
/// assert_eq!(xs.par_chunks_exact(2).remainder(), [5]);
/// ```
pub trait ParallelSlice<T: Sync> {
    /// The slice.
    fn as_parallel_slice(&self) -> &[T];

    /// The parts between elements for which `separator` returns true. Two separators side by side,
    /// or one at an end of the slice, have an empty part beside them.
    ///
    /// `separator` may be called more than once for an element.
    #[track_caller]
    fn par_split<P: Fn(&T) -> bool + Sync + Send>(&self, separator: P) -> SplitItems<'_, T, P> {
        Over::new(Cuts::new(SplitSlice::new(self.as_parallel_slice(), separator, false)))
    }

    /// The same parts, each with the separator at its end. The last part is not empty.
    #[track_caller]
    fn par_split_inclusive<P>(&self, separator: P) -> SplitItems<'_, T, P>
    where
        P: Fn(&T) -> bool + Sync + Send,
    {
        Over::new(Cuts::new(SplitSlice::new(self.as_parallel_slice(), separator, true)))
    }

    /// All runs of `window_size` adjacent elements.
    ///
    /// # Panics
    ///
    /// If `window_size` is 0.
    #[track_caller]
    fn par_windows(&self, window_size: usize) -> Over<'static, Windows<'_, T>> {
        Over::new(Windows::new(self.as_parallel_slice(), window_size))
    }

    /// All runs of `N` adjacent elements, as references to arrays.
    ///
    /// # Panics
    ///
    /// If `N` is 0.
    #[track_caller]
    fn par_array_windows<const N: usize>(&self) -> Over<'static, ArrayWindows<'_, T, N>> {
        Over::new(ArrayWindows::new(self.as_parallel_slice()))
    }

    /// Chunks of `chunk_size` elements; the last may be shorter.
    ///
    /// # Panics
    ///
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_chunks(&self, chunk_size: usize) -> Over<'static, Chunks<'_, T>> {
        Over::new(Chunks::new(self.as_parallel_slice(), chunk_size))
    }

    /// Chunks of exactly `chunk_size` elements. [`remainder`](Over::remainder) has the others.
    ///
    /// # Panics
    ///
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_chunks_exact(&self, chunk_size: usize) -> Over<'static, ChunksExact<'_, T>> {
        Over::new(ChunksExact::new(self.as_parallel_slice(), chunk_size))
    }

    /// Chunks of `chunk_size` elements from the end of the slice; the last in order, at its start,
    /// may be shorter.
    ///
    /// # Panics
    ///
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_rchunks(&self, chunk_size: usize) -> Over<'static, RChunks<'_, T>> {
        Over::new(RChunks::new(self.as_parallel_slice(), chunk_size))
    }

    /// Chunks of exactly `chunk_size` elements from the end of the slice.
    /// [`remainder`](Over::remainder) has the others.
    ///
    /// # Panics
    ///
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_rchunks_exact(&self, chunk_size: usize) -> Over<'static, RChunksExact<'_, T>> {
        Over::new(RChunksExact::new(self.as_parallel_slice(), chunk_size))
    }

    /// The longest runs in which `pred` returns true for each two neighbours.
    ///
    /// `pred` may be called more than once for two neighbours.
    #[track_caller]
    fn par_chunk_by<F>(&self, pred: F) -> Over<'static, Cuts<SliceRuns<'_, T, F>>>
    where
        F: Fn(&T, &T) -> bool + Send + Sync,
    {
        Over::new(Cuts::new(SliceRuns::new(self.as_parallel_slice(), pred)))
    }
}

impl<T: Sync> ParallelSlice<T> for [T] {
    #[inline]
    fn as_parallel_slice(&self) -> &[T] {
        self
    }
}

/// Chains over the parts of a mutable slice, and sorts.
///
/// Sorts run in the current pool, and take O(n log n) work and a buffer of the slice's size. If a
/// function of a sort panics, the slice has its elements in some order.
///
/// ```
/// use sinew_loops::iter::*;
///
/// let mut xs = [3, 1, 5, 2, 4];
/// xs.par_chunks_mut(2).for_each(|chunk| chunk.reverse());
/// assert_eq!(xs, [1, 3, 2, 5, 4]);
/// xs.par_sort();
/// assert_eq!(xs, [1, 2, 3, 4, 5]);
/// xs.par_sort_by_key(|x| x % 2);
/// assert_eq!(xs, [2, 4, 1, 3, 5]);
/// ```
pub trait ParallelSliceMut<T: Send> {
    /// The slice.
    fn as_parallel_slice_mut(&mut self) -> &mut [T];

    /// The parts between elements for which `separator` returns true, as
    /// [`par_split`](ParallelSlice::par_split) has them. This call looks for the separators, one
    /// after the other.
    #[track_caller]
    fn par_split_mut<P>(&mut self, separator: P) -> Over<'static, PartsMut<'_, T>>
    where
        P: Fn(&T) -> bool + Sync + Send,
    {
        let parts = |slice: &[T]| parts(slice.split(separator), 1);
        Over::new(PartsMut::new(self.as_parallel_slice_mut(), parts))
    }

    /// The same parts, each with the separator at its end. The last part is not empty.
    #[track_caller]
    fn par_split_inclusive_mut<P>(&mut self, separator: P) -> Over<'static, PartsMut<'_, T>>
    where
        P: Fn(&T) -> bool + Sync + Send,
    {
        let parts = |slice: &[T]| parts(slice.split_inclusive(separator), 0);
        Over::new(PartsMut::new(self.as_parallel_slice_mut(), parts))
    }

    /// Chunks of `chunk_size` elements; the last may be shorter.
    ///
    /// # Panics
    ///
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_chunks_mut(&mut self, chunk_size: usize) -> Over<'static, ChunksMut<'_, T>> {
        Over::new(ChunksMut::new(self.as_parallel_slice_mut(), chunk_size))
    }

    /// Chunks of exactly `chunk_size` elements. [`remainder`](Over::remainder) has the others.
    ///
    /// # Panics
    ///
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_chunks_exact_mut(&mut self, chunk_size: usize) -> Over<'static, ChunksExactMut<'_, T>> {
        Over::new(ChunksExactMut::new(self.as_parallel_slice_mut(), chunk_size))
    }

    /// Chunks of `chunk_size` elements from the end of the slice; the last in order, at its start,
    /// may be shorter.
    ///
    /// # Panics
    ///
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_rchunks_mut(&mut self, chunk_size: usize) -> Over<'static, RChunksMut<'_, T>> {
        Over::new(RChunksMut::new(self.as_parallel_slice_mut(), chunk_size))
    }

    /// Chunks of exactly `chunk_size` elements from the end of the slice.
    /// [`remainder`](Over::remainder) has the others.
    ///
    /// # Panics
    ///
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_rchunks_exact_mut(
        &mut self,
        chunk_size: usize,
    ) -> Over<'static, RChunksExactMut<'_, T>> {
        Over::new(RChunksExactMut::new(self.as_parallel_slice_mut(), chunk_size))
    }

    /// The longest runs in which `pred` returns true for each two neighbours. This call looks for
    /// the runs, one after the other.
    #[track_caller]
    fn par_chunk_by_mut<F>(&mut self, pred: F) -> Over<'static, PartsMut<'_, T>>
    where
        F: Fn(&T, &T) -> bool + Send + Sync,
    {
        let parts = |slice: &[T]| parts(slice.chunk_by(pred), 0);
        Over::new(PartsMut::new(self.as_parallel_slice_mut(), parts))
    }

    /// Sorts the slice; equal elements keep their order.
    fn par_sort(&mut self)
    where
        T: Ord,
    {
        sorts::sort(self.as_parallel_slice_mut(), T::cmp);
    }

    /// Sorts the slice by `compare`; equal elements keep their order. If `compare` is not a total
    /// order, the result is in some order, or the sort panics.
    fn par_sort_by<F: Fn(&T, &T) -> Ordering + Sync>(&mut self, compare: F) {
        sorts::sort(self.as_parallel_slice_mut(), compare);
    }

    /// Sorts the slice by the key that `f` returns at each comparison; equal elements keep their
    /// order.
    fn par_sort_by_key<K: Ord, F: Fn(&T) -> K + Sync>(&mut self, f: F) {
        sorts::sort(self.as_parallel_slice_mut(), |a, b| f(a).cmp(&f(b)));
    }

    /// Sorts the slice by the key that `f` returns, once for each element; equal elements keep
    /// their order.
    fn par_sort_by_cached_key<K: Ord + Send, F: Fn(&T) -> K + Sync>(&mut self, f: F) {
        sorts::sort_by_cached_key(self.as_parallel_slice_mut(), f);
    }

    /// Sorts the slice; equal elements may change places.
    fn par_sort_unstable(&mut self)
    where
        T: Ord,
    {
        sorts::sort_unstable(self.as_parallel_slice_mut(), T::cmp);
    }

    /// Sorts the slice by `compare`; equal elements may change places. If `compare` is not a total
    /// order, the result is in some order, or the sort panics.
    fn par_sort_unstable_by<F: Fn(&T, &T) -> Ordering + Sync>(&mut self, compare: F) {
        sorts::sort_unstable(self.as_parallel_slice_mut(), compare);
    }

    /// Sorts the slice by the key that `f` returns at each comparison; equal elements may change
    /// places.
    fn par_sort_unstable_by_key<K: Ord, F: Fn(&T) -> K + Sync>(&mut self, f: F) {
        sorts::sort_unstable(self.as_parallel_slice_mut(), |a, b| f(a).cmp(&f(b)));
    }
}

impl<T: Send> ParallelSliceMut<T> for [T] {
    #[inline]
    fn as_parallel_slice_mut(&mut self) -> &mut [T] {
        self
    }
}

/// The places of adjacent parts, with `gap` elements between two of them.
fn parts<'a, T: 'a>(parts: impl Iterator<Item = &'a [T]>, gap: usize) -> Vec<Range<usize>> {
    let mut start = 0;
    parts
        .map(|part| {
            let range = start..start + part.len();
            start = range.end + gap;
            range
        })
        .collect()
}

/// The elements of no chunk.
macro_rules! remainders {
    ($($shared:ident, $mutable:ident;)*) => {$(
        impl<'a, T, C: Mode> Over<'_, $shared<'a, T>, C> {
            /// The elements of no chunk.
            pub fn remainder(&self) -> &'a [T] {
                self.items.remainder()
            }
        }

        impl<'a, T, C: Mode> Over<'_, $mutable<'a, T>, C> {
            /// The elements of no chunk, instead of the chain.
            pub fn into_remainder(mut self) -> &'a mut [T] {
                self.items.take_remainder()
            }

            /// The elements of no chunk.
            pub fn remainder(&mut self) -> &mut [T] {
                self.items.remainder()
            }

            /// The elements of no chunk; none after the first call.
            pub fn take_remainder(&mut self) -> &'a mut [T] {
                self.items.take_remainder()
            }
        }
    )*};
}

remainders! {
    ChunksExact, ChunksExactMut;
    RChunksExact, RChunksExactMut;
}
