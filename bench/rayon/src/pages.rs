//! Memory of the programs: what is as large as a page begins at one.
//!
//! Where an array begins within a line decides up to a quarter of the time of a loop over it, and that is settled by what else was allocated before. Two
//! builds that allocate different things in their pools would differ in it for no reason of theirs: a quarter of a generation of the game of life took
//! 33 or 41 µs on the same machine with the same rayon-core, and took 33 with either once both its grids began at pages.

use std::alloc::{GlobalAlloc, Layout, System};

const PAGE: usize = 4096;

/// The system's allocator, asked for whole pages.
pub(crate) struct Pages;

fn raised(layout: Layout) -> Layout {
    if layout.size() < PAGE { layout } else { layout.align_to(PAGE).unwrap_or(layout) }
}

// SAFETY: all is the system allocator's. It is given a layout of the same size and at least the alignment that was asked for, and the same one for the
// same memory each time, as `raised` is a function. The provided `realloc` is made of these.
unsafe impl GlobalAlloc for Pages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise, that the size is not 0, holds for the raised layout too.
        unsafe { System.alloc(raised(layout)) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(raised(layout)) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller gives the layout that the memory was asked for with, so this is the one that the system was given.
        unsafe { System.dealloc(memory, raised(layout)) }
    }
}
