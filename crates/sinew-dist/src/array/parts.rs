//! Which elements each rank has.

use std::ops::Range;

use crate::link::Rank;

/// The most blocks of an array.
const BLOCKS: usize = 1 << 12;

/// The elements of an array that each rank has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) length: usize,
    /// Elements of a block; the last one may have fewer.
    pub(super) block: usize,
    /// The first block of each rank, and the number of blocks.
    pub(super) bounds: Vec<usize>,
}

impl Parts {
    pub(super) fn even(length: usize, ranks: u32) -> Self {
        Self::weighted(length, &vec![1.0; ranks as usize])
    }

    /// As many blocks for a rank as its part of the weights.
    pub(super) fn weighted(length: usize, weights: &[f64]) -> Self {
        let block = length.div_ceil(BLOCKS).max(1);
        let blocks = length.div_ceil(block);
        let sum: f64 = weights.iter().sum();
        let mut before = 0.0;
        let mut bounds = vec![0];
        for weight in weights {
            before += weight;
            let bound = (blocks as f64 * (before / sum)).round() as usize;
            bounds.push(bound.min(blocks));
        }
        bounds[weights.len()] = blocks;
        Self { length, block, bounds }
    }

    pub(super) fn blocks_of(&self, rank: Rank) -> Range<usize> {
        self.bounds[rank as usize]..self.bounds[rank as usize + 1]
    }

    pub(super) fn range_of(&self, rank: Rank) -> Range<usize> {
        let blocks = self.blocks_of(rank);
        let at = |block: usize| (block * self.block).min(self.length);
        at(blocks.start)..at(blocks.end)
    }
}
