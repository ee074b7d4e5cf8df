//! [`Order`]: which slots of a node are used, and the order of their keys, in one word.
//!
//! The lowest four bits are the number of used slots. Four bits each for the numbers of all slots
//! follow: first the used ones, by key, then the free ones. So an insertion or a removal changes
//! the word, and moves no key. Source: the permutations of Mao, Kohler and Morris, "Cache
//! Craftiness for Fast Multicore Key-Value Storage" (2012).

use crate::tx_error::TxResult;
use std::hint::select_unpredictable;

/// Slots of a node. Few under a checker and in tests, so that small trees have many nodes.
pub(super) const WIDTH: usize = if cfg!(any(test, loom, shuttle)) { 3 } else { 15 };

/// An order of slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order(pub(super) u64);

/// The lowest bit of each slot's number.
const ONES: u64 = 0x1111_1111_1111_1111;

/// The lowest `slots` numbers of slots.
#[inline(always)]
fn lowest(slots: usize) -> u64 {
    (1 << (4 * slots)) - 1
}

impl Order {
    /// The first `len` slots are used, in order.
    pub(super) fn first(len: usize) -> Self {
        let all = (0..WIDTH).fold(0, |all, slot| all | (slot as u64) << (4 * slot));
        Self(all << 4 | len as u64)
    }

    /// The number of used slots.
    #[inline(always)]
    pub(super) fn len(self) -> usize {
        (self.0 & 15) as usize
    }

    pub(super) fn is_full(self) -> bool {
        self.len() == WIDTH
    }

    /// The slot of a rank.
    #[inline(always)]
    pub(super) fn slot(self, rank: usize) -> usize {
        (self.0 >> (4 * rank + 4) & 15) as usize
    }

    /// The rank of a slot, if it is used.
    #[inline(always)]
    pub(super) fn rank(self, slot: usize) -> Option<usize> {
        // The first four bits that are equal to the slot are its place: below the first zero among
        // them, a subtraction of ones takes nothing from higher bits.
        let others = (self.0 >> 4) ^ (slot as u64 * ONES);
        let equal = others.wrapping_sub(ONES) & !others & (ONES << 3);
        let rank = equal.trailing_zeros() as usize / 4;
        (rank < self.len()).then_some(rank)
    }

    /// The first rank from `from` on for whose slot `holds` is true; it is for all later ones.
    #[inline(always)]
    pub(super) fn first_where(
        self,
        mut from: usize,
        mut holds: impl FnMut(usize) -> TxResult<bool>,
    ) -> TxResult<usize> {
        let mut ranks = self.len().saturating_sub(from);
        while ranks > 0 {
            let half = ranks / 2;
            let holds = holds(self.slot(from + half))?;
            // A branch would be predicted wrongly in half of the cases.
            from = select_unpredictable(holds, from, from + half + 1);
            ranks = select_unpredictable(holds, half, ranks - half - 1);
        }
        Ok(from)
    }

    /// With a free slot at `rank`, before those that were at this rank and later. There is one.
    pub(super) fn with(self, rank: usize) -> Self {
        self.moved(self.len(), rank, self.len() + 1)
    }

    /// Without the slot of `rank`.
    pub(super) fn without(self, rank: usize) -> Self {
        self.moved(rank, self.len() - 1, self.len() - 1)
    }

    /// Only with the first `len` used slots.
    pub(super) fn cut(self, len: usize) -> Self {
        Self(self.0 & !15 | len as u64)
    }

    /// With the slot of one rank at another one, and a new length.
    fn moved(self, from: usize, to: usize, len: usize) -> Self {
        let slot = self.slot(from) as u64;
        let slots = self.0 >> 4;
        let others = slots & lowest(from) | slots >> 4 & !lowest(from);
        let after = (others & !lowest(to)) << 4;
        Self((others & lowest(to) | slot << (4 * to) | after) << 4 | len as u64)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{Order, WIDTH};

    /// Catches: a slot that is lost, or two entries with one slot.
    #[test]
    fn an_order_is_a_list_of_used_slots_and_one_of_free_slots() {
        let mut rng = fastrand::Rng::with_seed(1);
        let (mut order, mut used) = (Order::first(0), Vec::new());
        for _ in 0..10_000 {
            if order.is_full() || rng.bool() && order.len() > 0 {
                let rank = rng.usize(..used.len());
                used.remove(rank);
                order = order.without(rank);
            } else {
                let rank = rng.usize(..=used.len());
                order = order.with(rank);
                used.insert(rank, order.slot(rank));
            }
            let slots: Vec<_> = (0..order.len()).map(|rank| order.slot(rank)).collect();
            assert_eq!(slots, used);
            let ranks: Vec<_> = (0..WIDTH).map(|slot| order.rank(slot)).collect();
            let rank = |slot| used.iter().position(|other| *other == slot);
            assert_eq!(ranks, (0..WIDTH).map(rank).collect::<Vec<_>>());
            let mut all: Vec<_> = (0..WIDTH).map(|rank| order.slot(rank)).collect();
            all.sort_unstable();
            assert_eq!(all, (0..WIDTH).collect::<Vec<_>>());
            let cut = order.cut(order.len() / 2);
            assert_eq!((cut.len(), cut.0 >> 4), (order.len() / 2, order.0 >> 4));
        }
    }
}
