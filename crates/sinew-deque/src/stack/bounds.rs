//! `bounds`: the word that delimits the public part of the stack (I1, I2 in `mod.rs`). Thieves and
//! the owner change it only by read-modify-write.

use sinew_sync::atomic::{AtomicU64, Ordering};

/// A snapshot of the public part of a task stack. Slots `tail..limit` can be stolen; slots below
/// `tail` were stolen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// The next slot a thief takes.
    pub(super) tail: u32,
    /// The first slot that thieves must not touch.
    pub(super) limit: u32,
    /// An exposure is in progress: `limit` will rise unless the owner clears this.
    pub(super) pending: bool,
    /// Counts the stolen tasks that the owner has run, so that thieves can tell which one is
    /// running (I6).
    pub(super) epoch: u64,
}

/// Bits of `tail` and `limit`; enough for the capacity of a stack, end included.
const BITS: u32 = 15;
const MASK: u64 = (1 << BITS) - 1;
const PENDING: u64 = 1 << (2 * BITS);
const EPOCH_SHIFT: u32 = 2 * BITS + 1;
const EPOCH_MASK: u64 = u64::MAX >> EPOCH_SHIFT;

impl Bounds {
    /// No public slots; all slots below `at` were taken.
    pub(super) const fn empty(at: u32) -> Self {
        Self { tail: at, limit: at, pending: false, epoch: 0 }
    }

    /// Whether there is a task to steal.
    pub(super) const fn has_public(self) -> bool {
        self.tail < self.limit
    }

    const fn pack(self) -> u64 {
        let pending = if self.pending { PENDING } else { 0 };
        (self.epoch & EPOCH_MASK) << EPOCH_SHIFT
            | pending
            | (self.limit as u64) << BITS
            | self.tail as u64
    }

    const fn unpack(word: u64) -> Self {
        Self {
            tail: (word & MASK) as u32,
            limit: (word >> BITS & MASK) as u32,
            pending: word & PENDING != 0,
            epoch: word >> EPOCH_SHIFT,
        }
    }
}

/// [`Bounds`] in one atomic word. There is no plain store, so each change is a decision about the
/// latest value.
#[derive(Debug)]
pub(super) struct AtomicBounds(AtomicU64);

impl AtomicBounds {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self(AtomicU64::new(bounds.pack()))
    }

    #[inline]
    pub(super) fn load(&self, order: Ordering) -> Bounds {
        Bounds::unpack(self.0.load(order))
    }

    /// One attempt to replace `old` by `new`; AcqRel. Returns whether it succeeded.
    #[inline]
    pub(super) fn replace(&self, old: Bounds, new: Bounds) -> bool {
        self.0.compare_exchange(old.pack(), new.pack(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Applies `change` to the latest value until a replacement succeeds; AcqRel. `None` from
    /// `change` gives up. Returns the replaced value and its replacement, or the value on which
    /// `change` gave up.
    #[inline]
    pub(super) fn update(
        &self,
        mut change: impl FnMut(Bounds) -> Option<Bounds>,
    ) -> Result<(Bounds, Bounds), Bounds> {
        let mut old = self.load(Ordering::Acquire);
        loop {
            let Some(new) = change(old) else { return Err(old) };
            if self.replace(old, new) {
                return Ok((old, new));
            }
            old = self.load(Ordering::Acquire);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::super::CAPACITY;
    use super::{Bounds, EPOCH_MASK};
    use proptest::prelude::*;

    proptest! {
        /// Catches: fields that overlap in the word.
        #[test]
        fn a_packed_snapshot_unpacks_to_itself(
            tail in 0..=CAPACITY, limit in 0..=CAPACITY, pending: bool, epoch in 0..=EPOCH_MASK,
        ) {
            let bounds = Bounds { tail, limit, pending, epoch };
            prop_assert_eq!(Bounds::unpack(bounds.pack()), bounds);
        }
    }
}
