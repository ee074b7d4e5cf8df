//! Work and span: the time of a computation on one worker, and its bounds on any number of workers.
//!
//! The *span* of a computation is the length of its critical path: its longest chain of parts that
//! wait for each other. Moving a part to another worker has a cost, the *burden*. The span at a
//! burden charges it for each part that moves, but never more than running the part in place would
//! have taken, since the runtime may do that. Source: the burdened span of Y. He, C. E. Leiserson
//! and W. M. Leiserson, "The Cilkview Scalability Analyzer" (2010); the bounds with which K.-F.
//! Faxén and J. Ardelius compare their measurements in "Manycore Work Stealing" (2011). Difference:
//! Cilkview charges every spawn, whether or not moving it pays.
//!
//! All lengths are in the unit of the caller, burdens included.
//!
//! # Invariants
//!
//! - N1: at burden 0 the span of a join is that of its longer arm; at any burden it lies between
//!   that and the sum of both.
//! - N2: a span grows with its parts and with the burden.

/// The span of two arms that may run in parallel; the second one is the one that moves.
///
/// ```
/// use sinew_policy::span::join;
/// assert_eq!((join(50, 80, 0), join(50, 80, 10), join(50, 80, 1_000)), (80, 90, 130));
/// ```
#[inline]
pub fn join(first: u64, second: u64, burden: u64) -> u64 {
    first.max(second.saturating_add(burden)).min(first.saturating_add(second))
}

/// The span of `pieces` parts, joined as a balanced binary tree. The longest part takes `longest`,
/// all together take `total`.
///
/// ```
/// assert_eq!(sinew_policy::span::tree(10, 80, 8, 5), 25);
/// ```
#[inline]
pub fn tree(longest: u64, total: u64, pieces: u64, burden: u64) -> u64 {
    let levels = u64::from(pieces.max(1).next_power_of_two().ilog2());
    longest.saturating_add(levels.saturating_mul(burden)).min(total.max(longest))
}

/// The bounds of the time on `p` workers: `max(T∞, T1/p) ≤ Tp ≤ T∞ + T1/p`.
///
/// The lower bound holds for every schedule. The upper one holds for greedy schedules without
/// costs: a real one may exceed it by its costs, and leapfrogging, which is not greedy, by more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// No schedule is faster.
    pub lower: f64,
    /// A greedy schedule without costs is no slower.
    pub upper: f64,
}

impl Bounds {
    /// The bounds for `workers` workers (0 counts as 1).
    ///
    /// ```
    /// let bounds = sinew_policy::span::Bounds::new(800.0, 300.0, 4);
    /// assert_eq!((bounds.lower, bounds.upper), (300.0, 500.0));
    /// ```
    pub fn new(work: f64, span: f64, workers: usize) -> Self {
        let share = work / workers.max(1) as f64;
        Self { lower: span.max(share), upper: span + share }
    }

    /// The relative distance of a measured time from the bounds: above 0 if it exceeds the upper
    /// one, below 0 if it is less than the lower one, as a fraction of that bound.
    pub fn excess(self, time: f64) -> f64 {
        let bound = time.clamp(self.lower, self.upper);
        if bound > 0.0 { time / bound - 1.0 } else { 0.0 }
    }

    /// Both bounds times `scale`.
    #[must_use]
    pub fn scaled(self, scale: f64) -> Self {
        Self { lower: self.lower * scale, upper: self.upper * scale }
    }
}

/// `a` per `b`: parallelism is work per span, granularity is work per task, steal interval is work
/// per steal. `None` if `b` is 0.
pub fn ratio(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A computation: some work, or some work and then two computations in parallel.
    #[derive(Debug, Clone)]
    enum Tree {
        Leaf(u64),
        Join(u64, Box<(Tree, Tree)>),
    }

    fn trees() -> impl Strategy<Value = Tree> {
        (0..1_000_u64).prop_map(Tree::Leaf).prop_recursive(6, 64, 2, |inner| {
            (0..1_000_u64, (inner.clone(), inner))
                .prop_map(|(w, arms)| Tree::Join(w, Box::new(arms)))
        })
    }

    impl Tree {
        fn work(&self) -> u64 {
            match self {
                Self::Leaf(work) => *work,
                Self::Join(before, arms) => before + arms.0.work() + arms.1.work(),
            }
        }

        fn span(&self, burden: u64) -> u64 {
            match self {
                Self::Leaf(work) => *work,
                Self::Join(before, arms) => {
                    before + join(arms.0.span(burden), arms.1.span(burden), burden)
                }
            }
        }

        /// The length of the longest path.
        fn longest(&self) -> u64 {
            match self {
                Self::Leaf(work) => *work,
                Self::Join(before, arms) => before + arms.0.longest().max(arms.1.longest()),
            }
        }
    }

    proptest! {
        /// Catches: a span that is not the longest path, is longer than the work, or falls as the
        /// burden rises.
        #[test]
        fn the_span_of_a_tree_is_its_longest_way_and_never_more_than_its_work(
            tree in trees(),
            burden in 0..5_000_u64,
        ) {
            prop_assert_eq!(tree.span(0), tree.longest());
            prop_assert!(
                tree.span(0) <= tree.span(burden) && tree.span(burden) <= tree.span(burden + 1)
            );
            prop_assert!(tree.span(burden) <= tree.work());
        }

        /// Catches: pieces that are charged more than running them one after another takes, or a
        /// burden that is not charged.
        #[test]
        fn a_tree_of_pieces_lies_between_its_longest_and_all_of_them(
            pieces in proptest::collection::vec(1..1_000_u64, 1..40),
            burden in 0..100_u64,
        ) {
            let (longest, total) = (*pieces.iter().max().unwrap(), pieces.iter().sum::<u64>());
            let span = tree(longest, total, pieces.len() as u64, burden);
            prop_assert!((longest..=total).contains(&span));
            prop_assert_eq!(tree(longest, total, pieces.len() as u64, 0), longest);
        }

        /// Catches: exchanged bounds, or an excess of the wrong sign.
        #[test]
        fn times_between_the_bounds_exceed_nothing(
            work in 1..1_000_000_u64,
            share in 1..100_u64,
            workers in 1..64_usize,
        ) {
            let bounds = Bounds::new(work as f64, work as f64 * share as f64 / 100.0, workers);
            prop_assert!(bounds.lower <= bounds.upper);
            prop_assert_eq!(bounds.excess((bounds.lower + bounds.upper) / 2.0), 0.0);
            prop_assert!(
                bounds.excess(bounds.upper * 1.5) > 0.49
                    && bounds.excess(bounds.lower / 2.0) < -0.49
            );
        }
    }

    /// Catches: a division by zero.
    #[test]
    fn a_ratio_to_nothing_is_none() {
        assert_eq!((ratio(6, 4), ratio(6, 0)), (Some(1.5), None));
        assert_eq!(Bounds::new(0.0, 0.0, 0).excess(0.0), 0.0);
    }
}
