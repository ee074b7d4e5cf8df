//! Clones of one value.

use std::fmt;
use std::iter;
use std::ops::Range;

use sinew_sync::lock::Mutex;

use super::items::{Items, ReadItems};

/// A number of clones of a value. Each piece begins with a clone of its own.
pub struct RepeatN<T> {
    /// In a lock because values may be unable to be cloned by two threads at once.
    value: Mutex<T>,
    len: usize,
}

impl<T> RepeatN<T> {
    /// `len` clones of `value`.
    #[inline]
    pub fn new(value: T, len: usize) -> Self {
        Self { value: Mutex::new(value), len }
    }
}

impl<T: Clone> Clone for RepeatN<T> {
    fn clone(&self) -> Self {
        Self::new(self.value.lock().clone(), self.len)
    }
}

impl<T> fmt::Debug for RepeatN<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RepeatN").field("len", &self.len).finish_non_exhaustive()
    }
}

// SAFETY: one thread at a time clones the value; a piece owns its clone.
unsafe impl<T: Clone + Send> Items for RepeatN<T> {
    type Item = T;
    type Piece = iter::RepeatN<T>;

    #[inline]
    fn length(&self) -> usize {
        self.len
    }

    #[inline]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
        let value = self.value.lock().clone();
        iter::repeat_n(value, range.len())
    }
}

// SAFETY: as above.
unsafe impl<T: Clone + Send> ReadItems for RepeatN<T> {}
