//! Latches: how a thread waits for one thing that happens once.
//!
//! A latch lives in the waiting thread's frame, which is gone as soon as the latch is seen set. So the setter's last access to
//! it is the store that sets it: the parker that may have to be woken is kept alive by a count of its own.

use std::sync::Arc;

use sinew_sync::atomic::{AtomicU32, Ordering};
use sinew_sync::parker::Parker;

/// Set once, awaited by one thread.
#[derive(Debug)]
pub(crate) struct Latch {
    set: AtomicU32,
    parker: Arc<Parker>,
}

impl Latch {
    /// A latch whose waiting thread parks at `parker`.
    pub(crate) fn new(parker: Arc<Parker>) -> Self {
        Self { set: AtomicU32::new(0), parker }
    }

    /// Sets the latch and wakes the waiting thread.
    ///
    /// # Safety
    ///
    /// `latch` is valid until it is set; it may be gone directly after.
    pub(crate) unsafe fn set(latch: *const Self) {
        // SAFETY: valid, as it is not set yet.
        let parker = Arc::clone(unsafe { &(*latch).parker });
        // Release: pairs with `is_set`.
        // SAFETY: as above; this is the last access.
        unsafe { (*latch).set.store(1, Ordering::Release) };
        parker.unpark();
    }

    /// Whether the latch is set.
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        // Acquire: pairs with `set`.
        self.set.load(Ordering::Acquire) == 1
    }
}
