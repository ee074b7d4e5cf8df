//! Memory of the programs: what is as large as a page begins at one.
//!
//! Where an array begins within a line decides up to a quarter of the time of a loop over it, and that is settled by what else was allocated before. Two
//! builds that allocate different things in their pools would differ in it for no reason of theirs: a quarter of a generation of the game of life took
//! 33 or 41 µs on the same machine with the same rayon-core, and took 33 with either once both its grids began at pages.
//!
//! Memory that was given back is kept for the next array of the same size: the system takes large arrays back or not as it sees fit, and new pages can take
//! as long as a run.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

const PAGE: usize = 4096;
/// Arrays that are kept.
const MOST: usize = 64;

/// The system's allocator, asked for whole pages.
pub(crate) struct Pages;

/// Arrays that nobody has: their layouts, and where they are.
static KEPT: Mutex<[Option<(Layout, usize)>; MOST]> = Mutex::new([None; MOST]);

fn raised(layout: Layout) -> Layout {
    if layout.size() < PAGE { layout } else { layout.align_to(PAGE).unwrap_or(layout) }
}

/// A kept array of this layout, which is nobody else's from now on; null if there is none.
fn take(layout: Layout) -> *mut u8 {
    if layout.size() < PAGE {
        return null_mut();
    }
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let place = kept.iter_mut().find(|place| place.is_some_and(|(of, _)| of == layout));
    place.and_then(Option::take).map_or(null_mut(), |(_, at)| std::ptr::with_exposed_provenance_mut(at))
}

/// Keeps an array, if it is one and there is room.
fn keep(memory: *mut u8, layout: Layout) -> bool {
    if layout.size() < PAGE {
        return false;
    }
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let room = kept.iter_mut().find(|place| place.is_none());
    room.map(|place| *place = Some((layout, memory.expose_provenance()))).is_some()
}

// SAFETY: all memory is the system allocator's. It is given a layout of the same size and at least the alignment that was asked for, and the same one for the
// same memory each time, as `raised` is a function. What is kept belongs to nobody until `take` hands it to one caller, for a layout equal to the one
// it was asked for with. The provided `realloc` is made of these.
unsafe impl GlobalAlloc for Pages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let layout = raised(layout);
        let kept = take(layout);
        // SAFETY: the caller's promise, that the size is not 0, holds for the raised layout too.
        if kept.is_null() { unsafe { System.alloc(layout) } } else { kept }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let layout = raised(layout);
        let kept = take(layout);
        if kept.is_null() {
            // SAFETY: as above.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: the array is of this size, and nobody else's.
        unsafe { kept.write_bytes(0, layout.size()) };
        kept
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let layout = raised(layout);
        if !keep(memory, layout) {
            // SAFETY: the caller gives the layout that the memory was asked for with, so this is the one that the system was given.
            unsafe { System.dealloc(memory, layout) };
        }
    }
}
