//! Prefetches of nodes: a node of several cache lines then takes the time of one of them.

use std::ops::Range;

/// Bytes in a cache line of the supported processors.
const LINE: usize = 64;

/// Prefetches some cache lines of a node, counted from its first one. Those beyond its end are left
/// out.
///
/// # Cost
///
/// An instruction for each line. On processors other than x86-64 it does nothing.
#[inline(always)]
pub(super) fn ask_for<N>(node: &N, lines: Range<usize>) {
    let first = std::ptr::from_ref(node).cast::<u8>();
    for line in lines.start..lines.end.min(size_of::<N>().div_ceil(LINE)) {
        ask_for_line(first.wrapping_add(LINE * line));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ask_for_line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch has no visible effect, and never faults, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn ask_for_line(_: *const u8) {}
