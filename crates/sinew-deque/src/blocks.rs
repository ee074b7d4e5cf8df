//! Memory of finished tasks, which the worker that ran them reuses for its next spawns.
//!
//! Most heap tasks are small and end soon after their spawn, often just before the next spawn. A
//! pair of calls to the allocator takes as long as the rest of a spawn.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};

/// Bytes of a small and of a large block. With the word that most allocators add, they are one and
/// two cache lines.
const SIZES: [usize; 2] = [56, 120];

/// The alignment of blocks: the allocator's default. An alignment to whole cache lines takes twice
/// as long to allocate.
const ALIGN: usize = 2 * size_of::<usize>();

/// The most blocks of a size that are kept. More would only help bursts of spawns, whose tasks live
/// too long to stay in the cache.
const KEPT: u32 = 64;

/// The block size that a task gets.
#[derive(Debug, Clone, Copy)]
pub struct Class(usize);

impl Class {
    /// The smallest class that fits `T`, if one does.
    pub const fn of<T>() -> Option<Self> {
        let mut class = 0;
        while class < SIZES.len() {
            if size_of::<T>() <= SIZES[class] && align_of::<T>() <= ALIGN {
                return Some(Self(class));
            }
            class += 1;
        }
        None
    }

    fn layout(self) -> Layout {
        Layout::from_size_align(SIZES[self.0], ALIGN).expect("a power of two")
    }
}

/// An unused block; its first bytes point to the next one.
struct Spare {
    next: *mut Spare,
}

/// The unused blocks of a worker. Only its owner accesses them.
#[derive(Debug)]
pub struct Blocks {
    first: [Cell<*mut Spare>; SIZES.len()],
    kept: [Cell<u32>; SIZES.len()],
}

impl Default for Blocks {
    fn default() -> Self {
        Self { first: [const { Cell::new(null_mut()) }; _], kept: [const { Cell::new(0) }; _] }
    }
}

impl Blocks {
    /// A block of `class`: a kept one, or a new one.
    #[inline]
    pub fn take(&self, class: Class) -> NonNull<u8> {
        let first = &self.first[class.0];
        let Some(spare) = NonNull::new(first.get()) else { return new(class) };
        // SAFETY: kept blocks are valid, and written by `give`.
        first.set(unsafe { spare.as_ref() }.next);
        let kept = &self.kept[class.0];
        kept.set(kept.get() - 1);
        spare.cast()
    }

    /// Keeps a block, or frees it if enough are kept.
    ///
    /// # Safety
    ///
    /// The block came from [`new`] or from [`take`](Self::take) of any worker, for `class`, and
    /// nothing uses it any more.
    #[inline]
    pub unsafe fn give(&self, class: Class, block: NonNull<u8>) {
        let (first, kept) = (&self.first[class.0], &self.kept[class.0]);
        if kept.get() == KEPT {
            // SAFETY: the caller guarantees it.
            return unsafe { free(class, block) };
        }
        // SAFETY: the block is at least as large and as aligned as a `Spare`, and nothing else uses
        // it.
        unsafe { block.cast::<Spare>().write(Spare { next: first.get() }) };
        first.set(block.as_ptr().cast());
        kept.set(kept.get() + 1);
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for class in (0..SIZES.len()).map(Class) {
            while self.kept[class.0].get() > 0 {
                let block = self.take(class);
                // SAFETY: it was kept, so it came from `new`; it is no longer in the list.
                unsafe { free(class, block) };
            }
        }
    }
}

/// A block from the allocator, also for threads that are not workers.
#[inline(never)]
pub fn new(class: Class) -> NonNull<u8> {
    let layout = class.layout();
    // SAFETY: the layout is not empty.
    NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout))
}

/// # Safety
///
/// The block came from [`new`], for `class`, and nothing uses it any more.
#[inline(never)]
unsafe fn free(class: Class, block: NonNull<u8>) {
    // SAFETY: allocated with this layout.
    unsafe { dealloc(block.as_ptr(), class.layout()) };
}

#[cfg(test)]
mod tests {
    //! Blind to: a task written into a block of another class. It would not fit, which the tests of
    //! scopes show under a memory checker.
    use super::*;

    #[test]
    fn a_type_goes_into_the_smallest_block_that_it_fits() {
        let class = |class: Option<Class>| class.map(|class| SIZES[class.0]);
        assert_eq!(class(Class::of::<[u64; 7]>()), Some(56));
        assert_eq!(class(Class::of::<[u64; 8]>()), Some(120));
        assert_eq!(class(Class::of::<[u64; 16]>()), None);
        #[repr(align(64))]
        struct Line(#[expect(dead_code)] u8);
        assert_eq!(class(Class::of::<Line>()), None);
    }

    #[test]
    fn blocks_are_reused_newest_first_and_up_to_the_limit() {
        let (blocks, class) = (Blocks::default(), Class::of::<u64>().unwrap());
        let taken: Vec<_> = (0..KEPT + 5).map(|_| blocks.take(class)).collect();
        // SAFETY: taken, and given once.
        taken.iter().for_each(|block| unsafe { blocks.give(class, *block) });
        assert_eq!(blocks.kept[class.0].get(), KEPT);
        let again: Vec<_> = (0..KEPT).map(|_| blocks.take(class)).collect();
        assert!(again.iter().eq(taken[..KEPT as usize].iter().rev()));
        // SAFETY: as above.
        again.into_iter().for_each(|block| unsafe { blocks.give(class, block) });
    }
}
