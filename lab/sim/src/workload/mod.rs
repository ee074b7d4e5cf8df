//! Simulated programs: trees of tasks that unfold while they run.
//!
//! A task works, then spawns all of its children but the last, calls the last, and joins the others
//! in the opposite order; then it ends. A node is a few words that determine its work and its
//! children. So a tree of any size takes no memory, and its shape does not depend on the schedule.
//!
//! | workload | what it is |
//! |---|---|
//! | [`Tree`] | a balanced binary tree whose leaves work |
//! | [`Fib`] | the naive Fibonacci function |
//! | [`RandomTree`] | any shape, of a given number of tasks |
//! | [`Uts`] | the unbalanced tree search, geometric and binomial |
//! | [`Chains`] | independent sequences, one per worker: nothing to balance |
//! | [`Series`] | one program after the other, with serial parts between |
//! | [`Recorded`] | the recorded task graph of a real run |
//! | [`Splits`] | a loop whose range is cut in halves by the rules of [`sinew_policy::split`] |
//!
//! # Invariants
//!
//! - W1: the methods depend on the workload and the node only. As an exception [`Workload::stolen`]
//!   may return another node, because the adaptive splitter splits a stolen range further. Its
//!   work is the same.

mod chains;
mod fib;
mod graph;
mod random_tree;
mod series;
mod splits;
mod tree;
mod uts;

pub use chains::Chains;
pub use fib::Fib;
pub use graph::Recorded;
pub use random_tree::RandomTree;
pub use series::Series;
pub use splits::{IterationCosts, Shape, Splits};
pub use tree::Tree;
pub use uts::{Children, Uts};

use crate::queue::Time;

/// A program.
///
/// A task may continue after its joins with a sequel. A program without sequels can also be
/// simulated under [`Waiting::Leave`](crate::Waiting::Leave).
pub trait Workload {
    /// A task: a few words that determine its work and its children.
    type Node: Copy + std::fmt::Debug;

    /// The number of trees, at least 1. Each tree begins when the one before has finished.
    fn roots(&self) -> usize {
        1
    }

    /// The root of tree `number`.
    fn root(&self, number: usize) -> Self::Node;

    /// The total number of tasks, if known without running the program.
    fn tasks(&self) -> Option<u64> {
        None
    }

    /// The total work, if known while the number of tasks is not.
    fn total_work(&self) -> Option<Time> {
        None
    }

    /// The mean number of tasks over all seeds, if the number for this seed is unknown. A single
    /// seed may have a hundredth or a hundred times as many.
    fn expected_tasks(&self) -> Option<f64> {
        None
    }

    /// How long the task works before it spawns.
    fn work(&self, node: &Self::Node) -> Time;

    /// Number of children.
    fn children(&self, node: &Self::Node) -> u32;

    /// A child; the last one is called instead of spawned.
    fn child(&self, node: &Self::Node, number: u32) -> Self::Node;

    /// The task's continuation after its joins, which works and spawns again. Called only if
    /// [`has_sequels`](Self::has_sequels).
    fn sequel(&self, node: &Self::Node) -> Option<Self::Node> {
        let _ = node;
        None
    }

    /// Whether any task has a sequel.
    fn has_sequels(&self) -> bool {
        false
    }

    /// The number of the loop of which the task is a piece or an offer. Pieces are never private
    /// among the participants of a loop: each of them may take pieces from all others.
    fn of_loop(&self, node: &Self::Node) -> Option<u32> {
        let _ = node;
        None
    }

    /// The task after a thief has stolen it.
    fn stolen(&self, node: &Self::Node) -> Self::Node {
        *node
    }
}

/// A program on one worker, without costs apart from its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Serial {
    /// Number of tasks.
    pub tasks: u64,
    /// T1, the total work.
    pub work: Time,
    /// T∞, the longest chain of dependent tasks.
    pub span: Time,
}

impl Serial {
    /// Walks through the whole program.
    ///
    /// # Cost
    ///
    /// Time proportional to the number of tasks, memory to the depth times the number of children.
    pub fn of<W: Workload>(workload: &W) -> Self {
        let mut all = Self::default();
        for root in 0..workload.roots() {
            all.tasks += 1;
            let mut frames = vec![Visit::new(workload.root(root), all.span)];
            while let Some(visit) = frames.last_mut() {
                match visit.next(workload, &mut all) {
                    Some(child) => frames.push(child),
                    None => {
                        let end = frames.pop().map_or(0, |visit| visit.end);
                        if let Some(parent) = frames.last_mut() {
                            parent.end = parent.end.max(end);
                        }
                    }
                }
            }
        }
        all
    }
}

/// A task during the walk.
struct Visit<N> {
    node: N,
    /// The path to its children's beginning and, as far as known, to its end.
    path: Time,
    end: Time,
    /// Remaining children; `None` before the work.
    left: Option<std::ops::Range<u32>>,
}

