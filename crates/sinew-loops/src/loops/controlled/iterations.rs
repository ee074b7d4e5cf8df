//! The iterations of a source, as a set of ranges.
//!
//! A source numbers its iterations from 0 without gaps. The set maps these *positions* to
//! iterations of the loop. A change of the loop leaves holes, and a long loop may be changed ten
//! thousand times. So that the last change costs no more than the first, the ranges between the
//! holes are the nodes of an immutable balanced tree; successive trees share nodes.
//!
//! Source: Adams, "Efficient Sets: A Balancing Act", for the balance; Blelloch, Ferizovic and Sun,
//! "Just Join for Parallel Ordered Sets", for all operations by way of `join`. Differences: a node
//! holds a range and the number of iterations below it; adjacent ranges become one.
//!
//! # Invariants
//!
//! - R1: the ranges are not empty, ascend, and neither overlap nor touch. So each position stands
//!   for one iteration, and each iteration has one position.
//! - R2: the heights of both sides of a node differ by at most two.
//!
//! # Cost
//!
//! With `k` ranges, O(log k) for a position, a slice and a split; one step if the loop was never
//! changed. A union of `k` and `m ≤ k` ranges costs O(m log k).
//!
//! # Tests
//!
//! Property tests of R1 and R2 against a list of iterations.

use std::ops::Range;
use std::sync::Arc;

/// The largest difference between the heights of a node's sides (R2).
const MAX_IMBALANCE: u32 = 2;

/// A set of iterations, indexed by position.
#[derive(Debug, Clone, Default)]
pub(super) struct IterationSet(Option<Arc<Node>>);

/// A range, and the ranges before and after it.
#[derive(Debug)]
struct Node {
    before: IterationSet,
    range: Range<usize>,
    after: IterationSet,
    /// Iterations in all of these.
    len: usize,
    height: u32,
}

/// A side of a node. Functions that take one work for both sides by symmetry.
#[derive(Debug, Clone, Copy)]
enum Side {
    Before,
    After,
}

impl IterationSet {
    /// The set of one range.
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

    /// The iterations at the first of `positions`: a contiguous range of at most `most`.
    #[inline]
    pub(super) fn first_run(&self, positions: &Range<usize>, most: usize) -> Range<usize> {
        let (range, passed) = self.locate(positions.start);
        let start = range.start + passed;
        start..start + (range.end - start).min(positions.len()).min(most)
    }

    /// The range in which `position` lies, and how many of its iterations lie before it.
    #[inline]
    fn locate(&self, mut position: usize) -> (&Range<usize>, usize) {
        let mut node = self.root();
        loop {
            let before = node.before.len();
            if position < before {
                node = node.before.root();
            } else if position - before < node.range.len() {
                return (&node.range, position - before);
            } else {
                position -= before + node.range.len();
                node = node.after.root();
            }
        }
    }

    /// The iterations at `positions`.
    pub(super) fn slice(&self, positions: Range<usize>) -> Self {
        self.split(positions.end).0.split(positions.start).1
    }

    /// The union with `others`, which has none of these iterations.
    pub(super) fn union(&self, others: Self) -> Self {
        let Some(node) = self.0.as_deref().filter(|_| !others.is_empty()) else {
            return if self.is_empty() { others } else { self.clone() };
        };
        let (before, after) = others.split(others.rank(node.range.start));
        node.before
            .union(before)
            .concat(Self::of(node.range.clone()))
            .concat(node.after.union(after))
    }

    fn root(&self) -> &Node {
        self.0.as_deref().expect("a position in the set")
    }

    fn height(&self) -> u32 {
        self.0.as_ref().map_or(0, |node| node.height)
    }

    /// The iterations at the positions before this one, and all others.
    fn split(&self, position: usize) -> (Self, Self) {
        let Some(node) = self.0.as_deref() else { return Default::default() };
        let Node { before, range, after, .. } = node;
        let (start, end) = (before.len(), before.len() + range.len());
        if position <= start {
            let (left, right) = before.split(position);
            (left, Self::join(right, range.clone(), after.clone()))
        } else if position >= end {
            let (left, right) = after.split(position - end);
            (Self::join(before.clone(), range.clone(), left), right)
        } else {
            let cut = range.start + (position - start);
            let left = Self::join(before.clone(), range.start..cut, Self::default());
            (left, Self::join(Self::default(), cut..range.end, after.clone()))
        }
    }

    /// The number of iterations in the set that are before this one.
    fn rank(&self, iteration: usize) -> usize {
        let Some(Node { before, range, after, .. }) = self.0.as_deref() else { return 0 };
        if iteration <= range.start {
            before.rank(iteration)
        } else {
            let passed = iteration.min(range.end) - range.start;
            before.len() + passed + after.rank(iteration)
        }
    }

    /// The union with `next`, whose iterations are all behind these. Adjacent ranges become one
    /// (R1).
    fn concat(self, next: Self) -> Self {
        if self.is_empty() || next.is_empty() {
            return if self.is_empty() { next } else { self };
        }
        let (last, first) = (self.locate(self.len() - 1).0.clone(), next.locate(0).0.clone());
        let others = next.split(first.len()).1;
        if last.end == first.start {
            let before = self.split(self.len() - last.len()).0;
            Self::join(before, last.start..first.end, others)
        } else {
            Self::join(self, first, others)
        }
    }

