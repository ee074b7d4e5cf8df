//! Independent sequences: work that can be divided in one way only.

use super::Workload;
use crate::queue::Time;
use crate::random::{Duration, mix};

/// An empty root with `chains` sequences of `length` tasks below it; each task is the only child of
/// the one before.
#[derive(Debug, Clone, Copy)]
pub struct Chains {
    chains: u32,
    length: u64,
    link: Duration,
    seed: u64,
}

impl Chains {
    /// `chains` sequences of `length` tasks, each of which takes `link`.
    pub fn new(chains: u32, length: u64, link: Duration, seed: u64) -> Self {
        Self { chains, length, link, seed }
    }
}

/// A task and its random state; the root has the most tasks below it.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    ahead: u64,
    bits: u64,
}

impl Workload for Chains {
    type Node = Link;

    fn root(&self, _: usize) -> Link {
        Link { ahead: self.length, bits: mix(self.seed) }
    }

    fn tasks(&self) -> Option<u64> {
        Some(1 + u64::from(self.chains) * self.length)
    }

    fn work(&self, node: &Link) -> Time {
        if node.ahead == self.length { 0 } else { self.link.draw(node.bits) }
    }

    fn children(&self, node: &Link) -> u32 {
        match node.ahead {
            0 => 0,
            ahead if ahead == self.length => self.chains,
            _ => 1,
        }
    }

    fn child(&self, node: &Link, number: u32) -> Link {
        Link { ahead: node.ahead - 1, bits: mix(node.bits.wrapping_add(u64::from(number))) }
    }
}
