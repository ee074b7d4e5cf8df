//! The balanced binary tree.

use super::Workload;
use crate::queue::Time;
use crate::random::{Duration, mix};

/// A balanced binary tree of tasks. Only leaves work; a leaf's duration follows from its position
/// and the seed.
///
/// Source: `tree`, and `stress` around it, of K.-F. Faxén and J. Ardelius, "Manycore Work Stealing"
/// (2011), Figure 2.
#[derive(Debug, Clone, Copy)]
pub struct Tree {
    depth: u32,
    leaf: Duration,
    seed: u64,
}

impl Tree {
    /// A tree with 2^`depth` leaves.
    pub fn new(depth: u32, leaf: Duration, seed: u64) -> Self {
        Self { depth, leaf, seed: mix(seed) }
    }
}

/// A task, numbered as in a heap: 1 is the root.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    number: u64,
    above: u32,
}

impl Workload for Tree {
    type Node = Place;

    fn root(&self, _: usize) -> Place {
        Place { number: 1, above: self.depth }
    }

    fn tasks(&self) -> Option<u64> {
        Some((2 << self.depth) - 1)
    }

    #[inline]
    fn work(&self, node: &Place) -> Time {
        if node.above == 0 { self.leaf.draw(mix(self.seed ^ node.number)) } else { 0 }
    }

    #[inline]
    fn children(&self, node: &Place) -> u32 {
        if node.above == 0 { 0 } else { 2 }
    }

    #[inline]
    fn child(&self, node: &Place, number: u32) -> Place {
        Place { number: 2 * node.number + u64::from(number), above: node.above - 1 }
    }
}
