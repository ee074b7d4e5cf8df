//! A seqlock: one thread writes numbers; any thread reads a consistent snapshot of them.
//!
//! The writer makes the version odd, writes, and makes it even again. A reader that finds the
//! version odd or changed reads once more. The writer never waits and executes no locked
//! instruction. Source: H.-J. Boehm, "Can seqlocks get along with programming language memory
//! models?" (2012).
//!
//! # Orderings
//!
//! - L1: the version turns odd, *release fence*, words are written ↔ words are read, *acquire
//!   fence*, the version is read: a reader that read a word of an unfinished change sees the odd
//!   version.
//! - L2: words are written, the version turns even (Release) ↔ the version is read (Acquire), words
//!   are read: a reader that begins with the even version sees the whole change.
//!
//! # Cost
//!
//! A change: two stores besides its own. A read: two loads besides its own, repeated each time the
//! writer interferes.
//!
//! # Tests
//!
//! `models` makes loom search for a torn read, and plants the bug that causes one. Shuttle switches
//! threads only between operations on its own types, so it sees a change as one step.

#[cfg(loom)]
use crate::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::atomic::spin_loop;
use crate::plant::{Bug, planted};

/// `N` numbers, all zero at first.
#[derive(Debug)]
pub struct SeqLock<const N: usize> {
    version: AtomicU64,
    words: [AtomicU64; N],
}

/// The numbers of a [`SeqLock`] during a change.
#[derive(Debug)]
pub struct Words<'a, const N: usize>(&'a [AtomicU64; N]);

impl<const N: usize> Default for SeqLock<N> {
    fn default() -> Self {
        Self { version: AtomicU64::new(0), words: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

impl<const N: usize> SeqLock<N> {
    /// A seqlock over zeros.
    pub fn new() -> Self {
        Self::default()
    }

    /// Changes the numbers; a reader sees the whole change or nothing of it. Only one thread at a
    /// time may write, and `change` may not write again.
    #[inline]
    pub fn write<R>(&self, change: impl FnOnce(&Words<'_, N>) -> R) -> R {
        // Relaxed: there is one writer.
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        fence(Ordering::Release); // L1
        let result = change(&Words(&self.words));
        // Release: L2.
        self.version.store(version + 2, Ordering::Release);
        result
    }

    /// The number at `at`, for the writer.
    #[inline]
    pub fn get(&self, at: usize) -> u64 {
        // Relaxed: the writer's own.
        self.words[at].load(Ordering::Relaxed)
    }

    /// A consistent snapshot of all numbers, for any thread.
    pub fn read(&self) -> [u64; N] {
        loop {
            // Acquire: L2.
            let before = self.version.load(Ordering::Acquire);
            // Relaxed: used only if the version shows that no thread wrote meanwhile.
            let words = std::array::from_fn(|at| self.words[at].load(Ordering::Relaxed));
            if !planted(Bug::TornRead) {
                fence(Ordering::Acquire); // L1
            }
            // Relaxed: the fence orders this load.
            if before.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == before {
                return words;
            }
            spin_loop();
        }
    }
}

impl<const N: usize> Words<'_, N> {
    /// The number at `at`.
    #[inline]
    pub fn get(&self, at: usize) -> u64 {
        // Relaxed: the writer's own.
        self.0[at].load(Ordering::Relaxed)
    }

    /// Sets the number at `at`.
    #[inline]
    pub fn set(&self, at: usize, value: u64) {
        // Relaxed: published by the version (L1, L2).
        self.0[at].store(value, Ordering::Relaxed);
    }

    /// Adds to the number at `at`.
    #[inline]
    pub fn add(&self, at: usize, more: u64) {
        self.set(at, self.get(at).wrapping_add(more));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::SeqLock;

    /// Catches: a read that mixes two states.
    #[test]
    fn readers_see_whole_changes() {
        let seqlock = SeqLock::<8>::new();
        std::thread::scope(|s| {
            s.spawn(|| {
                for _ in 0..20_000 {
                    seqlock.write(|words| (0..8).for_each(|at| words.add(at, 1)));
                }
            });
            let mut last = 0;
            while last < 20_000 {
                let words = seqlock.read();
                assert!(
                    words.iter().all(|&word| word == words[0]) && words[0] >= last,
                    "{words:?}"
                );
                last = words[0];
            }
        });
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::SeqLock;
    use crate::plant::{Bug, plant};
    use std::sync::Arc;

    fn check() {
        loom::model(|| {
            let seqlock = Arc::new(SeqLock::<2>::new());
            let theirs = Arc::clone(&seqlock);
            let reader = loom::thread::spawn(move || {
                let [a, b] = theirs.read();
                assert_eq!(a, b);
            });
            seqlock.write(|words| (0..2).for_each(|at| words.add(at, 1)));
            reader.join().unwrap();
        });
    }

    /// Catches: a change that a reader sees in part.
    #[test]
    fn loom_readers_see_whole_changes() {
        check();
    }

    #[test]
    #[should_panic]
    fn loom_finds_a_torn_reading() {
        plant(&[Bug::TornRead]);
        check();
    }
}
