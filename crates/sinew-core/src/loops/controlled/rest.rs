//! What is left of a loop when its source is closed: some of its iterations, numbered anew from 0.
//!
//! # Invariants
//!
//! - R1: the ranges are not empty, ascend, and neither overlap nor touch, so a place stands for one iteration and every iteration has one.

use std::ops::Range;

/// The iterations of a source. *Places* are the numbers that the source knows; they follow each other without a gap.
#[derive(Debug)]
pub(super) struct Rest {
    /// The first place of each range, and the range (R1).
    ranges: Vec<(usize, Range<usize>)>,
    len: usize,
}

impl Rest {
    /// Disjoint ranges in any order.
    pub(super) fn of(mut left: Vec<Range<usize>>) -> Self {
        left.sort_unstable_by_key(|range| range.start);
        let mut rest = Self { ranges: Vec::with_capacity(left.len()), len: 0 };
        left.into_iter().filter(|range| !range.is_empty()).for_each(|range| rest.append(range));
        rest
    }

    fn append(&mut self, range: Range<usize>) {
        let (place, len) = (self.len, range.len());
        match self.ranges.last_mut() {
            Some((_, last)) if last.end == range.start => last.end = range.end,
            _ => self.ranges.push((place, range)),
        }
        self.len += len;
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The iterations at the first of `places`: as many as follow each other, at most `most`.
    #[inline]
    pub(super) fn first(&self, places: &Range<usize>, most: usize) -> Range<usize> {
        let number = if self.ranges.len() == 1 { 0 } else { self.range_of(places.start) };
        let (place, range) = &self.ranges[number];
        let start = range.start + (places.start - place);
        start..start + (range.end - start).min(places.len()).min(most)
    }

    /// The range in which `place` lies.
    fn range_of(&self, place: usize) -> usize {
        self.ranges.partition_point(|(first, _)| *first <= place) - 1
    }

    /// All iterations at `places`.
    pub(super) fn all(&self, mut places: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        std::iter::from_fn(move || {
            (!places.is_empty()).then(|| {
                let range = self.first(&places, usize::MAX);
                places.start += range.len();
                range
            })
        })
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::Rest;
    use proptest::prelude::*;

    proptest! {
        /// Would miss: an iteration without a place or with two, and places out of order, whatever was cut out before.
        #[test]
        fn each_iteration_has_one_place(kept in proptest::collection::vec(any::<bool>(), 0..300), from in 0..300_usize, most in 1..50_usize) {
            let iterations: Vec<usize> = (0..kept.len()).filter(|&index| kept[index]).collect();
            let single = iterations.iter().rev().map(|&index| index..index + 1).collect();
            let rest = Rest::of(single);
            prop_assert_eq!(rest.len(), iterations.len());
            prop_assert_eq!(&rest.all(0..rest.len()).flatten().collect::<Vec<_>>(), &iterations);
            let places = from.min(rest.len())..rest.len();
            prop_assert_eq!(rest.all(places.clone()).flatten().collect::<Vec<_>>(), iterations[places.clone()].to_vec());
            if !places.is_empty() {
                let first = rest.first(&places, most);
                prop_assert!(!first.is_empty() && first.len() <= most);
                let end = places.start + first.len();
                prop_assert_eq!(first.collect::<Vec<_>>(), iterations[places.start..end].to_vec());
            }
        }
    }
}
