//! Elements of which it is known how many there are: what was leaked, or dropped twice, shows.

use sinew_sync::atomic::{AtomicUsize, Ordering};

/// A number that counts how many like it there are.
pub(crate) struct Counted<'c>(&'c AtomicUsize, pub(crate) usize);

impl<'c> Counted<'c> {
    pub(crate) fn new(alive: &'c AtomicUsize, value: usize) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(alive, value)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
