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
///
/// Neighbouring runs are merged, first of one number each. A sort of the standard library would add
/// 11 KB to every program.
pub(crate) fn sorted_indices(len: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..len).collect();
    let mut merged = Vec::with_capacity(len);
    let mut run = 1;
    while run < len {
        for both in sorted.chunks(2 * run) {
            let (mut left, mut right) = both.split_at(run.min(both.len()));
            while let ([first, left_rest @ ..], [second, right_rest @ ..]) = (left, right) {
                if compare(*second, *first).is_lt() {
                    merged.extend([*second]);
                    right = right_rest;
                } else {
                    merged.extend([*first]);
                    left = left_rest;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        std::mem::swap(&mut sorted, &mut merged);
        merged.clear();
        run *= 2;
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a run that is merged with itself or not at all, and equal numbers that change
    /// places.
    #[test]
    fn numbers_are_sorted_as_by_the_standard_library_and_equal_ones_keep_their_order() {
        for len in 0..70 {
            for classes in [1, 3, 1_000] {
                let key = |number: usize| number * 37 % 101 % classes;
                let mut expected: Vec<usize> = (0..len).collect();
                expected.sort_by_key(|number| key(*number));
                assert_eq!(sorted_indices(len, &|a, b| key(a).cmp(&key(b))), expected);
            }
        }
    }
}
