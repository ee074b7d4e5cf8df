//! Memory of the programs: what is as large as a page is kept, and begins at a place that does not
//! depend on what else was allocated.
//!
//! The address of an array determines a good part of the time of a loop over it, and depends on
//! earlier allocations. Two builds that allocate different things in their pools would differ in it
//! for no reason of theirs.
//!
//! - New pages come one by one from the system, which takes 2 µs a page and more: half of the time
//!   of filling an array. So memory that was given back is kept for the next array of about the
//!   same size, for ever: what is kept is what was once in use.
//! - The offset of an array within a line made a difference of up to a quarter of the time: the
//!   game of life took 33 or 41 µs a generation. So arrays begin at lines.
//! - A load from an address that has its lower twelve bits in common with a store that is still
//!   under way waits for that. So arrays that are used together do not all begin at pages, but
//!   [`SHIFT`] bytes apart, in the order in which they were first asked for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::{Mutex, PoisonError};

const PAGE: usize = 4096;
const LINE: usize = 64;
/// Offset of an array within its page relative to the array of about its size that was made before
/// it: not a multiple of a row of 128 bytes, 256, and so on.
const SHIFT: usize = 5 * LINE;
/// Different places within a page.
const SHIFTS: usize = 12;
/// Sizes between one power of two and the next.
const STEPS: usize = 4;
const SIZES: usize = STEPS * usize::BITS as usize;

/// The system's allocator, asked for whole pages that are never given back.
pub(crate) struct Pages;

/// Arrays of one size.
#[derive(Clone, Copy)]
struct Shelf {
    /// The first free array, whose first word leads to the next; 0 for none.
    free: usize,
    /// Number of arrays made.
    made: usize,
}

static SHELVES: Mutex<[Shelf; SIZES]> = Mutex::new([Shelf { free: 0, made: 0 }; SIZES]);

/// The number of the shelf from which an array of `layout` comes, if it is one.
fn shelf_of(layout: Layout) -> Option<usize> {
    if layout.size() < PAGE || layout.align() > LINE {
        return None;
    }
    let below = layout.size() - 1;
    let power = below.ilog2() as usize;
    Some(STEPS * power + ((below >> (power - STEPS.ilog2() as usize)) & (STEPS - 1)))
}

/// The size of the arrays on a shelf: the largest that comes from there.
fn size_of_shelf(shelf: usize) -> usize {
    let (power, step) = (shelf / STEPS, shelf % STEPS);
    (STEPS + step + 1) << (power - STEPS.ilog2() as usize)
}

fn with_shelf<R>(shelf: usize, f: impl FnOnce(&mut Shelf) -> R) -> R {
    f(&mut SHELVES.lock().unwrap_or_else(PoisonError::into_inner)[shelf])
}

/// A free array, and whether it is new and so all zero; null if the system has none.
fn take(number: usize) -> (*mut u8, bool) {
    with_shelf(number, |shelf| {
        if shelf.free == 0 {
            let shift = shelf.made % SHIFTS * SHIFT;
            shelf.made += 1;
            return (make(size_of_shelf(number), shift), true);
        }
        let array: *mut u8 = with_exposed_provenance_mut(shelf.free);
        // SAFETY: an array on a shelf is owned by the shelf, has at least a page, and begins with
        // the word that `keep` has written.
        shelf.free = unsafe { array.cast::<usize>().read() };
        (array, false)
    })
}

/// New memory of `size` bytes, all zero, that begins `shift` bytes after a page does.
fn make(size: usize, shift: usize) -> *mut u8 {
    let Ok(layout) = Layout::from_size_align(size + shift, PAGE) else { return null_mut() };
    // SAFETY: the size is not 0.
    let pages = unsafe { System.alloc_zeroed(layout) };
    if pages.is_null() {
        return null_mut();
    }
    // SAFETY: within what was allocated.
    unsafe { pages.add(shift) }
}

/// Puts an array on its shelf.
fn keep(number: usize, array: *mut u8) {
    with_shelf(number, |shelf| {
        // SAFETY: the array came from this shelf, so it is at least a page and aligned to a line,
        // and its owner is done with it.
        unsafe { array.cast::<usize>().write(shelf.free) };
        shelf.free = array.expose_provenance();
    });
}

// SAFETY: an array is memory of the system allocator that is never returned to it. It has at least
// the requested size and alignment (the shift is a multiple of a line). Between `keep` and `take`
// the shelf owns it, and `take` hands it to one caller. Whether memory is an array is a function of
// its layout, the same one each time; the rest goes to the system as it comes. The provided
// `realloc` is made of these.
unsafe impl GlobalAlloc for Pages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match shelf_of(layout) {
            Some(shelf) => take(shelf).0,
            // SAFETY: the caller's promise.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(shelf) = shelf_of(layout) else {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc_zeroed(layout) };
        };
        let (array, new) = take(shelf);
        if !new {
            // SAFETY: the array has at least this size, and is owned here.
            unsafe { array.write_bytes(0, layout.size()) };
        }
        array
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        match shelf_of(layout) {
            Some(shelf) => keep(shelf, memory),
            // SAFETY: it was asked for with this layout, so from the system.
            None => unsafe { System.dealloc(memory, layout) },
        }
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: memory that two have at once, on a shelf that two threads are at; the
    //! programs' answers would be wrong.
    use super::*;

    fn array(size: usize) -> Layout {
        Layout::from_size_align(size, 8).expect("a layout")
    }

    #[test]
    fn a_shelf_has_room_for_what_comes_from_it_and_wastes_a_fifth_at_most() {
        for size in (PAGE..3 * PAGE).chain([1 << 20, (1 << 20) + 1, 9_999_999, 1 << 40]) {
            let room = size_of_shelf(shelf_of(array(size)).expect("an array"));
            assert!(room >= size && room - size <= size / 4, "{room} for {size}");
        }
    }

    #[test]
    fn what_is_smaller_than_a_page_or_wants_more_than_a_line_is_the_systems() {
        assert_eq!(shelf_of(array(PAGE - 1)), None);
        assert_eq!(shelf_of(Layout::from_size_align(PAGE, 2 * LINE).expect("a layout")), None);
    }

    #[test]
    fn memory_comes_back_zeroed_where_that_is_asked_for_and_begins_at_a_line() {
        let layout = array(77 * PAGE);
        // SAFETY: the layout is the same each time, and the memory is given back once.
        unsafe {
            let first = Pages.alloc(layout);
            assert!(first.addr().is_multiple_of(LINE));
            first.write_bytes(1, layout.size());
            Pages.dealloc(first, layout);
            let second = Pages.alloc_zeroed(layout);
            assert!(
                std::slice::from_raw_parts(second, layout.size()).iter().all(|&byte| byte == 0)
            );
            Pages.dealloc(second, layout);
        }
    }

    #[test]
    fn arrays_of_one_size_begin_at_different_places_within_their_pages() {
        let layout = array(1111 * PAGE);
        // SAFETY: as above; what is not given back is lost.
        let places: Vec<usize> =
            (0..SHIFTS).map(|_| unsafe { Pages.alloc(layout) }.addr() % PAGE).collect();
        // Made one after the other, they do not meet, whatever the rows.
        for row in [2 * LINE, 256, 512, 1024, 2048, PAGE] {
            assert!(
                places.windows(2).all(|pair| pair[0] % row != pair[1] % row),
                "{row}: {places:?}"
            );
        }
        let mut different = places;
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), SHIFTS);
    }
}
