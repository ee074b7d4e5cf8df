//! The local units of a worker: taken from a list, and not yet run.

use sinew_deque::lookahead::Owner;
use sinew_loops::data::{Intent, prefetch};

use super::units::Units;

/// Up to this many units move one by one; more are copied as a block into new memory.
const FEW: usize = 3;

/// Units in the order in which they will be run. If the worker has a helper, the first ones are in
/// a ring in which the helper sees them.
#[derive(Debug)]
pub(super) struct LocalUnits<'a, U> {
    ring: Option<Owner<'a, U>>,
    /// The units behind those in the ring. The first of them is at the end, so that its removal
    /// moves no other.
    reversed: Vec<U>,
}

impl<'a, U> LocalUnits<'a, U> {
    pub(super) fn new() -> Self {
        Self { ring: None, reversed: Vec::new() }
    }

    /// Shows the next units to a helper in this ring from now on, or to none.
    pub(super) fn show_in(&mut self, ring: Option<Owner<'a, U>>) {
        self.recall();
        self.ring = ring;
    }

    /// Shows as many units as the ring has room for. Afterwards the first is there.
    #[inline]
    pub(super) fn show(&mut self) {
        let Some(ring) = &mut self.ring else { return };
        while !self.reversed.is_empty() && ring.has_room() {
            self.reversed.pop().into_iter().for_each(|unit| ring.push(unit));
        }
    }

    /// Takes all units out of the ring. Waits for the helper if that reads one of them.
    fn recall(&mut self) {
        let Some(ring) = &mut self.ring else { return };
        let shown: Vec<U> = std::iter::from_fn(|| ring.take()).collect();
        self.reversed.extend(shown.into_iter().rev());
    }

    /// The number of units in the ring.
    #[inline]
    fn shown(&self) -> usize {
        self.ring.as_ref().map_or(0, Owner::len)
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.shown() + self.reversed.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The unit `behind` places behind the first.
    #[inline]
    pub(super) fn get(&self, behind: usize) -> Option<&U> {
        match behind.checked_sub(self.shown()) {
            None => self.ring.as_ref()?.get(behind),
            Some(behind) => self.reversed.iter().nth_back(behind),
        }
    }

    /// Calls `swap` with the first unit, unless there is none or the helper reads it. Returns the
    /// result, or false.
    pub(super) fn swap_first(&mut self, swap: impl FnOnce(&mut U) -> bool) -> bool {
        match &mut self.ring {
            Some(ring) if !ring.is_empty() => {
                ring.first_mut().is_some_and(|mut first| swap(&mut first))
            }
            _ => self.reversed.last_mut().is_some_and(swap),
        }
    }

    /// The first `count` units, if none is in a ring.
    #[inline]
    pub(super) fn first_ones(&self, count: usize) -> impl Iterator<Item = &U> {
        let others = self.reversed.len().saturating_sub(count);
        self.reversed[others..].iter().rev()
    }

    /// The first `count` units have been run.
    #[inline]
    pub(super) fn drop_first(&mut self, count: usize) {
        let shown = self.shown().min(count);
        self.ring.iter_mut().for_each(|ring| ring.done(shown));
        self.reversed.truncate(self.reversed.len().saturating_sub(count - shown));
    }

    /// Removes the first unit. Waits for the helper if that reads it.
    pub(super) fn take_first(&mut self) -> Option<U> {
        self.ring.as_mut().and_then(Owner::take).or_else(|| self.reversed.pop())
    }

    /// Takes up to `count` units of `list`, in its order, to be run after those that are here.
    pub(super) fn take(&mut self, list: &mut Units<U>, count: usize) {
        match list {
            Units::Stack(stack) => self.take_top(stack, count),
            Units::Buckets(buckets) => buckets.take_first(count, |taken| {
                self.reversed.splice(0..0, taken.rev());
            }),
        }
    }

    /// Takes up to `count` units from the top of `list`, to be run after those that are here.
    fn take_top(&mut self, list: &mut Vec<U>, count: usize) {
        if count <= FEW {
            (0..count).map_while(|_| list.pop()).for_each(|unit| self.reversed.insert(0, unit));
        } else {
            let at = list.len().saturating_sub(count);
            let mut taken = list.split_off(at);
            // Prefetches the units that will be taken next: processors prefetch only few steps
            // backwards.
            let next = count.min(at);
            prefetch(list, at - next, next, Intent::Read);
            taken.append(&mut self.reversed);
            self.reversed = taken;
        }
    }

    /// Returns all units in an order that puts the first on top of the list again.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = U> {
        self.recall();
        self.reversed.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_deque::Lookahead;

    /// Catches: units that are run in another order than they lay on the list, and one that is
    /// lost while they are moved.
    #[test]
    fn units_are_run_from_the_top_of_the_list_downwards() {
        let mut list: Vec<u32> = (0..6).collect();
        let mut local = LocalUnits::new();
        local.take_top(&mut list, 2);
        local.take_top(&mut list, 1);
        assert_eq!([0, 1, 2, 3].map(|at| local.get(at)), [Some(&5), Some(&4), Some(&3), None]);
        assert_eq!((local.take_first(), local.len()), (Some(5), 2));
        assert!(local.first_ones(2).eq(&[4, 3]));
        local.drop_first(1);
        assert!(local.drain().eq([3]));
        local.take_top(&mut list, 1);
        local.take_top(&mut list, 9);
        assert_eq!(
            (local.get(0), local.get(1), local.len(), list.len()),
            (Some(&2), Some(&1), 3, 0)
        );
    }

    /// The units from the first on.
    fn all(local: &LocalUnits<'_, u32>) -> Vec<u32> {
        (0..local.len()).filter_map(|at| local.get(at)).copied().collect()
    }

    /// Catches: units that are run in another order because a helper sees them, one that is lost
    /// between the ring and the rest, and one that is swapped while the helper reads it.
    #[test]
    fn a_helper_sees_the_next_units_and_changes_nothing() {
        let lookahead = Lookahead::new();
        let (mut local, mut reader) = (LocalUnits::new(), lookahead.reader().unwrap());
        let mut list: Vec<u32> = (0..40).collect();
        local.take_top(&mut list, 20);
        local.show_in(lookahead.owner());
        assert!(reader.claim_next().is_none(), "nothing is shown before the first is run");
        local.show();
        assert_eq!(all(&local), (20..40).rev().collect::<Vec<_>>());
        assert_eq!(reader.claim_next().as_deref(), Some(&38));
        assert_eq!(reader.claim_next().as_deref(), Some(&37));
        let read = reader.claim_next();
        assert_eq!(read.as_deref(), Some(&36));
        local.drop_first(3);
        assert_eq!(local.get(0), Some(&36));
        assert!(!local.swap_first(|_| unreachable!("the helper reads it")));
        drop(read);
        assert!(local.swap_first(|first| std::mem::replace(first, 99) == 36));
        assert_eq!((local.take_first(), local.take_first()), (Some(99), Some(35)));
        local.show();
        assert_eq!(all(&local), (20..35).rev().collect::<Vec<_>>());
        local.drop_first(14);
        assert_eq!((local.take_first(), local.take_first()), (Some(20), None));
        local.take_top(&mut list, 3);
        local.show();
        local.take_top(&mut list, 2);
        assert!(local.drain().eq([15, 16, 17, 18, 19]), "the first on top");
    }
}
