//! The word that thieves and owner change only by read-modify-write: which part of the stack is public.

use sinew_sync::atomic::{AtomicU64, Ordering};

/// A snapshot of the public part of a task stack. Slots `tail..limit` may be stolen; slots below `tail` are stolen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The next slot a thief takes.
    pub(crate) tail: u32,
    /// The first slot that thieves must not touch.
    pub(crate) limit: u32,
    /// An exposure is in flight: `limit` is about to rise unless the owner clears this.
    pub(crate) pending: bool,
}

impl Bounds {
    /// Nothing public, everything below `at` taken.
    pub(crate) const fn empty(at: u32) -> Self {
        Self { tail: at, limit: at, pending: false }
    }

    /// Whether there is a task to steal.
    pub(crate) const fn has_public(self) -> bool {
        self.tail < self.limit
    }

    const fn pack(self) -> u64 {
        (self.tail as u64) << 32 | (self.limit as u64) << 1 | self.pending as u64
    }

    const fn unpack(word: u64) -> Self {
        Self { tail: (word >> 32) as u32, limit: (word as u32) >> 1, pending: word & 1 == 1 }
    }
}

/// [`Bounds`] in one atomic word. There is no plain store: that is what makes every change a decision about the latest value.
#[derive(Debug)]
pub(crate) struct AtomicBounds(AtomicU64);

impl AtomicBounds {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self(AtomicU64::new(bounds.pack()))
    }

    #[inline]
    pub(crate) fn load(&self, order: Ordering) -> Bounds {
        Bounds::unpack(self.0.load(order))
    }

    #[inline]
    pub(crate) fn swap(&self, new: Bounds, order: Ordering) -> Bounds {
        Bounds::unpack(self.0.swap(new.pack(), order))
    }

    /// One attempt to go from `old` to `new`; AcqRel. Answers whether it succeeded.
    #[inline]
    pub(crate) fn replace(&self, old: Bounds, new: Bounds) -> bool {
        self.0.compare_exchange(old.pack(), new.pack(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Applies `change` to the latest value until it sticks; AcqRel. `None` from `change` gives up. Answers the value that was
    /// replaced by which, or the one that was given up on.
    #[inline]
    pub(crate) fn update(
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
    use super::Bounds;
    use proptest::prelude::*;

    proptest! {
        /// Would miss: fields that overlap in the word.
        #[test]
        fn a_packed_snapshot_unpacks_to_itself(tail: u32, limit in 0_u32..1 << 31, pending: bool) {
            let bounds = Bounds { tail, limit, pending };
            prop_assert_eq!(Bounds::unpack(bounds.pack()), bounds);
        }
    }
}
