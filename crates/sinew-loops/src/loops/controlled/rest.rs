//! The rest of a loop when its source is closed: some of its iterations, numbered anew from 0.
//!
//! A change cuts a few holes into what is left, and a long loop that is changed ten thousand times
//! has as many. The last change must cost no more than the first. So the ranges between the holes
//! are the nodes of a balanced tree that is never written to. The tree after a change shares all
//! nodes with the one before that are in both.
//!
//! Source: Adams, "Efficient Sets: A Balancing Act", for the balance; Blelloch, Ferizovic and Sun,
//! "Just Join for Parallel Ordered Sets", for everything by way of `join`. Differences: a node is a
//! range, knows how many iterations are below it, and grows where another touches it.
//!
//! # Invariants
//!
//! - R1: the ranges are not empty, ascend, and neither overlap nor touch, so a place stands for one
//!   iteration and every iteration has one.
//! - R2: the heights of both sides of a node differ by two at most.
//!
//! # Cost
//!
//! A step for each level of the tree, of which there are two for each doubling of the number of
//! ranges at most; one where a loop was never changed. To put together what two have costs as much
//! for each range of the one with fewer, and again for the depth at which it belongs.
//!
//! # Tests
//!
//! Property tests of R1 and R2 against a list of iterations.

use std::ops::Range;
use std::sync::Arc;

/// Heights of both sides of a node may differ by so much (R2).
const SLACK: u32 = 2;

/// The iterations of a source. *Places* are the numbers that the source knows; they follow each
/// other without a gap.
#[derive(Debug, Clone, Default)]
pub(super) struct Rest(Option<Arc<Node>>);

/// A range, and those before and after it.
#[derive(Debug)]
struct Node {
    before: Rest,
    range: Range<usize>,
    after: Rest,
    /// Iterations in all of them.
    len: usize,
    height: u32,
}

/// One of the sides of a node. Statements about one hold for the other in the mirror.
#[derive(Debug, Clone, Copy)]
enum Side {
    Before,
    After,
}

impl Rest {
    /// One range.
    pub(super) fn of(range: Range<usize>) -> Self {
        if range.is_empty() {
            return Self::default();
        }
        Self::node(Side::Before, Self::default(), range, Self::default())
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |node| node.len)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The iterations at the first of `places`: as many as follow each other, at most `most`.
    #[inline]
    pub(super) fn first(&self, places: &Range<usize>, most: usize) -> Range<usize> {
        let (range, passed) = self.range_of(places.start);
        let start = range.start + passed;
        start..start + (range.end - start).min(places.len()).min(most)
    }

    /// The range in which `place` lies, and how many of its iterations lie before it.
    #[inline]
    fn range_of(&self, mut place: usize) -> (&Range<usize>, usize) {
        let mut node = self.root();
        loop {
            let before = node.before.len();
            if place < before {
                node = node.before.root();
            } else if place - before < node.range.len() {
                return (&node.range, place - before);
            } else {
                place -= before + node.range.len();
                node = node.after.root();
            }
        }
    }

    /// All iterations at `places`.
    pub(super) fn at(&self, places: Range<usize>) -> Self {
        self.split(places.end).0.split(places.start).1
    }

    /// These and `others`, which are none of these.
    pub(super) fn with(&self, others: Self) -> Self {
        let Some(node) = self.0.as_deref().filter(|_| !others.is_empty()) else {
            return if self.is_empty() { others } else { self.clone() };
        };
        let (before, after) = others.split(others.places_before(node.range.start));
        node.before.with(before).then(Self::of(node.range.clone())).then(node.after.with(after))
    }

    fn root(&self) -> &Node {
        self.0.as_deref().expect("a place that there is")
    }

    fn height(&self) -> u32 {
        self.0.as_ref().map_or(0, |node| node.height)
    }

    /// Those at the places before this one, and the others.
    fn split(&self, place: usize) -> (Self, Self) {
        let Some(node) = self.0.as_deref() else { return Default::default() };
        let Node { before, range, after, .. } = node;
        let (start, end) = (before.len(), before.len() + range.len());
        if place <= start {
            let (left, right) = before.split(place);
            (left, Self::join(right, range.clone(), after.clone()))
        } else if place >= end {
            let (left, right) = after.split(place - end);
            (Self::join(before.clone(), range.clone(), left), right)
        } else {
            let cut = range.start + (place - start);
            let left = Self::join(before.clone(), range.start..cut, Self::default());
            (left, Self::join(Self::default(), cut..range.end, after.clone()))
        }
    }

    /// How many places stand for iterations before this one.
    fn places_before(&self, iteration: usize) -> usize {
        let Some(Node { before, range, after, .. }) = self.0.as_deref() else { return 0 };
        if iteration <= range.start {
            before.places_before(iteration)
        } else {
            let passed = iteration.min(range.end) - range.start;
            before.len() + passed + after.places_before(iteration)
        }
    }

    /// These and then `next`, which are all behind them. Ranges that touch become one (R1).
    fn then(self, next: Self) -> Self {
        if self.is_empty() || next.is_empty() {
            return if self.is_empty() { next } else { self };
        }
        let (last, first) = (self.range_of(self.len() - 1).0.clone(), next.range_of(0).0.clone());
        let others = next.split(first.len()).1;
        if last.end == first.start {
            let before = self.split(self.len() - last.len()).0;
            Self::join(before, last.start..first.end, others)
        } else {
            Self::join(self, first, others)
        }
    }

    /// R2, for sides of any heights.
    fn join(before: Self, range: Range<usize>, after: Self) -> Self {
        if before.height() > after.height() {
            Self::lean(Side::Before, before, range, after)
        } else {
            Self::lean(Side::After, after, range, before)
        }
    }

