//! Counters that one thread increments and any thread may read.

/// A counter with one writer: an increment is a load, an addition and a store, never a locked
/// instruction.
///
/// Counters are statistics. They publish nothing, so they are plain `Relaxed` accesses in every
/// build, and model checkers do not explore them.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Counter(std::sync::atomic::AtomicU64);

impl Counter {
    /// A counter at zero.
    pub const fn new() -> Self {
        Self(std::sync::atomic::AtomicU64::new(0))
    }

    /// Adds `n`. Only one thread at a time may call this on a counter; concurrent increments could
    /// get lost.
    #[inline]
    pub fn add(&self, n: u64) {
        let sum = self.0.load(std::sync::atomic::Ordering::Relaxed).wrapping_add(n);
        self.0.store(sum, std::sync::atomic::Ordering::Relaxed);
    }

    /// The count so far, possibly a little stale.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}
