//! The unbalanced tree search: trees of unpredictable shape.
//!
//! Source: S. Olivier and others, "UTS: An Unbalanced Tree Search Benchmark" (2006). Differences:
//!
//! - The splittable generator is SplitMix64 instead of SHA-1. Trees have the published
//!   distributions, but not the published numbers of nodes.
//! - A geometric node's mean number of children does not fall off with its level: there is no shape
//!   function.

use super::Workload;
use crate::queue::Time;
use crate::random::{Duration, mix, unit};

/// The distribution of a node's number of children.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Children {
    /// The root has `root` children; another node has `many` with this probability, else none. If
    /// `many` times the probability is just below 1, trees are deep and subtrees of any size occur.
    Binomial {
        /// Children of the root.
        root: u32,
        /// Children of another node that has any.
        many: u32,
        /// Probability that a node has children.
        probability: f64,
    },
    /// Geometrically distributed with this mean; nodes at level `depth` are leaves.
    Geometric {
        /// Their mean.
        mean: f64,
        /// The level of the last leaves.
        depth: u32,
    },
}

/// A random tree in which every node works.
#[derive(Debug, Clone, Copy)]
pub struct Uts {
    children: Children,
    node: Duration,
    seed: u64,
    /// 1/ln of the probability of one child more, for geometric trees.
    scale: f64,
}

impl Uts {
    /// A tree with this distribution, in which each node takes `node`.
    pub fn new(children: Children, node: Duration, seed: u64) -> Self {
        let scale = match children {
            Children::Binomial { .. } => 0.0,
            Children::Geometric { mean, .. } => 1.0 / libm::log(mean / (1.0 + mean)),
        };
        Self { children, node, seed, scale }
    }
}

/// A node: its random state and its level.
#[derive(Debug, Clone, Copy)]
pub struct State {
    bits: u64,
    level: u32,
}

impl Workload for Uts {
    type Node = State;

    fn root(&self, _: usize) -> State {
        State { bits: mix(self.seed), level: 0 }
    }

    fn expected_tasks(&self) -> Option<f64> {
        let expected = match self.children {
            // Each child of the root contributes a geometric series.
            Children::Binomial { root, many, probability } => {
                1.0 + f64::from(root) / (1.0 - f64::from(many) * probability).max(0.0)
            }
            Children::Geometric { mean, depth } => {
                (0..depth).fold(1.0, |below, _| 1.0 + mean * below)
            }
        };
        expected.is_finite().then(|| expected.round())
    }

    #[inline]
    fn work(&self, node: &State) -> Time {
        self.node.draw(mix(!node.bits))
    }

    #[inline]
    fn children(&self, node: &State) -> u32 {
        match self.children {
            Children::Binomial { root, .. } if node.level == 0 => root,
            Children::Binomial { many, probability, .. } => {
                if unit(node.bits) <= probability {
                    many
                } else {
                    0
                }
            }
            Children::Geometric { depth, .. } if node.level >= depth => 0,
            Children::Geometric { .. } => (libm::log(unit(node.bits)) * self.scale) as u32,
        }
    }

    #[inline]
    fn child(&self, node: &State, number: u32) -> State {
        State { bits: mix(node.bits.wrapping_add(u64::from(number))), level: node.level + 1 }
    }
}
