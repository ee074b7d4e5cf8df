//! Non-temporal stores, which bypass the caches.
//!
//! An ordinary store to a line that is not in the cache reads the line first. So a loop that
//! overwrites more than the caches hold moves half as much again as it needs to. Non-temporal
//! stores write whole lines without reading them.
//!
//! # Orderings
//!
//! Non-temporal stores are not ordered before a later release store, so a thread that reads that
//! store could see the old memory. So [`streaming`] ends with a store fence, and the written memory
//! stays borrowed until then: `'a` outlives the call, and neither a panic nor a forgotten value can
//! end the borrow earlier.
//!
//! # Cost
//!
//! A fence for each call, which waits for all stores: use one call for many lines. On processors
//! other than x86-64 stores are ordinary.

use std::marker::PhantomData;

/// The number of values that are computed before they are stored.
const PIECE: usize = 128;

/// The access to non-temporal stores. Made by [`streaming`].
#[derive(Debug)]
pub struct Streams<'a> {
    written: PhantomData<&'a mut [f64]>,
    of_this_thread: PhantomData<*const ()>,
}

/// Calls `f` with access to non-temporal stores. All stores are ordered before this returns.
///
/// ```
/// use sinew_loops::data::streaming;
///
/// let mut squares = vec![0.0; 1000];
/// streaming(|streams| {
///     streams.write(&mut squares, |piece, first| {
///         for (i, value) in piece.iter_mut().enumerate() {
///             *value = ((first + i) * (first + i)) as f64;
///         }
///     });
/// });
/// assert_eq!(squares[30], 900.0);
/// ```
///
/// The written values are borrowed until the end:
///
/// ```compile_fail
/// let mut line = vec![0.0; 8];
/// sinew_loops::data::streaming(|streams| {
///     streams.write(&mut line, |piece, _| piece.fill(1.0));
///     line[0] = 2.0;
/// });
/// ```
#[inline]
pub fn streaming<'a, R>(f: impl FnOnce(&mut Streams<'a>) -> R) -> R {
    let _fence = Fence;
    f(&mut Streams { written: PhantomData, of_this_thread: PhantomData })
}

impl<'a> Streams<'a> {
    /// Overwrites `line`. `fill` is called with pieces of arbitrary values and the index in `line`
    /// at which each begins, and must set every value. Stores to partial cache lines at the ends
    /// are ordinary.
    #[inline(always)]
    pub fn write(&mut self, line: &'a mut [f64], mut fill: impl FnMut(&mut [f64], usize)) {
        let mut piece = Piece([0.0; PIECE]);
        let mut at = 0;
        // The first piece ends with a cache line, so all but the last consist of whole lines.
        let lead = line.as_ptr().align_offset(align_of::<Piece>()).min(line.len());
        let mut length = if lead > 0 { lead } else { PIECE };
        while at < line.len() {
            let end = (at + length).min(line.len());
            let values = &mut piece.0[..end - at];
            fill(values, at);
            store(&mut line[at..end], values);
            (at, length) = (end, PIECE);
        }
    }

    /// Copies `values` over `line`.
    ///
    /// # Panics
    ///
    /// If they are not equally long.
    #[track_caller]
    pub fn copy(&mut self, line: &'a mut [f64], values: &[f64]) {
        assert_eq!(line.len(), values.len(), "a line and its values are equally long");
        self.write(line, |piece, at| piece.copy_from_slice(&values[at..at + piece.len()]));
    }
}

/// A piece, aligned to cache lines.
#[repr(align(64))]
struct Piece([f64; PIECE]);

/// Copies; with non-temporal stores if `line` begins with a cache line.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn store(line: &mut [f64], values: &[f64]) {
    let aligned = line.as_ptr().addr().is_multiple_of(align_of::<Piece>());
    let whole = if aligned { line.len().min(values.len()) / LINE * LINE } else { 0 };
    let (lines, rest) = line.split_at_mut(whole);
    if std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has it, and `lines` begins and ends with a line of the cache.
        unsafe { stream_lines(lines, &values[..whole]) };
    } else {
        // SAFETY: `lines` begins and ends with a line of the cache.
        unsafe { stream_pairs(lines, &values[..whole]) };
    }
    rest.copy_from_slice(&values[whole..]);
}

/// Doubles in a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 8;

/// One store for a cache line instead of four, which makes stencils about a tenth faster.
///
/// # Safety
///
/// The processor has AVX-512. `to` begins with a line of the cache, and consists of whole ones. The
/// values are read by others only after a store fence.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn stream_lines(to: &mut [f64], values: &[f64]) {
    use std::arch::x86_64::{_mm512_loadu_pd, _mm512_stream_pd};
    for (to, values) in to.chunks_exact_mut(LINE).zip(values.chunks_exact(LINE)) {
        // SAFETY: eight values each; the caller promises the alignment of `to`, and the fence.
        unsafe { _mm512_stream_pd(to.as_mut_ptr(), _mm512_loadu_pd(values.as_ptr())) };
    }
}

/// The same with SSE2, which every x86-64 processor has.
///
/// # Safety
///
/// As for [`stream_lines`], AVX-512 aside.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn stream_pairs(to: &mut [f64], values: &[f64]) {
    use std::arch::x86_64::{_mm_loadu_pd, _mm_stream_pd};
    for (to, values) in to.chunks_exact_mut(2).zip(values.chunks_exact(2)) {
        // SAFETY: two values each; the caller promises the alignment of `to`, and the fence. SSE2
        // is part of x86-64.
        unsafe { _mm_stream_pd(to.as_mut_ptr(), _mm_loadu_pd(values.as_ptr())) };
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn store(line: &mut [f64], values: &[f64]) {
    line.copy_from_slice(values);
}

/// Orders what was written before what follows, also after a panic.
struct Fence;

impl Drop for Fence {
    #[inline]
    fn drop(&mut self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: SSE is part of x86-64.
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    type Way = unsafe fn(&mut [f64], &[f64]);

    /// Catches: a kind of store that this processor does not choose, and that skips values.
    #[test]
    fn each_kind_of_store_copies_all_values() {
        let values: Vec<f64> = (0..PIECE as u32).map(f64::from).collect();
        let mut ways = vec![stream_pairs as Way];
        if std::arch::is_x86_feature_detected!("avx512f") {
            ways.push(stream_lines);
        } else {
            println!("skipped for one of them: this processor has no AVX-512");
        }
        for way in ways {
            let mut to = Piece([-1.0; PIECE]);
            let fence = Fence;
            // SAFETY: the processor has what it takes; a piece begins with a line and consists of
            // whole ones, and the fence follows.
            unsafe { way(&mut to.0, &values) };
            drop(fence);
            assert_eq!(to.0, *values);
        }
    }
}