    /// The same where `high`, on this side of the range, is at least as high as `low` on the other.
    fn lean(side: Side, high: Self, range: Range<usize>, low: Self) -> Self {
        if high.height() <= low.height() + SLACK {
            return Self::node(side, high, range, low);
        }
        let (outer, between, inner) = high.root().seen_from(side);
        Self::balanced(side, outer, between, Self::lean(side, inner, range, low))
    }

    /// A node whose side beyond the range, which has grown by a level, may be one too high.
    fn balanced(side: Side, near: Self, range: Range<usize>, grown: Self) -> Self {
        if grown.height() <= near.height() + SLACK {
            return Self::node(side, near, range, grown);
        }
        let (inner, next, outer) = grown.root().seen_from(side);
        if outer.height() >= inner.height() {
            return Self::node(side, Self::node(side, near, range, inner), next, outer);
        }
        let (first, middle, second) = inner.root().seen_from(side);
        let (near, far) =
            (Self::node(side, near, range, first), Self::node(side, second, next, outer));
        Self::node(side, near, middle, far)
    }

    /// `near` on this side of the range, and `far` on the other.
    fn node(side: Side, near: Self, range: Range<usize>, far: Self) -> Self {
        let len = near.len() + range.len() + far.len();
        let height = near.height().max(far.height()) + 1;
        let (before, after) = match side {
            Side::Before => (near, far),
            Side::After => (far, near),
        };
        Self(Some(Arc::new(Node { before, range, after, len, height })))
    }
}

impl Node {
    /// The ranges on this side, the node's own, and those on the other.
    fn seen_from(&self, side: Side) -> (Rest, Range<usize>, Rest) {
        let (before, range, after) = (self.before.clone(), self.range.clone(), self.after.clone());
        match side {
            Side::Before => (before, range, after),
            Side::After => (after, range, before),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Its ranges from the first to the last.
    fn ranges(rest: &Rest) -> Vec<Range<usize>> {
        let mut places = 0..rest.len();
        let next = || {
            let range = (!places.is_empty()).then(|| rest.first(&places, usize::MAX))?;
            places.start += range.len();
            Some(range)
        };
        std::iter::from_fn(next).collect()
    }

    fn iterations(rest: &Rest) -> Vec<usize> {
        ranges(rest).into_iter().flatten().collect()
    }

    /// Checks R1 and R2; returns the height.
    fn check(rest: &Rest) -> u32 {
        assert!(ranges(rest).is_sorted_by(|one, next| one.end < next.start), "{:?}", ranges(rest));
        fn height(rest: &Rest) -> u32 {
            let Some(node) = &rest.0 else { return 0 };
            let (before, after) = (height(&node.before), height(&node.after));
            assert!(!node.range.is_empty() && before.abs_diff(after) <= SLACK);
            assert_eq!(node.height, before.max(after) + 1);
            assert_eq!(node.len, node.before.len() + node.range.len() + node.after.len());
            node.height
        }
        height(rest)
    }

    /// The rest of `0..kept.len()` by these marks, put together in this order.
    fn rest_of(kept: &[bool], order: impl Iterator<Item = usize>) -> Rest {
        let kept = order.filter(|&index| kept[index]);
        kept.fold(Rest::default(), |rest, index| rest.with(Rest::of(index..index + 1)))
    }

    proptest! {
        /// Catches: an iteration without a place or with two, and places out of order, whatever
        /// was cut out before.
        #[test]
        fn each_iteration_has_one_place(
            kept in proptest::collection::vec(any::<bool>(), 0..300),
            from in 0..300_usize,
            most in 1..50_usize,
        ) {
            let expected: Vec<usize> = (0..kept.len()).filter(|&index| kept[index]).collect();
            let rest = rest_of(&kept, (0..kept.len()).rev());
            check(&rest);
            prop_assert_eq!(rest.len(), expected.len());
            prop_assert_eq!(&iterations(&rest), &expected);
            let places = from.min(rest.len())..rest.len();
            let left = rest.at(places.clone());
            check(&left);
            prop_assert_eq!(iterations(&left), expected[places.clone()].to_vec());
            if !places.is_empty() {
                let first = rest.first(&places, most);
                prop_assert!(!first.is_empty() && first.len() <= most);
                let end = places.start + first.len();
                prop_assert_eq!(first.collect::<Vec<_>>(), expected[places.start..end].to_vec());
            }
        }

        /// Catches: two parts that lie within each other and lose something, or are not one
        /// where they touch.
        #[test]
        fn what_lies_within_each_other_is_put_together(
            whose in proptest::collection::vec(0..3_u8, 0..300),
        ) {
            let part =
                |number: u8| -> Vec<bool> { whose.iter().map(|&whose| whose == number).collect() };
            let [one, other] = [1, 2].map(|number| rest_of(&part(number), 0..whose.len()));
            let all = one.with(other);
            check(&all);
            let expected: Vec<usize> = (0..whose.len()).filter(|&index| whose[index] > 0).collect();
            prop_assert_eq!(iterations(&all), expected);
        }
    }

    /// Catches: a tree that becomes a list, and changes that cost more and more.
    #[test]
    fn many_holes_make_no_deep_tree() {
        let mut rest = Rest::of(0..usize::MAX);
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..20_000 {
            let place = random.usize(..rest.len());
            rest = rest.at(0..place).with(rest.at(place + 1..rest.len()));
        }
        let height = check(&rest);
        assert_eq!(rest.len(), usize::MAX - 20_000);
        assert!(height <= 2 * 15, "{height} levels");
    }
}