    /// A node with this range, for sides of any heights (R2).
    fn join(before: Self, range: Range<usize>, after: Self) -> Self {
        if before.height() > after.height() {
            Self::join_uneven(Side::Before, before, range, after)
        } else {
            Self::join_uneven(Side::After, after, range, before)
        }
    }

    /// [`join`](Self::join) if `high`, on this side of the range, is at least as high as `low` on
    /// the other.
    fn join_uneven(side: Side, high: Self, range: Range<usize>, low: Self) -> Self {
        if high.height() <= low.height() + MAX_IMBALANCE {
            return Self::node(side, high, range, low);
        }
        let (outer, between, inner) = high.root().seen_from(side);
        Self::rebalanced(side, outer, between, Self::join_uneven(side, inner, range, low))
    }

    /// A node whose far side has grown by a level, and may be one level too high.
    fn rebalanced(side: Side, near: Self, range: Range<usize>, grown: Self) -> Self {
        if grown.height() <= near.height() + MAX_IMBALANCE {
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

    /// A node with `near` on this side of the range, and `far` on the other.
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
    fn seen_from(&self, side: Side) -> (IterationSet, Range<usize>, IterationSet) {
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

    /// The ranges in ascending order.
    fn ranges(set: &IterationSet) -> Vec<Range<usize>> {
        let mut positions = 0..set.len();
        let next = || {
            let range = (!positions.is_empty()).then(|| set.first_run(&positions, usize::MAX))?;
            positions.start += range.len();
            Some(range)
        };
        std::iter::from_fn(next).collect()
    }

    fn iterations(set: &IterationSet) -> Vec<usize> {
        ranges(set).into_iter().flatten().collect()
    }

    /// Checks R1 and R2; returns the height.
    fn check(set: &IterationSet) -> u32 {
        assert!(ranges(set).is_sorted_by(|one, next| one.end < next.start), "{:?}", ranges(set));
        fn height(set: &IterationSet) -> u32 {
            let Some(node) = &set.0 else { return 0 };
            let (before, after) = (height(&node.before), height(&node.after));
            assert!(!node.range.is_empty() && before.abs_diff(after) <= MAX_IMBALANCE);
            assert_eq!(node.height, before.max(after) + 1);
            assert_eq!(node.len, node.before.len() + node.range.len() + node.after.len());
            node.height
        }
        height(set)
    }

    /// The set of the iterations that are `kept`, added in this order.
    fn set_of(kept: &[bool], order: impl Iterator<Item = usize>) -> IterationSet {
        let kept = order.filter(|&index| kept[index]);
        kept.fold(IterationSet::default(), |set, index| {
            set.union(IterationSet::of(index..index + 1))
        })
    }

    proptest! {
        /// Catches: an iteration without a position or with two, and positions out of order,
        /// whatever holes there are.
        #[test]
        fn each_iteration_has_one_place(
            kept in proptest::collection::vec(any::<bool>(), 0..300),
            from in 0..300_usize,
            most in 1..50_usize,
        ) {
            let expected: Vec<usize> = (0..kept.len()).filter(|&index| kept[index]).collect();
            let set = set_of(&kept, (0..kept.len()).rev());
            check(&set);
            prop_assert_eq!(set.len(), expected.len());
            prop_assert_eq!(&iterations(&set), &expected);
            let positions = from.min(set.len())..set.len();
            let left = set.slice(positions.clone());
            check(&left);
            prop_assert_eq!(iterations(&left), expected[positions.clone()].to_vec());
            if !positions.is_empty() {
                let first = set.first_run(&positions, most);
                prop_assert!(!first.is_empty() && first.len() <= most);
                let end = positions.start + first.len();
                prop_assert_eq!(first.collect::<Vec<_>>(), expected[positions.start..end].to_vec());
            }
        }

        /// Catches: an iteration that a union of interleaved sets loses, and adjacent ranges that
        /// stay apart.
        #[test]
        fn a_union_of_interleaved_sets_has_all_iterations(
            members in proptest::collection::vec(0..3_u8, 0..300),
        ) {
            let part =
                |number: u8| -> Vec<bool> { members.iter().map(|&member| member == number).collect() };
            let [one, other] = [1, 2].map(|number| set_of(&part(number), 0..members.len()));
            let all = one.union(other);
            check(&all);
            let indices = 0..members.len();
            let expected: Vec<usize> = indices.filter(|&index| members[index] > 0).collect();
            prop_assert_eq!(iterations(&all), expected);
        }
    }

    /// Catches: a tree that degenerates into a list, so that changes cost more and more.
    #[test]
    fn many_holes_make_no_deep_tree() {
        let mut set = IterationSet::of(0..usize::MAX);
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..20_000 {
            let position = random.usize(..set.len());
            set = set.slice(0..position).union(set.slice(position + 1..set.len()));
        }
        let height = check(&set);
        assert_eq!(set.len(), usize::MAX - 20_000);
        assert!(height <= 2 * 15, "{height} levels");
    }
}
