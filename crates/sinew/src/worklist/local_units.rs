//! The local units of a worker: taken from a list, and not yet run.

use std::sync::Arc;

use sinew_loops::data::{Intent, prefetch};

use super::lists::Entry;
use super::units::Units;

/// Up to this many units move one by one; more are copied as a block into new memory.
const FEW: usize = 3;

/// Units in the order in which they will be run.
#[derive(Debug)]
pub(super) struct LocalUnits<U> {
    /// The first unit is at the end, so that its removal moves no other.
    reversed: Vec<Entry<U>>,
}

impl<U> LocalUnits<U> {
    pub(super) fn new() -> Self {
        Self { reversed: Vec::new() }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.reversed.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.reversed.is_empty()
    }

    /// The first unit.
    #[inline]
    pub(super) fn first(&self) -> Option<&U> {
        self.reversed.last().map(Entry::unit)
    }

    /// The first unit, to be swapped for another.
    pub(super) fn first_mut(&mut self) -> Option<&mut Entry<U>> {
        self.reversed.last_mut()
    }

    /// The unit after the first.
    pub(super) fn second(&self) -> Option<&U> {
        self.reversed.iter().nth_back(1).map(Entry::unit)
    }

    /// The first `count` units.
    #[inline]
    pub(super) fn first_ones(&self, count: usize) -> impl Iterator<Item = &U> {
        let others = self.len().saturating_sub(count);
        self.reversed[others..].iter().rev().map(Entry::unit)
    }

    /// The first `count` units have been run.
    #[inline]
    pub(super) fn drop_first(&mut self, count: usize) {
        self.reversed.truncate(self.len().saturating_sub(count));
    }

    /// Removes the first unit.
    pub(super) fn take_first(&mut self) -> Option<Entry<U>> {
        self.reversed.pop()
    }

    /// The unit after the first `count`, if there is one, shared with a helper.
    pub(super) fn share(&mut self, count: usize) -> Option<Arc<U>> {
        let at = self.reversed.len().checked_sub(count + 1)?;
        let (kept, offered) = self.reversed.remove(at).share();
        self.reversed.insert(at, kept);
        Some(offered)
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
    fn take_top(&mut self, list: &mut Vec<Entry<U>>, count: usize) {
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
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Entry<U>> {
        self.reversed.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: units that are run in another order than they lay on the list, and one that is
    /// lost while they are moved.
    #[test]
    fn units_are_run_from_the_top_of_the_list_downwards() {
        let mut list: Vec<Entry<u32>> = (0..6).map(Entry::Own).collect();
        let mut local = LocalUnits::new();
        local.take_top(&mut list, 2);
        local.take_top(&mut list, 1);
        assert_eq!((local.first(), local.second(), local.len()), (Some(&5), Some(&4), 3));
        assert_eq!(local.share(2).as_deref(), Some(&3));
        assert!(local.share(3).is_none());
        assert_eq!(local.take_first().map(|entry| *entry.unit()), Some(5));
        assert_eq!((local.first(), local.second()), (Some(&4), Some(&3)));
        assert!(local.first_ones(2).eq(&[4, 3]));
        local.drop_first(1);
        assert_eq!(local.drain().map(|entry| *entry.unit()).collect::<Vec<_>>(), [3]);
        local.take_top(&mut list, 1);
        local.take_top(&mut list, 9);
        assert_eq!(
            (local.first(), local.second(), local.len(), list.len()),
            (Some(&2), Some(&1), 3, 0)
        );
    }
}
