//! Memory of task stacks: zeroed, and there only once it is touched.
//!
//! A page lies on the NUMA node of whoever touches it first, which is to be the stack's owner and not the thread that builds the pool. So nothing is written here.
//! Not the allocator's memory either: what that hands out again it must clear first, half a MiB for each worker of each pool, of which most programs use the first
//! page.

/// A descriptor that begins as zeroes.
///
/// # Safety
///
/// All-zero bytes are a valid value, and stand for an empty descriptor.
pub(super) unsafe trait Blank: Sized {
    /// The same for models, whose atomics are no bytes.
    #[cfg(any(loom, shuttle))]
    fn blank() -> Self;
}

#[cfg(all(unix, not(any(loom, shuttle))))]
mod imp {
    use std::io;
    use std::ops::Deref;
    use std::ptr::{NonNull, null_mut};

    use super::Blank;

    /// So many empty descriptors.
    #[derive(Debug)]
    pub(in crate::stack) struct Pages<T> {
        first: NonNull<T>,
        count: usize,
    }

    // SAFETY: owned memory.
    unsafe impl<T: Send> Send for Pages<T> {}
    // SAFETY: it is shared as a slice.
    unsafe impl<T: Sync> Sync for Pages<T> {}

    impl<T: Blank> Pages<T> {
        /// # Panics
        ///
        /// If the system has no memory left.
        pub(in crate::stack) fn new(count: usize) -> Self {
            const { assert!(!std::mem::needs_drop::<T>() && align_of::<T>() <= 4096) };
            // SAFETY: a private mapping of fresh memory, placed by the kernel.
            let pages = unsafe {
                libc::mmap(
                    null_mut(),
                    count * size_of::<T>(),
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANON,
                    -1,
                    0,
                )
            };
            let pages = NonNull::new(pages).filter(|pages| pages.as_ptr() != libc::MAP_FAILED);
            let Some(first) = pages else {
                panic!("sinew: no memory for a worker's task stack: {}", io::Error::last_os_error());
            };
            Self { first: first.cast(), count }
        }
    }

    impl<T> Deref for Pages<T> {
        type Target = [T];

        #[inline]
        fn deref(&self) -> &[T] {
            // SAFETY: mapped by `new`, aligned as pages are, and all zero at first, which is a valid value (`Blank`).
            unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
        }
    }

    impl<T> Drop for Pages<T> {
        fn drop(&mut self) {
            // SAFETY: mapped with this size by `new`; there is nothing in it to drop.
            unsafe { libc::munmap(self.first.as_ptr().cast(), self.count * size_of::<T>()) };
        }
    }
}

#[cfg(any(not(unix), loom, shuttle))]
mod imp {
    use std::ops::Deref;

    use super::Blank;

    /// So many empty descriptors.
    #[derive(Debug)]
    pub(in crate::stack) struct Pages<T>(Box<[T]>);

    impl<T: Blank> Pages<T> {
        #[cfg(any(loom, shuttle))]
        pub(in crate::stack) fn new(count: usize) -> Self {
            Self((0..count).map(|_| T::blank()).collect())
        }

        #[cfg(not(any(loom, shuttle)))]
        pub(in crate::stack) fn new(count: usize) -> Self {
            // SAFETY: all-zero bytes are a valid value (`Blank`).
            Self(unsafe { Box::new_zeroed_slice(count).assume_init() })
        }
    }

    impl<T> Deref for Pages<T> {
        type Target = [T];

        #[inline]
        fn deref(&self) -> &[T] {
            &self.0
        }
    }
}

pub(super) use imp::Pages;
