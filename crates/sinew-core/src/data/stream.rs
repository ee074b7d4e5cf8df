//! Stores that go past the caches.
//!
//! An ordinary store to a line that is not in the cache reads it first. A loop that overwrites more than fits into the caches moves half as much again as it
//! needs to; non-temporal stores collect whole lines and write them without reading.
//!
//! # Orderings
//!
//! Non-temporal stores are not ordered with those that follow: a thread that is told of them by a release store could see the memory as it was before. So
//! [`streaming`] ends with a store fence, and what was written stays borrowed until then: `'a` outlives the call, which the caller's closure can end
//! neither by forgetting something nor by panicking.
//!
//! # Cost
//!
//! A fence a call, which waits until what was collected has been written: use one call for many lines. Elsewhere than on x86-64 stores are ordinary.

use std::marker::PhantomData;

/// Values that are computed before they are stored together.
const PIECE: usize = 128;

/// A way to write past the caches. Made by [`streaming`].
#[derive(Debug)]
pub struct Streams<'a> {
    written: PhantomData<&'a mut [f64]>,
    of_this_thread: PhantomData<*const ()>,
}

/// Calls `f` with a way to write past the caches. When this returns, all that was written can be read by any thread that learns of it.
///
/// ```
/// use sinew_core::data::streaming;
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
/// What was written is borrowed until the end:
///
/// ```compile_fail
/// let mut line = vec![0.0; 8];
/// sinew_core::data::streaming(|streams| {
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
    /// Overwrites `line`: `fill` is called with pieces, and the place in `line` at which each begins, and has to set every value of them. Where lines of the
    /// cache are written in part, at the ends, stores are ordinary.
    ///
    /// `fill` gets pieces with arbitrary values.
    #[inline(always)]
    pub fn write(&mut self, line: &'a mut [f64], mut fill: impl FnMut(&mut [f64], usize)) {
        let mut piece = Piece([0.0; PIECE]);
        let mut at = 0;
        // The first piece ends where a line of the cache does, so that all but the last are made of whole ones.
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
    pub fn copy(&mut self, line: &'a mut [f64], values: &[f64]) {
        assert_eq!(line.len(), values.len(), "a line and its values are equally long");
        self.write(line, |piece, at| piece.copy_from_slice(&values[at..at + piece.len()]));
    }
}

/// Aligned as lines of the cache are.
#[repr(align(64))]
struct Piece([f64; PIECE]);

/// Copies, past the caches where `line` begins with a line of the cache.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn store(line: &mut [f64], values: &[f64]) {
    use std::arch::x86_64::{_mm_loadu_pd, _mm_stream_pd};
    const LINE: usize = 8;

    let aligned = line.as_ptr().addr().is_multiple_of(align_of::<Piece>());
    let whole = if aligned { line.len().min(values.len()) / LINE * LINE } else { 0 };
    for at in (0..whole).step_by(2) {
        // SAFETY: `at + 1 < whole`, which lies in both; `line` is aligned to 64 bytes and `at` even, so the store is aligned to 16. The values are read
        // by others only after the fence of `streaming`, until which `line` is borrowed. SSE2 is part of x86-64.
        unsafe { _mm_stream_pd(line.as_mut_ptr().add(at), _mm_loadu_pd(values.as_ptr().add(at))) };
    }
    line[whole..].copy_from_slice(&values[whole..]);
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
