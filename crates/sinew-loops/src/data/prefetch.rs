//! Asking for lines of memory before they are needed.
//!
//! Processors guess what is read next from what was read before; where several rows are read side
//! by side, and each is short, they guess late.

/// The use for which a line is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// It is read.
    Read,
    /// It is written.
    Write,
}

/// Bytes in a line of the cache, on the processors that are known to the compiler here.
const LINE: usize = 64;

/// Asks for the memory of `count` values, of which the first is `values[at]`. They may lie beyond
/// the end of `values`: nothing is read, and an address that there is no memory at costs nothing
/// but the request.
///
/// # Cost
///
/// An instruction a line of 64 bytes. On processors other than x86-64 it does nothing.
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
    // SAFETY: a prefetch accesses nothing that the program could see, and faults nowhere, whatever
    // the address.
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
