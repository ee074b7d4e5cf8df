//! A lock for the few words of the permits.
//!
//! # Invariants
//!
//! - L1: the thread that has changed the word from FREE is the only one to access the value, until
//!   it stores FREE again.
//! - L2: a thread sleeps only while the word is CONTENDED, and the thread that frees such a lock
//!   wakes one.

#[cfg(sinew_preloaded)]
use core::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
#[cfg(not(sinew_preloaded))]
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

use core::cell::UnsafeCell;

use crate::system;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Taken, and a thread may sleep.
const CONTENDED: u32 = 2;

/// A value that one thread accesses at a time.
#[derive(Debug)]
pub(crate) struct Lock<T> {
    word: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: L1, the value is accessed by one thread at a time, which may be any.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { word: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Calls `body` with the value. `body` must not use this lock.
    pub(crate) fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        if self.word.compare_exchange(FREE, TAKEN, Acquire, Relaxed).is_err() {
            while self.word.swap(CONTENDED, Acquire) != FREE {
                system::wait_while(&self.word, CONTENDED);
            }
        }
        // SAFETY: L1.
        let result = body(unsafe { &mut *self.value.get() });
        if self.word.swap(FREE, Release) == CONTENDED {
            system::wake(&self.word);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: orderings, which this machine's processor may hide.
    use super::*;

    /// Catches: two threads at the value, and a thread that is never woken.
    #[test]
    fn one_thread_at_a_time_has_the_value() {
        let lock = Lock::new((0_u64, 0_u64));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        lock.with(|(first, second)| {
                            *first += 1;
                            // Here another thread finds the lock taken.
                            std::thread::yield_now();
                            *second += 1;
                            assert_eq!(first, second);
                        });
                    }
                });
            }
        });
        assert_eq!(lock.with(|value| *value), (8_000, 8_000));
    }
}
