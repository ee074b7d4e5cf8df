//! Lists of units: a shared one and one per worker, each behind a lock.
//!
//! A worker that arrives while a list serves another one waits; this counts as a stall. Workers are
//! served in order of arrival, so the units are chosen on arrival.

use std::collections::VecDeque;

use super::mix::Unit;
use crate::queue::Time;

/// A list and its lock.
#[derive(Debug, Default)]
struct List {
    units: VecDeque<Unit>,
    /// Time at which the last user of the list will be done.
    free_at: Time,
}

/// All lists; the shared one follows those of the workers.
#[derive(Debug)]
pub(super) struct Lists {
    lists: Vec<List>,
    units: usize,
    pub(super) stalls: u64,
}

impl Lists {
    pub(super) fn new(workers: usize) -> Self {
        Self { lists: (0..=workers).map(|_| List::default()).collect(), units: 0, stalls: 0 }
    }

    /// The index of the shared list.
    pub(super) fn shared(&self) -> usize {
        self.lists.len() - 1
    }

    /// Units in all lists.
    pub(super) fn units(&self) -> usize {
        self.units
    }

    pub(super) fn len(&self, list: usize) -> usize {
        self.lists[list].units.len()
    }

    /// The completion time of a worker that arrives `now` and uses the list for `takes`.
    pub(super) fn use_lock(&mut self, list: usize, now: Time, takes: Time) -> Time {
        let list = &mut self.lists[list];
        self.stalls += u64::from(list.free_at > now);
        list.free_at = list.free_at.max(now) + takes;
        list.free_at
    }

    pub(super) fn push(&mut self, list: usize, unit: Unit) {
        self.units += 1;
        self.lists[list].units.push_back(unit);
    }

    /// Takes the youngest `many` units.
    pub(super) fn take(&mut self, list: usize, many: usize) -> impl Iterator<Item = Unit> {
        let units = &mut self.lists[list].units;
        let from = units.len() - many.min(units.len());
        self.units -= units.len() - from;
        units.split_off(from).into_iter().rev()
    }

    /// Takes the oldest `many` units.
    pub(super) fn steal(&mut self, list: usize, many: usize) -> impl Iterator<Item = Unit> {
        let units = &mut self.lists[list].units;
        let rest = units.split_off(many.min(units.len()));
        let stolen = std::mem::replace(units, rest);
        self.units -= stolen.len();
        stolen.into_iter()
    }

    /// Exchanges the unit at `place` with `unit`.
    pub(super) fn swap(&mut self, list: usize, place: usize, unit: Unit) -> Unit {
        std::mem::replace(&mut self.lists[list].units[place], unit)
    }
}
