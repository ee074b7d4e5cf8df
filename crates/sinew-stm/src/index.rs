//! Finds a target's entry in the write set, in modes that do not lock at the write.
//!
//! In other modes the record of a variable names its entry. Here a small set is scanned, and a
//! larger one has a hash table of entry numbers, with linear probing.
//!
//! The table is a hint: a number counts only if its entry has the right target. So undone entries
//! need not leave the table. A table that is full of such numbers is built again.

use crate::log::{Target, Write};

/// The most entries that are scanned without a table.
const FEW: usize = 16;

const EMPTY: u32 = u32::MAX;

/// Numbers of entries, by their targets.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// The slots: a power of two, or none.
    places: Vec<u32>,
    /// The number of slots that are not empty.
    taken: usize,
    /// Entries before this one are in the table. Each search brings it up to date, and precedes
    /// each new entry.
    entered: usize,
}

impl Index {
    /// Begins with a write set of which no entry is in the table.
    pub(crate) fn begin(&mut self) {
        self.entered = 0;
    }

    /// The entry for `target`.
    pub(crate) fn find(&mut self, writes: &[Write], target: Target) -> Option<usize> {
        if writes.len() <= FEW {
            self.entered = 0;
            return writes.iter().position(|write| write.target() == target);
        }
        self.entered = self.entered.min(writes.len());
        while self.entered < writes.len() {
            self.enter(writes);
        }
        self.probes(target).find_map(|place| match self.places[place] {
            EMPTY => Some(None),
            number => is_entry(writes, number, target).then_some(Some(number as usize)),
        })?
    }

    /// Adds one more entry.
    fn enter(&mut self, writes: &[Write]) {
        if self.taken * 2 >= self.places.len() {
            self.places.clear();
            self.places.resize((writes.len() * 4).next_power_of_two(), EMPTY);
            (self.taken, self.entered) = (0, 0);
        }
        let (target, number) = (writes[self.entered].target(), self.entered as u32);
        let free = self.probes(target).find(|place| [EMPTY, number].contains(&self.places[*place]));
        let free = free.expect("half of the places are empty");
        self.taken += usize::from(self.places[free] == EMPTY);
        self.places[free] = number;
        self.entered += 1;
    }

    /// The slots to search for a target, in order.
    fn probes(&self, target: Target) -> impl Iterator<Item = usize> + use<> {
        let mask = self.places.len() - 1;
        // Words have eight bytes. The high half of the product depends on all bits.
        let mixed = (target.at.addr() as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let first = (mixed >> 32) as usize;
        (0..=mask).map(move |step| (first + step) & mask)
    }

    /// Frees a table of more than `places` slots.
    pub(crate) fn free_beyond(&mut self, places: usize) {
        if self.places.capacity() > places {
            *self = Self::default();
        }
    }
}

fn is_entry(writes: &[Write], number: u32, target: Target) -> bool {
    writes.get(number as usize).is_some_and(|write| write.target() == target)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::Index;
    use crate::log::{LAST, Target, Write};
    use crate::word::{Slot, pack};

    /// Catches: entries that are not found, or found although they were undone, as the set grows
    /// and shrinks.
    #[test]
    fn the_table_finds_what_a_search_finds() {
        let slots: Vec<_> = (0..400_u64).map(Slot::new).collect();
        let target = |at: usize| Target::word(&slots[at].words()[0]);
        let (mut index, mut writes) = (Index::default(), Vec::new());
        let mut rng = fastrand::Rng::with_seed(7);
        let mut found = 0;
        for round in 0..200_000 {
            let wanted = target(rng.usize(..slots.len()));
            let at = index.find(&writes, wanted);
            assert_eq!(at, writes.iter().position(|write: &Write| write.target() == wanted));
            match (at, rng.u32(..1_000)) {
                (_, 0..4) => writes.truncate(rng.usize(..=writes.len())),
                (_, 4) => {
                    writes.clear();
                    index.begin();
                }
                (Some(_), _) => found += 1,
                (None, _) => {
                    writes.push(Write::new(std::ptr::null(), 0, wanted, pack(round), LAST));
                }
            }
        }
        assert!(found > 1_000);
    }
}