impl<N: Copy + std::fmt::Debug> Visit<N> {
    fn new(node: N, path: Time) -> Self {
        Self { node, path, end: path, left: None }
    }

    /// The next child; `None` after the last.
    fn next<W: Workload<Node = N>>(&mut self, workload: &W, all: &mut Serial) -> Option<Self> {
        loop {
            if self.left.is_none() {
                self.work(workload, all);
            }
            if let Some(number) = self.left.as_mut()?.next() {
                all.tasks += 1;
                return Some(Self::new(workload.child(&self.node, number), self.path));
            }
            self.node = workload.sequel(&self.node).filter(|_| workload.has_sequels())?;
            (self.path, self.left) = (self.end, None);
        }
    }

    fn work<W: Workload<Node = N>>(&mut self, workload: &W, all: &mut Serial) {
        let work = workload.work(&self.node);
        self.path += work;
        self.end = self.path;
        all.work += work;
        all.span = all.span.max(self.path);
        self.left = Some(0..workload.children(&self.node));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Duration, NS};

    /// Catches: a tree whose shape differs from its name.
    #[test]
    fn serial_figures_are_those_that_can_be_computed_by_hand() {
        let tree = Serial::of(&Tree::new(3, Duration::ns(10), 0));
        assert_eq!(tree, Serial { tasks: 15, work: 80 * NS, span: 10 * NS });
        let fib = Serial::of(&Fib::new(5, Duration::ns(1)));
        assert_eq!(fib, Serial { tasks: 15, work: 15 * NS, span: 5 * NS });
        let chains = Serial::of(&Chains::new(2, 7, Duration::ns(3), 0));
        assert_eq!(chains, Serial { tasks: 15, work: 42 * NS, span: 21 * NS });
        let series = Serial::of(&Series::new(Tree::new(2, Duration::ns(5), 0), 3, Duration::ns(8)));
        assert_eq!(series, Serial { tasks: 3 * 8, work: 3 * 28 * NS, span: 3 * 13 * NS });
    }

    /// Catches: an announced number of tasks that differs from the real one.
    #[test]
    fn the_number_of_tasks_is_known_before_they_are_run() {
        fn check<W: Workload>(workload: &W) {
            assert_eq!(workload.tasks(), Some(Serial::of(workload).tasks));
        }
        let leaf = Duration::ns(1);
        for n in 0..9 {
            check(&Tree::new(n, leaf, 0));
            check(&Fib::new(n, leaf));
            check(&RandomTree::new(1 + u64::from(n), leaf, 0));
            check(&Chains::new(1 + n, 3, leaf, 0));
            check(&Series::new(Tree::new(n, leaf, 0), 3, leaf));
        }
        check(&Recorded::new(
            &"sinew graph 1\n0: 1(2|3){4|5|6|7|8}\n0: 1\nend 2\n".parse().expect("a graph"),
        ));
    }

    /// Catches: a loop whose known work is not reported.
    #[test]
    fn the_work_of_a_loop_is_known_before_it_is_run() {
        let costs = IterationCosts::new(99, Shape::Heavy, Duration::ns(1_000), 3);
        let splits = Splits::new(costs, sinew_policy::split::Splitter::adaptive(4), 1);
        assert_eq!(splits.total_work(), Some(Serial::of(&splits).work));
    }

    /// Catches: a random tree of a wrong size.
    #[test]
    fn a_random_tree_has_as_many_tasks_as_it_was_told() {
        for size in [1, 2, 3, 10, 1_000] {
            for seed in 0..20 {
                assert_eq!(Serial::of(&RandomTree::new(size, Duration::ns(1), seed)).tasks, size);
            }
        }
    }

    /// Catches: unbalanced trees with a wrong mean size.
    #[test]
    fn unbalanced_trees_have_their_expected_size_on_average() {
        let mean = |children: Children| {
            let runs = 300;
            let tasks = |seed| Serial::of(&Uts::new(children, Duration::ns(1), seed)).tasks as f64;
            (0..runs).map(tasks).sum::<f64>() / runs as f64
        };
        let expected = |children| Uts::new(children, Duration::ns(1), 0).expected_tasks();
        assert_eq!(
            expected(Children::Binomial { root: 100, many: 4, probability: 0.2 }),
            Some(501.0)
        );
        assert_eq!(expected(Children::Geometric { mean: 3.0, depth: 4 }), Some(121.0));
        // A binomial node has 4 · 0.2 children on average, so each child of the root yields 1/(1 −
        // 0.8) nodes.
        let binomial = mean(Children::Binomial { root: 100, many: 4, probability: 0.2 });
        assert!((binomial / 501.0 - 1.0).abs() < 0.05, "{binomial}");
        // Levels of 1, 3, 9, 27 and 81 nodes.
        let geometric = mean(Children::Geometric { mean: 3.0, depth: 4 });
        assert!((geometric / 121.0 - 1.0).abs() < 0.15, "{geometric}");
    }
}
