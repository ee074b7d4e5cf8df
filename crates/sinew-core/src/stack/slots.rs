//! The memory of a task stack: pages that the kernel provides, empty, when they are first touched.
//!
//! Not the allocator's: memory that it hands out again must be cleared first, a quarter of a MiB for each worker of each pool, of which most programs use the
//! first page. Some of what ended pools leave is kept for the next ones, as it is: a slot is filled before anybody reads it, and giving pages back to the
//! kernel interrupts every core of the process.

#[cfg(all(unix, not(any(loom, shuttle))))]
mod imp {
    use std::io;
    use std::ops::Deref;
    use std::ptr::{NonNull, null_mut};

    use sinew_sync::lock::Mutex;

    use crate::stack::{CAPACITY, Slot};

    /// What ended pools have left.
    static SPARE: Mutex<Vec<Pages>> = Mutex::new(Vec::new());
    /// The most stacks kept.
    const MOST_SPARE: usize = 16;

    /// Slots that nobody uses.
    #[derive(Debug)]
    pub(in crate::stack) struct Slots(Option<Pages>);

    impl Slots {
        /// # Panics
        ///
        /// If the system has no memory left.
        pub(in crate::stack) fn new() -> Self {
            // After a fork the lock may be held by a thread that is not there.
            let spare = SPARE.try_lock().and_then(|mut spare| spare.pop());
            Self(Some(spare.unwrap_or_else(|| Pages::new(CAPACITY as usize))))
        }
    }

    impl Drop for Slots {
        fn drop(&mut self) {
            if let Some(mut spare) = SPARE.try_lock()
                && spare.len() < MOST_SPARE
            {
                spare.extend(self.0.take());
            }
        }
    }

    impl Deref for Slots {
        type Target = [Slot];

        #[inline]
        fn deref(&self) -> &[Slot] {
            self.0.as_deref().unwrap_or_default()
        }
    }

    #[derive(Debug)]
    struct Pages {
        first: NonNull<Slot>,
        count: usize,
    }

    // SAFETY: owned memory, and slots are made for sharing.
    unsafe impl Send for Pages {}
    // SAFETY: as above.
    unsafe impl Sync for Pages {}

    impl Pages {
        fn new(count: usize) -> Self {
            // SAFETY: a private mapping of fresh memory, placed by the kernel.
            let pages = unsafe {
                libc::mmap(
                    null_mut(),
                    count * size_of::<Slot>(),
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

    impl Deref for Pages {
        type Target = [Slot];

        fn deref(&self) -> &[Slot] {
            // SAFETY: mapped, page-aligned, and all zero at first, which is a valid slot: an atomic at zero and a task that is not initialised.
            unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
        }
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            // SAFETY: mapped with this size by `new`.
            unsafe { libc::munmap(self.first.as_ptr().cast(), self.count * size_of::<Slot>()) };
        }
    }
}

#[cfg(all(not(unix), not(any(loom, shuttle))))]
mod imp {
    use std::ops::Deref;

    use crate::stack::{CAPACITY, Slot};

    /// Empty slots.
    #[derive(Debug)]
    pub(in crate::stack) struct Slots(Box<[Slot]>);

    impl Slots {
        pub(in crate::stack) fn new() -> Self {
            // SAFETY: all-zero bytes are a valid slot: an atomic at zero and a task that is not initialised.
            Self(unsafe { Box::new_zeroed_slice(CAPACITY as usize).assume_init() })
        }
    }

    impl Deref for Slots {
        type Target = [Slot];

        #[inline]
        fn deref(&self) -> &[Slot] {
            &self.0
        }
    }
}

#[cfg(any(loom, shuttle))]
mod imp {
    use std::ops::Deref;

    use crate::stack::{CAPACITY, Slot};

    /// Empty slots.
    #[derive(Debug)]
    pub(in crate::stack) struct Slots(Box<[Slot]>);

    impl Slots {
        pub(in crate::stack) fn new() -> Self {
            Self((0..CAPACITY).map(|_| Slot::new()).collect())
        }
    }

    impl Deref for Slots {
        type Target = [Slot];

        #[inline]
        fn deref(&self) -> &[Slot] {
            &self.0
        }
    }
}

pub(super) use imp::Slots;
