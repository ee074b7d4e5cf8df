//! Software prefetches.
//!
//! The hardware prefetcher recognises streams after some accesses, which is too late if a loop
//! reads several short rows side by side.

/// The access for which a line is prefetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// It is read.
    Read,
    /// It is written.
    Write,
}

/// Bytes in a cache line of the supported processors.
const LINE: usize = 64;

/// Prefetches the memory of `count` values, of which the first is `values[at]`. They may lie beyond
/// the end of `values`, because a prefetch does not read, and an unmapped address does no harm.
///
/// # Cost
///
/// An instruction for each cache line of 64 bytes. On processors other than x86-64 it does nothing.
#[inline(always)]
pub fn prefetch<T>(values: &[T], at: usize, count: usize, intent: Intent) {
    let first = values.as_ptr().wrapping_add(at).cast::<u8>();
    for byte in (0..count * size_of::<T>()).step_by(LINE) {
        ask_for(first.wrapping_add(byte), intent);
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ask_for(address: *const u8, intent: Intent) {
    use std::arch::x86_64::{_MM_HINT_ET0, _MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch has no visible effect, and never faults, whatever the address.
    unsafe {
        match intent {
            Intent::Read => _mm_prefetch::<_MM_HINT_T0>(address.cast()),
            Intent::Write => _mm_prefetch::<_MM_HINT_ET0>(address.cast()),
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn ask_for(_: *const u8, _: Intent) {}
