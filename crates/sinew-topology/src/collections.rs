//! A map and a sort for all of this crate, compiled once.
//!
//! A generic map or sort is compiled again for each type, and the programs that depend on this
//! crate pay for that at each build.

use std::cmp::Ordering;
use std::collections::HashMap;

/// The first value that was seen for each key.
#[derive(Debug, Default)]
pub(crate) struct FirstSeen(HashMap<[usize; 3], Option<usize>>);

impl FirstSeen {
    /// The value of `key`: `value` if it has none yet.
    pub(crate) fn value_of(&mut self, key: [usize; 3], value: Option<usize>) -> Option<usize> {
        *self.0.entry(key).or_insert(value)
    }

    /// Whether `key` had no value yet, or this one.
    pub(crate) fn agrees(&mut self, key: [usize; 3], value: Option<usize>) -> bool {
        self.value_of(key, value) == value
    }
}

/// The numbers below `len` in the order of `compare`; equal ones stay in ascending order.
pub(crate) fn sorted_indices(len: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..len).collect();
    // Unstable sorting is less code; no two places are equal.
    places.sort_unstable_by(|&a, &b| compare(a, b).then(a.cmp(&b)));
    places
}
