//! One padded word for each participant, stored inline for a few.

use std::ops::Range;

use sinew_sync::CachePadded;
use sinew_sync::atomic::AtomicU64;

/// The number of participants that need no allocation. Loom's cost grows with every atomic, so its
/// models get two.
pub const INLINE: usize = if cfg!(loom) { 2 } else { 8 };

/// `len` words, each on a cache line of its own, that all begin at 0.
#[derive(Debug)]
pub(super) struct Words {
    few: [CachePadded<AtomicU64>; INLINE],
    more: Box<[CachePadded<AtomicU64>]>,
    len: usize,
}

impl Words {
    #[inline]
    pub(super) fn new(len: usize) -> Self {
        Self::with(len, 0, 0)
    }

    /// Words of which `slot` begins at `value`. Larger numbers wrap around.
    ///
    /// A store into words that exist already would make the compiler copy all of them.
    #[inline]
    pub(super) fn with(len: usize, slot: usize, value: u64) -> Self {
        let slot = if slot < len { slot } else { slot % len };
        let word = |at| CachePadded::new(AtomicU64::new(if at == slot { value } else { 0 }));
        let few = std::array::from_fn(word);
        let more = if len <= INLINE { Box::default() } else { more_cold(INLINE..len, word) };
        Self { few, more, len }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Word `slot`; larger numbers wrap around.
    #[inline]
    pub(super) fn get(&self, slot: usize) -> &AtomicU64 {
        let slot = if slot < self.len { slot } else { slot % self.len };
        if slot < INLINE { &self.few[slot] } else { &self.more[slot - INLINE] }
    }

    /// All words, beginning after `slot` and ending with it.
    pub(super) fn after(&self, slot: usize) -> impl Iterator<Item = &AtomicU64> {
        self.numbers_after(slot).map(|number| self.get(number))
    }

    /// Their numbers in that order.
    pub(super) fn numbers_after(&self, slot: usize) -> impl Iterator<Item = usize> + use<> {
        let slot = if slot < self.len { slot } else { slot % self.len };
        let len = self.len;
        (slot + 1..slot + 1 + len).map(move |at| if at < len { at } else { at - len })
    }
}

#[cold]
#[inline(never)]
fn more_cold(
    numbers: Range<usize>,
    word: impl Fn(usize) -> CachePadded<AtomicU64>,
) -> Box<[CachePadded<AtomicU64>]> {
    numbers.map(word).collect()
}
