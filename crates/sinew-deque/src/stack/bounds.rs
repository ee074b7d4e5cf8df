//! The word that thieves and owner change only by read-modify-write: which part of the stack is
//! public.

use sinew_sync::atomic::{AtomicU64, Ordering};

/// A snapshot of the public part of a task stack. Slots `tail..limit` may be stolen; slots below
/// `tail` are stolen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// The next slot a thief takes.
    pub(super) tail: u32,
    /// The first slot that thieves must not touch.
    pub(super) limit: u32,
    /// An exposure is in flight: `limit` is about to rise unless the owner clears this.
    pub(super) pending: bool,
    /// Counts the stolen tasks that the owner has run, where thieves must know which one is under
    /// way (I6).
    pub(super) epoch: u64,
}

/// Bits of `tail` and `limit`; enough for the capacity of a stack, end included.
const BITS: u32 = 15;
const MASK: u64 = (1 << BITS) - 1;
const PENDING: u64 = 1 << (2 * BITS);
const EPOCH_SHIFT: u32 = 2 * BITS + 1;
const EPOCH_MASK: u64 = u64::MAX >> EPOCH_SHIFT;

impl Bounds {
    /// Nothing public, everything below `at` taken.
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

/// [`Bounds`] in one atomic word. There is no plain store: that is what makes every change a
/// decision about the latest value.
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

    /// One attempt to go from `old` to `new`; AcqRel. Returns whether it succeeded.
    #[inline]
    pub(super) fn replace(&self, old: Bounds, new: Bounds) -> bool {
        self.0.compare_exchange(old.pack(), new.pack(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Applies `change` to the latest value until it sticks; AcqRel. `None` from `change` gives up.
    /// Returns the value that was replaced by which, or the one that was given up on.
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
